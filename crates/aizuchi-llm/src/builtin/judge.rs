//! Whether the built-in mind joins in: on a question to everyone that is still open, or on news and greetings that
//! deserve a reaction.

use std::sync::Arc;

use aizuchi_model::chat::{AuthorKind, Mention, Message, to_single_line};
use aizuchi_model::context::conversation_analysis::{
    ConversationAnalysis, QuestionAnalysis, QuestionStatus, human_authors, is_closing,
};
use aizuchi_model::context::message_structure::passes_question_on;
use aizuchi_model::context::{Context, Occasion};
use aizuchi_model::overlap::has_name;
use aizuchi_model::persona::Language;
use aizuchi_model::persona::spelling::spellings;
use aizuchi_model::texts::{self, Name};
use aizuchi_structure::cues::Cues;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::builtin::matching::normalize;
use crate::builtin::phrases::List;
use crate::builtin::preamble::behind_greeting;
use crate::builtin::quotes::Quotes;
use crate::builtin::request::{News, Request};
use crate::builtin::silence_reasons::{
    BELONGS, asks_back, has_offered_help, has_quoted_lately, is_bare_link, is_fresh,
};
use crate::builtin::vocabulary::{LAUGH, truncate_quote};
use crate::prompt::Prompt;

pub fn judge(prompt: &Prompt) -> String {
    let context = &*prompt.context;
    let language = prompt.persona.language;
    if let Some(occasion) = context.intent.as_ref().and_then(|intent| intent.occasion) {
        return judge_occasion(occasion, prompt).to_string();
    }
    let has_said = |quote: &str| {
        let messages = context.target_messages().iter();
        let mut own = messages.filter(|it| it.author.kind == AuthorKind::Persona);
        own.any(|it| it.text.contains(quote))
    };
    let helps = |it: &Message| {
        let quotes = Quotes::new(prompt, it);
        quotes.helpful(&it.text).is_some_and(|known| {
            !has_said(&known.newest.text) && !has_quoted_lately(known.newest, context)
        })
    };
    let is_fresh = |it: &Message| is_fresh(it, prompt);
    let found = find_known(prompt)
        .map_or_else(|| find_open_question(context, &prompt.persona.name, is_fresh, helps), Ok);
    let found = found.map(|question| (question, true)).or_else(|nothing| {
        let call = find_follow_up(prompt).or_else(|| find_lone_call(prompt));
        call.map(|call| (call, false)).ok_or(nothing)
    });
    let judgment = match found {
        Ok((question, asks)) => {
            let name = to_single_line(context.display_name(&question.author.id));
            let reason = match asks {
                true => texts::builtin::asked_the_room(language, Name(&name)),
                false => texts::builtin::nobody_reacted(language, Name(&name)),
            };
            json!({
                "should_respond": true,
                "reason": reason,
                "confidence": 0.8,
                "delay_seconds": 0,
                "about": prompt.speakers.message_label(question),
                "conversation_state": "active",
            })
        }
        Err((nothing, question)) => {
            let acknowledgment = find_acknowledgment(prompt);
            let about = acknowledgment.map(|(message, _)| message).or(question);
            let about = about.map(|message| prompt.speakers.message_label(message));
            let reason = match acknowledgment {
                Some((_, acknowledgment)) => acknowledgment.reason(language),
                None => nothing.reason(language),
            };
            json!({
                "should_respond": false,
                "reason": reason,
                "confidence": 0.8,
                "delay_seconds": null,
                "about": about,
                // Judging the state of a conversation is beyond keywords.
                "conversation_state": "active",
                "reaction": acknowledgment.map(|(_, acknowledgment)| acknowledgment.emoji()),
            })
        }
    };
    judgment.to_string()
}

/// Whether the mind speaks though nobody has written anything new: of a question that is still open, once. It has nothing
/// to begin a conversation with.
fn judge_occasion(occasion: Occasion, prompt: &Prompt) -> Value {
    let (context, language) = (&*prompt.context, prompt.persona.language);
    let about =
        context.intent.as_ref().and_then(|intent| context.target_message(intent.about.as_ref()?));
    let about = about.filter(|_| occasion == Occasion::Unanswered);
    let waits =
        about.filter(|it| it.author.kind == AuthorKind::Human && !has_passed_on(context, it));
    let reason = match waits {
        Some(it) => {
            let name = to_single_line(context.display_name(&it.author.id));
            texts::builtin::asked_the_room(language, Name(&name))
        }
        None => texts::builtin::nothing_to_say(language).to_owned(),
    };
    json!({
        "should_respond": waits.is_some(),
        "reason": reason,
        "confidence": 0.8,
        "about": about.map(|message| prompt.speakers.message_label(message)),
        "conversation_state": "active",
    })
}

/// The newest human message, if it asks what was said in this conversation, and no other user has written since.
fn find_known(prompt: &Prompt) -> Option<&Message> {
    let context = &*prompt.context;
    let message = context.newest_human_message()?;
    let newest = context.target_messages().iter().rfind(|it| it.author.kind != AuthorKind::Bot)?;
    let analysis = ConversationAnalysis::new(context);
    let is_put_to_one = |question: &QuestionAnalysis<'_>| {
        matches!(question.status, QuestionStatus::Directed(_) | QuestionStatus::InThread)
    };
    let question = analysis.questions().last().filter(|it| it.message.id == message.id)?;
    let is_candidate = newest.id == message.id
        && !message.is_addressed()
        && !is_put_to_one(question)
        && !is_small_talk(&message.text)
        && !is_bare_link(&message.text)
        && !asks_back(message, &analysis)
        && is_fresh(message, prompt);
    let quotes = is_candidate.then(|| Quotes::new(prompt, message))?;
    quotes.answers_plainly(&message.text).then_some(&**message)
}

/// How long a channel must be quiet before the mind takes up a message that nobody has answered.
const PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// After a pause of this length, it does so even if a later message looks like a reply, where few users write.
const LONG_PAUSE: SignedDuration = SignedDuration::from_secs(75);
/// The number of users up to which few write. Among more, it is less clear whom such a message replies to.
const LONG_PAUSE_WRITERS: usize = 4;
/// Among more writers than this, nobody knows who would react.
const MAX_WRITERS: usize = 6;
/// Log odds of words that call for a word, of those that surely do, and of a message that calls for one where it stands.
const APPEALS: f32 = 0.8;
const SURELY_APPEALS: f32 = 3.0;
const CALLS: f32 = 0.3;
/// A message is probably a reply from this probability.
const REPLIES: f32 = 0.5;
/// A message belongs to the talk with one user from this probability.
const DIRECTED: f32 = 0.9;

/// The newest recent message that calls for a word in whatever form, such as trouble or distress, if the talk has paused
/// since and nobody seems to have reacted. What is said about the persona is for the others.
fn find_lone_call(prompt: &Prompt) -> Option<&Message> {
    let context = &*prompt.context;
    let newest = context.newest_human_message()?;
    let messages = newest_messages(context);
    let pause = prompt.now.timestamp().duration_since(newest.at);
    let writers = human_authors(messages.iter()).len();
    if pause < PAUSE || writers > MAX_WRITERS {
        return None;
    }
    let analysis = ConversationAnalysis::new(context);
    // These were looked at as questions.
    let is_question =
        |it: &Message| analysis.questions().iter().any(|question| question.message.id == it.id);
    let calls = |message: &&Arc<Message>| {
        let Some(relation) = analysis.relation(message) else { return false };
        let appeals = relation.appeal >= APPEALS
            && !is_question(message)
            && match relation.since.others {
                0 => relation.open >= 0.5,
                _ if relation.since.replied >= REPLIES => false,
                _ if relation.appeal >= SURELY_APPEALS => relation.open >= 0.1,
                _ => relation.open >= 0.8,
            };
        let calls = pause >= LONG_PAUSE
            && writers <= LONG_PAUSE_WRITERS
            && relation.calls >= CALLS
            && relation.open >= 0.3
            && relation.directed < 0.7
            && relation.since.replied < REPLIES;
        message.is_human()
            && !message.is_addressed()
            && message.mentions.is_empty()
            && !relation.is_addressed
            && (appeals || calls)
            && relation.directed <= DIRECTED
            && relation.to_persona < REPLIES
            && !names_persona(&message.text, &prompt.persona.name)
            && !context.is_left_to_thread(message)
            && !is_closing(analysis.cues(message))
            && !is_small_talk(&message.text)
            && is_fresh(message, prompt)
            && !has_passed_on(context, message)
    };
    messages.iter().rfind(calls).map(|message| &**message)
}

fn names_persona(text: &str, name: &str) -> bool {
    let text = text.to_lowercase();
    spellings(name).iter().any(|spelling| has_name(&text, spelling))
}

/// A message after the persona's newest post that goes on from it, and more than closes.
fn find_follow_up(prompt: &Prompt) -> Option<&Message> {
    let context = &*prompt.context;
    const MIN_WORDS: usize = 6;
    const GOES_ON: f32 = 0.15;
    let analysis = ConversationAnalysis::new(context);
    let messages = context.target_messages();
    let own = messages.iter().rposition(|it| it.author.kind == AuthorKind::Persona)?;
    let goes_on = |message: &&Arc<Message>| {
        let cues = analysis.cues(message);
        let Some(relation) = analysis.relation(message) else { return false };
        let asks = cues.contains(Cues::ASKS);
        message.is_human()
            && !message.is_addressed()
            && !relation.is_addressed
            && relation.to_persona >= GOES_ON
            && relation.since.replied < REPLIES
            && is_fresh(message, prompt)
            && (asks || relation.length >= MIN_WORDS && !cues.intersects(Cues::SOLVED))
    };
    messages[own + 1..].iter().rfind(goes_on).map(|message| &**message)
}

fn newest_messages(context: &Context) -> &[Arc<Message>] {
    let messages = context.target_messages();
    &messages[messages.len().saturating_sub(2 * NEAR_MESSAGES)..]
}

/// The newest human message, if it tells news or greets, so that it deserves a reaction, and the channel allows the
/// emoji.
fn find_acknowledgment(prompt: &Prompt) -> Option<(&Message, Acknowledgment)> {
    let message = prompt.context.newest_human_message()?;
    let greets = || greets(&message.text) && !is_in_talk(message, &prompt.context);
    let acknowledgment = match News::find(&message.text) {
        Some(news) => Acknowledgment::News(news),
        None if greets() => Acknowledgment::Greeting,
        None => return None,
    };
    let is_allowed =
        prompt.judge_options.reactions.iter().any(|emoji| emoji == acknowledgment.emoji());
    (is_allowed && !message.is_addressed()).then_some((&**message, acknowledgment))
}

/// What the mind reacts to with an emoji instead of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acknowledgment {
    News(News),
    /// A greeting that no one else returns.
    Greeting,
}

impl Acknowledgment {
    fn emoji(self) -> &'static str {
        match self {
            Acknowledgment::News(news) => news.emoji(),
            Acknowledgment::Greeting => LAUGH,
        }
    }

    fn reason(self, language: Language) -> &'static str {
        match self {
            Acknowledgment::News(News::Good) => texts::builtin::good_news(language),
            Acknowledgment::News(News::Bad) => texts::builtin::bad_news(language),
            Acknowledgment::Greeting => texts::builtin::greeting(language),
        }
    }
}

/// Why no question is left to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoOpenQuestion {
    Ended,
    /// The mind has already passed the question on.
    PassedOn,
    /// The question was asked too long ago.
    Old,
    Answered,
    Directed,
    /// The question may be addressed to one user.
    Unclear,
    TalkingToEachOther,
    NoQuestion,
}

impl NoOpenQuestion {
    fn reason(self, language: Language) -> &'static str {
        match self {
            NoOpenQuestion::Ended => texts::builtin::conversation_ended(language),
            NoOpenQuestion::PassedOn => texts::builtin::question_passed_on(language),
            NoOpenQuestion::Old => texts::builtin::question_old(language),
            NoOpenQuestion::Answered => texts::builtin::question_answered(language),
            NoOpenQuestion::Directed => texts::builtin::question_directed(language),
            NoOpenQuestion::Unclear => texts::builtin::question_unclear(language),
            NoOpenQuestion::TalkingToEachOther => texts::builtin::talking_to_each_other(language),
            NoOpenQuestion::NoQuestion => texts::builtin::no_question(language),
        }
    }
}

/// The probability from which a question counts as surely open. Nothing else restrains the built-in mind, so its
/// threshold is higher than that of the facts in a model's prompt. `docs/internals/eval.md` has the figures.
const SURELY_OPEN: f32 = 0.65;

/// The newest question to everyone that is still open; if there are several, the newest one that can be helped with.
/// Otherwise the reason why there is none, and the question that the reason refers to, if any.
fn find_open_question<'c>(
    context: &'c Context,
    persona: &str,
    is_fresh: impl Fn(&Message) -> bool,
    helps: impl Fn(&Message) -> bool,
) -> Result<&'c Message, (NoOpenQuestion, Option<&'c Message>)> {
    let analysis = ConversationAnalysis::new(context);
    // Authors of sad news wait for sympathy, not for an answer, and small talk is for the people present.
    let is_question = |question: &&QuestionAnalysis<'_>| {
        question.open >= SURELY_OPEN
            && News::find(&question.message.text).is_none()
            && !is_small_talk(&question.message.text)
            && !greets(&question.message.text)
            && !is_bare_link(&question.message.text)
            && !asks_back(question.message, &analysis)
            && !is_answered_at_once(question.message, &analysis, context)
            && !is_aside(question.message, &analysis, context)
            && !names_persona(&question.message.text, persona)
    };
    let open: Vec<&QuestionAnalysis<'_>> = analysis.open_questions().filter(is_question).collect();
    let remaining: Vec<&Message> = open
        .iter()
        .map(|question| &**question.message)
        .filter(|it| is_fresh(it) && !has_passed_on(context, it))
        .collect();
    // If there are several, prefer one that the mind can help with.
    let helped = || remaining.iter().rfind(|it| helps(it)).filter(|_| remaining.len() > 1);
    if let Some(question) = helped().or(remaining.last()) {
        return Ok(question);
    }
    let newest = analysis.questions().last().filter(|it| is_fresh(it.message));
    if let Some(question) = newest.filter(|it| wonders_aloud(it, context)) {
        return Ok(question.message);
    }
    let Some(newest) = context.newest_human_message() else {
        return Err((NoOpenQuestion::NoQuestion, None));
    };
    Err(no_open_question(newest, &open, &analysis, context))
}

/// Why no question is left to answer, judging by what the newest message is about, and the question that this refers
/// to.
fn no_open_question<'c>(
    newest: &Arc<Message>,
    open: &[&QuestionAnalysis<'c>],
    analysis: &ConversationAnalysis<'c>,
    context: &'c Context,
) -> (NoOpenQuestion, Option<&'c Message>) {
    let is_about = |question: &Message| {
        question.id == newest.id || analysis.belonging(newest, question) >= BELONGS
    };
    if let Some(question) = open.iter().rfind(|question| is_about(question.message)) {
        let nothing = match has_passed_on(context, question.message) {
            true => NoOpenQuestion::PassedOn,
            false => NoOpenQuestion::Old,
        };
        return (nothing, Some(question.message));
    }
    if is_closing(Cues::from_text(&newest.text)) {
        return (NoOpenQuestion::Ended, None);
    }
    // Questions to the mind itself are answered, and say nothing about the other ones.
    let mut questions = analysis.questions().iter().rev();
    let question = questions.find(|question| {
        let message = question.message;
        let took_up = matches!(&question.status, QuestionStatus::TakenUp(user, _) if *user == newest.author.id);
        let is_first_answer = || first_other(message, context).is_some_and(|it| it.id == newest.id);
        let names_a_user = || analysis.relation(newest).is_some_and(|it| it.is_addressed);
        let is_answer = took_up && (is_first_answer() || names_a_user());
        !message.is_addressed()
            && !is_bare_link(&message.text)
            && (is_about(message) || is_answer)
    });
    let nothing = match question.map(|question| &question.status) {
        Some(QuestionStatus::Directed(_)) => NoOpenQuestion::Directed,
        Some(_) if question.is_some_and(|it| asks_back(it.message, analysis)) => {
            NoOpenQuestion::Directed
        }
        Some(QuestionStatus::AuthorInExchange)
            if question.is_some_and(|it| it.message.id != newest.id) =>
        {
            NoOpenQuestion::TalkingToEachOther
        }
        Some(
            QuestionStatus::AuthorInExchange
            | QuestionStatus::Open
            | QuestionStatus::TakenUp(..)
            | QuestionStatus::Resolved
            | QuestionStatus::InThread,
        ) => match question.is_some_and(|it| it.message.id == newest.id) {
            // No one has written since.
            true => NoOpenQuestion::Unclear,
            false => NoOpenQuestion::Answered,
        },
        None if is_in_talk(newest, context) => NoOpenQuestion::TalkingToEachOther,
        None => NoOpenQuestion::NoQuestion,
    };
    (nothing, question.map(|question| &**question.message))
}

/// With this few recent writers, the next message of another user most probably answers.
const FEW_WRITERS: usize = 3;
const NEAR_MESSAGES: usize = 12;
/// Users whose messages are further apart than this are not talking to each other.
const EXCHANGE_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// A message that begins something new with at least this probability answers nothing.
const EVIDENTLY_NEW: f32 = 0.9;

/// Whether another user spoke right after a question among few writers, to no one else, and the asker has not asked
/// again. The structure may disagree, but speaking to everyone requires more certainty.
fn is_answered_at_once(
    question: &Message,
    analysis: &ConversationAnalysis<'_>,
    context: &Context,
) -> bool {
    let messages = context.target_messages();
    let Some(at) = messages.iter().position(|message| message.id == question.id) else {
        return false;
    };
    let near = &messages[at.saturating_sub(NEAR_MESSAGES)..messages.len().min(at + NEAR_MESSAGES)];
    let users = human_authors(near.iter());
    let Some(answer) = first_other(question, context).filter(|_| users.len() <= FEW_WRITERS) else {
        return false;
    };
    let cues = analysis.cues(answer);
    let relation = analysis.relation(answer).unwrap_or_default();
    let names_another = answer
        .mentions
        .iter()
        .any(|mention| matches!(mention, Mention::User(user) if *user != question.author.id));
    let asks_again = messages[at + 1..].iter().any(|message| {
        message.author.id == question.author.id && analysis.cues(message).intersects(Cues::AGAIN)
    });
    let only_asks = cues.contains(Cues::ASKS) && asks(first_sentence(&answer.text));
    answer.at.duration_since(question.at) <= EXCHANGE_TIMEOUT
        && !only_asks
        && !cues.intersects(Cues::JOINS)
        && !answer.is_addressed()
        && !names_another
        && relation.begins < EVIDENTLY_NEW
        && !asks_again
}

/// Whether a question among few writers is short and its words hardly ask for an answer: a joke, or a word to the one
/// who has just written.
fn is_aside(question: &Message, analysis: &ConversationAnalysis<'_>, context: &Context) -> bool {
    const MAX_ASIDE_WORDS: usize = 9;
    const ASIDE_WRITERS: usize = 4;
    const BEGINS: f32 = 0.7;
    const HARDLY_ASKS: f32 = -0.5;
    let relation = analysis.relation(question).unwrap_or_default();
    relation.begins < BEGINS
        && relation.length <= MAX_ASIDE_WORDS
        && relation.appeal < HARDLY_ASKS
        && human_authors(newest_messages(context).iter()).len() <= ASIDE_WRITERS
}

/// The next message of another user.
fn first_other<'a>(question: &Message, context: &'a Context) -> Option<&'a Arc<Message>> {
    let later = context.target_messages().iter().skip_while(|message| message.id != question.id);
    let mut humans = later.filter(|message| message.is_human());
    humans.find(|message| message.author.id != question.author.id)
}

/// Whether another user wrote shortly before.
fn is_in_talk(newest: &Message, context: &Context) -> bool {
    let earlier =
        context.target_messages().iter().rev().skip_while(|it| it.id != newest.id).skip(1);
    let before =
        earlier.take_while(|message| newest.at.duration_since(message.at) <= EXCHANGE_TIMEOUT);
    // Messages to and from the mind are not a talk among human users.
    let mut before = before.take_while(|message| message.is_human() && !message.is_addressed());
    before.any(|message| message.author.id != newest.author.id)
}

/// "hello?" is a greeting, not a question.
fn greets(text: &str) -> bool {
    Request::parse(text, "", std::iter::empty()) == Request::Greeting
        && behind_greeting(text, "").is_empty()
}

fn is_small_talk(text: &str) -> bool {
    let lower = normalize(text);
    List::SmallTalk.phrases().iter().any(|phrase| lower.contains(phrase))
}

fn asks(text: &str) -> bool {
    Cues::from_text(text).contains(Cues::ASKS)
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(['.', '!', '?', '。', '！', '？', '\n', ',', '、']).next().unwrap_or(text)
}

/// Whether the mind has passed on a question. Once is enough, however long no one answers.
fn has_passed_on(context: &Context, question: &Message) -> bool {
    let quote = truncate_quote(&to_single_line(&question.text));
    let later = context.target_messages().iter().skip_while(|message| message.id != question.id);
    let mut is_next = true;
    later.skip(1).any(|message| {
        let is_own = message.author.kind == AuthorKind::Persona;
        is_next &= is_own;
        let passes_on_unquoted =
            || !message.text.contains(['“', '「']) && passes_question_on(&message.text);
        // The mind's post right below the question counts as help, unless it passes the question on.
        let helps = || !passes_question_on(&message.text);
        is_own && (message.text.contains(&*quote) || is_next && (passes_on_unquoted() || helps()))
    }) || has_offered_help(question, context)
}

/// Whether a question is asked of anyone who remembers: 「…ってどこでしたっけ？」. It is, even in the middle of an exchange,
/// while no one has answered.
fn wonders_aloud(question: &QuestionAnalysis<'_>, context: &Context) -> bool {
    let text = &*question.message.text;
    let cues = Cues::from_text(text);
    let is_newest =
        context.newest_human_message().is_some_and(|newest| newest.id == question.message.id);
    question.status == QuestionStatus::AuthorInExchange
        && is_newest
        && cues.contains(Cues::QUESTION_WORD)
        && !cues.contains(Cues::SECOND_PERSON)
        && text.trim_end_matches(|character: char| !character.is_alphanumeric()).ends_with("っけ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aizuchi_model::chat::{
        Author, AuthorKind, ChannelId, ConversationId, MessageId, UserId, WorkspaceId,
    };
    use aizuchi_model::context::channel_messages::ChannelMessages;
    use aizuchi_model::context::links::{LinkSource, MessageLinks};
    use jiff::Timestamp;

    use super::*;
    use crate::builtin::silence_reasons::last_asked;

    fn context(texts: &[(&str, &str)]) -> Context {
        let conversation = ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("c"),
            thread: None,
        };
        let messages = texts.iter().enumerate().map(|(number, (author, text))| {
            std::sync::Arc::new(Message {
                conversation: conversation.clone(),
                id: MessageId::new(format!("{number:03}")),
                at: Timestamp::from_second(number as i64).unwrap(),
                author: Author {
                    id: UserId::new(*author),
                    kind: match *author {
                        "Aizuchi" => AuthorKind::Persona,
                        _ => AuthorKind::Human,
                    },
                },
                text: (*text).into(),
                mentions: Vec::new(),
                attachments: Vec::new(),
                edits: 0,
            })
        });
        let history =
            ChannelMessages::from_messages(ChannelId::new("c"), "c".into(), messages.collect());
        Context {
            names: texts
                .iter()
                .map(|(author, _)| (UserId::new(*author), (*author).into()))
                .collect(),
            ..Context::new(conversation, history)
        }
    }

    #[test]
    fn the_channel_is_told_of_a_question_once() {
        let long = "does anyone know which glaze is safe for cups? ".repeat(6);
        for text in ["does anyone know which glaze is safe for cups?", long.trim()] {
            let quote = truncate_quote(text);
            let told =
                format!("ida’s question hasn’t been answered yet: “{quote}” Can anyone help?");
            let question = ("ida", text);
            let told_of = |texts: &[(&str, &str)], number: usize| {
                let context = context(texts);
                has_passed_on(&context, &context.target_messages()[number])
            };
            assert!(told_of(&[question, ("Aizuchi", &told), ("otto", "hm")], 0), "{text}");
            let unknown = texts::builtin::unknown_here(Language::En, Name("ida"));
            assert!(told_of(&[question, ("Aizuchi", &unknown), ("otto", "hm")], 0), "{text}");
            assert!(!told_of(&[question, ("otto", "hm"), ("Aizuchi", &unknown)], 0), "{text}");
            let cannot = texts::builtin::cannot_help_here(Language::En, Name("ida"));
            assert!(told_of(&[question, ("Aizuchi", &cannot), ("otto", "hm")], 0), "{text}");
            // Other users' words, earlier messages, and other questions do not count.
            assert!(!told_of(&[question, ("otto", &told)], 0), "{text}");
            assert!(!told_of(&[("Aizuchi", &told), question], 1), "{text}");
            assert!(!told_of(&[("otto", "who has the trimming tool?"), ("Aizuchi", &told)], 0));
        }
    }

    #[test]
    fn whoever_was_offered_help_has_been_told() {
        let question = ("ida", "does anyone know which glaze is safe for cups?");
        for language in [Language::En, Language::Ja] {
            let offer = |name| {
                let known = "Mia said at 08:00: “the matt one is safe for cups”";
                texts::builtin::perhaps_this_helps(language, Name(name), known)
            };
            let told = |messages: &[(&str, &str)], number: usize| {
                let context = context(messages);
                has_passed_on(&context, &context.target_messages()[number])
            };
            let (helped, other) = (offer("ida"), offer("otto"));
            let more = ("ida", "I have read the label");
            // A message in between, an earlier message, and help for another user do not count.
            assert!(told(&[question, more, ("Aizuchi", &helped), ("otto", "hm")], 0));
            assert!(!told(&[("Aizuchi", &helped), question, more], 1));
            assert!(!told(&[question, more, ("Aizuchi", &other)], 0));
        }
    }

    #[test]
    fn an_old_question_and_a_bare_link_are_left_alone() {
        let asked = context(&[("ann", "who has the key?")]);
        let found = find_open_question(&asked, "Aizuchi", |_| false, |_| true);
        let old = found.map_err(|(nothing, about)| (nothing, about.map(|it| it.id.as_str())));
        assert_eq!(old.map(|it| it.id.as_str()), Err((NoOpenQuestion::Old, Some("000"))));
        for link in ["https://example.org/keys?", "https://a.example/x?y https://b.example/z?"] {
            let context = context(&[("ann", link)]);
            let found = find_open_question(&context, "Aizuchi", |_| true, |_| true);
            let nothing = found.map(|it| it.id.as_str()).map_err(|(nothing, _)| nothing);
            assert_eq!(nothing, Err(NoOpenQuestion::NoQuestion), "{link}");
        }
    }

    #[test]
    fn whoever_asks_again_still_waits() {
        let asked = |texts: &[(&str, &str)]| {
            let context = context(texts);
            last_asked(&context.target_messages()[0], &context).as_second()
        };
        let question = ("ann", "who has the key?");
        assert_eq!(asked(&[question, ("bob", "hm"), ("ann", "anyone?")]), 2);
        assert_eq!(asked(&[question, ("ann", "it is urgent"), ("bob", "anyone?")]), 0);
    }

    #[test]
    fn a_question_back_is_not_for_everyone() {
        // The second message answers the first with this probability, and otherwise begins something new.
        let newest = |text: &str, answers: f32| {
            let mut context = context(&[("ann", "how do I import the module?"), ("bob", text)]);
            let parents = BTreeMap::from([(MessageId::new("000"), answers)]);
            let links =
                MessageLinks { begins: 1.0 - answers, parents, source: LinkSource::SHIPPED };
            context.links.insert(MessageId::new("001"), Arc::new(links));
            let found = find_open_question(&context, "Aizuchi", |_| true, |_| false);
            found.is_ok_and(|it| it.id.as_str() == "001")
        };
        assert!(!newest("did you expose it where you use it?", 0.6));
        // It addresses no one, or it is unrelated to earlier messages.
        assert!(newest("where is the cellar key?", 0.3));
        assert!(newest("did you expose it where you use it?", 0.3));
    }

    #[test]
    fn a_question_to_everyone_is_open_until_it_is_taken_up() {
        use NoOpenQuestion::{Answered, Directed, Ended, NoQuestion, TalkingToEachOther, Unclear};
        let crowd = [("dan", "so be it"), ("eve", "the build is green"), ("fay", "nice")];
        for (texts, expected) in [
            (vec![("ann", "how do I reset the router?")], Ok("000")),
            (vec![("ann", "ルーターの再起動はどうやりますか")], Ok("000")),
            (
                vec![
                    ("ann", "昨日の雨、すごかったですね"),
                    ("bob", "靴がびしょぬれになりました"),
                    ("ann", "プロジェクターのケーブルってどこでしたっけ？"),
                ],
                Ok("002"),
            ),
            (
                vec![
                    ("bob", "来月のデプロイは金曜日にします"),
                    ("ann", "プロジェクターってどこでしたっけ？"),
                ],
                Ok("001"),
            ),
            (
                vec![("bob", "打ち合わせは明日です"), ("ann", "何時からでしたか？")],
                Err((Unclear, Some("001"))),
            ),
            (
                vec![
                    ("ann", "お昼はカレーを食べました"),
                    ("bob", "いいですね、駅前の店ですか？"),
                    ("ann", "そうです。あの店の名前って何でしたっけ？"),
                    ("bob", "花びらです"),
                ],
                Err((TalkingToEachOther, Some("002"))),
            ),
            (vec![("ann", "good morning")], Err((NoQuestion, None))),
            (vec![("ann", "lunch was good"), ("bob", "it was")], Err((TalkingToEachOther, None))),
            (vec![("ann", "who has the key?"), ("bob", "I do")], Err((Answered, Some("000")))),
            (vec![("ann", "who has the key?"), ("bob", "what key?")], Err((Unclear, Some("001")))),
            (vec![("bob", "hm"), ("ann", "bob: who has the key?")], Err((Directed, Some("001")))),
            (vec![("ann", "who has the key?"), ("ann", "found it, thanks")], Err((Ended, None))),
        ] {
            let context = context(&texts);
            let found = find_open_question(&context, "Aizuchi", |_| true, |_| false)
                .map(|message| message.id.as_str());
            let found = found.map_err(|(nothing, about)| (nothing, about.map(|it| it.id.as_str())));
            assert_eq!(found, expected, "{texts:?}");
        }
        let ids = |found: Result<&Message, (NoOpenQuestion, Option<&Message>)>| {
            found
                .map(|message| message.id.to_string())
                .map_err(|(nothing, about)| (nothing, about.map(|message| message.id.to_string())))
        };
        let mut busy = crowd.to_vec();
        busy.push(("ann", "who has the key?"));
        busy.extend(crowd);
        assert_eq!(
            ids(find_open_question(&context(&busy), "Aizuchi", |_| true, |_| false)),
            Ok("003".to_owned())
        );
        busy.push(("dan", "ann: eve has it"));
        let answered = Err((Answered, Some("003".to_owned())));
        assert_eq!(
            ids(find_open_question(&context(&busy), "Aizuchi", |_| true, |_| false)),
            answered
        );
    }
}
