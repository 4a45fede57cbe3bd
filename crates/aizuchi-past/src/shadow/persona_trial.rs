//! Tries another persona on past moments, beside the present one: whether each would have spoken, and what it would
//! have said.

use std::time::Instant;

use aizuchi_config::Config;
use aizuchi_config::values::DisplayName;
use aizuchi_model::chat::is_blank;
use aizuchi_model::context::{Context, Intent};
use aizuchi_model::decision::Judgment;
use aizuchi_model::decision::verdict::Verdict;
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use futures_util::{StreamExt, stream};
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use crate::answer::{MindAnswer, ask_judge};
use crate::past_moment::PastMoment;
use crate::replay::judge::model::{CallBudget, CallCounts, ModelJudge, ShadowModel};
use crate::shadow::LONGEST_ASKING;
use crate::shadow::moments::TriedMoment;
use crate::shadow::prompts::PastPrompts;

/// The number of model calls in flight.
const MAX_CONCURRENT_CALLS: usize = 4;
/// The maximum length of a persona's prompt, in characters.
pub const MAX_PROMPT_CHARACTERS: usize = 20_000;

/// The parts of a persona that are edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedPersona {
    pub name: DisplayName,
    pub system_prompt: String,
}

impl EditedPersona {
    /// Returns the present persona.
    pub fn present(config: &Config) -> Self {
        let persona = config.persona.clone();
        Self { name: persona.name, system_prompt: persona.system_prompt }
    }

    /// Reads the values of a form. Browsers send their own line endings.
    pub fn from_form(name: DisplayName, system_prompt: &str) -> Self {
        Self { name, system_prompt: system_prompt.replace("\r\n", "\n") }
    }

    /// Whether the name or the prompt differs. Trailing whitespace in the prompt does not count.
    pub fn differs_from(&self, other: &Self) -> bool {
        self.name != other.name || self.has_other_prompt(other)
    }

    fn has_other_prompt(&self, other: &Self) -> bool {
        self.system_prompt.trim_end() != other.system_prompt.trim_end()
    }

    pub fn in_config(&self, config: &Config) -> Config {
        let mut edited = config.clone();
        edited.persona.name = self.name.clone();
        edited.persona.system_prompt.clone_from(&self.system_prompt);
        edited
    }

    /// Returns the part of a config that sets the differences. `None` if there are none.
    pub fn patch(&self, present: &Self) -> Option<String> {
        let mut patch = String::new();
        if self.name != present.name {
            patch.push_str(&format!("  name: {}\n", one_line(&self.name.0)));
        }
        if self.has_other_prompt(present) {
            patch.push_str(&format!("  system_prompt: {}\n", block(self.system_prompt.trim_end())));
        }
        (!patch.is_empty()).then(|| format!("persona:\n{patch}"))
    }
}

/// Quotes a text for YAML on one line, since a JSON string is a YAML string. What looks like an environment variable is
/// escaped.
fn one_line(text: &str) -> String {
    serde_json::json!(escape_variables(text)).to_string()
}

/// Formats a text as a YAML block, or on one line if a block could be parsed differently.
fn block(text: &str) -> String {
    let is_plain =
        |character: char| character == '\n' || !character.is_control() && character != '\u{feff}';
    let is_spaced = text.starts_with([' ', '\n']) || text.lines().any(|line| line.ends_with(' '));
    let breaks = ['\u{2028}', '\u{2029}', '\u{85}'];
    if text.is_empty() || is_spaced || text.contains(breaks) || !text.chars().all(is_plain) {
        return one_line(text);
    }
    let lines = escape_variables(text);
    let indented = lines.lines().map(|line| match line.is_empty() {
        true => "\n".to_owned(),
        false => format!("\n    {line}"),
    });
    format!("|-{}", indented.collect::<String>())
}

fn escape_variables(text: &str) -> String {
    text.replace("${", "$${")
}

/// Moments, and the two personas that are tried on them.
pub struct PersonaTrial {
    pub moments: Vec<TriedMoment>,
    pub judge: ShadowModel,
    pub speaker: ShadowModel,
    pub secrets: SecretScanner,
}

/// What one persona would have done at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Performance {
    /// `None` if a user was owed an answer, so that no judge is asked.
    pub judgment: Option<MindAnswer<Judgment>>,
    pub verdict: Option<Verdict>,
    /// `None` if the persona would have said nothing. An empty text means that it has nothing to say.
    pub reply: Option<MindAnswer<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PersonaTrialResult {
    /// For each moment, the performance of each persona.
    pub performances: Vec<Vec<Performance>>,
    /// The calls to the judge and to the model that replies, or the calls that would be made.
    pub judging: CallCounts,
    pub speaking: CallCounts,
}

impl PersonaTrial {
    /// Asks the models, or only estimates the maximum cost.
    pub async fn run(&self, stop: &CancellationToken) -> PersonaTrialResult {
        let began = Instant::now();
        let judge = self.judge.judge().until(stop.clone(), LONGEST_ASKING);
        let calls = self.cases().map(|case| case.judge(&judge, &self.secrets));
        let judgments: Vec<Option<MindAnswer<Judgment>>> =
            stream::iter(calls).buffered(MAX_CONCURRENT_CALLS).collect().await;
        let judging = judge.counts();
        let speaker = self.speaker_within(judging.cost_micros);
        let spent = SignedDuration::try_from(began.elapsed()).unwrap_or(SignedDuration::MAX);
        let speaker = &speaker.judge().until(stop.clone(), LONGEST_ASKING.saturating_sub(spent));
        let calls = self.cases().zip(judgments);
        let calls = calls.map(|(case, judgment)| case.perform(judgment, speaker, &self.secrets));
        let all: Vec<Performance> =
            stream::iter(calls).buffered(MAX_CONCURRENT_CALLS).collect().await;
        let mut all = all.into_iter();
        let performances = self.moments.iter();
        let performances =
            performances.map(|tried| all.by_ref().take(tried.prompts.len()).collect());
        PersonaTrialResult {
            performances: performances.collect(),
            judging,
            speaking: speaker.counts(),
        }
    }

    /// Pairs each moment with each persona.
    fn cases(&self) -> impl Iterator<Item = TrialCase<'_>> {
        self.moments
            .iter()
            .flat_map(|tried| tried.prompts.iter().map(move |prompts| TrialCase { tried, prompts }))
    }

    /// Returns the model that replies, limited to the budget that the judge has left.
    fn speaker_within(&self, spent_micros: u64) -> ShadowModel {
        let limits = &self.speaker.limits;
        let left = limits.max_cost_micros.saturating_sub(spent_micros);
        let limits = CallBudget { max_cost_micros: left, ..limits.clone() };
        ShadowModel { limits, ..self.speaker.clone() }
    }
}

/// One persona at one moment.
struct TrialCase<'a> {
    tried: &'a TriedMoment,
    prompts: &'a PastPrompts,
}

impl TrialCase<'_> {
    async fn judge(
        self,
        judge: &ModelJudge,
        secrets: &SecretScanner,
    ) -> Option<MindAnswer<Judgment>> {
        let PastMoment { decision, at, .. } = &self.tried.moment;
        if decision.is_addressed {
            return None;
        }
        let prompt = self.prompts.judge(self.tried.context.clone(), decision, *at);
        Some(ask_judge(judge, &prompt, secrets).await)
    }

    async fn perform(
        self,
        judgment: Option<MindAnswer<Judgment>>,
        speaker: &ModelJudge,
        secrets: &SecretScanner,
    ) -> Performance {
        let (context, decision) = (&self.tried.context, &self.tried.moment.decision);
        let known = judgment.as_ref().and_then(MindAnswer::known);
        let rules = self.prompts.rules(context);
        let verdict = known.map(|known| self.prompts.verdict((context, decision), known, &rules));
        let reply = match (&judgment, &verdict) {
            (None | Some(MindAnswer::Unknown(_)), _) | (_, Some(Verdict::Join)) => {
                Some(self.reply(judgment.as_ref(), speaker, secrets).await)
            }
            (Some(MindAnswer::Known(_) | MindAnswer::Unreadable(_)), _) => None,
        };
        Performance { judgment, verdict, reply }
    }

    async fn reply(
        &self,
        judgment: Option<&MindAnswer<Judgment>>,
        speaker: &ModelJudge,
        secrets: &SecretScanner,
    ) -> MindAnswer<String> {
        // Without a verdict, a reply is only priced, because it is unknown which message it would answer.
        let undecided = match judgment {
            Some(MindAnswer::Unknown(why)) => Some(MindAnswer::Unknown(why.clone())),
            Some(MindAnswer::Known(_) | MindAnswer::Unreadable(_)) | None => None,
        };
        if let Some(undecided) = undecided.as_ref().filter(|_| !speaker.is_pricing()) {
            return undecided.clone();
        }
        let intent = judgment.and_then(MindAnswer::known).map(|judgment| Intent {
            reason: judgment.reason.clone(),
            about: judgment.about.clone(),
            conversation_state: judgment.conversation_state,
            ..Intent::default()
        });
        let PastMoment { decision, at, .. } = &self.tried.moment;
        let context = Context { intent, ..self.tried.context.clone() };
        match speaker.answer(&self.prompts.reply(context, decision, *at)).await {
            Ok(response) => {
                undecided.unwrap_or_else(|| MindAnswer::Known(self.screen(&response.text, secrets)))
            }
            Err(error) => MindAnswer::Unknown(error.to_string()),
        }
    }

    /// Screens a text as for a post, without splitting it.
    fn screen(&self, text: &str, secrets: &SecretScanner) -> String {
        let context = &self.tried.context;
        let mut known = KnownUrls::in_context(context);
        known.add(&self.prompts.system_prompt(context));
        let language = self.prompts.language();
        let text = outgoing::screen(text, &known, CodeBlocks::KeepUrls, secrets, language);
        if is_blank(&text) { String::new() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(name: &str, system_prompt: &str) -> EditedPersona {
        EditedPersona::from_form(name.to_owned().try_into().unwrap(), system_prompt)
    }

    #[test]
    fn a_patch_says_what_was_written() {
        let present = EditedPersona::present(&Config::default());
        assert_eq!(edited("Aizuchi", " \n").patch(&present), None);
        for (name, text) in [
            ("Aizuchi", "You are terse.\r\n\r\n- a: b # no comment\n  indented"),
            ("ミア", "簡潔に話す。"),
            ("Mia", "  begins with space"),
            ("Mia: \"x\"", "tab\there"),
            ("Mia", "a ${HOME} and $${HOME} and 5 $"),
            ("Mia", "line ends in space \nnext"),
            ("Mia", "--- \n... \n"),
            ("Mia", "one\u{2028}line"),
        ] {
            let tried = edited(name, text);
            let patch = tried.patch(&present).unwrap();
            let config = Config::parse(&patch).unwrap_or_else(|error| panic!("{patch}: {error}"));
            let read = EditedPersona::present(&config);
            assert!(!read.differs_from(&tried), "{patch}\n{read:?}");
        }
        let patch = edited("Aizuchi", "You are terse.\n\nAnd kind.\n").patch(&present);
        let expected = "persona:\n  system_prompt: |-\n    You are terse.\n\n    And kind.\n";
        assert_eq!(patch.as_deref(), Some(expected));
    }
}
