//! Catching up: what a user missed in a channel while they were away. The structure of its conversations finds what was
//! asked of them and what is still open.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use aizuchi_structure::cues::Cues;
use jiff::{SignedDuration, Timestamp};

use crate::chat::{AuthorKind, Mention, Message, MessageId, UserId};
use crate::context::links::MessageLinks;
use crate::context::message_structure::{MAX_MESSAGES, MessageStructure};

/// A user who did and wrote nothing for this long was away.
pub const MIN_ABSENCE: SignedDuration = SignedDuration::from_hours(1);
/// How far back a user is caught up at most: for longer, they would rather read it.
pub const MAX_ABSENCE: SignedDuration = SignedDuration::from_hours(14 * 24);
/// A message replies to another, or begins something, from this probability on.
const LIKELY: f32 = 0.5;
/// A question is open from this probability on. To list what was answered is worse than to leave out one of many.
const SURELY_OPEN: f32 = 0.7;
/// Up to this many messages are all listed.
const FEW: usize = 6;

/// What a user missed in a channel. Each list is in the order of time, and no message is in two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Missed {
    /// What mentions the user, asks them or answers them, and what they have not answered in turn.
    pub asked: Vec<Arc<Message>>,
    /// Questions that nobody has taken up.
    pub open: Vec<Arc<Message>>,
    /// What says that something was decided, or changed.
    pub decided: Vec<Arc<Message>>,
    /// What begins something else that others went on with; all else, if that is little.
    pub begun: Vec<Arc<Message>>,
    /// The authors of all that was missed, most messages first, with how many there are.
    pub authors: Vec<(UserId, usize)>,
}

/// Whose absence, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Absence<'a> {
    pub user: &'a UserId,
    /// The names of all who are in the messages.
    pub names: &'a BTreeMap<UserId, Arc<str>>,
    pub since: Timestamp,
}

/// Since when a user was away before `now`: their newest act before their last absence. `acts` are the times of what
/// they wrote and reacted to, newest first. Without an absence, it is their newest act.
pub fn away_since(acts: &[Timestamp], now: Timestamp) -> Timestamp {
    let later = std::iter::once(&now).chain(acts);
    let mut spans = later.zip(acts);
    let absence = spans.find(|(later, earlier)| later.duration_since(**earlier) >= MIN_ABSENCE);
    let since = absence.map(|(_, earlier)| earlier).or(acts.first());
    let earliest = now.checked_sub(MAX_ABSENCE).unwrap_or(Timestamp::MIN);
    since.copied().unwrap_or(earliest).max(earliest)
}

/// Returns what a user missed in a channel. `messages` are in the order of time, with some from before the absence, and
/// hold the beginnings of their threads.
pub fn missed(
    messages: &[Arc<Message>],
    links: &HashMap<MessageId, MessageLinks>,
    absence: &Absence<'_>,
) -> Missed {
    let mut threads: BTreeMap<Option<&MessageId>, Vec<&Arc<Message>>> = BTreeMap::new();
    for message in messages {
        threads.entry(message.conversation.thread.as_ref()).or_default().push(message);
    }
    let (mut missed, mut answered) = (Missed::default(), Vec::new());
    for (thread, talk) in &threads {
        let root = messages.iter().find(|message| Some(&message.id) == *thread);
        let talk: Vec<&Arc<Message>> = root.into_iter().chain(talk.iter().copied()).collect();
        let is_taken_up_below = |message: &Message| {
            let below = threads.get(&Some(&message.id)).into_iter().flatten();
            below.into_iter().any(|reply| reply.author.id != message.author.id)
        };
        // Windows of a conversation overlap by half, so that each message has its context on both sides.
        let mut first = 0;
        loop {
            let window = &talk[first..talk.len().min(first + MAX_MESSAGES)];
            let is_last = first + MAX_MESSAGES >= talk.len();
            let from = if first == 0 { 0 } else { MAX_MESSAGES / 4 };
            let until = if is_last { window.len() } else { MAX_MESSAGES * 3 / 4 };
            let part = TalkWindow { talk: &structure(window, links, absence), window, absence };
            for index in from..until {
                part.sort(index, &is_taken_up_below, &mut missed, &mut answered);
            }
            if is_last {
                break;
            }
            first += MAX_MESSAGES / 2;
        }
    }
    let mut counts: HashMap<&UserId, usize> = HashMap::new();
    for message in messages.iter().filter(|message| absence.misses(message)) {
        *counts.entry(&message.author.id).or_default() += 1;
    }
    missed.authors = counts.into_iter().map(|(user, count)| (user.clone(), count)).collect();
    missed.authors.sort_by(|(one, most), (other, more)| more.cmp(most).then(one.cmp(other)));
    if missed.authors.iter().map(|(_, count)| count).sum::<usize>() <= FEW {
        let listed = [&missed.asked, &missed.open, &missed.decided].into_iter().flatten();
        let listed: HashSet<&MessageId> = listed.map(|message| &message.id).collect();
        let missing = |it: &&Arc<Message>| absence.misses(it) && !listed.contains(&it.id);
        missed.begun = messages.iter().filter(missing).cloned().collect();
    }
    // The beginning of a thread was looked at twice, and what answers it is in the thread.
    let mut seen: HashSet<MessageId> = answered.into_iter().collect();
    for list in [&mut missed.asked, &mut missed.open, &mut missed.decided, &mut missed.begun] {
        list.retain(|message| seen.insert(message.id.clone()));
        list.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    }
    missed
}

impl Absence<'_> {
    fn is_mentioned_in(&self, message: &Message) -> bool {
        let mentions = &mut message.mentions.iter();
        mentions.any(|mention| matches!(mention, Mention::User(user) if user == self.user))
    }

    fn misses(&self, message: &Message) -> bool {
        message.at > self.since
            && message.author.id != *self.user
            && message.author.kind != AuthorKind::Persona
            // A command, or a word to the persona: the others need not know.
            && (!message.mentions.contains(&Mention::Persona) || self.is_mentioned_in(message))
    }
}

fn structure(
    window: &[&Arc<Message>],
    links: &HashMap<MessageId, MessageLinks>,
    absence: &Absence<'_>,
) -> MessageStructure {
    let mut talk = MessageStructure::default();
    for (user, name) in absence.names {
        talk.add_user(user, name);
    }
    for message in window {
        talk.push(message, links.get(&message.id));
    }
    talk
}

/// Some messages of a conversation that follow each other.
struct TalkWindow<'a> {
    talk: &'a MessageStructure,
    window: &'a [&'a Arc<Message>],
    absence: &'a Absence<'a>,
}

impl TalkWindow<'_> {
    /// Adds a message to the list to which it belongs, if any. One that the user has answered goes to `answered`.
    fn sort(
        &self,
        index: usize,
        is_taken_up_below: &impl Fn(&Message) -> bool,
        missed: &mut Missed,
        answered: &mut Vec<MessageId>,
    ) {
        let message = self.window[index];
        if !self.absence.misses(message) {
            return;
        }
        let structure = self.talk.structure();
        let is_human = message.is_human();
        let cues = structure.utterances()[index].cues;
        let is_small_talk = cues.intersects(Cues::THANKS | Cues::GREETING | Cues::WORDLESS);
        let list = if self.is_to_user(index, is_small_talk) {
            if self.is_answered_by_user(index) {
                answered.push(message.id.clone());
                return;
            }
            &mut missed.asked
        } else if is_human
            && structure.asking(index) >= 1.0
            && !cues.intersects(Cues::THANKS | Cues::TAG | Cues::LAUGHS | Cues::SOLVED)
            && structure.uptake(index).open > SURELY_OPEN
            && !is_taken_up_below(message)
        {
            &mut missed.open
        } else if cues.contains(Cues::DECIDES) && !cues.contains(Cues::ASKS) {
            &mut missed.decided
        } else if structure.begins(index) >= LIKELY
            && message.conversation.thread.is_none()
            && !is_small_talk
            && (is_taken_up_below(message) || self.is_gone_on_with(index))
        {
            &mut missed.begun
        } else {
            return;
        };
        list.push(message.clone());
    }

    /// Whether a message mentions the user or calls them by name, or replies to them with more than thanks.
    fn is_to_user(&self, index: usize, is_small_talk: bool) -> bool {
        let user = self.absence.user;
        let structure = self.talk.structure();
        let addressee = structure.utterances()[index].addressee;
        let replies = || {
            let parents = structure.parents(index);
            let theirs = parents.filter(|(parent, _)| self.talk.author(*parent) == user);
            theirs.map(|(_, probability)| probability).sum::<f32>() >= LIKELY
        };
        self.absence.is_mentioned_in(self.window[index])
            || addressee.is_some_and(|number| self.talk.user(number) == user)
            || !is_small_talk && replies()
    }

    /// A greeting stands next to what was missed, and answers none of it.
    fn is_answered_by_user(&self, index: usize) -> bool {
        let structure = self.talk.structure();
        (index + 1..structure.len()).any(|later| {
            self.talk.author(later) == self.absence.user
                && structure.link(later, index) >= LIKELY
                && !structure.utterances()[later].cues.contains(Cues::GREETING)
                && !self.window[later].is_addressed()
        })
    }

    /// Whether at least two messages of others follow in the same matter.
    fn is_gone_on_with(&self, index: usize) -> bool {
        let author = self.talk.author(index);
        let belonging = self.talk.structure().belonging(index).into_iter().enumerate();
        let belonging = belonging.skip(index + 1).filter(|(_, probability)| *probability >= LIKELY);
        belonging.filter(|(later, _)| self.talk.author(*later) != author).count() >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, ConversationId, WorkspaceId};

    fn minute(number: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * number).unwrap()
    }

    fn message(number: i64, author: &str, text: &str, mentions: &[&str]) -> Arc<Message> {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("garden"),
            thread: None,
        };
        Arc::new(Message {
            conversation,
            id: MessageId::new(format!("{number:03}")),
            at: minute(number),
            author: Author { id: UserId::new(author), kind: AuthorKind::Human },
            text: text.into(),
            mentions: mentions.iter().map(|user| Mention::User(UserId::new(*user))).collect(),
            attachments: Vec::new(),
            edits: 0,
        })
    }

    fn missed_by_mia(messages: &[Arc<Message>], since: i64) -> Missed {
        let user = UserId::new("mia");
        let names: BTreeMap<UserId, Arc<str>> =
            ["mia", "ren", "tom"].map(|user| (UserId::new(user), user.into())).into();
        let absence = Absence { user: &user, names: &names, since: minute(since) };
        missed(messages, &HashMap::new(), &absence)
    }

    fn texts(list: &[Arc<Message>]) -> Vec<&str> {
        list.iter().map(|message| &*message.text).collect()
    }

    #[test]
    fn what_was_asked_is_first_and_what_was_decided_is_found() {
        let messages = [
            message(0, "mia", "I am off, see you on Monday", &[]),
            message(100, "ren", "mia: could you order the seeds?", &[]),
            message(200, "tom", "we decided to move the fence to the north side", &[]),
            message(300, "ren", "does anyone know where the long hose is?", &[]),
            message(400, "tom", "mia will know about the bulbs", &["mia"]),
            message(900, "mia", "morning!", &[]),
        ];
        let missed = missed_by_mia(&messages, 0);
        assert_eq!(
            texts(&missed.asked),
            ["mia: could you order the seeds?", "mia will know about the bulbs"]
        );
        assert_eq!(texts(&missed.open), ["does anyone know where the long hose is?"]);
        assert_eq!(texts(&missed.decided), ["we decided to move the fence to the north side"]);
        assert_eq!(missed.authors, [(UserId::new("ren"), 2), (UserId::new("tom"), 2)]);
    }

    #[test]
    fn nothing_is_lost_in_a_long_talk() {
        let mut messages: Vec<Arc<Message>> = (1..500)
            .map(|number| {
                let author = ["ren", "tom"][number as usize % 2];
                message(number, author, "the beans grow well this year", &[])
            })
            .collect();
        for number in [3, 61, 79, 80, 121, 200, 333, 498] {
            messages[number - 1] =
                message(number as i64, "ren", "can you water the roses?", &["mia"]);
        }
        let missed = missed_by_mia(&messages, 0);
        assert_eq!(missed.asked.len(), 8);
        assert_eq!(missed.authors.iter().map(|(_, count)| count).sum::<usize>(), 499);
    }

    #[test]
    fn what_the_user_answered_or_had_seen_is_left_out() {
        let messages = [
            message(0, "ren", "mia: is the gate shut?", &[]),
            message(10, "ren", "mia: did you buy the paint?", &[]),
            message(11, "mia", "ren: yes, I bought the paint", &[]),
            message(100, "mia", "morning!", &[]),
        ];
        assert_eq!(
            missed_by_mia(&messages, 5),
            Missed { authors: vec![(UserId::new("ren"), 1)], ..Missed::default() }
        );
    }

    #[test]
    fn an_absence_ends_with_what_was_done_after_it() {
        let now = minute(1000);
        for (acts, expected) in [
            // This morning's greeting does not count.
            (&[998, 995, 400, 399][..], 400),
            (&[999, 998], 998),
            (&[700], 700),
        ] {
            let acts: Vec<Timestamp> = acts.iter().copied().map(minute).collect();
            let expected = if expected == 998 { acts[0] } else { minute(expected) };
            assert_eq!(away_since(&acts, now), expected);
        }
        assert_eq!(away_since(&[], now), now - MAX_ABSENCE);
        assert_eq!(away_since(&[minute(-100_000)], now), now - MAX_ABSENCE);
    }
}
