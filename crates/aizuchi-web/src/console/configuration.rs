//! The page of the config in force.

use std::sync::Arc;

use aizuchi_config::written::FileSetting;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::{Extension, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::configuration::{self, ConfigInForce, ReloadAnswer};
use crate::console::layout::{Layout, Section, render};
use crate::language::PageLanguage;
use crate::{ApiProblem, Web};

#[derive(Template)]
#[template(path = "console/configuration.html")]
struct ConfigurationPage<'a> {
    layout: Layout<'a>,
    file: Option<String>,
    written: Vec<FileSetting>,
    need_restart: Option<String>,
    /// What the reload did that was just asked for.
    reloaded: Vec<String>,
}

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
) -> Result<Html<String>, ApiProblem> {
    show(&web, &visitor, language, Vec::new())
}

/// Reads the config again, and shows what is in force now.
pub async fn reload(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
) -> Result<Html<String>, ApiProblem> {
    let reloaded = configuration::reload_for(&web, &visitor.access).await?;
    show(&web, &visitor, language, told(reloaded, language))
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

fn show(
    web: &Web,
    visitor: &Visitor,
    language: Language,
    reloaded: Vec<String>,
) -> Result<Html<String>, ApiProblem> {
    let ConfigInForce { file, written, need_restart } = configuration::read(web, &visitor.access)?;
    let need_restart = (!need_restart.is_empty())
        .then(|| texts::configuration::need_restart(language, &need_restart.join(", ")));
    render(&ConfigurationPage {
        layout: Layout::new(web, visitor, language, Section::Configuration),
        file,
        written,
        need_restart,
        reloaded,
    })
}
