//! Composes the answers to commands that contain times, names or several sentences.

use aizuchi_model::chat::{AuthorKind, Role};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts;
use aizuchi_store::order::Mute;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::command::MuteScope;

/// What the texts depend on: language, names, time zone and time.
#[derive(Clone, Copy)]
pub struct ReplyRenderer<'a> {
    pub language: Language,
    pub name: &'a str,
    pub zone: &'a TimeZone,
    pub now: Timestamp,
}

impl ReplyRenderer<'_> {
    /// Explains why the persona last spoke, or stayed silent.
    pub fn explain_decision(&self, decision: &Decision) -> String {
        let language = self.language;
        let at = self.format_time(decision.closed.unwrap_or(decision.opened));
        let why = decision.why.as_deref().filter(|why| !why.is_empty());
        let gone = match decision.is_expired {
            true => texts::commands::reason_has_expired(language),
            false => texts::commands::reason_is_gone(language),
        };
        let why = why.unwrap_or(gone);
        let why = with_end_mark(why, texts::commands::full_stop(language));
        let did = texts::commands::decision_result(language, decision.ended);
        match (decision.gate, decision.ended) {
            // A decision that failed or ended in a post may have passed a gate before.
            (
                Some(_),
                Some(
                    DecisionResult::Muted
                    | DecisionResult::OverBudget
                    | DecisionResult::ChoseSilence,
                ),
            ) => texts::commands::last_decision_by_gate(language, &at, did, &why),
            _ => texts::commands::last_decision(language, &at, did, &why),
        }
    }

    /// Explains the silence if a gate settled a message and no decision covers it.
    pub fn explain_gate(&self, at: Timestamp, gate: Gate) -> String {
        let language = self.language;
        let why = texts::judging::gate_reason_when_heard(language, gate, AuthorKind::Human);
        let why = with_end_mark(why, texts::commands::full_stop(language));
        let did = texts::commands::decision_result(language, Some(DecisionResult::ChoseSilence));
        texts::commands::last_decision_by_gate(language, &self.format_time(at), did, &why)
    }

    /// Describes how the persona takes part.
    pub fn mode(&self, mode: Mode) -> String {
        let manner = texts::commands::manner(self.language, mode);
        texts::commands::in_mode(self.language, manner, mode.name())
    }

    /// Says that it is not muted; its mode may still keep it quiet.
    pub fn not_muted(&self, mode: Mode) -> String {
        format!("{}{}", texts::commands::not_muted(self.language), self.mode(mode))
    }

    /// Says until when it is muted, and how users with the role `lifted_by` can unmute it.
    pub fn muted(&self, mute: Mute, scope: MuteScope, lifted_by: Role) -> String {
        let (language, until) = (self.language, self.format_until(mute));
        let (silence, order) = match scope {
            MuteScope::Channel => {
                (texts::commands::muted_here(language, &until), texts::commands::unmute(language))
            }
            MuteScope::Workspace => (
                texts::commands::muted_everywhere(language, &until),
                texts::commands::unmute_everywhere(language),
            ),
        };
        let lifting = match lifted_by {
            Role::Guest | Role::Member => {
                texts::commands::anyone_unmutes(language, self.name, order)
            }
            Role::Admin => texts::commands::admins_unmute(language, self.name, order),
        };
        silence + &lifting
    }

    /// Says that it is still muted, because the requesting user may not revoke an admin's order.
    pub fn still_muted(&self, mute: Mute) -> String {
        texts::commands::muted_by_admin(self.language, &self.format_until(mute))
    }

    fn format_until(&self, mute: Mute) -> String {
        if mute.until == Timestamp::MAX {
            return texts::commands::until_undone(self.language).to_owned();
        }
        let left = self.format_span(mute.until.duration_since(self.now));
        texts::commands::until(self.language, &self.format_time(mute.until), &left)
    }

    /// Formats a time span, rounded up to minutes. From a day on, it leaves out the minutes.
    fn format_span(&self, span: SignedDuration) -> String {
        let minutes = (span.as_secs() + 59) / 60;
        let (days, hours, minutes) = (minutes / (24 * 60), minutes / 60 % 24, minutes % 60);
        let hours = (hours, texts::ledger::hours(self.language));
        let units = match days {
            0 => [hours, (minutes, texts::ledger::minutes(self.language))],
            _ => [(days, texts::ledger::days(self.language)), hours],
        };
        let units = units.into_iter().filter(|(count, _)| *count > 0);
        units.map(|(count, unit)| format!("{count}{unit}")).collect()
    }

    /// Formats a time as users there would write it: with the date only if it is another day.
    fn format_time(&self, at: Timestamp) -> String {
        let (at, now) = (at.to_zoned(self.zone.clone()), self.now.to_zoned(self.zone.clone()));
        let shape = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
        at.strftime(shape).to_string()
    }

    /// Returns the list of commands.
    pub fn help(&self, role: Role) -> String {
        let help = texts::commands::help(self.language, self.name);
        match role {
            Role::Admin => help + texts::commands::help_for_admins(self.language),
            Role::Guest | Role::Member => help,
        }
    }
}

/// Ends the sentence with exactly one mark.
fn with_end_mark(sentence: &str, mark: &str) -> String {
    let is_ended = sentence.ends_with(['.', '!', '?', '。', '！', '？', '…']);
    if is_ended { sentence.to_owned() } else { format!("{sentence}{mark}") }
}
