//! Turns a judgment into a verdict under a channel's rules. The model judges; this module decides.

use crate::context::state::ConversationState;
use crate::decision::Judgment;
use crate::rules::{ChannelRules, Mode};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Join,
    /// React with this emoji.
    React(String),
    Silent(SilenceReason),
}

/// Why the persona stays silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilenceReason {
    JudgeDeclined,
    ConversationEnding,
    /// The judge's confidence is below the threshold.
    LowConfidence,
    /// The confidence is high enough, but posts of this confidence were unwelcome in the channel more often than is
    /// tolerated.
    OftenUnwelcome,
    /// The persona has spoken about this, and the situation is unchanged.
    SituationUnchanged,
    /// The channel is in `observe` mode.
    ObserveMode,
}

impl Judgment {
    /// Decides what to do. `state` is the state of the conversation, from either the judge or a separate call.
    pub fn verdict(&self, state: ConversationState, mode: Mode, rules: &ChannelRules) -> Verdict {
        let is_sure = self.confidence >= rules.min_confidence;
        let reaction = self.reaction.as_ref().filter(|emoji| rules.reactions.contains(emoji));
        if !self.should_respond {
            return match reaction {
                Some(emoji) if is_sure && may_react(mode) => Verdict::React(emoji.clone()),
                Some(_) | None => Verdict::Silent(SilenceReason::JudgeDeclined),
            };
        }
        if state == ConversationState::Ending {
            return Verdict::Silent(SilenceReason::ConversationEnding);
        }
        let is_same = self.same_conversation == Some(true);
        if mode == Mode::Facilitator && is_same && self.situation_changed == Some(false) {
            return Verdict::Silent(SilenceReason::SituationUnchanged);
        }
        if !is_sure {
            return Verdict::Silent(SilenceReason::LowConfidence);
        }
        if mode == Mode::Observe {
            return Verdict::Silent(SilenceReason::ObserveMode);
        }
        Verdict::Join
    }
}

/// Whether the persona may react unasked. A mere emoji is not proposed, so it is left out where posts need approval.
fn may_react(mode: Mode) -> bool {
    match mode {
        Mode::Companion | Mode::Facilitator | Mode::MentionOnly | Mode::Off => true,
        Mode::Propose | Mode::Observe => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgment(should_respond: bool) -> Judgment {
        Judgment { should_respond, confidence: 0.8, ..Judgment::default() }
    }

    #[test]
    fn rules_can_suppress_a_judgment_but_never_force_one() {
        use ConversationState::{Active, Conflict, Ending, Misunderstanding};
        use Mode::{Companion, Facilitator, Observe, Propose};
        let rules = ChannelRules { min_confidence: 0.6, ..ChannelRules::default() };
        let (yes, no) = (judgment(true), judgment(false));
        let nod = Judgment { reaction: Some("👍".to_owned()), ..no.clone() };
        let shrug = Judgment { reaction: Some("🦖".to_owned()), ..no.clone() };
        let guess = |judgment: &Judgment| Judgment { confidence: 0.59, ..judgment.clone() };
        let again = |changed| Judgment {
            same_conversation: Some(true),
            situation_changed: Some(changed),
            ..yes.clone()
        };
        let new = Judgment { same_conversation: Some(false), ..again(false) };
        let silent = Verdict::Silent;
        for (judgment, state, mode, verdict) in [
            (yes.clone(), Active, Companion, Verdict::Join),
            (yes.clone(), Conflict, Companion, Verdict::Join),
            (yes.clone(), Misunderstanding, Facilitator, Verdict::Join),
            (yes.clone(), Ending, Companion, silent(SilenceReason::ConversationEnding)),
            (yes.clone(), Active, Observe, silent(SilenceReason::ObserveMode)),
            (guess(&yes), Active, Companion, silent(SilenceReason::LowConfidence)),
            (no.clone(), Conflict, Facilitator, silent(SilenceReason::JudgeDeclined)),
            (no.clone(), Ending, Companion, silent(SilenceReason::JudgeDeclined)),
            (nod.clone(), Active, Companion, Verdict::React("👍".to_owned())),
            (nod.clone(), Ending, Companion, Verdict::React("👍".to_owned())),
            (nod.clone(), Active, Observe, silent(SilenceReason::JudgeDeclined)),
            (nod.clone(), Active, Propose, silent(SilenceReason::JudgeDeclined)),
            (yes.clone(), Active, Propose, Verdict::Join),
            (guess(&nod), Active, Companion, silent(SilenceReason::JudgeDeclined)),
            (shrug, Active, Companion, silent(SilenceReason::JudgeDeclined)),
            (again(false), Active, Facilitator, silent(SilenceReason::SituationUnchanged)),
            (again(true), Active, Facilitator, Verdict::Join),
            (again(false), Active, Companion, Verdict::Join),
            (new, Active, Facilitator, Verdict::Join),
        ] {
            assert_eq!(judgment.verdict(state, mode, &rules), verdict, "{judgment:?} {mode:?}");
        }
    }
}
