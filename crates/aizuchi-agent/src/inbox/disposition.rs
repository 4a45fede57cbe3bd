//! The disposition of a message: an answer, a judgment once the conversation rests, or nothing.

use aizuchi_model::chat::{
    Arrival, AuthorKind, ConversationId, Deletion, Edit, Heard, Message, MessageId,
};
use aizuchi_model::clock::{duration_from_seconds, seeded_random};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::{Debounce, Disposition, OnNewMessage};
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::Mode;
use jiff::{SignedDuration, Timestamp};

use crate::inbox::addressed::by_name::is_named;
use crate::inbox::{Inbox, WaitSettings};

/// Direct messages written in quick succession get one answer: the persona waits this long for more.
const DIRECT_MESSAGE_WAIT: SignedDuration = SignedDuration::from_secs(2);

impl Inbox {
    /// `own_names` are the persona's.
    pub(super) fn disposition(&self, heard: &Heard, own_names: &[String]) -> Disposition {
        match heard {
            Heard::Message(message, arrival) => {
                self.message_disposition(message, *arrival, own_names)
            }
            Heard::Edit(Edit { conversation, message, .. }) => {
                self.debounce_after_change(conversation, message, "wait after an edit")
            }
            Heard::Deletion(Deletion { conversation, message, .. }) => {
                self.debounce_after_change(conversation, message, "wait after a deletion")
            }
            Heard::Channel(_) | Heard::User(_) | Heard::Reaction(_) => Disposition::NotAMessage,
        }
    }

    fn message_disposition(
        &self,
        message: &Message,
        arrival: Arrival,
        own_names: &[String],
    ) -> Disposition {
        let now = self.clock.now();
        let conversation = &message.conversation;
        let ConversationId { workspace, channel, .. } = conversation;
        // First, so that not even the tempo is learned from a user who has opted out.
        if message.is_human() && self.channel_cache.has_opted_out(workspace, &message.author.id) {
            return Disposition::Settled(Gate::OptedOut);
        }
        let mode = self.channel_cache.mode(workspace, channel);
        if message.is_human() && mode != Mode::Off {
            self.channel_cache.conversations.record_message(message);
        }
        let is_young = !self.is_too_old(message, arrival);
        let disposition = disposition(message, arrival, mode, is_young, now, || {
            let settings = self.wait_settings_in(conversation);
            // Called only if the message is to be judged, since it also records the message in the timer.
            let rest_due = || self.rest_due(message, own_names, &settings, now);
            self.debounce(conversation, mode, &settings, now, rest_due)
        });
        match disposition {
            Disposition::Owe { due } if self.channel_cache.is_direct(workspace, channel) => {
                Disposition::Owe { due: due + DIRECT_MESSAGE_WAIT }
            }
            Disposition::Owe { .. }
            | Disposition::NotAMessage
            | Disposition::Settled(_)
            | Disposition::Judge(_)
            | Disposition::Command { .. } => disposition,
        }
    }

    /// Returns the waits in a conversation's channel.
    pub(super) fn wait_settings_in(&self, conversation: &ConversationId) -> WaitSettings {
        let ConversationId { workspace, channel, .. } = conversation;
        let timing = self.channel_cache.with_rules(workspace, channel, |rules| rules.timing);
        self.wait_settings.in_channel(&timing)
    }

    /// Returns when the conversation is at rest after this message, if no other follows.
    fn rest_due(
        &self,
        message: &Message,
        own_names: &[String],
        settings: &WaitSettings,
        now: Timestamp,
    ) -> Timestamp {
        match settings.wait {
            WaitStrategy::Fixed => {
                now + fixed_wait(
                    settings,
                    self.random_draw(&message.conversation, &message.id, "wait"),
                )
            }
            WaitStrategy::Adaptive => {
                let conversations = &self.channel_cache.conversations;
                let is_named = is_named(&message.text, own_names);
                conversations.judge_due_after_message(message, is_named, now, &settings.bounds())
            }
        }
    }

    /// Returns the debounce after an edit or deletion.
    fn debounce_after_change(
        &self,
        conversation: &ConversationId,
        message: &MessageId,
        what: &str,
    ) -> Disposition {
        let now = self.clock.now();
        let mode = self.channel_cache.mode(&conversation.workspace, &conversation.channel);
        let settings = self.wait_settings_in(conversation);
        let rest_due = || match settings.wait {
            WaitStrategy::Fixed => {
                now + fixed_wait(&settings, self.random_draw(conversation, message, what))
            }
            WaitStrategy::Adaptive => self.channel_cache.conversations.judge_due_after_change(
                conversation,
                message,
                now,
                &settings.bounds(),
            ),
        };
        Disposition::Judge(self.debounce(conversation, mode, &settings, now, rest_due))
    }

    /// Returns a random draw. Companions that are named in the settings draw the same, so that their own order decides
    /// which of them is first.
    fn random_draw(&self, conversation: &ConversationId, message: &MessageId, what: &str) -> f64 {
        let ConversationId { workspace, channel, .. } = conversation;
        let has_companions = self.channel_cache.with_rules(workspace, channel, |rules| {
            rules.companions.as_ref().is_some_and(|companions| !companions.is_empty())
        });
        let seed = if has_companions { 0 } else { self.random_seed };
        seeded_random(seed, &[message.as_str(), what])
    }

    fn debounce(
        &self,
        conversation: &ConversationId,
        mode: Mode,
        settings: &WaitSettings,
        now: Timestamp,
        rest_due: impl FnOnce() -> Timestamp,
    ) -> Debounce {
        let on_new_message = OnNewMessage::new(mode, settings.wait);
        match mode {
            Mode::Facilitator => {
                let ConversationId { workspace, channel, .. } = conversation;
                let rules =
                    self.channel_cache.with_rules(workspace, channel, |rules| rules.facilitation);
                Debounce {
                    due: now + duration_from_seconds(rules.rest_seconds),
                    max_wait: duration_from_seconds(rules.max_rest_seconds),
                    on_new_message,
                }
            }
            Mode::Companion | Mode::MentionOnly | Mode::Propose | Mode::Observe | Mode::Off => {
                Debounce {
                    due: rest_due(),
                    max_wait: duration_from_seconds(settings.max_wait_seconds),
                    on_new_message,
                }
            }
        }
    }
}

/// Decides what a message leads to. Addressed messages are answered at once. Other human messages are judged when the
/// conversation is at rest. The persona's own messages, those of bots, old messages and messages in a channel with mode
/// `off` are settled by their gate.
pub fn disposition(
    message: &Message,
    arrival: Arrival,
    mode: Mode,
    is_young: bool,
    now: Timestamp,
    debounce: impl FnOnce() -> Debounce,
) -> Disposition {
    if message.author.kind == AuthorKind::Persona {
        return Disposition::Settled(match arrival {
            Arrival::Live => Gate::OwnMessage,
            // No outbox item is known for it, so it may be the answer to what is owed.
            Arrival::Backfilled | Arrival::BackfilledAnswered => Gate::Backfilled,
        });
    }
    if mode == Mode::Off {
        return Disposition::Settled(Gate::ChannelMode);
    }
    if message.author.kind == AuthorKind::Bot {
        return Disposition::Settled(Gate::OtherBot);
    }
    match arrival {
        // In silent modes, too: the reply's own gates settle the mention, so the ledger says why it got no answer.
        Arrival::Live | Arrival::Backfilled if message.is_addressed() && is_young => {
            Disposition::Owe { due: now }
        }
        Arrival::Backfilled | Arrival::BackfilledAnswered => Disposition::Settled(Gate::Backfilled),
        Arrival::Live => Disposition::Judge(debounce()),
    }
}

/// Returns `min_wait_seconds` ± `jitter_ratio`, uniformly distributed; `draw` is in `[0, 1)`.
pub fn fixed_wait(settings: &WaitSettings, draw: f64) -> SignedDuration {
    let spread = settings.jitter_ratio * (2.0 * draw - 1.0);
    duration_from_seconds(settings.min_wait_seconds * (1.0 + spread))
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::{Author, ChannelId, Mention, MessageId, UserId, WorkspaceId};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn message(kind: AuthorKind, mentions: Vec<Mention>) -> Message {
        Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            id: MessageId::new("1"),
            at: at(1000),
            author: Author { id: UserId::new("u"), kind },
            text: "hello".into(),
            mentions,
            attachments: Vec::new(),
            edits: 0,
        }
    }

    #[test]
    fn each_message_has_its_disposition() {
        use aizuchi_model::chat::Arrival::{Backfilled, BackfilledAnswered, Live};
        use aizuchi_model::chat::AuthorKind::{Bot, Human, Persona};
        use aizuchi_model::rules::Mode::{Companion, MentionOnly, Observe, Off};
        let (due, longest) = (at(1310), SignedDuration::MAX);
        let debounce = Debounce { due, max_wait: longest, on_new_message: OnNewMessage::Restart };
        let judge = Disposition::Judge(debounce);
        let off = Disposition::Settled(Gate::ChannelMode);
        let owe = Disposition::Owe { due: at(1010) };
        let own = Disposition::Settled(Gate::OwnMessage);
        let bot = Disposition::Settled(Gate::OtherBot);
        let backfilled = Disposition::Settled(Gate::Backfilled);
        let user = || vec![Mention::User(UserId::new("v"))];
        let persona = || vec![Mention::Persona];
        for (kind, mentions, arrival, mode, expected) in [
            (Human, vec![], Live, Companion, judge),
            (Human, user(), Live, Companion, judge),
            (Human, persona(), Live, Companion, owe),
            (Bot, persona(), Live, Companion, bot),
            (Persona, persona(), Live, Companion, own),
            (Persona, vec![], Backfilled, Companion, backfilled),
            (Human, vec![], Backfilled, Companion, backfilled),
            (Human, persona(), Backfilled, Companion, owe),
            (Human, persona(), BackfilledAnswered, Companion, backfilled),
            (Human, vec![], Live, MentionOnly, judge),
            (Human, persona(), Live, Observe, owe),
            (Human, persona(), Live, Off, off),
            (Bot, vec![], Live, Off, off),
            (Persona, vec![], Live, Off, own),
        ] {
            let message = message(kind, mentions);
            let result = disposition(&message, arrival, mode, true, at(1010), || debounce);
            assert_eq!(result, expected, "{message:?} {mode:?}");
        }
        let old = message(Human, persona());
        let old = disposition(&old, Backfilled, Companion, false, at(50_000), || debounce);
        assert_eq!(old, backfilled);
    }

    #[test]
    fn a_channel_has_waits_of_its_own() {
        use aizuchi_model::rules::TimingRules;
        let waits = |floor, min, max| TimingRules {
            min_wait_floor_seconds: floor,
            min_wait_seconds: min,
            max_wait_seconds: max,
            post_timing: None,
        };
        for (rules, expected) in [
            (waits(None, None, None), (15.0, 300.0, 3600.0)),
            (waits(Some(5.0), Some(60.0), Some(600.0)), (5.0, 60.0, 600.0)),
            (waits(None, None, Some(90.0)), (15.0, 90.0, 90.0)),
            (waits(None, Some(7200.0), None), (15.0, 7200.0, 7200.0)),
        ] {
            let here = WaitSettings::default().in_channel(&rules);
            let WaitSettings { min_wait_floor_seconds, min_wait_seconds, max_wait_seconds, .. } =
                here;
            assert_eq!((min_wait_floor_seconds, min_wait_seconds, max_wait_seconds), expected);
        }
    }

    #[test]
    fn the_wait_is_uniformly_distributed_around_its_mean() {
        let settings = WaitSettings::default();
        assert_eq!(fixed_wait(&settings, 0.0), SignedDuration::from_secs(210));
        assert_eq!(fixed_wait(&settings, 0.5), SignedDuration::from_secs(300));
        assert_eq!(fixed_wait(&settings, 0.999_999_9), SignedDuration::from_secs(390));
        let at_once = WaitSettings { min_wait_seconds: 0.0, ..settings };
        assert_eq!(fixed_wait(&at_once, 0.9), SignedDuration::ZERO);
    }
}
