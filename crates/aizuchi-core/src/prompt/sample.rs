//! Sample values for templates: everything is there, or nothing is.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::date;

use crate::chat::{
    Author, AuthorKind, ChannelId, ConversationId, Message, MessageId, UserId, Visibility,
    WorkspaceId,
};
use crate::context::channel_messages::ChannelMessages;
use crate::context::state::ConversationState;
use crate::context::{ChannelMemory, Circumstances, Context, Intervention, Motive, ThreadMemory};
use crate::memo::Memo;
use crate::memory::{Entry, MemoryKey, Scope, Term};
use crate::persona::{Language, Persona};
use crate::prompt::Verb;
use crate::prompt::material::{Known, Material, Owner, Source, Talk};
use crate::prompt::prompts::{Judging, Scene, view_of, view_of_material};
use crate::prompt::view::View;
use crate::recall::Recalled;
use crate::rules::Mode;

/// For every verb, each way that a template can go.
pub fn views(language: Language) -> Vec<(Verb, View)> {
    let persona =
        Persona { name: "Aizuchi".to_owned(), system_prompt: "Be kind.".to_owned(), language };
    let bare = Persona { system_prompt: String::new(), ..persona.clone() };
    let mut views = Vec::new();
    for verb in [Verb::Judge, Verb::Reply, Verb::State] {
        for thread in [None, Some(MessageId::new("1"))] {
            let scene = Scene::at(Timestamp::UNIX_EPOCH);
            let judging = Judging {
                mode: Mode::Facilitator,
                named: Some(ConversationState::Conflict),
                reactions: vec!["👍".to_owned()],
            };
            let facilitating = Scene { judging, ..scene.clone() };
            let full = full(thread.clone());
            views.push((verb, view_of(verb, language, &persona, &full, &facilitating)));
            views.push((verb, view_of(verb, language, &persona, &full, &scene)));
            views.push((verb, view_of(verb, language, &bare, &empty(thread), &scene)));
        }
    }
    let scene = Scene::at(Timestamp::UNIX_EPOCH);
    for material in materials() {
        let view = view_of_material(language, &persona, &material, &scene);
        views.push((Verb::Remember, view));
    }
    views
}

/// The values of a prompt without any talk.
pub fn nothing(verb: Verb, language: Language) -> View {
    let persona = Persona { name: String::new(), system_prompt: String::new(), language };
    let scene = Scene::at(Timestamp::UNIX_EPOCH);
    if verb == Verb::Remember {
        let material =
            Material { sources: Vec::new(), ..material(Scope::Workspace, Term::LongTerm) };
        return view_of_material(language, &persona, &material, &scene);
    }
    view_of(verb, language, &persona, &empty(None), &scene)
}

fn line(id: &str, thread: Option<&str>, kind: AuthorKind) -> Arc<Message> {
    Arc::new(Message {
        conversation: conversation(thread.map(MessageId::new)),
        id: MessageId::new(id),
        at: Timestamp::UNIX_EPOCH,
        author: Author { id: UserId::new("alice"), kind },
        text: "Hello!".into(),
        mentions: Vec::new(),
        edits: 0,
    })
}

fn conversation(thread: Option<MessageId>) -> ConversationId {
    let workspace = WorkspaceId::new("workspace");
    ConversationId { workspace, channel: ChannelId::new("general"), thread }
}

/// Threads want a motive, the top level is owed an answer.
fn full(target: Option<MessageId>) -> Context {
    let lines = vec![
        line("1", None, AuthorKind::Human),
        line("2", Some("1"), AuthorKind::Persona),
        line("3", None, AuthorKind::Human),
        line("4", Some("3"), AuthorKind::Human),
    ];
    let channel = ChannelId::new("general");
    let history = ChannelMessages::sort(channel.clone(), "general".into(), lines);
    let memory: Option<Arc<str>> = Some("- 2026-01-05: a fact".into());
    let motive = Motive {
        reason: "nobody answers".to_owned(),
        about: Some(MessageId::new("1")),
        conversation_state: Some(ConversationState::Misunderstanding),
        moment: None,
        considered: 0,
    };
    Context {
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
        owed: if target.is_none() { vec![MessageId::new("1")] } else { Vec::new() },
        motive: target.is_some().then_some(motive),
        important_memos: vec![memo(&["drinks"], Some("all of it")), memo(&[], None)],
        recent_memos: vec![memo(&[], Some("all of it")), memo(&["drinks"], None)],
        recalled: vec![Recalled {
            message: line("0", None, AuthorKind::Human),
            name: "alice".into(),
            channel_name: "general".into(),
            score: 1.0,
        }],
        circumstances: Circumstances {
            intervention: Some(Intervention {
                at: Timestamp::UNIX_EPOCH,
                lines: vec![
                    line("5", None, AuthorKind::Human),
                    line("6", None, AuthorKind::Persona),
                ],
            }),
            ..Circumstances::default()
        },
        ..Context::of(conversation(target), history)
    }
}

fn empty(target: Option<MessageId>) -> Context {
    let history = ChannelMessages::new(ChannelId::new("general"), "general".into());
    Context::of(conversation(target), history)
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

fn materials() -> Vec<Material> {
    let channel = || ChannelId::new("general");
    vec![
        material(Scope::Thread(channel(), MessageId::new("1")), Term::ShortTerm),
        material(Scope::Channel(channel()), Term::ShortTerm),
        material(Scope::Channel(channel()), Term::LongTerm),
        material(Scope::Workspace, Term::ShortTerm),
        material(Scope::Workspace, Term::LongTerm),
        Material {
            sources: vec![known(Owner::Part)],
            ..material(Scope::Workspace, Term::LongTerm)
        },
    ]
}

fn known(owner: Owner) -> Source {
    let entry = Entry {
        date: date(2026, 1, 5),
        text: "a fact".into(),
        visibility: Visibility::Public,
        lines: Vec::new(),
    };
    Source::Known(Known { owner, entry })
}

fn material(scope: Scope, term: Term) -> Material {
    let id = ChannelId::new("general");
    let other = Owner::Channel { id, name: "general".into(), term: Term::ShortTerm };
    let talk = |thread: Option<&str>| {
        let lines = vec![line("2", thread, AuthorKind::Human)];
        let conversation = conversation(thread.map(MessageId::new));
        Source::Talk(Talk { conversation, lines })
    };
    Material {
        merged: Vec::new(),
        considered: 0,
        key: MemoryKey { workspace: WorkspaceId::new("workspace"), scope, term },
        max_tokens: 300,
        sources: vec![known(Owner::Itself), known(other), talk(None), talk(Some("1"))],
        channel_name: "general".into(),
        names: Default::default(),
    }
}
