//! A channel's last days, gone through again with other settings while somebody looks.

mod form;
mod views;

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::StatusCode;
use axum::response::Html;
use jiff::SignedDuration;
use tokio::runtime::Handle;

use crate::replay::judge::model::{CallCounts, CallLimits};
use crate::web::access::{Access, Visitor};
use crate::web::console::layout::{Layout, Section, channel_address, render, what_if_address};
use crate::web::console::what_if::form::{DaysView, Fields, GateView, KnobView};
use crate::web::console::what_if::views::{Reader, ResultView};
use crate::web::language::PageLanguage;
use crate::web::workspaces::Shown;
use crate::web::{ApiProblem, Web, workspaces};
use crate::what_if::material::Material;
use crate::what_if::settings::TriedSettings;
use crate::what_if::{ShadowModel, WhatIf, WhatIfResult};
use aizuchi_core::chat::Channel;
use aizuchi_core::event::planned_call::CallCost;
use aizuchi_core::llm::model::ModelId;
use aizuchi_core::persona::Language;
use aizuchi_core::texts;

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
    knobs: Vec<KnobView>,
    gates: Vec<GateView>,
    result: Option<ResultView>,
}

/// However high a cap is, so many calls are the most.
const MOST_CALLS: u64 = 200;

type Place = Result<Path<(String, String)>, PathRejection>;
type FieldList = Vec<(String, String)>;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    place: Place,
    fields: Result<Query<FieldList>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let fields = fields.map(|Query(fields)| fields).unwrap_or_default();
    show(&web, &visitor, language, place, Fields::new(fields), None).await
}

/// The same, and the model is asked about what is not on record.
pub async fn ask(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    place: Place,
    form: Result<Form<FieldList>, FormRejection>,
) -> Result<Html<String>, ApiProblem> {
    let unreadable = |_| ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "send the page's form");
    let Form(fields) = form.map_err(unreadable)?;
    let fields = Fields::new(fields);
    let cap = fields.cap_micros().ok_or_else(|| {
        let sentence = "the cap must be an amount of money from 0 to 5";
        ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, sentence)
    })?;
    if !visitor.access.may_order() {
        return Err(ApiProblem::new(StatusCode::FORBIDDEN, "you may look, and ask nobody"));
    }
    show(&web, &visitor, language, place, fields, Some(cap)).await
}

async fn show(
    web: &Arc<Web>,
    visitor: &Visitor,
    language: Language,
    place: Place,
    fields: Fields,
    cap: Option<u64>,
) -> Result<Html<String>, ApiProblem> {
    let absent = |_| ApiProblem::new(StatusCode::NOT_FOUND, "there is no such channel");
    let Path((workspace, channel)) = place.map_err(absent)?;
    let workspace = workspaces::find(web, Some(&workspace)).await?;
    let channel = workspaces::channel(web, &workspace, &channel).await?;
    let access = &visitor.access;
    let can_read = access.may_read(&workspace, channel.visibility);
    let mode = web.inbox.channel_cache.mode(&workspace, &channel.id);
    let mut tried = TriedSettings::new(&web.models.config(), &channel, mode);
    fields.apply_to(&mut tried, language)?;
    let (days, knobs, gates) =
        (fields.days(language), form::knobs(&tried, language), form::gates(&tried, language));
    let result = match can_read && fields.is_sent() {
        true => Some(result(web, access, &channel, language, (&fields, tried, cap)).await?),
        false => None,
    };
    let withheld = (!can_read).then(|| match access {
        Access::ThisMachine => texts::console::withheld_here(language),
        Access::Public | Access::SignedIn(_) => texts::console::withheld(language),
    });
    render(&WhatIfPage {
        layout: Layout::new(web, visitor, language, Section::Trial),
        name: match access.may_name(channel.visibility) {
            true => channel.name.to_string(),
            false => channel.id.to_string(),
        },
        timeline: channel_address(&workspace, &channel.id),
        address: what_if_address(&workspace, &channel.id),
        withheld,
        days,
        knobs,
        gates,
        result,
    })
}

async fn result(
    web: &Arc<Web>,
    access: &Access,
    channel: &Channel,
    language: Language,
    (fields, tried, cap): (&Fields, TriedSettings, Option<u64>),
) -> Result<ResultView, ApiProblem> {
    let since = web.clock.now() - SignedDuration::from_hours(fields.chosen_days() * 24);
    let material = Arc::new(Material::read(&*web.archive, channel, since).await?);
    let model = shadow_model(web, cap)?;
    let patch = tried.patch();
    let what_if = WhatIf { material: material.clone(), tried, model: model.clone() };
    let (books, workspace) = (web.clone(), channel.workspace.clone());
    let work = move |stop: &_| {
        what_if.run(stop, |calls| {
            let Some(runtime) = &what_if.model.runtime else { return };
            let tokens = calls.input_tokens + calls.output_tokens;
            let cost = CallCost { tokens, micros: calls.cost_micros };
            runtime.block_on(books.models.book_shadow(&workspace, cost));
        })
    };
    let WhatIfResult { comparison, calls } = web.computations.run(work).await?;
    let reader = Reader { access, language, channel, material: &material, zone: &web.zone };
    let mut view = reader.view(&comparison);
    workspaces::record_look(
        web,
        access,
        &channel.workspace,
        Shown::Messages(&reader.shown(&comparison)),
    )
    .await?;
    view.patch = patch;
    let money = Money { language, currency: &web.currency, model: &model };
    match cap {
        Some(_) => view.asked = Some(money.asked(&calls)),
        None if calls.calls > 0 && access.may_order() => {
            view.estimate = Some(money.estimate(&calls));
        }
        None => {}
    }
    view.cap_explained = texts::what_if::cap_explained(language, MOST_CALLS);
    view.fields = fields.sent();
    Ok(view)
}

/// The judge's model. Without a cap it is not asked.
fn shadow_model(web: &Web, cap: Option<u64>) -> Result<ShadowModel, ApiProblem> {
    let unusable = |error: anyhow::Error| {
        tracing::error!(error = format!("{error:#}"), "the judge's model could not be prepared");
        let sentence = "the judge's model could not be prepared; the log says why";
        ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    };
    let (llm, parameters) = web.models.shadow_judge().map_err(unusable)?;
    let config = web.models.config();
    let is_builtin = llm.model() == ModelId::Builtin.to_string();
    let is_priced = config.models.prices().cost(llm.model(), Default::default()).is_some();
    if cap.is_some() && !is_builtin && !is_priced {
        // A cap on money would hold nothing back.
        let sentence = "the model's price is not known; write it to `models.prices` first";
        return Err(ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, sentence));
    }
    Ok(ShadowModel {
        llm,
        parameters,
        cache: web.shadow_answers.at(web.clock.now()),
        limits: CallLimits {
            prices: config.models.prices(),
            max_cost_micros: cap.unwrap_or_default(),
            max_calls: Some(MOST_CALLS),
            timeout: config.minds.longest_call(),
        },
        runtime: cap.map(|_| Handle::current()),
    })
}

/// Says what a model costs.
struct Money<'a> {
    language: Language,
    currency: &'a str,
    model: &'a ShadowModel,
}

impl Money<'_> {
    fn told(&self, micros: u64) -> String {
        crate::report::words::money(micros as f64 / 1e6, self.currency, self.language)
    }

    fn estimate(&self, calls: &CallCounts) -> String {
        let name = self.model.llm.model();
        let is_builtin = name == ModelId::Builtin.to_string();
        let is_priced = self.model.limits.prices.cost(name, Default::default()).is_some();
        let cost = match (is_builtin, is_priced) {
            (true, _) => texts::what_if::free(self.language).to_owned(),
            (false, true) => {
                texts::what_if::about_cost(self.language, &self.told(calls.cost_micros))
            }
            (false, false) => texts::what_if::price_unknown(self.language).to_owned(),
        };
        texts::what_if::estimate(self.language, name, calls.calls, &cost)
    }

    fn asked(&self, calls: &CallCounts) -> String {
        let (name, cost) = (self.model.llm.model(), self.told(calls.cost_micros));
        let told = texts::what_if::asked(self.language, name, calls.calls, &cost, calls.unknown);
        let more = match (calls.is_cap_reached, &calls.failure) {
            (true, _) => texts::what_if::cap_reached(self.language),
            (false, Some(_)) => texts::what_if::model_failed(self.language),
            (false, None) => "",
        };
        format!("{told} {more}").trim_end().to_owned()
    }
}
