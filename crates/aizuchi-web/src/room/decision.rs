//! The page of one decision: the messages it considered, its model calls with prompt and answer, and its result.

use std::sync::Arc;

use aizuchi_actions::access::Access;
use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::decision::{Attempt, Decision, DecisionId, DecisionResult, ModelExchange};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::ledger::{self, DecisionDetails, LabeledValue};
use aizuchi_store::query::DecisionQuery;
use aizuchi_store::stored_message::StoredMessage;
use askama::Template;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::Method;
use axum::response::Html;

use crate::access::{Visitor, allows};
use crate::refusal::Refusal;
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, workspaces};

#[derive(Template)]
#[template(path = "decision.html")]
struct DecisionPage<'a> {
    language: &'a str,
    words: PageLabels,
    has_session: bool,
    number: i64,
    channel: &'a str,
    /// The page to return to.
    home: &'static str,
    /// The message that it was about.
    about: Option<MessageItem>,
    outcome: String,
    is_failure: bool,
    is_open: bool,
    why: String,
    next: Option<String>,
    /// Why the messages are hidden, if they are.
    withheld: Option<&'static str>,
    facts: Vec<LabeledValue>,
    considered: Vec<MessageItem>,
    said: Vec<MessageItem>,
    calls: Vec<CallRow>,
}

/// The fixed texts of the page.
struct PageLabels {
    title: &'static str,
    back: &'static str,
    sign_out: &'static str,
    about: &'static str,
    did: &'static str,
    why: &'static str,
    no_reason: &'static str,
    next: &'static str,
    nothing_next: &'static str,
    more: &'static str,
    covers: &'static str,
    calls: &'static str,
    no_calls: &'static str,
    no_calls_yet: &'static str,
    prompt: &'static str,
    answer: &'static str,
    no_answer: &'static str,
    dropped: &'static str,
}

struct MessageItem {
    at: String,
    iso: String,
    name: String,
    text: String,
}

/// A model call.
struct CallRow {
    title: String,
    facts: Vec<LabeledValue>,
    prompt: Option<String>,
    answer: Option<String>,
}

pub async fn decision(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Html<String>, ApiProblem> {
    let Path(id) = id.map_err(|_| absent())?;
    let decision = find(&web, DecisionId(id)).await?.ok_or_else(absent)?;
    let mut exchanges = web.archive.exchanges(decision.id).await?;
    let mut details = DecisionDetails::load(&*web.archive, decision).await?;
    let access = &visitor.access;
    let may_read = access.may_read_models(&details.decision.conversation.workspace);
    if may_read {
        let shown = Shown::Decisions(std::slice::from_ref(&details.decision));
        let workspace = &details.decision.conversation.workspace;
        workspaces::record_look(&web, access, workspace, shown).await?;
    } else {
        details = details.without_texts();
        exchanges.fill(None);
    }
    let decision = &details.decision;
    let language = web.persona.language;
    let rows = |messages: &[StoredMessage]| {
        messages.iter().map(|message| message_item(message, language)).collect()
    };
    let calls = decision.attempts.iter().zip(exchanges);
    let page = DecisionPage {
        language: language.tag(),
        words: PageLabels::new(language),
        has_session: visitor.session.is_some(),
        number: id,
        channel: match access.may_name(details.visibility) {
            true => &details.channel_name,
            false => decision.conversation.channel.as_str(),
        },
        home: match allows(access, &Method::GET, "/") {
            true => "/",
            false => "/console",
        },
        about: details.cause().map(|message| message_item(message, language)),
        outcome: texts::pages::outcome(language, &web.persona.name, decision.ended),
        is_failure: decision.ended == Some(DecisionResult::Failed),
        is_open: decision.closed.is_none(),
        why: details.why(language).unwrap_or_default().to_owned(),
        next: details.aftermath(language).map(|aftermath| aftermath.value),
        withheld: (!may_read).then(|| match access {
            Access::SignedIn(_) => texts::console::withheld(language),
            Access::Public | Access::ThisMachine => texts::pages::texts_withheld(language),
        }),
        facts: details.labeled_values(language),
        considered: rows(&details.considered),
        said: rows(&details.posted_messages),
        calls: calls
            .map(|(attempt, exchange)| call(attempt, exchange, language, &web.currency))
            .collect(),
    };
    page.render().map(Html).map_err(|_| Refusal::PageFailed.into())
}

/// Finds a decision in any workspace.
pub async fn find(web: &Web, id: DecisionId) -> Result<Option<Decision>, ApiProblem> {
    for workspace in workspaces::all(web).await? {
        let query = DecisionQuery::One { workspace, id };
        if let Some(decision) = web.archive.decisions(query).await?.pop() {
            return Ok(Some(decision));
        }
    }
    Ok(None)
}

pub fn absent() -> ApiProblem {
    ActionRefusal::NoDecision.into()
}

fn message_item(message: &StoredMessage, language: Language) -> MessageItem {
    MessageItem {
        at: ledger::format_time(message.message.at),
        iso: message.message.at.to_string(),
        name: message.author_name.to_string(),
        text: ledger::message_text(message, language),
    }
}

fn call(
    attempt: &Attempt,
    exchange: Option<ModelExchange>,
    language: Language,
    currency: &str,
) -> CallRow {
    CallRow {
        title: ledger::call_title(attempt, language),
        facts: ledger::call_values(attempt, language, currency),
        prompt: exchange.as_ref().map(|exchange| exchange.prompt.to_string()),
        answer: exchange.and_then(|exchange| exchange.answer).map(|answer| answer.to_string()),
    }
}

impl PageLabels {
    fn new(language: Language) -> Self {
        Self {
            title: texts::pages::decision(language),
            back: texts::pages::back(language),
            sign_out: texts::pages::sign_out(language),
            about: texts::pages::about(language),
            did: texts::pages::did(language),
            why: texts::pages::why(language),
            no_reason: texts::pages::no_reason(language),
            next: texts::ledger::aftermath(language),
            nothing_next: texts::pages::nothing_next(language),
            more: texts::pages::more(language),
            covers: texts::pages::covers(language),
            calls: texts::pages::calls(language),
            no_calls: texts::pages::no_calls(language),
            no_calls_yet: texts::pages::no_calls_yet(language),
            prompt: texts::pages::prompt(language),
            answer: texts::pages::answer(language),
            no_answer: texts::pages::no_answer(language),
            dropped: texts::pages::exchange_dropped(language),
        }
    }
}
