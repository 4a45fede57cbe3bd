//! `aizuchi set`: changes a setting of a workspace or a channel, as the console does, through the running program.

use aizuchi_config::ModelSelection;
use aizuchi_config::source::ConfigSource;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_store::read_only::ReadOnlyDatabase;
use anyhow::Context as _;
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::find_by_name::find_channel;
use crate::cli::running::ProgramClient;
use crate::cli::{block_on, print};

/// Change a setting of a channel or a workspace while Aizuchi runs.
///
/// The setting stays in force over the config, also after a restart, until it is cleared.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// mode, language, min_confidence, timing, announce, tools, memory, model or money_per_day, which is for each
    /// channel on its own.
    setting: String,
    /// The value, written as in the config. If omitted: the configured value applies again.
    value: Option<String>,
    /// The channel: its name or its id. If omitted: every channel of the workspace.
    #[arg(long, value_name = "CHANNEL", required_unless_present = "workspace")]
    channel: Option<String>,
    /// The workspace by its id, such as slack:T0123456789, or local.
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
}

impl SetArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let config = source.load(ModelSelection::NoModel)?.config;
        block_on(async {
            let database = ReadOnlyDatabase::open(&config.database_address()).await?;
            let place = match &self.channel {
                Some(wanted) => {
                    let workspace = self.workspace.as_deref();
                    let (workspace, channel) = find_channel(&database, wanted, workspace).await?;
                    json!({ "workspace": workspace, "channel": channel })
                }
                None => json!({ "workspace": self.workspace }),
            };
            let (target, body) = self.request(place)?;
            let client = ProgramClient::of_running(&config).await?;
            client.request::<()>(Method::POST, target, Some(body)).await
        })?;
        let value = self.value.as_deref().unwrap_or("as configured");
        print(&format!("{}: {value}", self.setting))
    }

    /// Returns the path and the body of the request.
    fn request(&self, mut body: Value) -> anyhow::Result<(&'static str, Value)> {
        if self.setting == "mode" {
            anyhow::ensure!(
                self.channel.is_some(),
                "a mode is set for a channel: name it with --channel"
            );
            let value = self.value.as_deref();
            let mode = value.map(|value| {
                Mode::ALL.into_iter().find(|mode| mode.name() == value).with_context(|| {
                    let names = Mode::ALL.map(Mode::name).join(", ");
                    format!("{value:?} is not a mode; there are {names}")
                })
            });
            body["mode"] = json!(mode.transpose()?.map(Mode::name));
            return Ok(("/api/mode", body));
        }
        let names: Vec<&str> = SettingKind::all().map(SettingKind::name).collect();
        let unknown = || {
            format!("there is no setting {:?}; there are mode, {}", self.setting, names.join(", "))
        };
        let kind = SettingKind::from_name(&self.setting).with_context(unknown)?;
        if let Some(value) = &self.value {
            let unfit = || format!("{value:?} cannot be used for {}", kind.name());
            kind.parse(value).with_context(unfit)?;
        }
        body["setting"] = json!(self.setting);
        body["value"] = json!(self.value);
        Ok(("/api/settings", body))
    }
}
