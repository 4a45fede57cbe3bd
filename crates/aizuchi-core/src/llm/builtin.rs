//! The built-in mind: rules instead of a model, so that the program works without a key, an account
//! or a network. It joins in when a question to everyone was left unanswered, and it answers only
//! from what was said in the conversation. It never pretends to be a model.

mod memory;
mod vocabulary;

use async_trait::async_trait;
use serde_json::json;

use crate::chat::{Message, to_single_line};
use crate::context::Context;
use crate::context::conversation_analysis::{ConversationAnalysis, QuestionStatus, is_closing};
use crate::decision::Usage;
use crate::llm::builtin::vocabulary::{shared_words, truncate_quote};
use crate::llm::{Llm, LlmError, LlmResponse};
use crate::persona::Language;
use crate::prompt::{Prompt, PromptVerb};
use crate::texts;
use aizuchi_structure::cues::Cues;

pub struct BuiltinMind;

#[async_trait]
impl Llm for BuiltinMind {
    fn model(&self) -> &str {
        "builtin"
    }

    fn takes_tools(&self) -> bool {
        false
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let text = match prompt.verb {
            PromptVerb::Judge => judge(prompt),
            PromptVerb::Reply => reply(prompt),
            PromptVerb::Remember => memory::remember(prompt),
            // The state is a judgment that keywords cannot make.
            PromptVerb::State => "ACTIVE".to_owned(),
        };
        // Rules use no tokens.
        Ok(LlmResponse::new(text, Usage::default()))
    }
}

fn judge(prompt: &Prompt) -> String {
    let context = &*prompt.context;
    let language = prompt.persona.language;
    let judgment = match find_open_question(context) {
        Ok(question) => {
            let name = to_single_line(context.display_name(&question.author.id));
            let reason = texts::builtin::asked_the_room(language, &name);
            json!({
                "should_respond": true,
                "reason": reason,
                "confidence": 0.8,
                "delay_seconds": 0,
                "about": prompt.speakers.message_label(question),
                "conversation_state": "active",
            })
        }
        Err(nothing) => json!({
            "should_respond": false,
            "reason": nothing.reason(language),
            "confidence": 0.8,
            "delay_seconds": null,
            "about": null,
            // The state is a judgment that keywords cannot make.
            "conversation_state": "active",
        }),
    };
    judgment.to_string()
}

/// Why there is nothing to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoOpenQuestion {
    Ended,
    Answered,
    Directed,
    TalkingToEachOther,
    NoQuestion,
}

impl NoOpenQuestion {
    fn reason(self, language: Language) -> &'static str {
        match self {
            NoOpenQuestion::Ended => texts::builtin::conversation_ended(language),
            NoOpenQuestion::Answered => texts::builtin::question_answered(language),
            NoOpenQuestion::Directed => texts::builtin::question_directed(language),
            NoOpenQuestion::TalkingToEachOther => texts::builtin::talking_to_each_other(language),
            NoOpenQuestion::NoQuestion => texts::builtin::no_question(language),
        }
    }
}

/// It speaks from this probability on that a question is open. Nothing else restrains it, so it is surer than the
/// facts that a model is told. `docs/eval.md` has the figures for it.
const SURELY_OPEN: f32 = 0.65;

/// The newest question to everyone that is still open.
fn find_open_question(context: &Context) -> Result<&Message, NoOpenQuestion> {
    let analysis = ConversationAnalysis::new(context);
    if let Some(open) = analysis.open_questions().rfind(|question| question.open >= SURELY_OPEN) {
        return Ok(open.message);
    }
    if context.newest_human_message().is_some_and(|message| is_closing(Cues::of(&message.text))) {
        return Err(NoOpenQuestion::Ended);
    }
    Err(match analysis.questions.last().map(|question| &question.status) {
        Some(QuestionStatus::Directed(_)) => NoOpenQuestion::Directed,
        Some(QuestionStatus::AuthorInExchange(_)) => NoOpenQuestion::TalkingToEachOther,
        Some(
            QuestionStatus::Open
            | QuestionStatus::TakenUp(..)
            | QuestionStatus::Resolved
            | QuestionStatus::InThread,
        ) => NoOpenQuestion::Answered,
        None if analysis.has_several_authors() => NoOpenQuestion::TalkingToEachOther,
        None => NoOpenQuestion::NoQuestion,
    })
}

fn reply(prompt: &Prompt) -> String {
    let context = &*prompt.context;
    let language = prompt.persona.language;
    let owed = context.owed.iter().rev().find_map(|id| context.target_message(id));
    let about =
        context.intent.as_ref().and_then(|intent| context.target_message(intent.about.as_ref()?));
    let Some(message) = owed.or(about).or_else(|| context.newest_human_message()) else {
        return texts::builtin::listening(language).to_owned();
    };
    let name = to_single_line(context.display_name(&message.author.id));
    let known = nearest_message(message, context).map(|nearest| {
        let speaker = to_single_line(context.display_name(&nearest.author.id));
        let quote = truncate_quote(&to_single_line(&nearest.text));
        texts::builtin::said_before(language, &speaker, &quote)
    });
    match (owed, known) {
        (Some(_), Some(known)) => texts::builtin::answer(language, &name, &known),
        (Some(_), None) if asks(message) => texts::builtin::no_answer(language, &name),
        (Some(_), None) => texts::builtin::greeting(language, &name),
        (None, known) => {
            let quote = truncate_quote(&to_single_line(&message.text));
            let known = known.as_deref();
            let rest = known.unwrap_or(texts::builtin::does_anyone_know(language));
            texts::builtin::question_open(language, &name, &quote, rest)
        }
    }
}

fn asks(message: &Message) -> bool {
    Cues::of(&message.text).contains(Cues::ASKS)
}

/// The earlier message that shares the most words with this one, if it shares enough.
fn nearest_message<'a>(message: &Message, context: &'a Context) -> Option<&'a Message> {
    let earlier = context.target_messages().iter().take_while(|other| other.id != message.id);
    let candidates =
        earlier.filter(|other| other.is_human() && !asks(other) && !other.is_addressed());
    let scored = candidates.map(|other| (shared_words(&message.text, &other.text), other));
    let best = scored.filter(|(score, _)| *score >= 2).max_by_key(|(score, _)| *score);
    best.map(|(_, other)| &**other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{
        Author, AuthorKind, ChannelId, ConversationId, MessageId, UserId, WorkspaceId,
    };
    use crate::context::channel_messages::ChannelMessages;
    use jiff::Timestamp;

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
                author: Author { id: UserId::new(*author), kind: AuthorKind::Human },
                text: (*text).into(),
                mentions: Vec::new(),
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
    fn a_question_to_everyone_is_open_until_it_is_taken_up() {
        use NoOpenQuestion::{Answered, Directed, Ended, NoQuestion, TalkingToEachOther};
        let crowd = [("dan", "so be it"), ("eve", "the build is green"), ("fay", "nice")];
        for (texts, expected) in [
            (vec![("ann", "how do I reset the router?")], Ok("000")),
            (vec![("ann", "ルーターの再起動はどうやりますか")], Ok("000")),
            (vec![("ann", "good morning")], Err(NoQuestion)),
            (vec![("ann", "lunch was good"), ("bob", "it was")], Err(TalkingToEachOther)),
            (vec![("ann", "who has the key?"), ("bob", "I do")], Err(Answered)),
            (vec![("ann", "who has the key?"), ("bob", "what key?")], Err(TalkingToEachOther)),
            (vec![("bob", "hm"), ("ann", "bob: who has the key?")], Err(Directed)),
            (vec![("ann", "who has the key?"), ("ann", "found it, thanks")], Err(Ended)),
        ] {
            let context = context(&texts);
            let found = find_open_question(&context).map(|message| message.id.as_str());
            assert_eq!(found, expected, "{texts:?}");
        }
        let mut busy = crowd.to_vec();
        busy.push(("ann", "who has the key?"));
        busy.extend(crowd);
        assert_eq!(
            find_open_question(&context(&busy)).map(|message| message.id.as_str()),
            Ok("003")
        );
        busy.push(("dan", "ann: eve has it"));
        assert_eq!(
            find_open_question(&context(&busy)).map(|message| message.id.as_str()),
            Err(Answered)
        );
    }

    #[test]
    fn the_most_similar_earlier_message_is_found() {
        let context = context(&[
            ("ann", "the router restarts with the small button on its back"),
            ("bob", "lunch is at noon"),
            ("cid", "how do I restart the router, is there a button?"),
        ]);
        let message = context.target_messages()[2].clone();
        assert_eq!(
            nearest_message(&message, &context).map(|nearest| nearest.id.as_str()),
            Some("000")
        );
    }
}
