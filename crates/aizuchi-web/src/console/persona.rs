//! The persona workshop: the persona is edited, and tried on a channel's newest moments beside the present one.

mod form;
mod views;

use std::sync::Arc;

use aizuchi_model::chat::Channel;
use aizuchi_model::decision::Decision;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::shadow::moments::{MomentError, TriedMoment};
use aizuchi_past::shadow::persona_trial::{EditedPersona, MAX_PROMPT_CHARACTERS, PersonaTrial};
use aizuchi_store::query::DecisionQuery;
use askama::Template;
use axum::Form;
use axum::extract::rejection::FormRejection;
use axum::extract::{Extension, State};
use axum::response::Html;
use tokio::runtime::Handle;

use crate::access::Visitor;
use crate::console::layout::{Layout, Section, render};
use crate::console::persona::form::{ChannelView, CountView, PersonaFields, channel_views};
use crate::console::persona::views::{ResultView, ViewBuilder, shown};
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::shadow::Cap;
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, shadow, workspaces};

#[derive(Template)]
#[template(path = "console/persona.html")]
struct PersonaPage<'a> {
    layout: Layout<'a>,
    /// Why nothing can be tried.
    withheld: Option<&'static str>,
    is_builtin: bool,
    name: String,
    system_prompt: String,
    most_characters: usize,
    channels: Vec<ChannelView>,
    counts: Vec<CountView>,
    may_order: bool,
    result: Option<ResultView>,
}

/// The number of decisions that are searched for moments at which a model was asked.
const LOOKED_AT: usize = 200;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
) -> Result<Html<String>, ApiProblem> {
    show(&web, &visitor, language, PersonaFields::default()).await
}

/// Shows the estimated cost of a trial, or with a cap, its result.
pub async fn order(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    form: Result<Form<PersonaFields>, FormRejection>,
) -> Result<Html<String>, ApiProblem> {
    let fields: PersonaFields = shadow::form(form)?;
    shadow::require_orders(&visitor.access)?;
    show(&web, &visitor, language, fields).await
}

async fn show(
    web: &Arc<Web>,
    visitor: &Visitor,
    language: Language,
    fields: PersonaFields,
) -> Result<Html<String>, ApiProblem> {
    let config = web.models.config();
    let present = EditedPersona::present(&config);
    let edited = fields.persona(&present)?;
    let channels = readable_channels(web, visitor).await?;
    let cap = fields.cap()?;
    let chosen = channels.iter().find(|channel| fields.names(channel));
    let result = match chosen {
        Some(channel) => {
            let (present, edited, fields) = (&present, &edited, &fields);
            let request = TrialRequest { channel, present, edited, fields, cap };
            Some(result(web, visitor, language, &request).await?)
        }
        None => None,
    };
    render(&PersonaPage {
        layout: Layout::new(web, visitor, language, Section::Persona),
        withheld: channels.is_empty().then(|| nothing_to_read(visitor, language)),
        is_builtin: web.models.is_builtin(),
        name: edited.name.0,
        system_prompt: edited.system_prompt,
        most_characters: MAX_PROMPT_CHARACTERS,
        channels: channel_views(&channels, &fields),
        counts: fields.counts(language),
        may_order: visitor.access.may_order(),
        result,
    })
}

fn nothing_to_read(visitor: &Visitor, language: Language) -> &'static str {
    match visitor.access.may_order() {
        true => texts::shadow::no_channel(language),
        false => texts::shadow::persona_withheld(language),
    }
}

/// Returns the channels in which the visitor may read what models wrote.
async fn readable_channels(web: &Web, visitor: &Visitor) -> Result<Vec<Channel>, ApiProblem> {
    let mut channels = Vec::new();
    for workspace in workspaces::all(web).await? {
        if visitor.access.may_read_models(&workspace) {
            channels.extend(web.archive.channels(&workspace).await?);
        }
    }
    Ok(channels)
}

/// The personas to try, and the channel to try them on.
struct TrialRequest<'a> {
    channel: &'a Channel,
    present: &'a EditedPersona,
    edited: &'a EditedPersona,
    fields: &'a PersonaFields,
    cap: Option<Cap>,
}

async fn result(
    web: &Arc<Web>,
    visitor: &Visitor,
    language: Language,
    request: &TrialRequest<'_>,
) -> Result<ResultView, ApiProblem> {
    let (access, channel) = (&visitor.access, request.channel);
    let judge = shadow::budgeted(web, channel, web.models.shadow_judge(channel), request.cap)?;
    let speaker = shadow::budgeted(web, channel, web.models.shadow_speaker(channel), request.cap)?;
    let moments = tried_moments(web, request).await?;
    let stored = shown(&moments);
    workspaces::record_look(web, access, &channel.workspace, Shown::Messages(&stored)).await?;
    let secrets = web.models.secrets().clone();
    let (judging, speaking) = (judge.model.clone(), speaker.model.clone());
    let trial = Arc::new(PersonaTrial { moments, judge: judging, speaker: speaking, secrets });
    let (tried, runtime) = (trial.clone(), Handle::current());
    let work = move |stop: &_| Ok(runtime.block_on(tried.run(stop)));
    let found = web.computations.run(work).await?;
    let limit = judge.reached_limit().or(speaker.reached_limit());
    let builder = ViewBuilder { access, language, channel, currency: &web.currency, trial: &trial };
    Ok(ResultView {
        patch: request.edited.patch(request.present),
        cap: request.fields.cap_text(),
        ..builder.view(&found, request.cap.is_some(), limit)
    })
}

/// Returns the channel's newest moments, with the prompts of the personas that are tried on them.
async fn tried_moments(
    web: &Web,
    request: &TrialRequest<'_>,
) -> Result<Vec<TriedMoment>, ApiProblem> {
    let config = web.models.config();
    let differs = request.edited.differs_from(request.present);
    let tried = differs.then(|| request.edited.in_config(&config));
    let mut source = shadow::moments(web, &config).trying(tried);
    let mut moments = Vec::new();
    for decision in newest_moments(web, request.channel, request.fields.count()).await? {
        match source.read(request.channel, decision).await {
            Ok(tried) => moments.extend(tried),
            // Only the edited persona can be unfit, because the program runs with the present one.
            Err(MomentError::Prompts(_)) if differs => return Err(Refusal::UnfitPersona.into()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(moments)
}

/// Returns the newest closed decisions about which a model was asked, newest first.
async fn newest_moments(
    web: &Web,
    channel: &Channel,
    count: usize,
) -> Result<Vec<Decision>, ApiProblem> {
    let query = DecisionQuery::Channel {
        workspace: channel.workspace.clone(),
        channel: channel.id.clone(),
        limit: LOOKED_AT,
    };
    let mut decisions = web.archive.decisions(query).await?;
    decisions.sort_by_key(|decision| std::cmp::Reverse(decision.id));
    let is_asked = |decision: &Decision| {
        let mut verbs = decision.attempts.iter().map(|attempt| &*attempt.verb);
        verbs.any(|verb| ["judge", "reply"].contains(&verb))
    };
    decisions.retain(|decision| decision.closed.is_some() && is_asked(decision));
    decisions.truncate(count);
    Ok(decisions)
}
