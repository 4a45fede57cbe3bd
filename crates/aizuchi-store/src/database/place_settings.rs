//! The settings that users ordered for workspaces, channels and threads.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::rules::setting_override::{
    self, OrderedChange, SettingChange, SettingKind, SettingOverride, SettingScope,
};

use crate::StoreError;
use crate::database::connection::{Connection, Readers, Row, query};
use crate::database::{rows, sql};

/// Changes the settings of a workspace, as [`setting_override::changed`] does.
pub async fn change(
    connection: &mut Connection,
    workspace: &WorkspaceId,
    OrderedChange { scope, change, role, by, at }: &OrderedChange,
) -> Result<(), StoreError> {
    let (channel, thread) = scope.columns();
    let kind = match change {
        SettingChange::Set(setting) => Some(setting.kind().name()),
        SettingChange::Clear(kind) => Some(kind.name()),
        SettingChange::ClearAll => None,
    };
    let drop = query(sql::orders::DROP_SETTINGS).bind(workspace.as_str()).bind(channel);
    let drop = drop.bind(thread).bind(role.name()).bind(kind);
    drop.execute(&mut *connection).await?;
    let SettingChange::Set(setting) = change else { return Ok(()) };
    let put = query(sql::orders::PUT_SETTING)
        .bind(workspace.as_str())
        .bind(channel)
        .bind(thread)
        .bind(setting.kind().name())
        .bind(role.name())
        .bind(setting.to_string())
        .bind(&**by)
        .bind(at.as_millisecond());
    put.execute(connection).await?;
    Ok(())
}

/// The settings in force in a workspace.
pub async fn read(
    readers: &Readers,
    workspace: &WorkspaceId,
) -> Result<Vec<SettingOverride>, StoreError> {
    let found = query(sql::orders::SETTINGS).bind(workspace.as_str()).fetch_all(readers).await?;
    let mut settings = Vec::new();
    for row in &found {
        settings.extend(from_row(row)?);
    }
    setting_override::sort(&mut settings);
    Ok(settings)
}

/// Converts a row. `None` for a setting that this version does not know.
fn from_row(row: &Row) -> Result<Option<SettingOverride>, StoreError> {
    let text = |column: &str| rows::column::<String>(row, column);
    let (kind, value) = (SettingKind::from_name(&text("setting")?), text("value")?);
    let Some(setting) = kind.and_then(|kind| kind.parse(&value)) else { return Ok(None) };
    Ok(Some(SettingOverride {
        scope: SettingScope::from_columns(&text("channel")?, &text("thread")?),
        setting,
        role: rows::parse_name(&text("role")?)?,
        by: text("ordered_by")?.into(),
        at: rows::to_timestamp(rows::column(row, "ordered_ms")?)?,
    }))
}
