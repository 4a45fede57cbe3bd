//! Whose floor it is: what can be known about a talk without understanding it. What was asked, to whom,
//! who took it up, who talks with whom. It goes by names, mentions, threads and question marks alone, so
//! it may miss what a reader sees, and says so nowhere: whoever uses it weighs it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{AuthorKind, Mention, Message, UserId};
use crate::context::Context;
use crate::context::names::Names;
use crate::context::words::{asks_for_help, ends_talk, thanks};
use crate::quote::holds_name;
use crate::rhythm::question::is_question;

/// A question that has scrolled further up than this is left alone.
const REMEMBERED_LINES: usize = 25;
/// Up to this many people talk in turns, so whoever speaks next is taken to answer; in a larger
/// round an answer names whom it is for.
const SMALL_ROUND: usize = 3;
/// Who named each other so long ago does not talk with each other any more.
const TALK_LASTS: SignedDuration = SignedDuration::from_mins(10);
/// What happened lately happened within this time.
const LATELY: SignedDuration = SignedDuration::from_mins(5);
/// Two people hold the floor if so many of the newest human lines are theirs.
const EXCHANGE: usize = 4;

/// The newest lines of a context's target, and what they are to each other.
#[derive(Debug)]
pub struct Floor<'a> {
    /// What somebody asked, oldest first.
    pub asked: Vec<Asked<'a>>,
    target: &'a [Arc<Message>],
    lines: Vec<Line<'a>>,
}

/// A question, and what has become of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked<'a> {
    pub line: &'a Arc<Message>,
    /// So many lines stand behind it.
    pub lines_since: usize,
    pub fate: Fate<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate<'a> {
    /// It was put to everybody, and nobody has taken it up.
    Open,
    /// It was put to this one.
    PutTo(&'a UserId),
    /// This one has taken it up.
    TakenUp(&'a UserId),
    /// Its author is content.
    Content,
    /// Its author is in a talk with this one.
    InTalk(&'a UserId),
}

/// How busy it was within the last five minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bustle {
    pub lines: usize,
    pub people: usize,
}

#[derive(Debug)]
struct Line<'a> {
    message: &'a Arc<Message>,
    /// Its text and its author's name, in lower case.
    text: String,
    name: String,
    /// Whom it is for, where it says so.
    to: Option<&'a UserId>,
}

impl<'a> Floor<'a> {
    /// A question that has scrolled out of sight is left alone.
    pub fn of(context: &'a Context) -> Self {
        let target = context.target();
        let newest = &target[target.len().saturating_sub(REMEMBERED_LINES)..];
        let names = names(newest, context);
        let lines = newest.iter().map(|message| Line::of(message, &names, context));
        let mut floor = Self { asked: Vec::new(), target, lines: lines.collect() };
        let is_small = people(target.iter()).len() <= SMALL_ROUND;
        let places = 0..floor.lines.len();
        let questions = places.filter(|place| {
            let line = floor.lines[*place].message;
            line.is_human() && is_question(&line.text)
        });
        floor.asked = questions
            .map(|place| Asked {
                line: floor.lines[place].message,
                lines_since: floor.lines.len() - place - 1,
                fate: floor.fate(place, is_small, context),
            })
            .collect();
        floor
    }

    /// Questions to everybody that nobody has taken up, oldest first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Asked<'a>> {
        self.asked.iter().filter(|asked| asked.fate == Fate::Open)
    }

    /// More than one person has spoken.
    pub fn has_company(&self) -> bool {
        people(self.lines.iter().map(|line| line.message)).len() > 1
    }

    /// Two people who talk with each other, if there are no others in the newest lines: one of them calls
    /// the other, or nobody else has been there of late.
    pub fn holders(&self) -> Option<[&'a UserId; 2]> {
        let humans = self.lines.iter().rev().filter(|line| line.message.is_human());
        let newest: Vec<&Line<'a>> = humans.take(EXCHANGE).collect();
        let (last, first) = (newest.first()?, newest.last()?);
        let lasted = last.message.at.duration_since(first.message.at);
        let people = people(newest.iter().map(|line| line.message));
        let mut people = people.into_iter();
        let holders = [people.next()?, people.next()?];
        let outsider = |line: &&Line<'a>| line.to.is_some_and(|to| !holders.contains(&to));
        let is_two = newest.len() == EXCHANGE && people.next().is_none() && lasted <= TALK_LASTS;
        let call_each_other = newest.iter().any(|line| line.to.is_some());
        let is_exchange = is_two
            && !newest.iter().any(outsider)
            && (call_each_other || self.are_alone(holders, last.message.at));
        is_exchange.then_some(holders)
    }

    fn are_alone(&self, holders: [&UserId; 2], now: Timestamp) -> bool {
        let mut of_late = self
            .lines
            .iter()
            .map(|line| line.message)
            .filter(|line| line.is_human() && now.duration_since(line.at) <= TALK_LASTS);
        of_late.all(|line| holders.contains(&&line.author.id))
    }

    pub fn bustle(&self, now: Timestamp) -> Bustle {
        let since = now.checked_sub(LATELY).unwrap_or(Timestamp::MIN);
        let lately: Vec<&Arc<Message>> =
            self.target.iter().filter(|line| line.at >= since).collect();
        Bustle { lines: lately.len(), people: people(lately.into_iter()).len() }
    }

    /// So many lines stand behind the persona's last one.
    pub fn lines_since_own(&self) -> Option<usize> {
        let mut lines = self.lines.iter().rev();
        lines.position(|line| line.message.author.kind == AuthorKind::Persona)
    }

    /// Nobody waits for anything: no question and no plea is open, and each new line is for somebody, by
    /// somebody who is in a talk, or a thank-you or a goodbye.
    pub fn is_settled(&self, is_new: impl Fn(&Message) -> bool) -> bool {
        let is_settled = |place: usize| {
            let line = &self.lines[place];
            let is_part = line.to.is_some() || self.is_heeded(place);
            let asks = is_question(&line.message.text) || asks_for_help(&line.message.text);
            let is_end = !asks && ends_talk(&line.message.text);
            let may_wait = is_new(line.message) || asks;
            !line.message.is_human() || !may_wait || is_part || is_end
        };
        self.open().next().is_none() && (0..self.lines.len()).all(is_settled)
    }

    /// Somebody else has named its author since, or its author is in a talk.
    fn is_heeded(&self, place: usize) -> bool {
        self.taker(place).is_some() || self.partner(place).is_some()
    }

    fn fate(&self, place: usize, is_small_round: bool, context: &'a Context) -> Fate<'a> {
        let question = &self.lines[place];
        let later = &self.lines[place + 1..];
        if let Some(to) = question.to {
            return Fate::PutTo(to);
        }
        if let Some(answerer) = answerer_in_thread(question.message, context) {
            return Fate::TakenUp(answerer);
        }
        let author = &question.message.author.id;
        let is_own = |line: &&Line<'a>| line.message.author.id == *author;
        if later.iter().filter(is_own).any(|line| thanks(&line.message.text)) {
            return Fate::Content;
        }
        if let Some(taker) = self.taker(place) {
            return Fate::TakenUp(taker);
        }
        let mut others = later.iter().filter(|line| !is_own(line));
        let next = others.find(|line| is_small_round && !is_question(&line.message.text));
        match (next, self.partner(place)) {
            (Some(next), _) => Fate::TakenUp(&next.message.author.id),
            (None, Some(partner)) => Fate::InTalk(partner),
            (None, None) => Fate::Open,
        }
    }

    /// The first other one who named the author of a line behind it.
    fn taker(&self, place: usize) -> Option<&'a UserId> {
        let asked = &self.lines[place];
        let mut later = self.lines[place + 1..].iter();
        later.find(|line| line.calls(asked)).map(|line| &line.message.author.id)
    }

    /// Whom the author of a line talks with: who called the author shortly before it, whom the author
    /// called shortly before it, or calls afterwards.
    fn partner(&self, place: usize) -> Option<&'a UserId> {
        let own = &self.lines[place];
        let author = &own.message.author.id;
        let is_near =
            |line: &&Line<'a>| own.message.at.duration_since(line.message.at) <= TALK_LASTS;
        let called = |line: &Line<'a>| match line.message.author.id == *author {
            true => line.to,
            false => line.calls(own).then_some(&line.message.author.id),
        };
        let before = self.lines[..place].iter().rev().filter(is_near).find_map(called);
        let after = || {
            let mut own = self.lines[place + 1..].iter();
            own.find_map(|line| line.to.filter(|_| line.message.author.id == *author))
        };
        before.or_else(after)
    }
}

impl<'a> Line<'a> {
    fn of(message: &'a Arc<Message>, names: &Names<'a>, context: &'a Context) -> Self {
        let author = &message.author.id;
        let text = message.text.to_lowercase();
        let mentioned = message.mentions.iter().find_map(|mention| match mention {
            Mention::User(user) => (user != author).then_some(user),
            Mention::Persona => None,
        });
        let to = mentioned.or_else(|| names.called(&text, author));
        Self { message, name: context.name(author).to_lowercase(), text, to }
    }

    /// It is by somebody else, and names the author of that line.
    fn calls(&self, other: &Line<'_>) -> bool {
        let called = &other.message.author.id;
        let is_mentioned = || self.message.mentions.contains(&Mention::User(called.clone()));
        self.message.author.id != *called
            && (self.to == Some(called) || is_mentioned() || holds_name(&self.text, &other.name))
    }
}

/// Everybody who may be called.
fn names<'a>(lines: &'a [Arc<Message>], context: &'a Context) -> Names<'a> {
    let users: BTreeSet<&UserId> =
        lines.iter().map(|line| &line.author.id).chain(context.names.keys()).collect();
    let known = users.into_iter().map(|user| (user, context.name(user).to_lowercase()));
    Names::new(known.collect())
}

/// Who has the last word in the thread that a line opened, if that answers it.
fn answerer_in_thread<'a>(parent: &Message, context: &'a Context) -> Option<&'a UserId> {
    let thread = context.conversation_history.thread(&parent.id);
    let is_answered = context.is_answered_in_thread(parent);
    let mut others = thread.iter().rev().map(|line| &line.author).filter(|_| is_answered);
    others
        .find(|author| author.id != parent.author.id && author.kind != AuthorKind::Bot)
        .map(|author| &author.id)
}

fn people<'a>(lines: impl Iterator<Item = &'a Arc<Message>>) -> BTreeSet<&'a UserId> {
    lines.filter(|line| line.is_human()).map(|line| &line.author.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, ConversationId, MessageId, WorkspaceId};
    use crate::context::channel_messages::ChannelMessages;

    /// Ten seconds apart. `bot` and `aizuchi` are none of the people.
    fn context(lines: &[(&str, &str)]) -> Context {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("c"),
            thread: None,
        };
        let kind = |author: &str| match author {
            "bot" => AuthorKind::Bot,
            "aizuchi" => AuthorKind::Persona,
            _ => AuthorKind::Human,
        };
        let messages = lines.iter().enumerate().map(|(number, (author, text))| {
            Arc::new(Message {
                conversation: conversation.clone(),
                id: MessageId::new(format!("{number:03}")),
                at: Timestamp::from_second(10 * number as i64).unwrap(),
                author: Author { id: UserId::new(*author), kind: kind(author) },
                text: (*text).into(),
                mentions: Vec::new(),
                edits: 0,
            })
        });
        let history = ChannelMessages::sort(ChannelId::new("c"), "c".into(), messages.collect());
        Context::of(conversation, history)
    }

    const CROWD: [(&str, &str); 4] = [
        ("dan", "so be it"),
        ("eve", "the build is green"),
        ("fay", "nice"),
        ("gus", "今日は雨です"),
    ];

    #[test]
    fn a_question_has_one_fate() {
        let user = UserId::new;
        let (bob, dan, bot) = (user("bob"), user("dan"), user("bot"));
        use Fate::{Content, InTalk, Open, PutTo, TakenUp};
        for (lines, expected) in [
            (vec![("ann", "who has the key?")], Open),
            (vec![("ann", "鍵はどこですか")], Open),
            (vec![("ann", "who has the key?"), ("ann", "it is urgent")], Open),
            (vec![("ann", "who has the key?"), ("ann", "found it, thanks")], Content),
            (vec![("ann", "鍵はどこですか"), ("ann", "解決しました")], Content),
            (vec![("ann", "who has the key?"), ("dan", "ask eve")], Open),
            (vec![("ann", "who has the key?"), ("dan", "ann: ask eve")], TakenUp(&dan)),
            (vec![("ann", "who has the key?"), ("dan", "eve, ann wants it")], TakenUp(&dan)),
            (vec![("ann", "who has the key?"), ("dan", "annoying")], Open),
            (vec![("ann", "who has the key?"), ("bot", "ann: see the list")], TakenUp(&bot)),
            (vec![("花子", "鍵はどこですか"), ("dan", "花子さん、棚です")], TakenUp(&dan)),
            (vec![("annabel", "who has the key?"), ("dan", "anabel: I do")], TakenUp(&dan)),
            (vec![("ann", "who has the key? thanks in advance"), ("ann", "hello?")], Open),
            (vec![("ann", "who has the key?"), ("ann", "thanks in advance")], Open),
            (vec![("bob", "hm"), ("ann", "bob: who has the key?")], PutTo(&bob)),
            (vec![("bob", "hm"), ("ann", "bob who has the key?")], PutTo(&bob)),
            (vec![("bob", "hm"), ("ann", "dan、鍵はどこですか")], PutTo(&dan)),
            (vec![("bob", "ann: try the door"), ("ann", "which door?")], InTalk(&bob)),
            (
                vec![("ann", "bob: it is shut"), ("ann", "is there a key?"), ("bob", "?")],
                InTalk(&bob),
            ),
            (vec![("ann", "is there a key?"), ("ann", "bob: I looked there")], InTalk(&bob)),
        ] {
            let context = context(&[&CROWD[..], &[("bob", "oh")], &lines].concat());
            let floor = Floor::of(&context);
            let asked = floor.asked.iter().find(|asked| asked.line.text.len() > 1);
            assert_eq!(asked.map(|asked| asked.fate), Some(expected), "{lines:?}");
        }
    }

    #[test]
    fn in_a_small_round_whoever_speaks_next_answers() {
        let (bob, aizuchi) = (UserId::new("bob"), UserId::new("aizuchi"));
        for (lines, expected) in [
            (vec![("ann", "who has the key?"), ("bob", "I do")], Fate::TakenUp(&bob)),
            (vec![("ann", "鍵はどこですか"), ("bob", "棚です")], Fate::TakenUp(&bob)),
            (vec![("ann", "who has the key?"), ("bob", "what key?")], Fate::Open),
            (vec![("ann", "who has it?"), ("aizuchi", "bob has")], Fate::TakenUp(&aizuchi)),
        ] {
            let context = context(&lines);
            assert_eq!(Floor::of(&context).asked[0].fate, expected, "{lines:?}");
        }
    }

    #[test]
    fn a_talk_is_over_after_a_while_and_a_question_scrolls_away() {
        let long_ago = [("bob", "ann: try the door")];
        let quiet = vec![("bot", "…"); 23];
        let asks = [("ann", "is there a key?")];
        let near = context(&[&CROWD[..], &long_ago, &quiet, &asks].concat());
        assert!(matches!(Floor::of(&near).asked[0].fate, Fate::InTalk(_)));
        let mut far = near.clone();
        for line in &mut far.conversation_history.top_level_messages[..5] {
            Arc::make_mut(line).at -= SignedDuration::from_mins(10);
        }
        assert_eq!(Floor::of(&far).asked[0].fate, Fate::Open);
        let scrolled = context(&[&asks[..], &quiet, &CROWD].concat());
        assert!(Floor::of(&scrolled).asked.is_empty());
    }

    #[test]
    fn two_people_hold_the_floor_while_nobody_else_speaks() {
        let pair = [("ann", "a"), ("bob", "b"), ("ann", "c"), ("bot", "beep"), ("bob", "d")];
        let (ann, bob, dan) = (UserId::new("ann"), UserId::new("bob"), ("dan", "hm"));
        let holds = |lines: &[(&str, &str)]| {
            let context = context(lines);
            Floor::of(&context).holders() == Some([&ann, &bob])
        };
        let called = [&[dan], &pair[..4], &[("bob", "ann: d")]].concat();
        assert!(holds(&pair) && holds(&called));
        // They need not talk with each other.
        assert!(!holds(&[&[dan], &pair[..]].concat()));
        assert!(!holds(&[&pair[..], &[dan]].concat()) && !holds(&pair[..3]));
        let to_dan = [&[dan], &pair[..4], &[("bob", "dan: look")]].concat();
        assert!(!holds(&to_dan));
    }

    #[test]
    fn how_busy_it_was_and_when_it_spoke_is_counted() {
        let lines = [&[("aizuchi", "hello")], &CROWD[..], &[("bot", "beep")]].concat();
        let context = context(&lines);
        let floor = Floor::of(&context);
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(floor.bustle(at(60)), Bustle { lines: 6, people: 4 });
        assert_eq!(floor.bustle(at(330)), Bustle { lines: 3, people: 2 });
        assert_eq!(floor.bustle(at(999)), Bustle { lines: 0, people: 0 });
        assert_eq!(floor.lines_since_own(), Some(5));
    }

    #[test]
    fn a_talk_is_settled_when_nobody_waits_for_anything() {
        for (lines, expected) in [
            (vec![("ann", "dan: it is done")], true),
            (vec![("ann", "thanks, that was it")], true),
            (vec![("ann", "ありがとうございました")], true),
            (vec![("ann", "who has the key?"), ("dan", "ann: I do")], true),
            (vec![("dan", "ann: the door sticks"), ("ann", "it does not")], true),
            (vec![("ann", "I am so tired of this")], false),
            (vec![("ann", "who has the key?")], false),
            (vec![("ann", "the door won't open"), ("dan", "eve: nice")], false),
            (vec![("ann", "ドアが動かない"), ("dan", "eve、いいね")], false),
            (vec![("ann", "bye, and can anyone help me tomorrow")], false),
        ] {
            let context = context(&[&CROWD[..], &lines].concat());
            let is_new = |line: &Message| line.id.as_str() >= "004";
            assert_eq!(Floor::of(&context).is_settled(is_new), expected, "{lines:?}");
        }
        let context = context(&CROWD);
        assert!(Floor::of(&context).is_settled(|_| false));
        assert!(!Floor::of(&context).is_settled(|_| true));
    }
}
