//! Judge: should it join in? Gates first, then one model call, and one more to mend an answer that
//! cannot be read. Whatever is not a clear yes is silence (invariants 7 and 8).

use std::sync::Arc;

use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Attempts, Trouble};
use crate::chat::{ConversationId, MessageId, one_line};
use crate::clock::seconds;
use crate::context::Context;
use crate::decision::{AttemptEnd, Ended, Gate, Judgment, gate};
use crate::event::{Closing, End};
use crate::persona::Language;
use crate::prompt::Prompt;

/// In characters. One sentence was asked for.
const LONGEST_REASON: usize = 500;

impl Agent {
    pub(super) async fn judge(
        &self,
        conversation: &ConversationId,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<End, Trouble> {
        let context = Arc::new(self.context(conversation).await?);
        if let Some(gate) = gate(&self.settings.gates, &context) {
            let why = gate_reason(gate, self.persona.language);
            let closing = Closing::new(Ended::ChoseSilence, why);
            return Ok(End::Silent(Closing { gate: Some(gate), ..closing }));
        }
        if context.newest_human().is_none() {
            let why =
                self.persona.language.pick("what was said was deleted", "発言が削除されました");
            return Ok(End::Silent(Closing::new(Ended::Dropped, why)));
        }
        let judgment = self.verdict(&context, overtaken, attempts).await?;
        let state = context.state();
        if !judgment.should_respond {
            return Ok(End::Silent(Closing {
                ended: Ended::ChoseSilence,
                gate: None,
                why: judgment.reason.clone(),
                judgment: Some(judgment),
                state: Some(state),
            }));
        }
        // `null` leaves the moment to us, and with a fixed wait that is now (seed 002-2).
        let delay =
            f64::from(judgment.delay_seconds.unwrap_or(0)).min(self.settings.max_delay_seconds);
        Ok(End::Join { judgment, state, due: self.now() + seconds(delay) })
    }

    async fn verdict(
        &self,
        context: &Arc<Context>,
        overtaken: &CancellationToken,
        attempts: &mut Attempts,
    ) -> Result<Judgment, Trouble> {
        let mind = &self.minds.judgment;
        let mut prompt = self.prompts.judge(&mind.persona, context, &self.scene(mind));
        let mut problem = String::new();
        for _ in 0..2 {
            let answer = self.ask(mind, &prompt, overtaken, attempts).await?;
            let parsed = parse(&answer, &prompt);
            if let Some(attempt) = attempts.last_mut() {
                attempt.judgment = parsed.as_ref().ok().cloned();
                attempt.error = parsed.as_ref().err().cloned();
                attempt.end = if parsed.is_ok() { AttemptEnd::Kept } else { AttemptEnd::Failed };
            }
            match parsed {
                Ok(judgment) => return Ok(judgment),
                Err(why) => problem = why,
            }
            prompt = prompt.repair(&problem);
        }
        Err(Trouble::Lasting { error: format!("the judge's answer cannot be used: {problem}") })
    }
}

/// Reads a judge's answer: one JSON object, perhaps with words or a code fence around it. What is
/// wrong is said without repeating the answer, which may hold chat text.
pub fn parse(answer: &str, prompt: &Prompt) -> Result<Judgment, String> {
    #[derive(Deserialize)]
    struct Answered {
        should_respond: bool,
        reason: String,
        confidence: f64,
        #[serde(default)]
        delay_seconds: Option<u32>,
        #[serde(default)]
        about: Option<String>,
    }
    let begin = answer.find('{').ok_or("it holds no JSON object")?;
    let end = answer.rfind('}').filter(|end| *end > begin).ok_or("its JSON object does not end")?;
    let answered: Answered =
        serde_json::from_str(&answer[begin..=end]).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => {
                "a field is missing or has the wrong type".to_owned()
            }
            serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof
            | serde_json::error::Category::Io => "it is not valid JSON".to_owned(),
        })?;
    if !(0.0..=1.0).contains(&answered.confidence) {
        return Err("confidence is not between 0.0 and 1.0".to_owned());
    }
    Ok(Judgment {
        should_respond: answered.should_respond,
        reason: shortened(&one_line(&answered.reason)),
        confidence: answered.confidence,
        delay_seconds: answered.delay_seconds,
        about: resolve(answered.about.as_deref(), prompt),
    })
}

/// A reason stands beside a line of chat, so a model that rambles is cut short.
fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}

/// The line that a model names by its printed time and name; else the newest human line.
fn resolve(about: Option<&str>, prompt: &Prompt) -> Option<MessageId> {
    let named = about.map(|about| about.replace("**", ""));
    let named = named.as_deref().map(|about| about.trim().trim_end_matches(':'));
    let found = named.and_then(|named| {
        let mut target = prompt.context.target().iter().rev();
        target.find(|message| named == prompt.speakers.stamp(message))
    });
    found.or(prompt.context.newest_human()).map(|message| message.id.clone())
}

/// What a gate that settled a decision is, for people.
pub fn gate_reason(gate: Gate, language: Language) -> &'static str {
    match gate {
        Gate::Directed => language.pick(
            "everything new was said to somebody else",
            "新しい発言はどれも、ほかの人に向けたものです",
        ),
        Gate::SpokeLast => language.pick(
            "I spoke last, and nobody has answered since",
            "最後に話したのは私で、まだ返事がありません",
        ),
        Gate::Unchanged => language.pick(
            "nothing has changed since I last looked",
            "前回判断したときから何も変わっていません",
        ),
        Gate::Cooldown => {
            language.pick("I spoke unasked not long ago", "少し前に自分から話したばかりです")
        }
        Gate::Share => language
            .pick("much of what was said lately was said by me", "最近の発言の多くが私のものです"),
        Gate::OwnLine => language.pick("it is my own line", "自分の発言です"),
        Gate::OtherBot => language.pick("it is another bot's line", "ほかのボットの発言です"),
        Gate::CaughtUp => language.pick("it was said while I was away", "不在の間の発言です"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_rambles_is_cut_short() {
        assert_eq!(shortened("誰も答えていません"), "誰も答えていません");
        assert_eq!(shortened(&"あ".repeat(500)), "あ".repeat(500));
        assert_eq!(shortened(&"あ".repeat(501)), "あ".repeat(500) + "…");
    }
}
