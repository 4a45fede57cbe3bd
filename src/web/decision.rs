//! One decision, opened: what was considered, what the mind was asked and answered, how it ended.

use std::sync::Arc;

use crate::ledger::{self, Account, Fact, words};
use crate::web::{Problem, Web};
use aizuchi_core::decision::{Attempt, DecisionId, Ended, Exchange};
use aizuchi_core::persona::Language;
use aizuchi_core::platform::local::workspace;
use aizuchi_core::store::{DecisionQuery, Line};
use askama::Template;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Html;

#[derive(Template)]
#[template(path = "decision.html")]
struct DecisionPage<'a> {
    language: &'a str,
    words: Words,
    number: i64,
    channel: &'a str,
    ended: &'a str,
    is_failure: bool,
    is_open: bool,
    why: String,
    facts: Vec<Fact>,
    considered: Vec<ShownLine>,
    said: Vec<ShownLine>,
    calls: Vec<Call>,
}

/// The page's fixed texts.
struct Words {
    title: &'static str,
    back: &'static str,
    considered: &'static str,
    said: &'static str,
    calls: &'static str,
    no_calls: &'static str,
    no_calls_yet: &'static str,
    prompt: &'static str,
    answer: &'static str,
    no_answer: &'static str,
    dropped: &'static str,
}

struct ShownLine {
    at: String,
    iso: String,
    name: String,
    text: String,
}

/// A model call.
struct Call {
    title: String,
    facts: Vec<Fact>,
    prompt: Option<String>,
    answer: Option<String>,
}

pub async fn decision(
    State(web): State<Arc<Web>>,
    id: Result<Path<i64>, PathRejection>,
) -> Result<Html<String>, Problem> {
    let absent = || Problem::new(StatusCode::NOT_FOUND, "there is no such decision");
    let Path(id) = id.map_err(|_| absent())?;
    let query = DecisionQuery::One { workspace: workspace(), id: DecisionId(id) };
    let decision = web.archive.decisions(query).await?.pop().ok_or_else(absent)?;
    let exchanges = web.archive.exchanges(decision.id).await?;
    let account = Account::read(&*web.archive, decision).await?;
    let decision = &account.decision;
    let language = web.persona.language;
    let shown = |lines: &[Line]| lines.iter().map(|line| shown_line(line, language)).collect();
    let calls = decision.attempts.iter().zip(exchanges);
    let page = DecisionPage {
        language: language.tag(),
        words: Words::of(language),
        number: id,
        channel: &account.channel_name,
        ended: words::ended(decision.ended, language),
        is_failure: decision.ended == Some(Ended::Failed),
        is_open: decision.closed.is_none(),
        why: decision.why.clone().unwrap_or_default(),
        facts: account.facts(language).into_iter().chain(account.next(language)).collect(),
        considered: shown(&account.considered),
        said: shown(&account.said),
        calls: calls
            .map(|(attempt, exchange)| call(attempt, exchange, language, &web.currency))
            .collect(),
    };
    let broken = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made");
    page.render().map(Html).map_err(broken)
}

fn shown_line(line: &Line, language: Language) -> ShownLine {
    ShownLine {
        at: ledger::moment(line.message.at),
        iso: line.message.at.to_string(),
        name: line.name.to_string(),
        text: ledger::text(line, language),
    }
}

fn call(attempt: &Attempt, exchange: Option<Exchange>, language: Language, currency: &str) -> Call {
    Call {
        title: ledger::call_title(attempt, language),
        facts: ledger::call_facts(attempt, language, currency),
        prompt: exchange.as_ref().map(|exchange| exchange.prompt.to_string()),
        answer: exchange.and_then(|exchange| exchange.answer).map(|answer| answer.to_string()),
    }
}

impl Words {
    fn of(language: Language) -> Self {
        Self {
            title: language.pick("Decision", "判断"),
            back: language.pick("Back to the room", "部屋に戻る"),
            considered: language.pick("Lines it was about", "対象の発言"),
            said: language.pick("What was said", "発言した内容"),
            calls: language.pick("What the mind was asked", "モデルへの問い合わせ"),
            no_calls: language.pick(
                "Nobody was asked: a rule settled it.",
                "問い合わせはありません。ルールだけで決まりました。",
            ),
            no_calls_yet: language
                .pick("Nobody has been asked yet.", "まだ問い合わせていません。"),
            prompt: language.pick("Prompt", "プロンプト"),
            answer: language.pick("Answer", "回答"),
            no_answer: language.pick("There is no answer.", "回答はありません。"),
            dropped: language.pick(
                "The words are no longer kept: their time is up, or a line in them was edited or deleted.",
                "内容は残っていません。保存期間が過ぎたか、含まれていた発言が編集または削除されました。",
            ),
        }
    }
}
