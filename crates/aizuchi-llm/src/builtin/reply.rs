//! The built-in mind's replies. Each message that is owed an answer gets one, depending on its request. Unasked, the
//! mind speaks only if it has a helpful quote.

use std::sync::Arc;

use aizuchi_model::chat::{Message, to_single_line};
use aizuchi_model::context::Occasion;
use aizuchi_model::decision::Usage;
use aizuchi_model::texts::{self, Name};
use serde_json::json;

use crate::LlmResponse;
use crate::builtin::answer::{Answer, request};
use crate::builtin::files::cannot_open;
use crate::builtin::keeping::{ADD_MEMO, can_keep, memo_name};
use crate::builtin::matching::changes;
use crate::builtin::phrases::Topic;
use crate::builtin::quotes::Quotes;
use crate::builtin::request::{News, Request, asks_for_help};
use crate::builtin::silence_reasons::{has_quoted_lately, is_bare_link};
use crate::builtin::vocabulary::{LAUGH, SEEN, WELCOME, truncate_quote};
use crate::prompt::Prompt;
use crate::prompt::tool::ToolCall;

/// The maximum number of owed messages that are answered individually.
const MAX_ANSWERS: usize = 5;
pub fn reply(prompt: &Prompt) -> LlmResponse {
    let context = &*prompt.context;
    let owed: Vec<&Arc<Message>> = context.owed_messages().collect();
    if owed.is_empty() {
        let intent = prompt.context.intent.as_ref();
        if intent.is_some_and(|intent| intent.occasion == Some(Occasion::Unanswered)) {
            return asked(prompt).map_or_else(
                || nothing_to_say(prompt),
                |message| response(still_open(message, prompt)),
            );
        }
        return help_unasked(prompt);
    }
    let newest = owed.len().saturating_sub(MAX_ANSWERS);
    let requests: Vec<(&Message, Request)> =
        owed[newest..].iter().map(|message| (&***message, request(message, prompt))).collect();
    let calls = memos_to_keep(&requests, prompt);
    if !calls.is_empty() {
        return LlmResponse { tool_calls: calls, ..response(String::new()) };
    }
    if let [(message, request)] = &requests[..]
        && cannot_open(prompt, message).is_none()
        && let Some(emoji) = emoji_reply(request, &Answer::new(prompt, message))
    {
        return response(emoji.to_owned());
    }
    let mut answers: Vec<String> = Vec::new();
    for (message, request) in &requests {
        let answer = cannot_open(prompt, message)
            .unwrap_or_else(|| Answer::new(prompt, message).to(request));
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    response(answers.join("\n\n"))
}

fn response(text: String) -> LlmResponse {
    LlmResponse::new(text, Usage::default())
}

/// The emoji that says more than words would, if the channel allows it.
fn emoji_reply(request: &Request, answer: &Answer<'_>) -> Option<&'static str> {
    let emoji = match request {
        // The mind explains only once why it says so little. A user who corrects something wants a confirmation.
        Request::Statement if answer.has_explained_itself() && !changes(&answer.message.text) => {
            SEEN
        }
        Request::Topic(Topic::Courtesy) => WELCOME,
        Request::Laugh => LAUGH,
        _ => return None,
    };
    answer.prompt.judge_options.reactions.iter().any(|allowed| allowed == emoji).then_some(emoji)
}

/// The memos for what the mind is asked to keep, unless they were already made or memos are unavailable.
fn memos_to_keep(requests: &[(&Message, Request)], prompt: &Prompt) -> Vec<ToolCall> {
    if !can_keep(prompt) || !prompt.tool_rounds.is_empty() {
        return Vec::new();
    }
    let kept = requests.iter().filter_map(|(message, request)| match request {
        Request::Keep(text) => Some((message, text)),
        _ => None,
    });
    let call = |(message, text): (&&Message, &String)| {
        let arguments = json!({ "name": memo_name(text), "content": text, "priority": 3 });
        ToolCall { id: message.id.to_string(), name: ADD_MEMO.to_owned(), arguments }
    };
    kept.map(call).collect()
}

/// An unsolicited reply: a helpful quote, or nothing.
fn help_unasked(prompt: &Prompt) -> LlmResponse {
    let language = prompt.persona.language;
    let nothing = || nothing_to_say(prompt);
    let Some(message) = asked(prompt).filter(|it| !is_bare_link(&it.text)) else {
        return nothing();
    };
    let name = to_single_line(prompt.context.display_name(&message.author.id));
    if News::find(&message.text) == Some(News::Bad) {
        return response(texts::builtin::condolences(language, Name(&name)));
    }
    let quotes = Quotes::new(prompt, message);
    let Some(known) = quotes.helpful(&message.text) else { return nothing() };
    if has_quoted_lately(known.newest, &prompt.context) {
        return LlmResponse::silent(texts::builtin::quoted_lately(language));
    }
    let known = quotes.describe(&known, &message.author.id);
    response(texts::builtin::perhaps_this_helps(language, Name(&name), &known))
}

/// Points out that a question is open.
pub fn bring_back(prompt: &Prompt) -> String {
    let (context, language) = (&*prompt.context, prompt.persona.language);
    let Some(message) = asked(prompt) else {
        return texts::builtin::nothing_to_say(language).to_owned();
    };
    let name = to_single_line(context.display_name(&message.author.id));
    if context.newest_human_message().is_some_and(|newest| newest.id == message.id) {
        return match asks_for_help(&message.text) {
            true => texts::builtin::cannot_help_here(language, Name(&name)),
            false => texts::builtin::unknown_here(language, Name(&name)),
        };
    }
    still_open(message, prompt)
}

fn still_open(message: &Message, prompt: &Prompt) -> String {
    let name = to_single_line(prompt.context.display_name(&message.author.id));
    let quote = truncate_quote(&to_single_line(&message.text));
    texts::builtin::question_open(prompt.persona.language, Name(&name), &quote)
}

fn nothing_to_say(prompt: &Prompt) -> LlmResponse {
    LlmResponse::silent(texts::builtin::nothing_to_say(prompt.persona.language))
}

/// The message that an unsolicited reply is about.
fn asked(prompt: &Prompt) -> Option<&Message> {
    let context = &*prompt.context;
    let intent = context.intent.as_ref();
    let about = intent.and_then(|intent| context.target_message(intent.about.as_ref()?));
    about.or_else(|| context.newest_human_message()).map(|message| &**message)
}
