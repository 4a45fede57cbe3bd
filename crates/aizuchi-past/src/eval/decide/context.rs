//! The context that a mind sees of an item.

use std::sync::Arc;

use aizuchi_agent::inbox::calling::is_call;
use aizuchi_model::chat::{
    AuthorKind, Mention, Message, UserId, Visibility, channel_topic, to_single_line,
};
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::persona::spelling::spellings;

use crate::eval::case::{CaseMessage, conversation, message, message_id};
use crate::eval::decide::item::DecisionItem;

/// Whether an answer is owed: a message calls the persona, and the persona has not written since. No mind is asked then,
/// since it is answered anyway.
pub fn is_owed(context: &Context) -> bool {
    let messages = context.target_messages();
    let own = messages.iter().rposition(|message| message.author.kind == AuthorKind::Persona);
    messages[own.map_or(0, |own| own + 1)..].iter().any(|message| message.is_addressed())
}

/// Returns the context that a mind sees: the item's messages without its label. Calls by the persona's name address it,
/// as they do in a channel.
pub fn item_context(item: &DecisionItem, persona: &str) -> Context {
    let author = |number: usize| UserId::new(&*item.context[number].author);
    let messages = item.context.iter().enumerate().map(|(number, line)| {
        let said = CaseMessage {
            ts: item.decide_at + line.t,
            user: line.author.clone(),
            text: line.text.clone(),
            bot: line.bot,
            own: line.own,
        };
        let message = message(conversation(line.thread), number, &said, persona);
        let calls = || is_call(&line.text, &spellings(persona));
        let is_called = message.author.kind == AuthorKind::Human && calls();
        let replied = line.reply_to.map(|replied| Mention::User(author(replied)));
        let called = is_called.then_some(Mention::Persona);
        Arc::new(Message { mentions: replied.into_iter().chain(called).collect(), ..message })
    });
    let links = item.context.iter().enumerate().filter_map(|(number, message)| {
        let links = MessageLinks::reply_to(message_id(message.reply_to?));
        Some((message_id(number), Arc::new(links)))
    });
    let target = conversation(item.thread);
    let channel = target.channel.clone();
    let name = to_single_line(item.channel.as_deref().unwrap_or("general"));
    let name = name.trim_start_matches('#').into();
    let history = ChannelMessages::from_messages(channel, name, messages.collect());
    let visibility = Visibility::Public;
    let channel_topic = channel_topic(item.topic.as_deref().unwrap_or_default());
    Context { visibility, channel_topic, links: links.collect(), ..Context::new(target, history) }
}
