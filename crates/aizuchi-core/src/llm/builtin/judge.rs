//! Whether the built-in mind joins in: a question to everyone that is still open, or news that deserve a nod.

use serde_json::json;

use crate::chat::{AuthorKind, Message, to_single_line};
use crate::context::Context;
use crate::context::conversation_analysis::{
    ConversationAnalysis, QuestionAnalysis, QuestionStatus, is_closing,
};
use crate::llm::builtin::request::News;
use crate::llm::builtin::vocabulary::truncate_quote;
use crate::persona::Language;
use crate::prompt::Prompt;
use crate::texts::{self, Name};
use aizuchi_structure::cues::Cues;

pub fn judge(prompt: &Prompt) -> String {
    let context = &*prompt.context;
    let language = prompt.persona.language;
    let judgment = match find_open_question(context) {
        Ok(question) => {
            let name = to_single_line(context.display_name(&question.author.id));
            json!({
                "should_respond": true,
                "reason": texts::builtin::asked_the_room(language, Name(&name)),
                "confidence": 0.8,
                "delay_seconds": 0,
                "about": prompt.speakers.message_label(question),
                "conversation_state": "active",
            })
        }
        Err(nothing) => {
            let nod = find_nod(prompt);
            let about = nod.map(|(message, _)| prompt.speakers.message_label(message));
            let reason = match nod {
                Some((_, news)) => news_reason(news, language),
                None => nothing.reason(language),
            };
            json!({
                "should_respond": false,
                "reason": reason,
                "confidence": 0.8,
                "delay_seconds": null,
                "about": about,
                // The state is a judgment that keywords cannot make.
                "conversation_state": "active",
                "reaction": nod.map(|(_, news)| news.emoji()),
            })
        }
    };
    judgment.to_string()
}

/// The newest human message, if it tells news that deserve a nod, and the channel allows the emoji.
fn find_nod(prompt: &Prompt) -> Option<(&Message, News)> {
    let message = prompt.context.newest_human_message()?;
    let news = News::find(&message.text)?;
    let is_allowed = prompt.judge_options.reactions.iter().any(|emoji| emoji == news.emoji());
    (is_allowed && !message.is_addressed()).then_some((&**message, news))
}

fn news_reason(news: News, language: Language) -> &'static str {
    match news {
        News::Good => texts::builtin::good_news(language),
        News::Bad => texts::builtin::bad_news(language),
    }
}

/// Why there is nothing to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoOpenQuestion {
    Ended,
    /// It has told the room of it already.
    Told,
    Answered,
    Directed,
    TalkingToEachOther,
    NoQuestion,
}

impl NoOpenQuestion {
    fn reason(self, language: Language) -> &'static str {
        match self {
            NoOpenQuestion::Ended => texts::builtin::conversation_ended(language),
            NoOpenQuestion::Told => texts::builtin::question_told(language),
            NoOpenQuestion::Answered => texts::builtin::question_answered(language),
            NoOpenQuestion::Directed => texts::builtin::question_directed(language),
            NoOpenQuestion::TalkingToEachOther => texts::builtin::talking_to_each_other(language),
            NoOpenQuestion::NoQuestion => texts::builtin::no_question(language),
        }
    }
}

/// It speaks from this probability on that a question is open. Nothing else restrains it, so it is surer than the
/// facts that a model is told. `docs/internals/eval.md` has the figures for it.
const SURELY_OPEN: f32 = 0.65;

/// The newest question to everyone that is still open.
fn find_open_question(context: &Context) -> Result<&Message, NoOpenQuestion> {
    let analysis = ConversationAnalysis::new(context);
    // Who tells sad news waits for sympathy, not for an answer.
    let is_question = |question: &&QuestionAnalysis<'_>| {
        question.open >= SURELY_OPEN && News::find(&question.message.text).is_none()
    };
    let open: Vec<&QuestionAnalysis<'_>> = analysis.open_questions().filter(is_question).collect();
    if let Some(untold) = open.iter().rfind(|question| !has_told(context, question.message)) {
        return Ok(untold.message);
    }
    if !open.is_empty() {
        return Err(NoOpenQuestion::Told);
    }
    if let Some(question) = analysis.questions().last().filter(|it| wonders_aloud(it, context)) {
        return Ok(question.message);
    }
    if context.newest_human_message().is_some_and(|message| is_closing(Cues::of(&message.text))) {
        return Err(NoOpenQuestion::Ended);
    }
    // What was asked of the mind itself is answered, and tells nothing about the others.
    let mut questions = analysis.questions().iter().rev();
    let newest = questions.find(|question| !question.message.is_addressed());
    Err(match newest.map(|question| &question.status) {
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

/// Whether it has repeated a question to the room. Once is enough, however long nobody answers.
fn has_told(context: &Context, question: &Message) -> bool {
    let quote = truncate_quote(&to_single_line(&question.text));
    let later = context.target_messages().iter().skip_while(|message| message.id != question.id);
    later
        .filter(|message| message.author.kind == AuthorKind::Persona)
        .any(|message| message.text.contains(&*quote))
}

/// 「…ってどこでしたっけ？」 asks anybody who remembers, also in the middle of an exchange, and so far nobody has.
fn wonders_aloud(question: &QuestionAnalysis<'_>, context: &Context) -> bool {
    let text = &*question.message.text;
    let cues = Cues::of(text);
    let is_newest =
        context.newest_human_message().is_some_and(|newest| newest.id == question.message.id);
    matches!(question.status, QuestionStatus::AuthorInExchange(_))
        && is_newest
        && cues.contains(Cues::QUESTION_WORD)
        && !cues.contains(Cues::SECOND_PERSON)
        && text.trim_end_matches(|letter: char| !letter.is_alphanumeric()).ends_with("っけ")
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
                author: Author {
                    id: UserId::new(*author),
                    kind: match *author {
                        "Aizuchi" => AuthorKind::Persona,
                        _ => AuthorKind::Human,
                    },
                },
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
    fn the_room_is_told_of_a_question_once() {
        let long = "does anyone know which glaze is safe for cups? ".repeat(6);
        for text in ["does anyone know which glaze is safe for cups?", long.trim()] {
            let quote = truncate_quote(text);
            let told =
                format!("ida’s question hasn’t been answered yet: “{quote}” Can anyone help?");
            let question = ("ida", text);
            let told_of = |texts: &[(&str, &str)], number: usize| {
                let context = context(texts);
                has_told(&context, &context.target_messages()[number])
            };
            assert!(told_of(&[question, ("Aizuchi", &told), ("otto", "hm")], 0), "{text}");
            // Somebody else's words, what came before, and another question tell nothing.
            assert!(!told_of(&[question, ("otto", &told)], 0), "{text}");
            assert!(!told_of(&[("Aizuchi", &told), question], 1), "{text}");
            assert!(!told_of(&[("otto", "who has the trimming tool?"), ("Aizuchi", &told)], 0));
        }
    }

    #[test]
    fn a_question_to_everyone_is_open_until_it_is_taken_up() {
        use NoOpenQuestion::{Answered, Directed, Ended, NoQuestion, TalkingToEachOther};
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
                Err(TalkingToEachOther),
            ),
            (
                vec![
                    ("ann", "お昼はカレーを食べました"),
                    ("bob", "いいですね、駅前の店ですか？"),
                    ("ann", "そうです。あの店の名前って何でしたっけ？"),
                    ("bob", "花びらです"),
                ],
                Err(TalkingToEachOther),
            ),
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
}
