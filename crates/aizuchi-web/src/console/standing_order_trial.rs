//! The page that tries a standing order before it applies: what it would have changed in a channel lately.

mod views;

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::chat::Channel;
use aizuchi_model::persona::Language;
use aizuchi_model::standing_order::StandingOrderScope;
use aizuchi_model::texts;
use aizuchi_past::shadow::LONGEST_ASKING;
use aizuchi_past::shadow::standing_order_trial::{
    DAYS, StandingOrderTrialRun, TriedStandingOrder, read_moments,
};
use aizuchi_store::refusal_reason::RefusalReason;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection};
use axum::extract::{Extension, Path, State};
use axum::response::Html;
use serde::Deserialize;
use tokio::runtime::Handle;

use crate::access::Visitor;
use crate::console::layout::{
    Layout, Section, channel_address, render, standing_order_trial_address,
};
use crate::console::standing_order_trial::views::{ResultView, ViewBuilder};
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::shadow::{Cap, USUAL_CAP, is_builtin};
use crate::standing_orders::{self, ShownStandingOrder};
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, shadow, workspaces};

#[derive(Template)]
#[template(path = "console/order_trial.html")]
struct StandingOrderTrialPage<'a> {
    layout: Layout<'a>,
    name: String,
    timeline: String,
    address: String,
    workspace: String,
    /// The channel of the form that saves the order. Empty for all channels.
    channel: String,
    text: String,
    scope: &'static str,
    /// The number of the draft, if it is one.
    number: Option<i64>,
    explained: String,
    /// Why nothing can be tried here.
    withheld: Option<&'static str>,
    cap: String,
    result: Option<ResultView>,
}

/// The fields of the form: an order, or the number of a draft.
#[derive(Deserialize)]
pub struct StandingOrderTrialFields {
    text: Option<String>,
    /// Empty if the order would apply in all channels.
    channel: Option<String>,
    number: Option<i64>,
    /// Which button was pressed.
    action: Option<String>,
    cap: Option<String>,
}

impl StandingOrderTrialFields {
    async fn order(
        &self,
        web: &Web,
        access: &Access,
        channel: &Channel,
    ) -> Result<TriedStandingOrder, ApiProblem> {
        let Some(number) = self.number else {
            let text = standing_orders::parse(self.text.as_deref().unwrap_or_default())?;
            let scope = match self.channel.as_deref() {
                Some("") => StandingOrderScope::Workspace,
                Some(_) | None => StandingOrderScope::Channel(channel.id.clone()),
            };
            return Ok(TriedStandingOrder { number: None, scope, text });
        };
        let known =
            standing_orders::read(web, access, &channel.workspace, Some(&channel.id)).await?;
        let is_meant = |shown: &&ShownStandingOrder| {
            shown.is_readable && shown.order.number == number && shown.order.is_pending()
        };
        let draft =
            known.iter().find(is_meant).ok_or(ActionRefusal::Order(RefusalReason::NoOrderDraft))?;
        Ok(TriedStandingOrder::from(&draft.order))
    }

    /// The spending cap. `None` if no model is to be asked.
    fn cap(&self) -> Result<Option<Cap>, ApiProblem> {
        match self.action.as_deref() {
            Some("ask") => Cap::read(self.cap.as_deref()).map(Some),
            _ => Ok(None),
        }
    }
}

/// Shows the estimated cost of trying an order, or with a cap, the result.
pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    path: Result<Path<(String, String)>, PathRejection>,
    form: Result<Form<StandingOrderTrialFields>, FormRejection>,
) -> Result<Html<String>, ApiProblem> {
    let fields: StandingOrderTrialFields = shadow::form(form)?;
    shadow::require_orders(&visitor.access)?;
    let Path((workspace, channel)) = path.map_err(|_| Refusal::NoChannel)?;
    let workspace = workspaces::find(&web, Some(&workspace)).await?;
    let channel = workspaces::channel(&web, &workspace, &channel).await?;
    let access = &visitor.access;
    let (tried, cap) = (fields.order(&web, access, &channel).await?, fields.cap()?);
    let can_read = access.may_read(&workspace, channel.visibility);
    let result = match can_read {
        true => Some(result(&web, access, &channel, language, (&tried, cap)).await?),
        false => None,
    };
    let name = access.name_of(&channel);
    render(&StandingOrderTrialPage {
        layout: Layout::new(&web, &visitor, language, Section::Trial),
        explained: views::explained(language, &name),
        name,
        timeline: channel_address(&workspace, &channel.id),
        address: standing_order_trial_address(&workspace, &channel.id),
        workspace: workspace.to_string(),
        channel: tried.scope.channel().map(ToString::to_string).unwrap_or_default(),
        text: tried.text.as_str().to_owned(),
        scope: match &tried.scope {
            StandingOrderScope::Workspace => texts::commands::for_all_channels(language),
            StandingOrderScope::Channel(_) => texts::commands::for_this_channel(language),
            StandingOrderScope::Thread(..) => texts::console::for_a_thread(language),
        },
        number: fields.number,
        withheld: (!can_read).then(|| access.withheld(language)),
        cap: fields.cap.clone().unwrap_or_else(|| USUAL_CAP.to_owned()),
        result,
    })
}

async fn result(
    web: &Arc<Web>,
    access: &Access,
    channel: &Channel,
    language: Language,
    (tried, cap): (&TriedStandingOrder, Option<Cap>),
) -> Result<ResultView, ApiProblem> {
    let judge = shadow::budgeted(web, channel, web.models.shadow_judge(channel), cap)?;
    if is_builtin(&judge.model) {
        return Ok(ResultView::note(texts::standing_order_trial::builtin(language).to_owned()));
    }
    let config = web.models.config();
    let mut source = shadow::moments(web, &config);
    let moments = read_moments(&mut source, channel, tried, web.clock.now()).await?;
    if moments.is_empty() {
        return Ok(ResultView::note(texts::standing_order_trial::no_moments(language, DAYS)));
    }
    let secrets = web.models.secrets().clone();
    let run = Arc::new(StandingOrderTrialRun { moments, judge: judge.model.clone(), secrets });
    let (working, runtime) = (run.clone(), Handle::current());
    let work = move |stop: &_| Ok(runtime.block_on(working.run(stop, LONGEST_ASKING)));
    let found = web.computations.run(work).await?;
    let builder = ViewBuilder { access, language, channel, currency: &web.currency, run: &run };
    let shown = builder.shown(&found);
    workspaces::record_look(web, access, &channel.workspace, Shown::Messages(&shown)).await?;
    Ok(builder.view(&found, cap.is_some(), judge.reached_limit()))
}
