//! Parses a judge's answer: leniently where its meaning is certain, since what a model meant by `"true"` or 90 percent
//! is no question. Errors do not repeat the answer, which may contain chat text.

use std::sync::Arc;

use aizuchi_llm::prompt::Prompt;
use aizuchi_model::chat::{Message, to_single_line};
use aizuchi_model::context::Context;
use aizuchi_model::context::conversation_analysis::ConversationAnalysis;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::decision::Judgment;
use aizuchi_structure::cues::Cues;
use serde_json::Value;

use crate::agent::answer_object::{AnswerObject, find_object};

/// The maximum length of a reason, in characters. The prompt asks for one sentence.
const MAX_REASON_CHARS: usize = 500;

/// A judgment as it was read.
pub struct ReadJudgment {
    pub judgment: Judgment,
    /// In what the answer differed from what was asked for, for the operator.
    pub note: Option<String>,
}

/// Parses a judge's answer.
pub fn parse_judgment(response: &str, prompt: &Prompt) -> Result<Judgment, String> {
    read_judgment(response, prompt).map(|read| read.judgment)
}

/// Parses a judge's answer, and tells what had to be guessed about its form.
pub fn read_judgment(response: &str, prompt: &Prompt) -> Result<ReadJudgment, String> {
    let mut fields = AnswerFields(find_object(response, "should_respond")?);
    let should_respond =
        fields.take_flag("should_respond")?.ok_or("should_respond is neither true nor false")?;
    let reason = fields.take_text("reason").ok_or("it gives no reason")?;
    let confidence = fields.take_confidence()?;
    let delay_seconds = fields.take_seconds("delay_seconds")?;
    // Some models write 0 or false for "no".
    let look_again_seconds = fields.take_seconds("look_again_seconds").unwrap_or(None);
    let about = fields.take_text("about");
    let open = || if should_respond { newest_open_question(&prompt.context) } else { None };
    let named = find_message(about.as_deref(), prompt);
    let about = named.filter(|message| !prompt.context.is_left_to_thread(message)).or_else(open);
    let about = about.or_else(|| prompt.context.newest_human_message());
    let orders = &prompt.context.standing_orders;
    let judgment = Judgment {
        should_respond,
        reason: truncate_reason(&to_single_line(&reason)),
        confidence,
        delay_seconds,
        look_again_seconds: look_again_seconds.filter(|seconds| *seconds > 0 && !should_respond),
        about: about.map(|message| message.id.clone()),
        conversation_state: fields
            .take_text("conversation_state")
            .and_then(|state| ConversationState::parse(&state)),
        // Anything else in this field may be chat text, and the ledger would keep it.
        reaction: fields
            .take_text("reaction")
            .filter(|emoji| prompt.judge_options.reactions.contains(emoji)),
        same_conversation: fields.take_flag("same_conversation")?,
        situation_changed: fields.take_flag("situation_changed")?,
        // The model may have made up the number.
        order: fields
            .take("order")
            .as_i64()
            .filter(|number| orders.iter().any(|order| order.number == *number)),
        post_at: None,
    };
    let differences = fields.0.differences;
    let note = (!differences.is_empty()).then(|| format!("read with {}", differences.join(", ")));
    Ok(ReadJudgment { judgment, note })
}

/// The fields of an answer, each of which is read once.
struct AnswerFields(AnswerObject);

impl AnswerFields {
    fn take(&mut self, name: &str) -> Value {
        let value = self.0.fields.remove(name).unwrap_or_default();
        let is_null = value.as_str().is_some_and(|text| {
            let text = text.trim();
            text.is_empty() || ["null", "none"].iter().any(|none| text.eq_ignore_ascii_case(none))
        });
        if is_null { Value::Null } else { value }
    }

    /// Takes a text. A value of another type is none.
    fn take_text(&mut self, name: &str) -> Option<String> {
        match self.take(name) {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    fn take_flag(&mut self, name: &str) -> Result<Option<bool>, String> {
        let flag = match self.take(name) {
            Value::Null => return Ok(None),
            Value::Bool(flag) => return Ok(Some(flag)),
            Value::String(text) => match text.trim().to_lowercase().as_str() {
                "true" | "yes" => Some(true),
                "false" | "no" => Some(false),
                _ => None,
            },
            Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        };
        self.differ("a value of another type");
        flag.map(Some).ok_or_else(|| format!("{name} is neither true nor false"))
    }

    /// Takes the confidence: from 0 to 1, or clearly in percent. A 9 could be one of ten.
    fn take_confidence(&mut self) -> Result<f64, String> {
        let (number, is_percent) = match self.take("confidence") {
            Value::String(text) => {
                self.differ("a value of another type");
                let percent = text.trim().strip_suffix('%');
                let number = percent.unwrap_or(&text).trim().parse::<f64>().ok();
                (number, percent.is_some())
            }
            value => (value.as_f64(), false),
        };
        match number {
            Some(number) if !is_percent && (0.0..=1.0).contains(&number) => Ok(number),
            Some(number) if (is_percent || number > 10.0) && (0.0..=100.0).contains(&number) => {
                self.differ("a confidence in percent");
                Ok(number / 100.0)
            }
            Some(_) | None => Err("confidence is not between 0.0 and 1.0".to_owned()),
        }
    }

    /// Takes a number of seconds, without a part of one.
    fn take_seconds(&mut self, name: &str) -> Result<Option<u32>, String> {
        let number = match self.take(name) {
            Value::Null => return Ok(None),
            Value::String(text) => {
                self.differ("a value of another type");
                let number = text.trim().trim_end_matches(char::is_alphabetic).trim_end();
                let unit = text.trim()[number.len()..].trim_start().to_lowercase();
                let is_seconds = matches!(&*unit, "" | "s" | "sec" | "secs" | "second" | "seconds");
                number.parse().ok().filter(|_| is_seconds)
            }
            value => value.as_f64(),
        };
        match number {
            Some(seconds) if seconds >= 0.0 => Ok(Some(seconds as u32)),
            Some(_) | None => Err(format!("{name} is not a number of seconds")),
        }
    }

    fn differ(&mut self, difference: &'static str) {
        if !self.0.differences.contains(&difference) {
            self.0.differences.push(difference);
        }
    }
}

/// Shortens a reason, which is shown beside a single chat message.
fn truncate_reason(reason: &str) -> String {
    match reason.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// Finds the message that the model named by its printed time and author. If several have the same second, the one that
/// asks is chosen.
fn find_message<'p>(about: Option<&str>, prompt: &'p Prompt) -> Option<&'p Arc<Message>> {
    let named = about?.replace("**", "");
    let named = named.trim().trim_end_matches(':');
    let mut target = prompt.context.target_messages().iter().rev();
    let newest = target.find(|message| named == prompt.speakers.message_label(message))?;
    let second = newest.at.as_second();
    let others = target.take_while(|message| message.at.as_second() == second);
    let others = others.filter(|message| message.author == newest.author);
    let asks = |message: &&Arc<Message>| Cues::from_text(&message.text).contains(Cues::ASKS);
    std::iter::once(newest).chain(others).find(asks).or(Some(newest))
}

/// Returns the message that a yes is about if it names none.
fn newest_open_question(context: &Context) -> Option<&Arc<Message>> {
    let analysis = ConversationAnalysis::new(context);
    analysis.open_questions().next_back().map(|question| question.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_reasons_are_truncated() {
        assert_eq!(truncate_reason("誰も答えていません"), "誰も答えていません");
        assert_eq!(truncate_reason(&"あ".repeat(500)), "あ".repeat(500));
        assert_eq!(truncate_reason(&"あ".repeat(501)), "あ".repeat(500) + "…");
    }
}
