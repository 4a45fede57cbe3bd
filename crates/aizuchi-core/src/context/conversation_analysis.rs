//! Whose floor it is: what can be known about a talk without understanding it. What was asked, to whom,
//! who took it up, who talks with whom. It goes by names, mentions, threads and question marks alone, so
//! it may miss what a reader sees, and says so nowhere: whoever uses it weighs it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{AuthorKind, Mention, Message, UserId};
use crate::context::Context;
use crate::context::name_index::NameIndex;
use crate::context::phrases::{is_closing, is_help_request, is_thanks};
use crate::overlap::has_name;
use crate::rhythm::question::is_question;

/// A question that has scrolled further up than this is left alone.
const MAX_MESSAGES: usize = 25;
/// Up to this many people talk in turns, so whoever speaks next is taken to answer; in a larger
/// round an answer names whom it is for.
const SMALL_GROUP: usize = 3;
/// Who named each other so long ago does not talk with each other any more.
const EXCHANGE_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// What happened lately happened within this time.
const RECENT_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// Two people hold the floor if so many of the newest human lines are theirs.
const EXCHANGE_MESSAGES: usize = 4;

/// The newest lines of a context's target, and what they are to each other.
#[derive(Debug)]
pub struct ConversationAnalysis<'a> {
    /// What somebody asked, oldest first.
    pub questions: Vec<QuestionAnalysis<'a>>,
    target: &'a [Arc<Message>],
    messages: Vec<AnalyzedMessage<'a>>,
}

/// A question, and what has become of it.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionAnalysis<'a> {
    pub message: &'a Arc<Message>,
    /// So many lines stand behind it.
    pub messages_since: usize,
    pub status: QuestionStatus<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionStatus<'a> {
    /// It was put to everybody, and nobody has taken it up.
    Open,
    /// It was put to this one.
    Directed(&'a UserId),
    /// This one has taken it up.
    TakenUp(&'a UserId),
    /// Its author is content.
    Resolved,
    /// Its author is in a talk with this one.
    AuthorInExchange(&'a UserId),
}

/// How busy it was within the last five minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentActivity {
    pub messages: usize,
    pub users: usize,
}

#[derive(Debug)]
struct AnalyzedMessage<'a> {
    message: &'a Arc<Message>,
    /// Its text and its author's name, in lower case.
    text: String,
    name: String,
    /// Whom it is for, where it says so.
    addressee: Option<&'a UserId>,
}

impl<'a> ConversationAnalysis<'a> {
    /// A question that has scrolled out of sight is left alone.
    pub fn new(context: &'a Context) -> Self {
        let target = context.target_messages();
        let newest = &target[target.len().saturating_sub(MAX_MESSAGES)..];
        let names = name_index(newest, context);
        let lines = newest.iter().map(|message| AnalyzedMessage::new(message, &names, context));
        let mut floor = Self { questions: Vec::new(), target, messages: lines.collect() };
        let is_small = human_authors(target.iter()).len() <= SMALL_GROUP;
        let places = 0..floor.messages.len();
        let questions = places.filter(|place| {
            let line = floor.messages[*place].message;
            line.is_human() && is_question(&line.text)
        });
        floor.questions = questions
            .map(|place| QuestionAnalysis {
                message: floor.messages[place].message,
                messages_since: floor.messages.len() - place - 1,
                status: floor.question_status(place, is_small, context),
            })
            .collect();
        floor
    }

    /// Questions to everybody that nobody has taken up, oldest first.
    pub fn open_questions(&self) -> impl DoubleEndedIterator<Item = &QuestionAnalysis<'a>> {
        self.questions.iter().filter(|asked| asked.status == QuestionStatus::Open)
    }

    /// More than one person has spoken.
    pub fn has_several_authors(&self) -> bool {
        human_authors(self.messages.iter().map(|line| line.message)).len() > 1
    }

    /// Two people who talk with each other, if there are no others in the newest lines: one of them calls
    /// the other, or nobody else has been there of late.
    pub fn exchange_partners(&self) -> Option<[&'a UserId; 2]> {
        let humans = self.messages.iter().rev().filter(|line| line.message.is_human());
        let newest: Vec<&AnalyzedMessage<'a>> = humans.take(EXCHANGE_MESSAGES).collect();
        let (last, first) = (newest.first()?, newest.last()?);
        let lasted = last.message.at.duration_since(first.message.at);
        let people = human_authors(newest.iter().map(|line| line.message));
        let mut people = people.into_iter();
        let holders = [people.next()?, people.next()?];
        let outsider =
            |line: &&AnalyzedMessage<'a>| line.addressee.is_some_and(|to| !holders.contains(&to));
        let is_two = newest.len() == EXCHANGE_MESSAGES
            && people.next().is_none()
            && lasted <= EXCHANGE_TIMEOUT;
        let call_each_other = newest.iter().any(|line| line.addressee.is_some());
        let is_exchange = is_two
            && !newest.iter().any(outsider)
            && (call_each_other || self.is_only_between(holders, last.message.at));
        is_exchange.then_some(holders)
    }

    fn is_only_between(&self, holders: [&UserId; 2], now: Timestamp) -> bool {
        let mut of_late = self
            .messages
            .iter()
            .map(|line| line.message)
            .filter(|line| line.is_human() && now.duration_since(line.at) <= EXCHANGE_TIMEOUT);
        of_late.all(|line| holders.contains(&&line.author.id))
    }

    pub fn recent_activity(&self, now: Timestamp) -> RecentActivity {
        let since = now.checked_sub(RECENT_WINDOW).unwrap_or(Timestamp::MIN);
        let lately: Vec<&Arc<Message>> =
            self.target.iter().filter(|line| line.at >= since).collect();
        RecentActivity { messages: lately.len(), users: human_authors(lately.into_iter()).len() }
    }

    /// So many lines stand behind the persona's last one.
    pub fn messages_since_own(&self) -> Option<usize> {
        let mut lines = self.messages.iter().rev();
        lines.position(|line| line.message.author.kind == AuthorKind::Persona)
    }

    /// Nobody waits for anything: no question and no plea is open, and each new line is for somebody, by
    /// somebody who is in a talk, or a thank-you or a goodbye.
    pub fn is_settled(&self, is_new: impl Fn(&Message) -> bool) -> bool {
        let is_settled = |place: usize| {
            let line = &self.messages[place];
            let is_part = line.addressee.is_some() || self.is_taken_up(place);
            let asks = is_question(&line.message.text) || is_help_request(&line.message.text);
            let is_end = !asks && is_closing(&line.message.text);
            let may_wait = is_new(line.message) || asks;
            !line.message.is_human() || !may_wait || is_part || is_end
        };
        self.open_questions().next().is_none() && (0..self.messages.len()).all(is_settled)
    }

    /// Somebody else has named its author since, or its author is in a talk.
    fn is_taken_up(&self, place: usize) -> bool {
        self.answerer(place).is_some() || self.exchange_partner(place).is_some()
    }

    fn question_status(
        &self,
        place: usize,
        is_small_round: bool,
        context: &'a Context,
    ) -> QuestionStatus<'a> {
        let question = &self.messages[place];
        let later = &self.messages[place + 1..];
        if let Some(to) = question.addressee {
            return QuestionStatus::Directed(to);
        }
        if let Some(answerer) = answerer_in_thread(question.message, context) {
            return QuestionStatus::TakenUp(answerer);
        }
        let author = &question.message.author.id;
        let is_own = |line: &&AnalyzedMessage<'a>| line.message.author.id == *author;
        if later.iter().filter(is_own).any(|line| is_thanks(&line.message.text)) {
            return QuestionStatus::Resolved;
        }
        if let Some(taker) = self.answerer(place) {
            return QuestionStatus::TakenUp(taker);
        }
        let mut others = later.iter().filter(|line| !is_own(line));
        let next = others.find(|line| is_small_round && !is_question(&line.message.text));
        match (next, self.exchange_partner(place)) {
            (Some(next), _) => QuestionStatus::TakenUp(&next.message.author.id),
            (None, Some(partner)) => QuestionStatus::AuthorInExchange(partner),
            (None, None) => QuestionStatus::Open,
        }
    }

    /// The first other one who named the author of a line behind it.
    fn answerer(&self, place: usize) -> Option<&'a UserId> {
        let asked = &self.messages[place];
        let mut later = self.messages[place + 1..].iter();
        later.find(|line| line.is_calling(asked)).map(|line| &line.message.author.id)
    }

    /// Whom the author of a line talks with: who called the author shortly before it, whom the author
    /// called shortly before it, or calls afterwards.
    fn exchange_partner(&self, place: usize) -> Option<&'a UserId> {
        let own = &self.messages[place];
        let author = &own.message.author.id;
        let is_near = |line: &&AnalyzedMessage<'a>| {
            own.message.at.duration_since(line.message.at) <= EXCHANGE_TIMEOUT
        };
        let called = |line: &AnalyzedMessage<'a>| match line.message.author.id == *author {
            true => line.addressee,
            false => line.is_calling(own).then_some(&line.message.author.id),
        };
        let before = self.messages[..place].iter().rev().filter(is_near).find_map(called);
        let after = || {
            let mut own = self.messages[place + 1..].iter();
            own.find_map(|line| line.addressee.filter(|_| line.message.author.id == *author))
        };
        before.or_else(after)
    }
}

impl<'a> AnalyzedMessage<'a> {
    fn new(message: &'a Arc<Message>, names: &NameIndex<'a>, context: &'a Context) -> Self {
        let author = &message.author.id;
        let text = message.text.to_lowercase();
        let mentioned = message.mentions.iter().find_map(|mention| match mention {
            Mention::User(user) => (user != author).then_some(user),
            Mention::Persona => None,
        });
        let to = mentioned.or_else(|| names.find_addressee(&text, author));
        Self { message, name: context.display_name(author).to_lowercase(), text, addressee: to }
    }

    /// It is by somebody else, and names the author of that line.
    fn is_calling(&self, other: &AnalyzedMessage<'_>) -> bool {
        let called = &other.message.author.id;
        let is_mentioned = || self.message.mentions.contains(&Mention::User(called.clone()));
        self.message.author.id != *called
            && (self.addressee == Some(called)
                || is_mentioned()
                || has_name(&self.text, &other.name))
    }
}

/// Everybody who may be called.
fn name_index<'a>(lines: &'a [Arc<Message>], context: &'a Context) -> NameIndex<'a> {
    let users: BTreeSet<&UserId> =
        lines.iter().map(|line| &line.author.id).chain(context.names.keys()).collect();
    let known = users.into_iter().map(|user| (user, context.display_name(user).to_lowercase()));
    NameIndex::new(known.collect())
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

fn human_authors<'a>(lines: impl Iterator<Item = &'a Arc<Message>>) -> BTreeSet<&'a UserId> {
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
        let history =
            ChannelMessages::from_messages(ChannelId::new("c"), "c".into(), messages.collect());
        Context::new(conversation, history)
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
        use QuestionStatus::{AuthorInExchange, Directed, Open, Resolved, TakenUp};
        for (lines, expected) in [
            (vec![("ann", "who has the key?")], Open),
            (vec![("ann", "鍵はどこですか")], Open),
            (vec![("ann", "who has the key?"), ("ann", "it is urgent")], Open),
            (vec![("ann", "who has the key?"), ("ann", "found it, thanks")], Resolved),
            (vec![("ann", "鍵はどこですか"), ("ann", "解決しました")], Resolved),
            (vec![("ann", "who has the key?"), ("dan", "ask eve")], Open),
            (vec![("ann", "who has the key?"), ("dan", "ann: ask eve")], TakenUp(&dan)),
            (vec![("ann", "who has the key?"), ("dan", "eve, ann wants it")], TakenUp(&dan)),
            (vec![("ann", "who has the key?"), ("dan", "annoying")], Open),
            (vec![("ann", "who has the key?"), ("bot", "ann: see the list")], TakenUp(&bot)),
            (vec![("花子", "鍵はどこですか"), ("dan", "花子さん、棚です")], TakenUp(&dan)),
            (vec![("annabel", "who has the key?"), ("dan", "anabel: I do")], TakenUp(&dan)),
            (vec![("ann", "who has the key? thanks in advance"), ("ann", "hello?")], Open),
            (vec![("ann", "who has the key?"), ("ann", "thanks in advance")], Open),
            (vec![("bob", "hm"), ("ann", "bob: who has the key?")], Directed(&bob)),
            (vec![("bob", "hm"), ("ann", "bob who has the key?")], Directed(&bob)),
            (vec![("bob", "hm"), ("ann", "dan、鍵はどこですか")], Directed(&dan)),
            (vec![("bob", "ann: try the door"), ("ann", "which door?")], AuthorInExchange(&bob)),
            (
                vec![("ann", "bob: it is shut"), ("ann", "is there a key?"), ("bob", "?")],
                AuthorInExchange(&bob),
            ),
            (
                vec![("ann", "is there a key?"), ("ann", "bob: I looked there")],
                AuthorInExchange(&bob),
            ),
        ] {
            let context = context(&[&CROWD[..], &[("bob", "oh")], &lines].concat());
            let floor = ConversationAnalysis::new(&context);
            let asked = floor.questions.iter().find(|asked| asked.message.text.len() > 1);
            assert_eq!(asked.map(|asked| asked.status), Some(expected), "{lines:?}");
        }
    }

    #[test]
    fn in_a_small_round_whoever_speaks_next_answers() {
        let (bob, aizuchi) = (UserId::new("bob"), UserId::new("aizuchi"));
        for (lines, expected) in [
            (vec![("ann", "who has the key?"), ("bob", "I do")], QuestionStatus::TakenUp(&bob)),
            (vec![("ann", "鍵はどこですか"), ("bob", "棚です")], QuestionStatus::TakenUp(&bob)),
            (vec![("ann", "who has the key?"), ("bob", "what key?")], QuestionStatus::Open),
            (
                vec![("ann", "who has it?"), ("aizuchi", "bob has")],
                QuestionStatus::TakenUp(&aizuchi),
            ),
        ] {
            let context = context(&lines);
            assert_eq!(
                ConversationAnalysis::new(&context).questions[0].status,
                expected,
                "{lines:?}"
            );
        }
    }

    #[test]
    fn a_talk_is_over_after_a_while_and_a_question_scrolls_away() {
        let long_ago = [("bob", "ann: try the door")];
        let quiet = vec![("bot", "…"); 23];
        let asks = [("ann", "is there a key?")];
        let near = context(&[&CROWD[..], &long_ago, &quiet, &asks].concat());
        assert!(matches!(
            ConversationAnalysis::new(&near).questions[0].status,
            QuestionStatus::AuthorInExchange(_)
        ));
        let mut far = near.clone();
        for line in &mut far.conversation_history.top_level_messages[..5] {
            Arc::make_mut(line).at -= SignedDuration::from_mins(10);
        }
        assert_eq!(ConversationAnalysis::new(&far).questions[0].status, QuestionStatus::Open);
        let scrolled = context(&[&asks[..], &quiet, &CROWD].concat());
        assert!(ConversationAnalysis::new(&scrolled).questions.is_empty());
    }

    #[test]
    fn two_people_hold_the_floor_while_nobody_else_speaks() {
        let pair = [("ann", "a"), ("bob", "b"), ("ann", "c"), ("bot", "beep"), ("bob", "d")];
        let (ann, bob, dan) = (UserId::new("ann"), UserId::new("bob"), ("dan", "hm"));
        let holds = |lines: &[(&str, &str)]| {
            let context = context(lines);
            ConversationAnalysis::new(&context).exchange_partners() == Some([&ann, &bob])
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
        let floor = ConversationAnalysis::new(&context);
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(floor.recent_activity(at(60)), RecentActivity { messages: 6, users: 4 });
        assert_eq!(floor.recent_activity(at(330)), RecentActivity { messages: 3, users: 2 });
        assert_eq!(floor.recent_activity(at(999)), RecentActivity { messages: 0, users: 0 });
        assert_eq!(floor.messages_since_own(), Some(5));
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
            assert_eq!(
                ConversationAnalysis::new(&context).is_settled(is_new),
                expected,
                "{lines:?}"
            );
        }
        let context = context(&CROWD);
        assert!(ConversationAnalysis::new(&context).is_settled(|_| false));
        assert!(!ConversationAnalysis::new(&context).is_settled(|_| true));
    }
}
