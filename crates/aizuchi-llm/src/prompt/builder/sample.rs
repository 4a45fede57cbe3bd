//! Sample values for checking templates: contexts with everything, and contexts with nothing.

use std::sync::Arc;

use aizuchi_model::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, Visibility,
    WorkspaceId,
};
use aizuchi_model::context::channel_messages::ChannelMessages;
use aizuchi_model::context::seen_revision::SeenRevision;
use aizuchi_model::context::state::ConversationState;
use aizuchi_model::context::{
    ChannelMemory, Circumstances, Context, Intent, Intervention, Occasion, ThreadMemory,
};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::recall::RecalledMessage;
use aizuchi_model::rules::Mode;
use aizuchi_model::standing_order::{StandingOrder, StandingOrderScope, StandingOrderText};
use jiff::Timestamp;
use jiff::civil::date;

use crate::prompt::PromptVerb;
use crate::prompt::builder::{JudgeOptions, PromptOptions, context_view, memory_input_view};
use crate::prompt::memory_input::{
    EntryOwner, KnownEntry, MemoryInput, MemorySource, MessageBlock,
};
use crate::prompt::view::PromptView;

/// The text of every sample message, which occurs in no template.
pub const SAMPLE_TEXT: &str = "Has the blue kettle come back?";

/// Returns samples for every verb that reach every branch of a template.
pub fn sample_views(language: Language) -> Vec<(PromptVerb, PromptView)> {
    let persona =
        Persona { name: "Aizuchi".to_owned(), system_prompt: "Be kind.".to_owned(), language };
    let bare = Persona { system_prompt: String::new(), ..persona.clone() };
    let mut views = Vec::new();
    for verb in [PromptVerb::Judge, PromptVerb::Reply, PromptVerb::State] {
        for thread in [None, Some(MessageId::new("1"))] {
            let options = PromptOptions::new(Timestamp::UNIX_EPOCH);
            let judge_options = JudgeOptions {
                mode: Mode::Facilitator,
                known_state: Some(ConversationState::Conflict),
                reactions: vec!["👍".to_owned()],
                ..JudgeOptions::default()
            };
            let facilitator_options = PromptOptions { judge_options, ..options.clone() };
            let full = full_context(thread.clone());
            views.push((verb, context_view(verb, language, &persona, &full, &facilitator_options)));
            views.push((verb, context_view(verb, language, &persona, &full, &options)));
            views.push((
                verb,
                context_view(verb, language, &bare, &empty_context(thread), &options),
            ));
        }
    }
    let options = PromptOptions::new(Timestamp::UNIX_EPOCH);
    for input in memory_inputs() {
        let view = memory_input_view(language, &persona, &input, &options);
        views.push((PromptVerb::Remember, view));
    }
    views
}

/// The view of a prompt without messages.
pub fn empty_view(verb: PromptVerb, language: Language) -> PromptView {
    let persona = Persona { name: String::new(), system_prompt: String::new(), language };
    let options = PromptOptions::new(Timestamp::UNIX_EPOCH);
    if verb == PromptVerb::Remember {
        let input = MemoryInput {
            sources: Vec::new(),
            ..memory_input(MemoryScope::Workspace, MemoryTerm::LongTerm)
        };
        return memory_input_view(language, &persona, &input, &options);
    }
    context_view(verb, language, &persona, &empty_context(None), &options)
}

fn message(id: &str, thread: Option<&str>, kind: AuthorKind) -> Arc<Message> {
    Arc::new(Message {
        conversation: conversation(thread.map(MessageId::new)),
        id: MessageId::new(id),
        at: Timestamp::UNIX_EPOCH,
        author: Author { id: UserId::new("alice"), kind },
        text: SAMPLE_TEXT.into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    })
}

fn conversation(thread: Option<MessageId>) -> ConversationId {
    let workspace = WorkspaceId::new("workspace");
    ConversationId { workspace, channel: ChannelId::new("general"), thread }
}

/// A thread has an intent; the top level has a message that is owed an answer.
fn full_context(target: Option<MessageId>) -> Context {
    let messages = vec![
        message("1", None, AuthorKind::Human),
        message("2", Some("1"), AuthorKind::Persona),
        message("3", None, AuthorKind::Human),
        message("4", Some("3"), AuthorKind::Human),
    ];
    let channel = ChannelId::new("general");
    let history = ChannelMessages::from_messages(channel.clone(), "general".into(), messages);
    let memory: Option<Arc<str>> = Some("- 2026-01-05: a fact".into());
    let intent = Intent {
        reason: "nobody answers".to_owned(),
        about: Some(MessageId::new("1")),
        conversation_state: Some(ConversationState::Misunderstanding),
        post_at: None,
        seen_revision: SeenRevision::Nothing,
        occasion: Some(Occasion::Unanswered),
    };
    let scopes = [
        StandingOrderScope::Workspace,
        StandingOrderScope::Channel(channel.clone()),
        StandingOrderScope::Thread(channel.clone(), MessageId::new("1")),
    ];
    Context {
        standing_orders: (1..).zip(scopes).map(|(number, scope)| order(number, scope)).collect(),
        workspace_long_term_memory: memory.clone(),
        workspace_short_term_memory: memory.clone(),
        channel_memories: vec![ChannelMemory {
            channel_id: channel,
            channel_name: "general".into(),
            long_term_memory: memory.clone(),
            short_term_memory: memory.clone(),
        }],
        thread_memories: vec![ThreadMemory {
            thread: MessageId::new("1"),
            memory: "- 2026-01-05: a fact".into(),
        }],
        owed: if target.is_none() { vec![MessageId::new("1").into()] } else { Vec::new() },
        intent: target.is_some().then_some(intent),
        important_memos: vec![memo(&["drinks"], Some("all of it")), memo(&[], None)],
        recent_memos: vec![memo(&[], Some("all of it")), memo(&["drinks"], None)],
        recalled_messages: vec![RecalledMessage {
            message: message("0", None, AuthorKind::Human),
            author_name: "alice".into(),
            channel_name: "general".into(),
            score: 1.0,
        }],
        circumstances: Circumstances {
            last_intervention: Some(Intervention {
                at: Timestamp::UNIX_EPOCH,
                state: None,
                messages_before: vec![
                    message("5", None, AuthorKind::Human),
                    message("6", None, AuthorKind::Persona),
                ],
            }),
            ..Circumstances::default()
        },
        ..Context::new(conversation(target), history)
    }
}

fn order(number: i64, scope: StandingOrderScope) -> StandingOrder {
    StandingOrder {
        number,
        version: 1,
        scope,
        text: StandingOrderText::from_stored("Speak of plants.".to_owned()),
        visibility: Visibility::Public,
        by: "olga".into(),
        given: Timestamp::UNIX_EPOCH,
        ended: None,
        is_draft: false,
    }
}

fn empty_context(target: Option<MessageId>) -> Context {
    let history = ChannelMessages::new(ChannelId::new("general"), "general".into());
    Context::new(conversation(target), history)
}

fn memo(tags: &[&str], detail: Option<&str>) -> Memo {
    Memo {
        name: "tea".to_owned(),
        content: "green".to_owned(),
        priority: 4,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        detail: detail.map(str::to_owned),
        created: Timestamp::UNIX_EPOCH,
        updated: Timestamp::UNIX_EPOCH,
        channel: ChannelId::new("general"),
        visibility: Visibility::Public,
        said_by: None,
    }
}

fn memory_inputs() -> Vec<MemoryInput> {
    let channel = || ChannelId::new("general");
    vec![
        memory_input(MemoryScope::Thread(channel(), MessageId::new("1")), MemoryTerm::ShortTerm),
        memory_input(MemoryScope::Channel(channel()), MemoryTerm::ShortTerm),
        memory_input(MemoryScope::Channel(channel()), MemoryTerm::LongTerm),
        memory_input(MemoryScope::Workspace, MemoryTerm::ShortTerm),
        memory_input(MemoryScope::Workspace, MemoryTerm::LongTerm),
        MemoryInput {
            sources: vec![known_entry(EntryOwner::Part)],
            ..memory_input(MemoryScope::Workspace, MemoryTerm::LongTerm)
        },
    ]
}

fn known_entry(owner: EntryOwner) -> MemorySource {
    let entry = MemoryEntry {
        date: date(2026, 1, 5),
        text: "a fact".into(),
        visibility: Visibility::Public,
        messages: Vec::new(),
        pinned: false,
    };
    MemorySource::Entry(KnownEntry { owner, entry })
}

fn memory_input(scope: MemoryScope, term: MemoryTerm) -> MemoryInput {
    let id = ChannelId::new("general");
    let other = EntryOwner::Channel { id, name: "general".into(), term: MemoryTerm::ShortTerm };
    let block = |thread: Option<&str>| {
        let messages = vec![message("2", thread, AuthorKind::Human)];
        let conversation = conversation(thread.map(MessageId::new));
        MemorySource::Messages(MessageBlock { conversation, messages })
    };
    MemoryInput {
        merged: Vec::new(),
        kept: Default::default(),
        seen_revision: 0,
        key: MemoryKey { workspace: WorkspaceId::new("workspace"), scope, term },
        max_tokens: 300,
        sources: vec![
            known_entry(EntryOwner::SameMemory),
            known_entry(other),
            block(None),
            block(Some("1")),
        ],
        channel_name: "general".into(),
        visibility: Visibility::Public,
        names: Default::default(),
    }
}
