//! A decision as text: the messages it considered, the gates it passed, the judgment, the result and what happened
//! next. The page of a decision, `aizuchi why` and the tool of the same name show the same values.

pub mod reference;

use std::sync::Arc;

use aizuchi_llm::model_id::ModelId;
use aizuchi_model::chat::{ChannelId, MessageId, Visibility, WorkspaceId};
use aizuchi_model::decision::consent::Consent;
use aizuchi_model::decision::mark::DecisionMark;
use aizuchi_model::decision::{
    Attempt, AttemptResult, Decision, Evaluation, LOOK_UP, POST, PromptOmission, Usage,
};
use aizuchi_model::persona::Language;
use aizuchi_model::texts::{self, Name};
use aizuchi_store::StoreError;
use aizuchi_store::archive::Archive;
use aizuchi_store::query::{ConsentQuery, DecisionQuery};
use aizuchi_store::stored_message::StoredMessage;
use jiff::{SignedDuration, Timestamp};

/// The maximum number of calls shown for a decision.
const MAX_CALLS: usize = 20;

/// A decision with the messages that it refers to.
pub struct DecisionDetails {
    pub decision: Decision,
    pub channel_name: Arc<str>,
    /// The channel's current visibility.
    pub visibility: Visibility,
    /// The messages that it covers, oldest first.
    pub considered: Vec<StoredMessage>,
    pub posted_messages: Vec<StoredMessage>,
    /// The message that the reaction or the judgment is about.
    pub about: Option<StoredMessage>,
    /// The next message of another user after the decision was closed.
    pub answer: Option<StoredMessage>,
    /// How users marked the decision.
    pub mark: Option<DecisionMark>,
    /// The tool calls of the decision that needed consent, and their outcomes, without arguments and answers.
    pub calls: Vec<Consent>,
}

/// A message with every decision that covers it or that it resulted from.
pub struct MessageDecisions {
    pub message: StoredMessage,
    /// The newest last.
    pub decisions: Vec<DecisionDetails>,
}

/// One labeled value of a decision or a model call.
pub struct LabeledValue {
    pub name: &'static str,
    pub value: String,
    /// Set if the value is a time. Browsers show it in their own time zone.
    pub moment: Option<Timestamp>,
}

impl LabeledValue {
    pub fn new(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: value.into(), moment: None }
    }

    pub fn new_time(name: &'static str, at: Timestamp) -> Self {
        Self { name, value: format_time(at), moment: Some(at) }
    }
}

pub fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

impl MessageDecisions {
    pub async fn load(archive: &dyn Archive, message: StoredMessage) -> Result<Self, StoreError> {
        let conversation = &message.message.conversation;
        let query = DecisionQuery::Messages {
            workspace: conversation.workspace.clone(),
            channel: conversation.channel.clone(),
            messages: vec![message.message.id.clone()],
        };
        let mut decisions = Vec::new();
        for decision in archive.decisions(query).await? {
            decisions.push(DecisionDetails::load(archive, decision).await?);
        }
        Ok(Self { message, decisions })
    }
}

impl DecisionDetails {
    pub async fn load(archive: &dyn Archive, decision: Decision) -> Result<Self, StoreError> {
        let conversation = &decision.conversation;
        let (workspace, channel) = (&conversation.workspace, &conversation.channel);
        let reacted_to = decision.reaction.as_ref().map(|(message, _)| message);
        let judged = decision.judgment.as_ref().and_then(|judgment| judgment.about.as_ref());
        let next = decision.follow_up.first_reply.as_ref().map(|reply| &reply.message);
        let channels = archive.channels(workspace).await?;
        let known = channels.into_iter().find(|known| known.id == *channel);
        let read = async |ids: &[MessageId]| load_messages(archive, workspace, channel, ids).await;
        let one = async |id: Option<&MessageId>| {
            Ok::<_, StoreError>(read(id.map(std::slice::from_ref).unwrap_or_default()).await?.pop())
        };
        let mark = archive.marks(workspace, &[decision.id]).await?.pop();
        Ok(Self {
            mark,
            calls: load_calls(archive, &decision).await?,
            visibility: known.as_ref().map_or(Visibility::Private, |known| known.visibility),
            channel_name: known.map_or_else(|| channel.0.clone(), |known| known.name),
            considered: read(&decision.messages).await?,
            posted_messages: read(&decision.posted_messages).await?,
            about: one(reacted_to.or(judged)).await?,
            answer: one(next).await?,
            decision,
        })
    }

    /// Drops all chat text, and everything that a judge or a model wrote about it.
    pub fn without_texts(mut self) -> Self {
        self.considered.clear();
        self.posted_messages.clear();
        self.about = None;
        self.answer = None;
        self.decision = self.decision.without_texts();
        self
    }

    /// How the decision came about, without its model calls.
    pub fn labeled_values(&self, language: Language) -> Vec<LabeledValue> {
        let decision = &self.decision;
        let mut values =
            vec![LabeledValue::new_time(texts::ledger::opened(language), decision.opened)];
        values.extend(
            decision.closed.map(|at| LabeledValue::new_time(texts::ledger::closed(language), at)),
        );
        values.extend(
            decision
                .evaluation
                .iter()
                .flat_map(|evaluation| evaluation_values(evaluation, language)),
        );
        values.extend(decision.gate.map(|gate| {
            let name = texts::ledger::settled_by_gate(language);
            LabeledValue::new(name, texts::ledger::gate(language, gate))
        }));
        values.extend(self.verdict_values(language));
        values
    }

    /// Why the decision ended as it did, or a note that this was too old to be kept.
    pub fn why(&self, language: Language) -> Option<&str> {
        let decision = &self.decision;
        let gone = decision.is_expired.then(|| texts::ledger::reason_expired(language));
        decision.why.as_deref().filter(|why| !why.is_empty()).or(gone)
    }

    /// How the decision ended, and why.
    pub fn ended(&self, language: Language) -> String {
        let ended = texts::ledger::decision_result(language, self.decision.ended);
        self.why(language).map_or(ended.to_owned(), |why| format!("{ended} — {why}"))
    }

    /// The judge's verdict, and its effect.
    pub fn verdict_values(&self, language: Language) -> Vec<LabeledValue> {
        let mut values = judgment_values(&self.decision, language);
        values.extend(self.about.as_ref().map(|message| {
            LabeledValue::new(texts::ledger::about(language), quote_message(message, language))
        }));
        values.extend(self.calls.iter().map(|call| {
            let what = texts::consents::state(language, call.state);
            LabeledValue::new(texts::consents::call(language), format!("{}: {what}", call.tool))
        }));
        values.extend(self.decision.reaction.as_ref().map(|(_, emoji)| {
            LabeledValue::new(texts::ledger::reacted_with(language), emoji.to_string())
        }));
        values
    }

    /// The message that the decision is about, or else the newest one that it covers.
    pub fn cause(&self) -> Option<&StoredMessage> {
        self.about.as_ref().or(self.considered.last())
    }

    /// What happened after the decision was closed. `None` if nothing has yet.
    pub fn aftermath(&self, language: Language) -> Option<LabeledValue> {
        let next = &self.decision.follow_up;
        let reply = next.first_reply.as_ref().map(|reply| {
            let after = format_duration(reply.delay, language);
            match &self.answer {
                Some(message) => {
                    texts::ledger::replied_after(language, Name(&message.author_name), &after)
                }
                None => texts::ledger::someone_replied_after(language, &after),
            }
        });
        let reactions = match next.reactions {
            0 => None,
            1 => Some(texts::ledger::one_reaction(language).to_owned()),
            count => Some(texts::ledger::reactions(language, count)),
        };
        let all: Vec<String> = reply.into_iter().chain(reactions).collect();
        let name = texts::ledger::aftermath(language);
        (!all.is_empty()).then(|| {
            LabeledValue::new(name, all.join(texts::ledger::aftermath_separator(language)))
        })
    }
}

/// The recorded calls of a decision, oldest first.
async fn load_calls(
    archive: &dyn Archive,
    decision: &Decision,
) -> Result<Vec<Consent>, StoreError> {
    let query = ConsentQuery {
        workspace: Some(decision.conversation.workspace.clone()),
        decision: Some(decision.id),
        before: None,
        limit: MAX_CALLS,
    };
    // A call that has only lapsed by time is stored as lapsed before long.
    let calls = archive.consents(&query, Timestamp::MIN).await?.into_iter().rev();
    Ok(calls.map(|call| Consent { arguments: None, answer: None, ..call }).collect())
}

async fn load_messages(
    archive: &dyn Archive,
    workspace: &WorkspaceId,
    channel: &ChannelId,
    ids: &[MessageId],
) -> Result<Vec<StoredMessage>, StoreError> {
    let mut messages = Vec::with_capacity(ids.len());
    for id in ids {
        messages.extend(archive.message(workspace, channel, id).await?);
    }
    Ok(messages)
}

/// The text of a message, or a note that it was deleted or was too old.
pub fn message_text(message: &StoredMessage, language: Language) -> String {
    match (message.is_expired, message.is_deleted) {
        (true, _) => texts::ledger::expired(language).to_owned(),
        (false, true) => texts::ledger::deleted(language).to_owned(),
        (false, false) => texts::files::shown_text(language, &message.message),
    }
}

fn quote_message(message: &StoredMessage, language: Language) -> String {
    format!("{}: {}", message.author_name, message_text(message, language))
}

/// Why a gate settled a message when it was heard, if one did.
pub fn describe_gate_when_heard(
    message: &StoredMessage,
    language: Language,
) -> Option<&'static str> {
    let author = message.message.author.kind;
    Some(texts::judging::gate_reason_when_heard(language, message.gate?, author))
}

fn evaluation_values(evaluation: &Evaluation, language: Language) -> Vec<LabeledValue> {
    let mode = texts::ledger::mode(language, evaluation.mode);
    let mut values = vec![LabeledValue::new(texts::ledger::mode_heading(language), mode)];
    let passed: Vec<&str> =
        evaluation.passed_gates.iter().map(|gate| texts::ledger::gate(language, *gate)).collect();
    if !passed.is_empty() {
        let name = texts::ledger::passed_gates(language);
        values.push(LabeledValue::new(name, passed.join(texts::ledger::list_separator(language))));
    }
    let state = evaluation.conversation_state.map(|state| texts::ledger::state(language, state));
    values.extend(
        state.map(|state| LabeledValue::new(texts::ledger::state_heading(language), state)),
    );
    values
}

fn judgment_values(decision: &Decision, language: Language) -> Vec<LabeledValue> {
    let Some(judgment) = &decision.judgment else { return Vec::new() };
    let wants = match judgment.should_respond {
        true => texts::ledger::speak(language),
        false => texts::ledger::stay_silent(language),
    };
    let mut values = vec![LabeledValue::new(texts::ledger::verdict(language), wants)];
    let gone = decision.is_expired.then(|| texts::ledger::reason_expired(language));
    let reason = Some(judgment.reason.as_str()).filter(|reason| !reason.is_empty()).or(gone);
    values.extend(reason.map(|reason| LabeledValue::new(texts::ledger::reason(language), reason)));
    let needed = decision.evaluation.as_ref().and_then(|it| it.needed_confidence);
    let confidence = match needed {
        Some(needed) => texts::ledger::confidence_of(language, judgment.confidence, needed),
        None => format!("{:.2}", judgment.confidence),
    };
    values.push(LabeledValue::new(texts::ledger::confidence(language), confidence));
    let delay = judgment.delay_seconds.filter(|_| judgment.should_respond);
    let delay =
        delay.map(|delay| format_duration(SignedDuration::from_secs(delay.into()), language));
    values.extend(delay.map(|delay| LabeledValue::new(texts::ledger::delay(language), delay)));
    let order = judgment.order.map(|number| number.to_string());
    values.extend(order.map(|it| LabeledValue::new(texts::ledger::rests_on_order(language), it)));
    let emoji = judgment.reaction.as_deref().filter(|_| !judgment.should_respond);
    values.extend(
        emoji.map(|emoji| LabeledValue::new(texts::ledger::proposed_reaction(language), emoji)),
    );
    values
}

/// What a model call was for, and its result.
pub fn call_title(attempt: &Attempt, language: Language) -> String {
    let verb = texts::ledger::verb(language, &attempt.verb);
    let result = texts::ledger::attempt_result(language, attempt.result);
    texts::ledger::call_title(language, verb, result)
}

/// Formats the price of a call: at most four significant digits, or cents.
fn short_amount(micros: u64) -> String {
    let amount = micros as f64 / 1e6;
    let places = match micros {
        0 => 2,
        _ => (3 - amount.log10().floor() as i32).clamp(2, 6),
    };
    format!("{amount:.*}", places as usize)
}

pub fn call_values(attempt: &Attempt, language: Language, currency: &str) -> Vec<LabeledValue> {
    let usage = attempt.usage;
    let took = format!("{:.1} s", attempt.latency.as_secs_f64());
    let about = if usage.is_estimated { "≈ " } else { "" };
    let tokens = format!(
        "{about}{} · {} · {}",
        usage.input_tokens, usage.cached_tokens, usage.output_tokens
    );
    let tokens_name = texts::ledger::tokens(language);
    let is_builtin = *attempt.model == *ModelId::Builtin.to_string();
    let model = match is_builtin {
        true => texts::ledger::builtin_rules(language).to_owned(),
        false => attempt.model.to_string(),
    };
    let at = LabeledValue::new_time(texts::ledger::called_at(language), attempt.at);
    let mut values = match &*attempt.verb {
        POST => vec![at],
        LOOK_UP => vec![LabeledValue::new(texts::ledger::tool(language), model), at],
        _model_call => vec![
            LabeledValue::new(texts::ledger::model(language), model),
            at,
            LabeledValue::new(texts::ledger::took(language), took),
        ],
    };
    // The built-in mind uses no tokens.
    if usage != Usage::default() {
        values.push(LabeledValue::new(tokens_name, tokens));
    }
    let price = attempt.price.map(|price| format!("{} {currency}", short_amount(price.micros)));
    values.extend(price.map(|price| LabeledValue::new(texts::ledger::price(language), price)));
    let omissions = attempt.omissions.iter().map(|omission| describe_omission(omission, language));
    let omissions = omissions.collect::<Vec<_>>().join(texts::ledger::list_separator(language));
    if !omissions.is_empty() {
        let name = texts::ledger::omissions(language);
        values.push(LabeledValue::new(name, omissions));
    }
    let name = match attempt.result {
        AttemptResult::Kept => texts::ledger::reading(language),
        AttemptResult::Superseded | AttemptResult::LookedAgain | AttemptResult::Failed => {
            texts::ledger::error(language)
        }
    };
    values.extend(attempt.error.clone().map(|error| LabeledValue::new(name, error)));
    values
}

fn describe_omission(omission: &PromptOmission, language: Language) -> String {
    let section = texts::ledger::section(language, &omission.section);
    texts::ledger::omission(language, section, omission.count, omission.tokens)
}

/// A duration in the largest unit that fits.
pub fn format_duration(length: SignedDuration, language: Language) -> String {
    let seconds = length.as_secs();
    let (count, unit) = match seconds {
        ..120 => (seconds, texts::ledger::seconds(language)),
        120..7200 => (seconds / 60, texts::ledger::minutes(language)),
        7200..172_800 => (seconds / 3600, texts::ledger::hours(language)),
        172_800.. => (seconds / 86_400, texts::ledger::days(language)),
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_use_the_fitting_unit() {
        for (seconds, english, japanese) in [
            (0, "0 s", "0 秒"),
            (119, "119 s", "119 秒"),
            (120, "2 min", "2 分"),
            (7_199, "119 min", "119 分"),
            (7_200, "2 h", "2 時間"),
            (172_800, "2 days", "2 日"),
        ] {
            let formatted =
                |language| format_duration(SignedDuration::from_secs(seconds), language);
            assert_eq!((&*formatted(Language::En), &*formatted(Language::Ja)), (english, japanese));
        }
    }

    #[test]
    fn the_price_of_a_call_has_at_most_four_digits() {
        for (micros, expected) in [
            (0, "0.00"),
            (7, "0.000007"),
            (1_234, "0.001234"),
            (12_346, "0.01235"),
            (1_234_567, "1.235"),
            (98_765_432, "98.77"),
            (1_234_567_890, "1234.57"),
        ] {
            assert_eq!(short_amount(micros), expected);
        }
    }
}
