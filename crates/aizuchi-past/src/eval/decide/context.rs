//! The context that a mind sees of an item.

use std::sync::Arc;

use aizuchi_agent::inbox::addressed::by_name::is_call;
use aizuchi_import::rows::epoch_seconds;
use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Mention, Message, MessageId, UserId, Visibility,
    WorkspaceId, channel_topic, to_single_line,
};
use aizuchi_model::context::Context;
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::links::MessageLinks;
use aizuchi_model::persona::spelling::spellings;

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
        let kind = match (line.own.unwrap_or(line.author == persona), line.bot) {
            (true, _) => AuthorKind::Persona,
            (false, true) => AuthorKind::Bot,
            (false, false) => AuthorKind::Human,
        };
        let is_called = kind == AuthorKind::Human && is_call(&line.text, &spellings(persona));
        let replied = line.reply_to.map(|replied| Mention::User(author(replied)));
        let called = is_called.then_some(Mention::Persona);
        Arc::new(Message {
            conversation: conversation(line.thread),
            id: message_id(number),
            at: epoch_seconds(item.decide_at + line.t),
            author: Author { id: author(number), kind },
            text: line.text.as_str().into(),
            mentions: replied.into_iter().chain(called).collect(),
            attachments: Vec::new(),
            edits: 0,
        })
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

/// Returns the conversation that everything is in, or a thread of it, by the number of its first message.
fn conversation(thread: Option<usize>) -> ConversationId {
    ConversationId {
        workspace: WorkspaceId::new("eval"),
        channel: ChannelId::new("general"),
        thread: thread.map(message_id),
    }
}

/// Ids in ascending order keep messages with the same time in their order.
fn message_id(number: usize) -> MessageId {
    MessageId::new(format!("{number:06}"))
}
