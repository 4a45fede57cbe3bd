//! What can be known about a conversation without understanding it: the questions, whom they address, who took
//! them up, and who talks with whom. It relies on names, mentions, threads and question marks only, so it may
//! miss what a reader would see. Callers weigh it accordingly.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::chat::{AuthorKind, Mention, Message, UserId};
use crate::context::Context;
use crate::context::name_index::NameIndex;
use crate::context::phrases::{is_closing, is_help_request, is_thanks};
use crate::overlap::has_name;
use crate::rhythm::question::is_question;

/// Questions further up than this are ignored.
const MAX_MESSAGES: usize = 25;
/// Up to this many users take turns, so the next one to write is taken to answer. In a larger group an answer
/// has to name its addressee.
const SMALL_GROUP: usize = 3;
/// Users who named each other longer ago than this are no longer in an exchange.
const EXCHANGE_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// What counts as recent activity.
const RECENT_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// Two users are in an exchange if this many of the newest human messages are theirs.
const EXCHANGE_MESSAGES: usize = 4;

/// An analysis of the newest messages of a context's target.
#[derive(Debug)]
pub struct ConversationAnalysis<'a> {
    /// All questions, oldest first.
    pub questions: Vec<QuestionAnalysis<'a>>,
    target: &'a [Arc<Message>],
    messages: Vec<AnalyzedMessage<'a>>,
}

/// A question and its status.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionAnalysis<'a> {
    pub message: &'a Arc<Message>,
    /// The number of messages after it.
    pub messages_since: usize,
    pub status: QuestionStatus<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionStatus<'a> {
    /// It addresses the channel, and no user has taken it up.
    Open,
    /// It addresses this user.
    Directed(&'a UserId),
    /// This user has taken it up.
    TakenUp(&'a UserId),
    /// Its author is content.
    Resolved,
    /// Its author is in an exchange with this user.
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
    /// The text and the author's name, in lower case.
    text: String,
    name: String,
    /// The user that it addresses explicitly.
    addressee: Option<&'a UserId>,
}

impl<'a> ConversationAnalysis<'a> {
    /// Only the newest messages are analyzed; questions above them are ignored.
    pub fn new(context: &'a Context) -> Self {
        let target = context.target_messages();
        let newest = &target[target.len().saturating_sub(MAX_MESSAGES)..];
        let names = name_index(newest, context);
        let messages = newest.iter().map(|message| AnalyzedMessage::new(message, &names, context));
        let mut analysis = Self { questions: Vec::new(), target, messages: messages.collect() };
        let is_small = human_authors(target.iter()).len() <= SMALL_GROUP;
        let is_human_question = |index: &usize| {
            let message = analysis.messages[*index].message;
            message.is_human() && is_question(&message.text)
        };
        let questions = (0..analysis.messages.len()).filter(is_human_question);
        analysis.questions = questions
            .map(|index| QuestionAnalysis {
                message: analysis.messages[index].message,
                messages_since: analysis.messages.len() - index - 1,
                status: analysis.question_status(index, is_small, context),
            })
            .collect();
        analysis
    }

    /// Questions to the channel that no user has taken up, oldest first.
    pub fn open_questions(&self) -> impl DoubleEndedIterator<Item = &QuestionAnalysis<'a>> {
        self.questions.iter().filter(|question| question.status == QuestionStatus::Open)
    }

    /// Whether more than one user has written.
    pub fn has_several_authors(&self) -> bool {
        human_authors(self.messages.iter().map(|message| message.message)).len() > 1
    }

    /// Two users who talk with each other, if all of the newest messages are theirs: one of them names the
    /// other, or no other user has written recently.
    pub fn exchange_partners(&self) -> Option<[&'a UserId; 2]> {
        let humans = self.messages.iter().rev().filter(|message| message.message.is_human());
        let newest: Vec<&AnalyzedMessage<'a>> = humans.take(EXCHANGE_MESSAGES).collect();
        let (last, first) = (newest.first()?, newest.last()?);
        let lasted = last.message.at.duration_since(first.message.at);
        let authors = human_authors(newest.iter().map(|message| message.message));
        let mut authors = authors.into_iter();
        let partners = [authors.next()?, authors.next()?];
        let names_outsider = |message: &&AnalyzedMessage<'a>| {
            message.addressee.is_some_and(|to| !partners.contains(&to))
        };
        let is_two = newest.len() == EXCHANGE_MESSAGES
            && authors.next().is_none()
            && lasted <= EXCHANGE_TIMEOUT;
        let is_addressed = newest.iter().any(|message| message.addressee.is_some());
        let is_exchange = is_two
            && !newest.iter().any(names_outsider)
            && (is_addressed || self.is_only_between(partners, last.message.at));
        is_exchange.then_some(partners)
    }

    fn is_only_between(&self, partners: [&UserId; 2], now: Timestamp) -> bool {
        let mut recent = self.messages.iter().map(|message| message.message).filter(|message| {
            message.is_human() && now.duration_since(message.at) <= EXCHANGE_TIMEOUT
        });
        recent.all(|message| partners.contains(&&message.author.id))
    }

    pub fn recent_activity(&self, now: Timestamp) -> RecentActivity {
        let since = now.checked_sub(RECENT_WINDOW).unwrap_or(Timestamp::MIN);
        let recent: Vec<&Arc<Message>> =
            self.target.iter().filter(|message| message.at >= since).collect();
        RecentActivity { messages: recent.len(), users: human_authors(recent.into_iter()).len() }
    }

    /// The number of messages after the persona's last one.
    pub fn messages_since_own(&self) -> Option<usize> {
        let mut messages = self.messages.iter().rev();
        messages.position(|message| message.message.author.kind == AuthorKind::Persona)
    }

    /// Whether no user waits for anything: no question or request for help is open, and each new message
    /// addresses a user, is part of an exchange, or is a thank-you or goodbye.
    pub fn is_settled(&self, is_new: impl Fn(&Message) -> bool) -> bool {
        let is_settled = |index: usize| {
            let message = &self.messages[index];
            let is_in_exchange = message.addressee.is_some() || self.is_taken_up(index);
            let asks = is_question(&message.message.text) || is_help_request(&message.message.text);
            let is_closing_message = !asks && is_closing(&message.message.text);
            let may_wait = is_new(message.message) || asks;
            !message.message.is_human() || !may_wait || is_in_exchange || is_closing_message
        };
        self.open_questions().next().is_none() && (0..self.messages.len()).all(is_settled)
    }

    /// Whether another user has named its author since, or its author is in an exchange.
    fn is_taken_up(&self, index: usize) -> bool {
        self.answerer(index).is_some() || self.exchange_partner(index).is_some()
    }

    fn question_status(
        &self,
        index: usize,
        is_small_group: bool,
        context: &'a Context,
    ) -> QuestionStatus<'a> {
        let question = &self.messages[index];
        let later = &self.messages[index + 1..];
        if let Some(to) = question.addressee {
            return QuestionStatus::Directed(to);
        }
        if let Some(answerer) = answerer_in_thread(question.message, context) {
            return QuestionStatus::TakenUp(answerer);
        }
        let author = &question.message.author.id;
        let is_own = |message: &&AnalyzedMessage<'a>| message.message.author.id == *author;
        if later.iter().filter(is_own).any(|message| is_thanks(&message.message.text)) {
            return QuestionStatus::Resolved;
        }
        if let Some(taker) = self.answerer(index) {
            return QuestionStatus::TakenUp(taker);
        }
        let mut others = later.iter().filter(|message| !is_own(message));
        let next = others.find(|message| is_small_group && !is_question(&message.message.text));
        match (next, self.exchange_partner(index)) {
            (Some(next), _) => QuestionStatus::TakenUp(&next.message.author.id),
            (None, Some(partner)) => QuestionStatus::AuthorInExchange(partner),
            (None, None) => QuestionStatus::Open,
        }
    }

    /// The first other user who named the author of this message after it.
    fn answerer(&self, index: usize) -> Option<&'a UserId> {
        let question = &self.messages[index];
        let mut later = self.messages[index + 1..].iter();
        later.find(|message| message.is_calling(question)).map(|message| &message.message.author.id)
    }

    /// The user whom the author of this message talks with: one who named the author shortly before it, or whom
    /// the author named shortly before or afterwards.
    fn exchange_partner(&self, index: usize) -> Option<&'a UserId> {
        let own = &self.messages[index];
        let author = &own.message.author.id;
        let is_near = |message: &&AnalyzedMessage<'a>| {
            own.message.at.duration_since(message.message.at) <= EXCHANGE_TIMEOUT
        };
        let called = |message: &AnalyzedMessage<'a>| match message.message.author.id == *author {
            true => message.addressee,
            false => message.is_calling(own).then_some(&message.message.author.id),
        };
        let before = self.messages[..index].iter().rev().filter(is_near).find_map(called);
        let after = || {
            let mut own = self.messages[index + 1..].iter();
            own.find_map(|message| {
                message.addressee.filter(|_| message.message.author.id == *author)
            })
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

    /// Whether it is by another author and names the author of that message.
    fn is_calling(&self, other: &AnalyzedMessage<'_>) -> bool {
        let user = &other.message.author.id;
        let is_mentioned = || self.message.mentions.contains(&Mention::User(user.clone()));
        self.message.author.id != *user
            && (self.addressee == Some(user) || is_mentioned() || has_name(&self.text, &other.name))
    }
}

/// All users who may be addressed.
fn name_index<'a>(messages: &'a [Arc<Message>], context: &'a Context) -> NameIndex<'a> {
    let users: BTreeSet<&UserId> =
        messages.iter().map(|message| &message.author.id).chain(context.names.keys()).collect();
    let known = users.into_iter().map(|user| (user, context.display_name(user).to_lowercase()));
    NameIndex::new(known.collect())
}

/// The user with the last word in the thread under a message, if that answers it.
fn answerer_in_thread<'a>(parent: &Message, context: &'a Context) -> Option<&'a UserId> {
    let thread = context.conversation_history.thread(&parent.id);
    let is_answered = context.is_answered_in_thread(parent);
    let mut others = thread.iter().rev().map(|message| &message.author).filter(|_| is_answered);
    others
        .find(|author| author.id != parent.author.id && author.kind != AuthorKind::Bot)
        .map(|author| &author.id)
}

fn human_authors<'a>(messages: impl Iterator<Item = &'a Arc<Message>>) -> BTreeSet<&'a UserId> {
    messages.filter(|message| message.is_human()).map(|message| &message.author.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, ConversationId, MessageId, WorkspaceId};
    use crate::context::channel_messages::ChannelMessages;

    /// Messages ten seconds apart. `bot` and `aizuchi` are not humans.
    fn context(messages: &[(&str, &str)]) -> Context {
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
        let messages = messages.iter().enumerate().map(|(number, (author, text))| {
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
    fn a_question_has_one_status() {
        let user = UserId::new;
        let (bob, dan, bot) = (user("bob"), user("dan"), user("bot"));
        use QuestionStatus::{AuthorInExchange, Directed, Open, Resolved, TakenUp};
        for (messages, expected) in [
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
            let context = context(&[&CROWD[..], &[("bob", "oh")], &messages].concat());
            let analysis = ConversationAnalysis::new(&context);
            let question = analysis.questions.iter().find(|asked| asked.message.text.len() > 1);
            assert_eq!(question.map(|asked| asked.status), Some(expected), "{messages:?}");
        }
    }

    #[test]
    fn in_a_small_group_the_next_message_answers() {
        let (bob, aizuchi) = (UserId::new("bob"), UserId::new("aizuchi"));
        for (messages, expected) in [
            (vec![("ann", "who has the key?"), ("bob", "I do")], QuestionStatus::TakenUp(&bob)),
            (vec![("ann", "鍵はどこですか"), ("bob", "棚です")], QuestionStatus::TakenUp(&bob)),
            (vec![("ann", "who has the key?"), ("bob", "what key?")], QuestionStatus::Open),
            (
                vec![("ann", "who has it?"), ("aizuchi", "bob has")],
                QuestionStatus::TakenUp(&aizuchi),
            ),
        ] {
            let context = context(&messages);
            assert_eq!(
                ConversationAnalysis::new(&context).questions[0].status,
                expected,
                "{messages:?}"
            );
        }
    }

    #[test]
    fn an_exchange_ends_after_a_while_and_a_question_scrolls_away() {
        let long_ago = [("bob", "ann: try the door")];
        let quiet = vec![("bot", "…"); 23];
        let asks = [("ann", "is there a key?")];
        let near = context(&[&CROWD[..], &long_ago, &quiet, &asks].concat());
        assert!(matches!(
            ConversationAnalysis::new(&near).questions[0].status,
            QuestionStatus::AuthorInExchange(_)
        ));
        let mut far = near.clone();
        for message in &mut far.conversation_history.top_level_messages[..5] {
            Arc::make_mut(message).at -= SignedDuration::from_mins(10);
        }
        assert_eq!(ConversationAnalysis::new(&far).questions[0].status, QuestionStatus::Open);
        let scrolled = context(&[&asks[..], &quiet, &CROWD].concat());
        assert!(ConversationAnalysis::new(&scrolled).questions.is_empty());
    }

    #[test]
    fn two_users_are_in_an_exchange_while_no_other_writes() {
        let pair = [("ann", "a"), ("bob", "b"), ("ann", "c"), ("bot", "beep"), ("bob", "d")];
        let (ann, bob, dan) = (UserId::new("ann"), UserId::new("bob"), ("dan", "hm"));
        let is_exchange = |messages: &[(&str, &str)]| {
            let context = context(messages);
            ConversationAnalysis::new(&context).exchange_partners() == Some([&ann, &bob])
        };
        let addressed = [&[dan], &pair[..4], &[("bob", "ann: d")]].concat();
        assert!(is_exchange(&pair) && is_exchange(&addressed));
        // With a third user around, they need to address each other.
        assert!(!is_exchange(&[&[dan], &pair[..]].concat()));
        assert!(!is_exchange(&[&pair[..], &[dan]].concat()) && !is_exchange(&pair[..3]));
        let to_dan = [&[dan], &pair[..4], &[("bob", "dan: look")]].concat();
        assert!(!is_exchange(&to_dan));
    }

    #[test]
    fn recent_activity_and_own_messages_are_counted() {
        let messages = [&[("aizuchi", "hello")], &CROWD[..], &[("bot", "beep")]].concat();
        let context = context(&messages);
        let analysis = ConversationAnalysis::new(&context);
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(analysis.recent_activity(at(60)), RecentActivity { messages: 6, users: 4 });
        assert_eq!(analysis.recent_activity(at(330)), RecentActivity { messages: 3, users: 2 });
        assert_eq!(analysis.recent_activity(at(999)), RecentActivity { messages: 0, users: 0 });
        assert_eq!(analysis.messages_since_own(), Some(5));
    }

    #[test]
    fn a_conversation_is_settled_when_no_user_waits_for_anything() {
        for (messages, expected) in [
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
            let context = context(&[&CROWD[..], &messages].concat());
            let is_new = |message: &Message| message.id.as_str() >= "004";
            assert_eq!(
                ConversationAnalysis::new(&context).is_settled(is_new),
                expected,
                "{messages:?}"
            );
        }
        let context = context(&CROWD);
        assert!(ConversationAnalysis::new(&context).is_settled(|_| false));
        assert!(!ConversationAnalysis::new(&context).is_settled(|_| true));
    }
}
