//! The page of the config in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_actions::settings::value_text;
use aizuchi_config::shown_settings::{ConfigSetting, ValueSource};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Rulebook;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::configuration::{self, ConfigInForce, ReloadAnswer};
use crate::console::layout::{Layout, Section, channel_address, render};
use crate::console::running_status;
use crate::language::PageLanguage;
use crate::{ApiProblem, Web, workspaces};

/// The maximum number of settings above those at their default.
const MOST_SHOWN: usize = 100;
/// The maximum number of channels that a setting names.
const MOST_CHANNELS: usize = 10;
/// The keys that an order for a channel or a workspace replaces, by the names of the orders.
const ORDERED_KEYS: [&str; 6] = [
    "language",
    "response.min_confidence",
    "response.timing",
    "response.announce",
    "response.mode",
    "budget.money_per_day",
];

#[derive(Template)]
#[template(path = "console/configuration.html")]
struct ConfigurationPage<'a> {
    layout: Layout<'a>,
    file: Option<String>,
    /// What the key, the value or the meaning contains.
    q: &'a str,
    /// What is not at its default, or what was searched for.
    first: Vec<ConfigSetting>,
    /// The number of these that are left out.
    left_out: usize,
    /// What is at its default, and not everywhere in force.
    varied: Vec<ConfigSetting>,
    /// What is at its default, by section.
    defaults: BTreeMap<String, Vec<ConfigSetting>>,
    differing: DifferingChannels,
    workspaces: Vec<(String, String)>,
    rulebook: Arc<Rulebook>,
    need_restart: Vec<String>,
    /// The setting that was just changed.
    set: &'a str,
    /// What the reload did that was just asked for.
    reloaded: Vec<String>,
}

/// The keys that channels replace, with the name, the address and the value of each channel that has its own.
type DifferingChannels = BTreeMap<&'static str, Vec<(String, String, String)>>;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<BTreeMap<String, String>>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let Query(query) = query.map_err(workspaces::unclear)?;
    let q = query.get("q").map_or("", |q| q.trim());
    let set = query.get("set").map_or("", |set| set);
    show(&web, &visitor, language, (q, set), Vec::new()).await
}

/// Reads the config again, and shows what is in force now.
pub async fn reload(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
) -> Result<Html<String>, ApiProblem> {
    let reloaded = configuration::reload_for(&web, &visitor.access).await?;
    show(&web, &visitor, language, ("", ""), told(reloaded, language)).await
}

fn told(reloaded: ReloadAnswer, language: Language) -> Vec<String> {
    let ReloadAnswer { changed, need_restart: _, refused, warnings } = reloaded;
    let changed = match changed.is_empty() {
        true => texts::configuration::nothing_changed(language).to_owned(),
        false => texts::configuration::changed(language, &changed.join(", ")),
    };
    let refused =
        (!refused.is_empty()).then(|| texts::configuration::refused(language, &refused.join(", ")));
    [changed].into_iter().chain(refused).chain(warnings).collect()
}

async fn show(
    web: &Web,
    visitor: &Visitor,
    language: Language,
    (q, set): (&str, &str),
    reloaded: Vec<String>,
) -> Result<Html<String>, ApiProblem> {
    let ConfigInForce { file, settings, need_restart } = configuration::read(web, &visitor.access)?;
    let differing = differing_channels(web, visitor, language).await?;
    let wanted = q.to_lowercase();
    let is_wanted = |setting: &ConfigSetting| {
        let value = setting.value.as_deref().unwrap_or_default();
        let parts = [&*setting.key, value, setting.meaning(language)];
        parts.iter().any(|part| part.to_lowercase().contains(&wanted))
    };
    let (mut first, others): (Vec<_>, Vec<_>) =
        settings.into_iter().filter(is_wanted).partition(|setting| {
            !wanted.is_empty()
                || setting.source != ValueSource::Default
                || need_restart.contains(&setting.key)
        });
    let (varied, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|setting| {
        differing.get(&*setting.key).is_some_and(|channels| !channels.is_empty())
    });
    let left_out = first.len().saturating_sub(MOST_SHOWN);
    first.truncate(MOST_SHOWN);
    let mut defaults: BTreeMap<String, Vec<ConfigSetting>> = BTreeMap::new();
    for setting in others {
        let section = setting.key.split_once('.').map_or("", |(section, _)| section);
        defaults.entry(section.to_owned()).or_default().push(setting);
    }
    render(&ConfigurationPage {
        layout: Layout::new(web, visitor, language, Section::Configuration),
        workspaces: workspaces::choices(web, &workspaces::all(web).await?, language),
        rulebook: web.room.rulebook(),
        file,
        q,
        first,
        left_out,
        varied,
        defaults,
        differing,
        need_restart,
        set,
        reloaded,
    })
}

async fn differing_channels(
    web: &Web,
    visitor: &Visitor,
    language: Language,
) -> Result<DifferingChannels, ApiProblem> {
    let mut differing: DifferingChannels =
        ORDERED_KEYS.into_iter().map(|key| (key, Vec::new())).collect();
    for workspace in running_status::read(web, &visitor.access, None).await?.workspaces {
        for status in workspace.channels {
            let mode = status.has_own_mode.then(|| ("mode", status.mode.to_owned()));
            let own = status.own.into_iter();
            let own = own.map(|(kind, value)| (kind.name(), value_text(language, kind, value)));
            for (name, value) in mode.into_iter().chain(own) {
                let key = ORDERED_KEYS.iter().find(|key| key.rsplit('.').next() == Some(name));
                let address = channel_address(&workspace.workspace, &status.id);
                let channels = key.and_then(|key| differing.get_mut(key)).into_iter();
                channels.for_each(|all| {
                    all.push((status.name.clone(), address.clone(), value.clone()))
                });
            }
        }
    }
    Ok(differing)
}
