//! Replays a channel's last days with other settings while a visitor waits.

mod form;
mod views;

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::settings::source_text;
use aizuchi_agent::learner::welcome_labels;
use aizuchi_model::chat::Channel;
use aizuchi_model::decision::tolerance::{Label, MIN_LABELS};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::place::{Place, SettingSource};
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::texts;
use aizuchi_past::replay::judge::model::CallCounts;
use aizuchi_past::what_if::material::Material;
use aizuchi_past::what_if::settings::TriedSettings;
use aizuchi_past::what_if::{WhatIf, WhatIfResult};
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::response::Html;
use jiff::SignedDuration;

use crate::access::Visitor;
use crate::console::layout::{Layout, Section, channel_address, render, what_if_address};
use crate::console::what_if::form::{DaysView, GateView, SettingField, WhatIfFields};
use crate::console::what_if::views::{ResultView, ViewBuilder};
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::shadow::{BudgetedShadow, Cap, CostText, MOST_CALLS, USUAL_CAP, why_incomplete};
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, shadow, workspaces};

#[derive(Template)]
#[template(path = "console/what_if.html")]
struct WhatIfPage<'a> {
    layout: Layout<'a>,
    name: String,
    timeline: String,
    address: String,
    /// Why nothing can be tried here.
    withheld: Option<&'static str>,
    days: Vec<DaysView>,
    settings: Vec<SettingField>,
    gates: Vec<GateView>,
    usual_cap: &'static str,
    result: Option<ResultView>,
}

type ChannelPath = Result<Path<(String, String)>, PathRejection>;
type FieldList = Vec<(String, String)>;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    path: ChannelPath,
    fields: Result<Query<FieldList>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let fields = fields.map(|Query(fields)| fields).unwrap_or_default();
    show(&web, &visitor, language, path, WhatIfFields::new(fields), None).await
}

/// Does the same, and asks the model for the verdicts that are not on record.
pub async fn ask(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    path: ChannelPath,
    form: Result<Form<FieldList>, FormRejection>,
) -> Result<Html<String>, ApiProblem> {
    let fields = WhatIfFields::new(shadow::form(form)?);
    let cap = fields.cap()?;
    shadow::require_orders(&visitor.access)?;
    show(&web, &visitor, language, path, fields, Some(cap)).await
}

async fn show(
    web: &Arc<Web>,
    visitor: &Visitor,
    language: Language,
    path: ChannelPath,
    fields: WhatIfFields,
    cap: Option<Cap>,
) -> Result<Html<String>, ApiProblem> {
    let Path((workspace, channel)) = path.map_err(|_| Refusal::NoChannel)?;
    let workspace = workspaces::find(web, Some(&workspace)).await?;
    let channel = workspaces::channel(web, &workspace, &channel).await?;
    let access = &visitor.access;
    let can_read = access.may_read(&workspace, channel.visibility);
    let mode = web.inbox.channel_cache.mode(&workspace, &channel.id);
    let mut tried =
        TriedSettings::new(&web.models.config(), &web.models.rulebook(), &channel, mode);
    fields.apply_to(&mut tried)?;
    let (days, settings, gates) =
        (fields.days(language), form::settings(&tried, language), form::gates(&tried, language));
    let result = match can_read && fields.is_sent() {
        true => Some(result(web, access, &channel, language, (&fields, tried, cap)).await?),
        false => None,
    };
    let withheld = (!can_read).then(|| access.withheld(language));
    render(&WhatIfPage {
        layout: Layout::new(web, visitor, language, Section::Trial),
        name: access.name_of(&channel),
        timeline: channel_address(&workspace, &channel.id),
        address: what_if_address(&workspace, &channel.id),
        withheld,
        days,
        settings,
        gates,
        usual_cap: USUAL_CAP,
        result,
    })
}

async fn result(
    web: &Arc<Web>,
    access: &Access,
    channel: &Channel,
    language: Language,
    (fields, tried, cap): (&WhatIfFields, TriedSettings, Option<Cap>),
) -> Result<ResultView, ApiProblem> {
    let since = web.clock.now() - SignedDuration::from_hours(fields.chosen_days() * 24);
    let judge = shadow::budgeted(web, channel, web.models.shadow_judge(channel), cap)?;
    let material = Arc::new(Material::read(&*web.archive, channel, since).await?);
    let patch = tried.patch();
    let patch_note = overriding_order(web, channel, &tried, language);
    let labels = labels(web, channel, &tried).await?;
    let tolerance = tried.thresholds(channel, &labels).map(|[present, tried]| {
        let [present, tried] = [present, tried].map(|least| format!("{least:.2}"));
        texts::what_if::tolerance(language, labels.len(), MIN_LABELS, &present, &tried)
    });
    let what_if = WhatIf { material: material.clone(), tried, model: judge.model.clone(), labels };
    let work = move |stop: &_| what_if.run(stop);
    let WhatIfResult { comparison, calls } = web.computations.run(work).await?;
    let builder = ViewBuilder { access, language, channel, material: &material, zone: &web.zone };
    let mut view = builder.view(&comparison);
    workspaces::record_look(
        web,
        access,
        &channel.workspace,
        Shown::Messages(&builder.shown(&comparison)),
    )
    .await?;
    view.patch = patch;
    view.patch_note = patch_note;
    view.tolerance = tolerance;
    let money = CostText { language, currency: &web.currency };
    let cost_text = CallCostText { money, judge: &judge };
    match cap {
        Some(_) => view.asked = Some(cost_text.asked(&calls)),
        None if calls.calls > 0 && access.may_order() => {
            view.estimate = Some(cost_text.estimate(&calls));
        }
        None => {}
    }
    view.cap_explained = texts::shadow::cap_explained(language, MOST_CALLS);
    view.fields = fields.sent();
    Ok(view)
}

/// Why the patch of a config would have no effect: an order overrides it.
fn overriding_order(
    web: &Web,
    channel: &Channel,
    tried: &TriedSettings,
    language: Language,
) -> Option<String> {
    let rulebook = web.models.rulebook();
    let value = tried.overridden_confidence(&rulebook, channel)?;
    let source = rulebook.source_in(&Place::of_channel(channel), SettingKind::MinConfidence);
    match source {
        SettingSource::Ordered(_) => {
            let place = source_text(language, source);
            let config = web.models.config();
            let (name, value) = (&*config.persona.name.0, value.to_string());
            Some(texts::what_if::ordered_over(language, &place, name, &value))
        }
        SettingSource::Configured(_) => None,
    }
}

/// Returns how welcome posts were in the channel, if the tried settings depend on it.
async fn labels(
    web: &Web,
    channel: &Channel,
    tried: &TriedSettings,
) -> Result<Vec<Label>, ApiProblem> {
    if tried.thresholds(channel, &[]).is_none() {
        return Ok(Vec::new());
    }
    let now = web.clock.now();
    let mut labels = welcome_labels(&*web.archive, &channel.workspace, now).await?;
    Ok(labels.remove(&channel.id).unwrap_or_default())
}

/// Describes the calls that were made, or would be.
struct CallCostText<'a> {
    money: CostText<'a>,
    judge: &'a BudgetedShadow,
}

impl CallCostText<'_> {
    fn estimate(&self, calls: &CallCounts) -> String {
        let (language, model) = (self.money.language, &self.judge.model);
        let cost = self.money.about(&[model], calls.cost_micros);
        texts::what_if::estimate(language, model.llm.model(), calls.calls, &cost)
    }

    fn asked(&self, calls: &CallCounts) -> String {
        let (language, cost) = (self.money.language, self.money.amount(calls.cost_micros));
        let name = self.judge.model.llm.model();
        let told = texts::what_if::asked(language, name, calls.calls, &cost, calls.unknown);
        let limit = self.judge.reached_limit();
        match why_incomplete(&[calls], limit, language) {
            Some(why) if limit.is_some() && calls.cost_micros == 0 => why,
            Some(why) => format!("{told} {why}"),
            None => told,
        }
    }
}
