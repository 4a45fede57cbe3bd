//! Who waits for an answer in a conversation, who talks with whom, and the status of each question: the structure of
//! the conversation ([`aizuchi_structure`]) in terms of its messages and users.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use aizuchi_structure::Uptake;
use aizuchi_structure::calls::Since;
use aizuchi_structure::cues::Cues;
use jiff::{SignedDuration, Timestamp};

use crate::chat::{AuthorKind, Message, MessageId, UserId};
use crate::context::Context;
use crate::context::message_structure::{MessageStructure, passes_question_on};

mod wrong_answers;

/// The number of newest messages in which questions are analyzed. Earlier ones are history.
const MAX_MESSAGES: usize = 25;
/// The probability from which a question counts as open.
const OPEN: f32 = 0.5;
/// The message that a verdict was about is certainly taken up below the first probability, and certainly open above the
/// second.
const TAKEN_UP: f32 = 0.3;
const STILL_OPEN: f32 = 0.6;
/// Users who wrote longer ago than this are no longer in an exchange.
const EXCHANGE_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// The period that counts as recent activity.
const RECENT_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// Two users are in an exchange if this many of the newest human messages are theirs.
const EXCHANGE_MESSAGES: usize = 4;

/// An analysis of the newest messages of a context's target.
#[derive(Debug)]
pub struct ConversationAnalysis<'a> {
    /// Computed on first use: a gate needs only those of new messages.
    questions: OnceLock<Vec<QuestionAnalysis<'a>>>,
    context: &'a Context,
    target: &'a [Arc<Message>],
    talk: Arc<MessageStructure>,
    /// The index in `target` of the first message of `talk`.
    first: usize,
    /// The uptake at the top level of the message that opened the target, if that is a thread.
    above: Option<UptakeAbove>,
}

/// The uptake of the message that opened a thread, by the messages below it in the channel.
#[derive(Debug)]
struct UptakeAbove {
    open: f32,
    calls_for_a_word: bool,
    taken_by: Option<(UserId, f32)>,
}

/// A question or plea and its status.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionAnalysis<'a> {
    pub message: &'a Arc<Message>,
    /// The number of messages after it.
    pub messages_since: usize,
    /// The probability that its author waits for anyone's answer; for a plea somewhat less.
    pub open: f32,
    pub status: QuestionStatus,
}

#[derive(Clone, Debug, PartialEq)]
pub enum QuestionStatus {
    /// The question addresses the channel, and most probably no user has taken it up.
    Open,
    /// The question addresses this user.
    Directed(UserId),
    /// This user has taken it up, with this probability.
    TakenUp(UserId, f32),
    /// The author is satisfied.
    Resolved,
    /// The question is part of its author's exchange with another user.
    AuthorInExchange,
    /// Users continue in the question's thread, where it is judged.
    InThread,
}

/// Whether the message that a verdict was about is still open, after users have written more.
#[derive(Clone, Debug, PartialEq)]
pub enum OpenState {
    Open,
    ProbablyOpen,
    ProbablyTakenUp,
    /// Taken up by this user, with this probability; without a user if the author is satisfied.
    TakenUp(Option<(UserId, f32)>),
    /// Users continue in its thread, where it is judged.
    InThread,
}

/// How a message relates to those around it, mostly as probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Relation {
    /// It begins something new.
    pub begins: f32,
    /// It replies to another user.
    pub directed: f32,
    /// It addresses a user.
    pub is_addressed: bool,
    /// It replies to the persona.
    pub to_persona: f32,
    /// Its author still waits, if it asks or tells something.
    pub open: f32,
    /// Its words ask for a word, and it calls for one where it stands, both in log odds.
    pub appeal: f32,
    pub calls: f32,
    /// The number of its words.
    pub length: usize,
    pub since: Since,
}

/// The activity within the last five minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentActivity {
    pub messages: usize,
    pub users: usize,
}

impl<'a> ConversationAnalysis<'a> {
    pub fn new(context: &'a Context) -> Self {
        let target = context.target_messages();
        let talk = MessageStructure::from_context(context);
        let first = target.len() - talk.structure().len();
        let above = uptake_above(context);
        Self { questions: OnceLock::new(), context, target, talk, first, above }
    }

    /// Returns all questions and pleas, oldest first.
    pub fn questions(&self) -> &[QuestionAnalysis<'a>] {
        self.questions.get_or_init(|| {
            let newest = self.target.len().saturating_sub(MAX_MESSAGES).max(self.first);
            let asks = |index: &usize| {
                self.target[*index].is_human()
                    && self.talk.structure().asking(index - self.first) > 0.0
            };
            let questions = (newest..self.target.len()).filter(asks);
            questions.map(|index| self.question(index)).collect()
        })
    }

    /// Returns the questions and pleas to the channel that most probably no user has taken up, oldest first.
    pub fn open_questions(&self) -> impl DoubleEndedIterator<Item = &QuestionAnalysis<'a>> {
        self.questions().iter().filter(|question| question.status == QuestionStatus::Open)
    }

    /// Returns two users who talk with each other, if all of the newest messages are theirs and reply to one another.
    pub fn exchange_partners(&self) -> Option<[&'a UserId; 2]> {
        let newest = (self.first..self.target.len()).rev();
        let mut newest: Vec<usize> =
            newest.filter(|index| self.target[*index].is_human()).take(EXCHANGE_MESSAGES).collect();
        newest.reverse();
        let (first, last) = (*newest.first()?, *newest.last()?);
        let lasted = self.target[last].at.duration_since(self.target[first].at);
        let authors = human_authors(newest.iter().map(|index| &self.target[*index]));
        let [one, other] = *authors.into_iter().collect::<Vec<_>>() else { return None };
        let structure = self.talk.structure();
        let replies = |index: &usize| {
            let parents = newest.iter().filter(|parent| *parent < index);
            let links =
                parents.map(|parent| structure.link(index - self.first, parent - self.first));
            links.sum::<f32>() > OPEN
        };
        let is_exchange = newest.len() == EXCHANGE_MESSAGES
            && lasted <= EXCHANGE_TIMEOUT
            && newest[1..].iter().all(replies);
        is_exchange.then_some([one, other])
    }

    pub fn recent_activity(&self, now: Timestamp) -> RecentActivity {
        let since = now.checked_sub(RECENT_WINDOW).unwrap_or(Timestamp::MIN);
        let recent: Vec<&Arc<Message>> =
            self.target.iter().filter(|message| message.at >= since).collect();
        RecentActivity { messages: recent.len(), users: human_authors(recent.into_iter()).len() }
    }

    /// Returns the cues in the form of a message of the target.
    pub fn cues(&self, message: &Message) -> Cues {
        let index = self.talk.index_of(&message.id);
        index.map_or(Cues::empty(), |index| self.talk.structure().utterances()[index].cues)
    }

    /// Returns how a message of the target relates to those around it.
    pub fn relation(&self, message: &Message) -> Option<Relation> {
        let index = self.talk.index_of(&message.id)?;
        let structure = self.talk.structure();
        Some(Relation {
            begins: structure.begins(index),
            directed: structure.directed(index),
            is_addressed: structure.utterances()[index].addressee.is_some(),
            to_persona: self.talk.replied_to_persona(index, Cues::empty()),
            open: structure.uptake(index).open,
            appeal: structure.utterances()[index].appeal,
            calls: structure.calls(index),
            length: structure.utterances()[index].length,
            since: Since::new(structure, index),
        })
    }

    /// Returns the probability that a message of the target belongs to what an earlier one began.
    pub fn belonging(&self, message: &Message, start: &Message) -> f32 {
        let (index, start) = (self.talk.index_of(&message.id), self.talk.index_of(&start.id));
        match (index, start) {
            (Some(index), Some(start)) if start <= index => {
                self.talk.structure().belonging(start)[index]
            }
            _ => 0.0,
        }
    }

    /// Returns the number of messages after the persona's last one.
    pub fn messages_since_own(&self) -> Option<usize> {
        let mut messages = self.target.iter().rev();
        messages.position(|message| message.author.kind == AuthorKind::Persona)
    }

    /// Whether certainly no user waits for anything that has not been judged: no new message calls for a word, even with
    /// a small probability. The message that opened the thread is judged there until it is answered.
    pub fn is_settled(&self, is_new: impl Fn(&Message) -> bool) -> bool {
        let mut new = (self.first..self.target.len()).filter(|index| {
            let message = &self.target[*index];
            let is_unjudged = is_new(message) || self.context.opens_unanswered_thread(message);
            message.is_human() && is_unjudged
        });
        new.all(|index| self.is_settled_message(index - self.first))
    }

    /// Whether this message surely calls for no word. `index` is in the structure.
    fn is_settled_message(&self, index: usize) -> bool {
        let message = &self.target[index + self.first];
        if self.context.is_left_to_thread(message) || self.answer_to(index).is_some() {
            return true;
        }
        if self.talk.goes_on_from_persona(index) {
            return false;
        }
        let is_settled = self.above_of(message).is_some_and(|above| !above.calls_for_a_word)
            || !self.talk.calls_for_a_word(index);
        is_settled && !self.may_be_wrong(index)
    }

    /// Whether a message still calls for a word, and belongs to nothing that `other` began or answers.
    pub fn waits_beside(&self, message: &Message, other: &Message) -> bool {
        let Some(index) = self.talk.index_of(&message.id) else { return false };
        self.talk.calls_for_a_word(index)
            && self.open_state(&message.id) == OpenState::Open
            && self.belonging(message, other) < OPEN
            && self.belonging(other, message) < OPEN
    }

    /// Returns whether this message of the target is still open. A message that no longer exists is not.
    pub fn open_state(&self, message: &MessageId) -> OpenState {
        self.open_state_since(message, |_| true)
    }

    /// Like [`open_state`](Self::open_state), but ignores answers before the first message for which `counts` holds,
    /// because the judge has seen them. Answers in the message's thread always count.
    pub fn open_state_since(
        &self,
        message: &MessageId,
        counts: impl Fn(&Message) -> bool,
    ) -> OpenState {
        let Some(index) = self.talk.index_of(message) else {
            // In a long thread it may be before the analyzed messages.
            let is_present = self.context.target_message(message).is_some();
            return match is_present {
                true => OpenState::ProbablyTakenUp,
                false => OpenState::TakenUp(None),
            };
        };
        let message = &self.target[index + self.first];
        if let Some(user) = answerer_in_thread(message, self.context) {
            return OpenState::TakenUp(Some((user.clone(), 1.0)));
        }
        if self.context.is_left_to_thread(message) {
            return OpenState::InThread;
        }
        if let Some(above) = self.above_of(message).filter(|above| above.open <= TAKEN_UP) {
            return OpenState::TakenUp(above.taken_by.clone());
        }
        let structure = self.talk.structure();
        let mut later = index + 1..structure.len();
        let first = later.find(|later| counts(&self.target[later + self.first]));
        let uptake = structure.uptake_since(index, first.unwrap_or(structure.len()));
        let taker = || taker(&uptake);
        // Where it is told and not asked, only a reader can tell what in it was answered.
        let is_told = structure.asking(index) < 1.0;
        match uptake.open {
            open if open > STILL_OPEN => OpenState::Open,
            open if open > OPEN => OpenState::ProbablyOpen,
            open if open > TAKEN_UP || is_told && taker().is_some() => OpenState::ProbablyTakenUp,
            _ => OpenState::TakenUp(
                taker().map(|(by, probability)| (self.talk.author(by).clone(), probability)),
            ),
        }
    }

    /// Returns what the persona has posted since this message addressed it, which is an answer. `index` is in the
    /// structure.
    fn answer_to(&self, index: usize) -> Option<&Arc<Message>> {
        let index = index + self.first;
        let is_answer = |message: &&Arc<Message>| {
            message.author.kind == AuthorKind::Persona && !passes_question_on(&message.text)
        };
        let later = self.target[index + 1..].iter().find(is_answer);
        later.filter(|_| self.target[index].is_addressed())
    }

    /// Returns the uptake of a message at the top level, if it opened the thread.
    fn above_of(&self, message: &Message) -> Option<&UptakeAbove> {
        let opens = Some(&message.id) == self.context.conversation.thread.as_ref();
        self.above.as_ref().filter(|_| opens)
    }

    /// Analyzes a question or plea. `index` is in `target`.
    fn question(&self, index: usize) -> QuestionAnalysis<'a> {
        let message = &self.target[index];
        let structure = self.talk.structure();
        let index = index - self.first;
        let messages_since = structure.len() - index - 1;
        let of = |open: f32, status| QuestionAnalysis { message, messages_since, open, status };
        if let Some(user) = answerer_in_thread(message, self.context) {
            return of(0.0, QuestionStatus::TakenUp(user.clone(), 1.0));
        }
        if self.context.is_left_to_thread(message) {
            return of(0.0, QuestionStatus::InThread);
        }
        if let Some(answer) = self.answer_to(index) {
            return of(0.0, QuestionStatus::TakenUp(answer.author.id.clone(), 1.0));
        }
        if let Some(said) = self.context.companion_since(&message.id) {
            return of(0.0, QuestionStatus::TakenUp(said.author.id.clone(), 1.0));
        }
        let open = structure.asking(index) * structure.open(index);
        if let Some(user) = structure.utterances()[index].addressee {
            return of(open, QuestionStatus::Directed(self.talk.user(user).clone()));
        }
        if let Some(above) =
            self.above_of(message).filter(|above| open >= OPEN && above.open < OPEN)
        {
            let status = match above.taken_by.clone() {
                Some((user, probability)) => QuestionStatus::TakenUp(user, probability),
                None => QuestionStatus::Resolved,
            };
            return of(0.0, status);
        }
        let uptake = structure.uptake(index);
        let taken_by = || {
            let (by, probability) = taker(&uptake)?;
            Some(QuestionStatus::TakenUp(self.talk.author(by).clone(), probability))
        };
        let status = match () {
            () if open >= OPEN => None,
            () if uptake.open >= OPEN => {
                structure.is_in_exchange(index).then_some(QuestionStatus::AuthorInExchange)
            }
            () => taken_by().or(Some(QuestionStatus::Resolved)),
        };
        of(open, status.unwrap_or(QuestionStatus::Open))
    }
}

/// Returns `None` if the target is not a thread, or no message is below its parent in the channel.
fn uptake_above(context: &Context) -> Option<UptakeAbove> {
    let parent = context.conversation.thread.as_ref()?;
    let messages = &context.conversation_history.top_level_messages;
    let has_later = messages.last().is_some_and(|newest| newest.id != *parent);
    let talk = has_later.then(|| MessageStructure::above_target(context))?;
    let index = talk.index_of(parent)?;
    let (uptake, calls_for_a_word) = (talk.structure().uptake(index), talk.calls_for_a_word(index));
    let taken_by = taker(&uptake).map(|(by, probability)| (talk.author(by).clone(), probability));
    Some(UptakeAbove { open: uptake.open, calls_for_a_word, taken_by })
}

/// Returns the user who took a question up, unless its author's own messages settled it.
fn taker(uptake: &Uptake) -> Option<(usize, f32)> {
    uptake.taken_by.filter(|(_, probability)| *probability > OPEN || uptake.content < OPEN)
}

/// Whether a message thanks or says goodbye and asks for nothing.
pub fn is_closing(cues: Cues) -> bool {
    cues.intersects(Cues::THANKS | Cues::SOLVED | Cues::GOODBYE)
        && !cues.intersects(Cues::ASKS | Cues::TROUBLE | Cues::AGAIN)
}

/// Returns the user with the last message in the thread under a message, if that answers it.
fn answerer_in_thread<'a>(parent: &Message, context: &'a Context) -> Option<&'a UserId> {
    let thread = context.conversation_history.thread(&parent.id);
    let is_answered = context.is_answered_in_thread(parent);
    let mut others = thread.iter().rev().map(|message| &message.author).filter(|_| is_answered);
    others
        .find(|author| author.id != parent.author.id && author.kind != AuthorKind::Bot)
        .map(|author| &author.id)
}

/// The users who wrote these messages.
pub fn human_authors<'a>(messages: impl Iterator<Item = &'a Arc<Message>>) -> BTreeSet<&'a UserId> {
    messages.filter(|message| message.is_human()).map(|message| &message.author.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Author, ChannelId, ConversationId, MessageId, WorkspaceId};
    use crate::context::channel_messages::ChannelMessages;

    /// Returns a context of messages ten seconds apart. `bot` and `aizuchi` are not humans.
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
                attachments: Vec::new(),
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

    /// Returns the status of the first question in `messages`, after a crowd.
    fn status(messages: &[(&str, &str)]) -> String {
        let context = context(&[&CROWD[..], messages].concat());
        let analysis = ConversationAnalysis::new(&context);
        let question = analysis.questions().iter().find(|asked| asked.message.id.as_str() >= "004");
        match question.map(|question| &question.status) {
            None => "no question".to_owned(),
            Some(QuestionStatus::Open) => "open".to_owned(),
            Some(QuestionStatus::Directed(user)) => format!("put to {}", user.as_str()),
            Some(QuestionStatus::TakenUp(user, _)) => format!("taken up by {}", user.as_str()),
            Some(QuestionStatus::Resolved) => "resolved".to_owned(),
            Some(QuestionStatus::InThread) => "in its thread".to_owned(),
            Some(QuestionStatus::AuthorInExchange) => "in an exchange".to_owned(),
        }
    }

    #[test]
    fn a_question_has_one_status() {
        for (messages, expected) in [
            (vec![("ann", "who has the key?")], "open"),
            (vec![("ann", "does anyone know when the shop opens?")], "open"),
            (vec![("ann", "誰か鍵の場所を知りませんか")], "open"),
            (vec![("ann", "どなたかご存じでしょうか。")], "open"),
            (vec![("ann", "who has the key?"), ("ann", "it is urgent")], "open"),
            (vec![("ann", "I'm stuck, the printer in room 4 won't print anything")], "open"),
            (vec![("ann", "who has the key? thanks in advance"), ("ann", "hello?")], "open"),
            (vec![("bob", "hm"), ("ann", "bob: who has the key?")], "put to bob"),
            (vec![("bob", "hm"), ("ann", "dan、鍵はどこですか")], "put to dan"),
            (vec![("ann", "who has the key?"), ("dan", "ann: ask eve")], "taken up by dan"),
            (vec![("花子", "鍵はどこですか"), ("dan", "花子さん、棚です")], "taken up by dan"),
            // No user is named.
            (
                vec![
                    ("ann", "anyone free for lunch?"),
                    ("bob", "me! 12:30?"),
                    ("ann", "great, see you then"),
                ],
                "resolved",
            ),
            (
                vec![("ann", "where is the key?"), ("dan", "on the shelf"), ("ann", "thanks!")],
                "resolved",
            ),
            (
                vec![
                    ("ann", "鍵はどこですか"),
                    ("dan", "棚にあります"),
                    ("ann", "ありがとうございます！"),
                ],
                "resolved",
            ),
            (vec![("ann", "so that is it")], "no question"),
            (vec![("ann", "see https://example.org/?page=2")], "no question"),
        ] {
            assert_eq!(status(&messages), expected, "{messages:?}");
        }
    }

    #[test]
    fn greetings_do_not_answer() {
        let context = context(&[
            ("ken", "hi Mia"),
            ("mia", "hey Ken"),
            ("mia", "does anyone know when the shop opens?"),
        ]);
        let analysis = ConversationAnalysis::new(&context);
        assert_eq!(analysis.questions()[0].status, QuestionStatus::Open);
        assert!(!analysis.is_settled(|_| true));
    }

    #[test]
    fn an_answer_right_after_the_question_may_be_wrong() {
        let known =
            "楽器庫の鍵は公民館の事務室で借りる。事務室は20時半で閉まるので、返却はそれまでに。";
        let asked = ("hana", "楽器庫の鍵って、事務室に何時までに返せばいいですか");
        let may_be_wrong = |known: &str, answer: &str| {
            let context =
                context(&[("sae", known), asked, ("tsuji", answer), ("hana", "よかったです")]);
            let answer = context.target_message(&MessageId::new("002")).unwrap();
            ConversationAnalysis::new(&context).may_answer_wrongly(answer)
        };
        assert!(may_be_wrong(known, "9時まで開いてるから、片付けてからで平気だよ"));
        assert!(!may_be_wrong(known, "20時半まで開いてるから、片付けてからで平気だよ"));
        assert!(!may_be_wrong("打ち上げは18時から", "9時まで開いてるから、片付けてからで平気だよ"));
    }

    #[test]
    fn whoever_judged_has_read_what_came_before() {
        let context = context(&[
            ("ann", "how many seats does the van have?"),
            ("bob", "ann: nine"),
            ("ann", "thanks, nine it is"),
            ("dan", "ann: no, it has seven"),
        ]);
        let analysis = ConversationAnalysis::new(&context);
        let since = |id: &str| {
            let is_unseen = |message: &Message| message.id.as_str() >= id;
            analysis.open_state_since(&MessageId::new("000"), is_unseen)
        };
        assert_eq!(since("009"), OpenState::Open);
        assert!(
            matches!(since("003"), OpenState::TakenUp(Some((user, _))) if user == UserId::new("dan"))
        );
        assert!(matches!(since("001"), OpenState::TakenUp(_)));
    }

    #[test]
    fn two_users_are_in_an_exchange_while_no_other_writes() {
        let pair = [
            ("ann", "did the parcel come?"),
            ("bob", "yes, this morning"),
            ("ann", "was it heavy?"),
            ("bob", "not at all"),
        ];
        let (ann, bob) = (UserId::new("ann"), UserId::new("bob"));
        let is_exchange = |messages: &[(&str, &str)]| {
            let context = context(messages);
            ConversationAnalysis::new(&context).exchange_partners() == Some([&ann, &bob])
        };
        assert!(is_exchange(&pair) && !is_exchange(&pair[..3]));
        assert!(!is_exchange(&[&pair[..], &[("dan", "hm")]].concat()));
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
            (vec![("ann", "who has the key?"), ("dan", "ann: I do"), ("ann", "thanks")], true),
            (vec![("ann", "who has the key?")], false),
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
        let context = context(&[("ann", "I am so tired of this")]);
        assert!(!ConversationAnalysis::new(&context).is_settled(|_| true));
    }

    #[test]
    fn an_answer_is_judged_if_the_subject_is_remembered() {
        let keys = [
            ("ann", "where do I find the sandbox keys?"),
            ("bob", "ann: on the wiki I think"),
            ("ann", "ok, will look there"),
        ];
        let deploy =
            [("ann", "when is the deploy?"), ("bob", "ann: on Friday"), ("ann", "ok, thanks")];
        let is_settled = |talk: &[(&'static str, &'static str); 3], memory: Option<&str>| {
            let context = context(&[&CROWD[..], talk].concat());
            let workspace_long_term_memory = memory.map(Into::into);
            let context = Context { workspace_long_term_memory, ..context };
            let is_new = |message: &Message| message.id.as_str() >= "004";
            ConversationAnalysis::new(&context).is_settled(is_new)
        };
        assert!(is_settled(&keys, None));
        assert!(is_settled(&keys, Some("The shed key hangs by the door.")));
        assert!(is_settled(&deploy, Some("The shed key hangs by the door.")));
        assert!(!is_settled(&deploy, Some("The deploy moved to Monday.")));
        assert!(!is_settled(&keys, Some("It rained.\nThe old sandbox keys were revoked in May.")));
    }

    #[test]
    fn what_calls_for_a_word_needs_no_question_mark() {
        let morning = [
            ("ann", "good morning"),
            ("bob", "morning!"),
            ("cid", "hey all"),
            ("ann", "coffee?"),
            ("bob", "yes please"),
            ("cid", "me too"),
        ];
        for message in [
            "who has access to the billing dashboard",
            "what is the difference between 502 and 504",
            "uploads fail with a 413 on the new box",
            "my grandmother died yesterday",
            "my dad is in hospital again",
            "I feel like giving up",
            "デプロイいつ",
            "誰かPR見てもらえませんか",
            "今日もめちゃくちゃ怒られた。もう向いてないのかもしれない",
        ] {
            let context = context(&[&morning[..], &[("dora", message)]].concat());
            let is_new = |message: &Message| message.id.as_str() >= "006";
            assert!(!ConversationAnalysis::new(&context).is_settled(is_new), "{message}");
        }
        // Two users: the first thing that a newcomer tries.
        for question in [
            "when is the deploy?",
            "who is on call?",
            "I forgot, when is the deploy?",
            "Hey all, when is the deploy?",
        ] {
            let context =
                context(&[("ann", "The deploy is on Friday at noon."), ("ben", question)]);
            assert!(!ConversationAnalysis::new(&context).is_settled(|_| true), "{question}");
        }
        // After the persona's own answer.
        for follow_up in ["thanks, but when?", "which one?", "are you sure?"] {
            let talk =
                [("ann", "is the deploy soon?"), ("aizuchi", "It is soon."), ("ann", follow_up)];
            let context = context(&talk);
            let is_new = |message: &Message| message.id.as_str() >= "002";
            assert!(!ConversationAnalysis::new(&context).is_settled(is_new), "{follow_up}");
        }
    }

    #[test]
    fn what_a_verdict_was_about_stands_until_it_is_taken_up() {
        let open_state = |messages: &[(&str, &str)]| {
            let context = context(messages);
            ConversationAnalysis::new(&context).open_state(&MessageId::new("000"))
        };
        let asked = ("ann", "where is the key for the shed?");
        assert_eq!(open_state(&[asked]), OpenState::Open);
        let answered = open_state(&[
            asked,
            ("bob", "ann: on the hook by the door"),
            ("ann", "got it, thanks"),
        ]);
        let OpenState::TakenUp(Some((user, probability))) = answered else {
            panic!("{answered:?}")
        };
        assert!(user.as_str() == "bob" && probability > 0.5);
        let context = context(&[asked]);
        let gone = ConversationAnalysis::new(&context).open_state(&MessageId::new("777"));
        assert_eq!(gone, OpenState::TakenUp(None));
    }
}
