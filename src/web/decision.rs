//! One decision, opened: what was considered, what the mind was asked and answered, how it ended.

use std::sync::Arc;

use askama::Template;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Html;
use jiff::Timestamp;

use crate::agent::judge::gate_reason;
use crate::chat::MessageId;
use crate::decision::{Attempt, AttemptEnd, Decision, DecisionId, Ended, Exchange, LeftOut};
use crate::persona::Language;
use crate::platform::local::workspace;
use crate::store::{DecisionQuery, Line};
use crate::web::{Problem, Web};

#[derive(Template)]
#[template(path = "decision.html")]
struct DecisionPage<'a> {
    language: &'a str,
    words: Words,
    number: i64,
    channel: String,
    ended: &'a str,
    is_failure: bool,
    is_open: bool,
    why: String,
    facts: Vec<Fact<'a>>,
    considered: Vec<ShownLine>,
    said: Vec<ShownLine>,
    calls: Vec<Call<'a>>,
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

struct Fact<'a> {
    name: &'a str,
    value: String,
    /// The same for machines, if it is a moment: browsers show it in their own time.
    moment: Option<String>,
}

impl<'a> Fact<'a> {
    fn new(name: &'a str, value: impl Into<String>) -> Self {
        Self { name, value: value.into(), moment: None }
    }

    fn at(name: &'a str, at: Timestamp) -> Self {
        Self { name, value: moment(at), moment: Some(at.to_string()) }
    }
}

struct ShownLine {
    at: String,
    iso: String,
    name: String,
    text: String,
}

/// A model call.
struct Call<'a> {
    title: String,
    facts: Vec<Fact<'a>>,
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
    let considered = lines(&web, &decision, &decision.messages).await?;
    let said = lines(&web, &decision, &decision.said).await?;
    let language = web.persona.language;
    let calls = decision.attempts.iter().zip(exchanges);
    let page = DecisionPage {
        language: language.tag(),
        words: Words::of(language),
        number: id,
        channel: channel_name(&web, &decision).await?,
        ended: ended(decision.ended, language),
        is_failure: decision.ended == Some(Ended::Failed),
        is_open: decision.closed.is_none(),
        why: decision.why.clone().unwrap_or_default(),
        facts: facts(&decision, language),
        considered,
        said,
        calls: calls
            .map(|(attempt, exchange)| call(attempt, exchange, language, &web.currency))
            .collect(),
    };
    let broken = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made");
    page.render().map(Html).map_err(broken)
}

async fn channel_name(web: &Web, decision: &Decision) -> Result<String, Problem> {
    let channels = web.archive.channels(&workspace()).await?;
    let channel = channels.iter().find(|channel| channel.id == decision.conversation.channel);
    Ok(channel
        .map_or(decision.conversation.channel.to_string(), |channel| channel.name.to_string()))
}

async fn lines(
    web: &Web,
    decision: &Decision,
    ids: &[MessageId],
) -> Result<Vec<ShownLine>, Problem> {
    let mut shown = Vec::with_capacity(ids.len());
    for id in ids {
        let line = web.archive.line(&workspace(), &decision.conversation.channel, id).await?;
        shown.extend(line.map(|line| shown_line(&line, web.persona.language)));
    }
    Ok(shown)
}

fn shown_line(line: &Line, language: Language) -> ShownLine {
    let taken_back = language.pick("(deleted)", "（削除されました）");
    ShownLine {
        at: moment(line.message.at),
        iso: line.message.at.to_string(),
        name: line.name.to_string(),
        text: if line.is_deleted { taken_back.to_owned() } else { line.message.text.to_string() },
    }
}

fn facts(decision: &Decision, language: Language) -> Vec<Fact<'static>> {
    let mut facts = vec![Fact::at(language.pick("Opened", "開始"), decision.opened)];
    facts.extend(decision.closed.map(|at| Fact::at(language.pick("Closed", "終了"), at)));
    facts.extend(decision.gate.map(|gate| {
        Fact::new(
            language.pick("Settled by a rule", "適用されたルール"),
            gate_reason(gate, language),
        )
    }));
    let Some(verdict) = &decision.judgment else { return facts };
    let wants = match verdict.should_respond {
        true => language.pick("speak", "発言する"),
        false => language.pick("stay silent", "黙っている"),
    };
    facts.push(Fact::new(language.pick("Verdict", "結論"), wants));
    if !verdict.reason.is_empty() {
        facts.push(Fact::new(language.pick("Reason", "理由"), verdict.reason.as_str()));
    }
    let confidence = format!("{:.2}", verdict.confidence);
    facts.push(Fact::new(language.pick("Confidence", "確信度"), confidence));
    let delay = verdict.delay_seconds.map(|delay| format!("{delay} s"));
    facts.extend(delay.map(|delay| Fact::new(language.pick("Delay", "待ち時間"), delay)));
    facts
}

fn call<'a>(
    attempt: &Attempt,
    exchange: Option<Exchange>,
    language: Language,
    currency: &str,
) -> Call<'a> {
    let verb = match &*attempt.verb {
        "judge" => language.pick("Judge", "判断"),
        "reply" => language.pick("Reply", "返答"),
        _ => language.pick("Call", "呼び出し"),
    };
    let end = match attempt.end {
        AttemptEnd::Kept => language.pick("used", "採用"),
        AttemptEnd::Superseded => {
            language.pick("discarded: people moved on", "破棄（会話が進んだため）")
        }
        AttemptEnd::Failed => language.pick("failed", "失敗"),
    };
    let usage = attempt.usage;
    let took = format!("{:.1} s", attempt.latency.as_secs_f64());
    let tokens =
        format!("{} · {} · {}", usage.input_tokens, usage.cached_tokens, usage.output_tokens);
    let tokens_name = language
        .pick("Tokens (in, of which cached, out)", "トークン（入力・うちキャッシュ・出力）");
    let mut facts = vec![
        Fact::new(language.pick("Model", "モデル"), attempt.model.to_string()),
        Fact::at(language.pick("At", "時刻"), attempt.at),
        Fact::new(language.pick("Took", "所要時間"), took),
        Fact::new(tokens_name, tokens),
    ];
    let price = attempt.price.map(|price| format!("{:.6} {currency}", price.micros as f64 / 1e6));
    facts.extend(price.map(|price| Fact::new(language.pick("Price", "費用"), price)));
    let left_out = attempt.left_out.iter().map(|left| left_out(left, language));
    let left_out = left_out.collect::<Vec<_>>().join(language.pick(", ", "、"));
    if !left_out.is_empty() {
        let name = language.pick("Left out for want of room", "入りきらず省いたもの");
        facts.push(Fact::new(name, left_out));
    }
    let error = attempt.error.clone();
    facts.extend(error.map(|error| Fact::new(language.pick("What went wrong", "エラー"), error)));
    Call {
        title: format!("{verb}: {end}"),
        facts,
        prompt: exchange.as_ref().map(|exchange| exchange.prompt.to_string()),
        answer: exchange.and_then(|exchange| exchange.answer).map(|answer| answer.to_string()),
    }
}

fn left_out(left: &LeftOut, language: Language) -> String {
    let section = match &*left.section {
        "workspace_memory" => language.pick("workspace memory", "ワークスペースの記憶"),
        "channel_memories" => language.pick("channel memories", "チャンネルの記憶"),
        "thread_memories" => language.pick("thread memories", "スレッドの記憶"),
        "memos" => language.pick("memos", "メモ"),
        "recalled" => language.pick("old lines", "過去の発言"),
        "other_talk" => language.pick("other talk", "ほかの会話"),
        "target" => language.pick("lines of the conversation", "対象の会話"),
        "long_lines" => language.pick("parts of long lines", "長い発言の一部"),
        other => other,
    };
    let (count, tokens) = (left.count, left.tokens);
    match language {
        Language::En => format!("{section}: {count} ({tokens} tokens)"),
        Language::Ja => format!("{section}: {count} 件（{tokens} トークン）"),
    }
}

fn ended(ended: Option<Ended>, language: Language) -> &'static str {
    match ended {
        None => language.pick("still open", "まだ決まっていません"),
        Some(Ended::Spoke) => language.pick("spoke", "発言しました"),
        Some(Ended::Reacted) => language.pick("reacted", "リアクションしました"),
        Some(Ended::Muted) => language.pick("was silenced", "話さないことになっています"),
        Some(Ended::OverBudget) => {
            language.pick("had used up its budget", "使える分を使い切っていました")
        }
        Some(Ended::ChoseSilence) => language.pick("chose silence", "黙っていることにしました"),
        Some(Ended::Dropped) => language.pick("dropped it", "取りやめました"),
        Some(Ended::Failed) => language.pick("failed", "失敗しました"),
    }
}

fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
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
