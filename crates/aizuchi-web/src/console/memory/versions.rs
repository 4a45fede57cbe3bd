//! The versions of a memory, each with its additions, its removals and its author.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_model::memory::change::JournalEntry;
use aizuchi_model::memory::{Memory, MemoryEntry};
use aizuchi_model::texts;
use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::response::Html;

use crate::access::Visitor;
use crate::console::layout::{Layout, Section, TimeView, memory_address, render};
use crate::console::memory::views::{Places, ViewBuilder, history_address};
use crate::language::PageLanguage;
use crate::memories::KeyFields;
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, workspaces};

#[derive(Template)]
#[template(path = "console/versions.html")]
struct VersionsPage<'a> {
    layout: Layout<'a>,
    title: String,
    workspace: String,
    workspace_label: String,
    memory: String,
    address: String,
    key: KeyFields,
    current: i64,
    may_revert: bool,
    /// Newest first.
    versions: Vec<VersionView>,
}

struct VersionView {
    number: i64,
    made: TimeView,
    /// Who made it and how, if that is recorded.
    by: Option<String>,
    added: Vec<VersionEntryView>,
    gone: Vec<VersionEntryView>,
    unchanged: Option<String>,
    hidden: Option<String>,
    is_first: bool,
}

struct VersionEntryView {
    date: String,
    text: String,
    pinned: bool,
}

/// The number of changes that are searched for the authors of the versions.
const CHANGES: usize = 500;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<KeyFields>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let Query(fields) = query.map_err(|_| ActionRefusal::NoMemory)?;
    let key = fields.parse(&web).await?;
    let versions = web.archive.memory_versions(&key).await?;
    let current = versions.last().ok_or(ActionRefusal::NoMemory)?.id;
    let access = &visitor.access;
    workspaces::record_look(&web, access, &key.workspace, Shown::Memories(&versions)).await?;
    let changes = web.archive.memory_journal(&key.workspace, key.channel(), None, CHANGES).await?;
    let places = Places::read(&web, access, &key.workspace).await?;
    let builder = ViewBuilder {
        access,
        language,
        names: web.archive.users(&key.workspace).await?,
        places: &places,
        sources: HashMap::new(),
        user: None,
    };
    let before = std::iter::once(None).chain(versions.iter().map(Some));
    let views = versions.iter().zip(before);
    let mut views: Vec<VersionView> =
        views.map(|(version, before)| view(&builder, version, before, &changes)).collect();
    views.reverse();
    let mut entries = versions.iter().flat_map(|it| it.entries.iter().chain(&it.removed));
    render(&VersionsPage {
        layout: Layout::new(&web, &visitor, language, Section::Memory),
        title: texts::memories::history_of(language, &places.title(&key, language)),
        workspace_label: workspaces::label(&web, &key.workspace, language),
        workspace: key.workspace.to_string(),
        memory: memory_address(&key.workspace, key.channel()),
        address: history_address(&key),
        may_revert: access.may_order() && entries.all(|entry| builder.may_read(entry)),
        key: KeyFields::new(&key),
        current: current.0,
        versions: views,
    })
}

fn view(
    builder: &ViewBuilder<'_>,
    version: &Memory,
    before: Option<&Memory>,
    changes: &[JournalEntry],
) -> VersionView {
    let language = builder.language;
    let says_same =
        |one: &MemoryEntry, other: &MemoryEntry| (one.date, &one.text) == (other.date, &other.text);
    // An entry that was only pinned or unpinned is listed once.
    let is_same = |one: &MemoryEntry, other: &MemoryEntry| {
        says_same(one, other) && one.pinned == other.pinned
    };
    let old = before.map_or(&[][..], |before| &before.entries);
    type Likeness<'a> = &'a dyn Fn(&MemoryEntry, &MemoryEntry) -> bool;
    let without = |entries: &[MemoryEntry],
                   others: &[MemoryEntry],
                   is_like: Likeness<'_>|
     -> Vec<VersionEntryView> {
        let only = entries.iter().filter(|it| !others.iter().any(|other| is_like(it, other)));
        let line = |entry: &MemoryEntry| VersionEntryView {
            date: entry.date.to_string(),
            text: entry.text.to_string(),
            pinned: entry.pinned,
        };
        only.filter(|entry| builder.may_read(entry)).map(line).collect()
    };
    let hidden = version.entries.iter().filter(|entry| !builder.may_read(entry)).count();
    let added = without(&version.entries, old, &is_same);
    let unchanged = (version.entries.len() - hidden).saturating_sub(added.len());
    let change = changes.iter().find(|change| change.after == version.id);
    let told = |change: &JournalEntry| {
        let kind = texts::memories::journal_kind(language, change.kind);
        format!("{}: {kind}", builder.name_of(change))
    };
    VersionView {
        number: version.id.0,
        made: TimeView::new(version.created),
        by: change.map(told),
        gone: without(old, &version.entries, &says_same),
        unchanged: (before.is_some() && unchanged > 0)
            .then(|| texts::memories::unchanged(language, unchanged)),
        hidden: (hidden > 0).then(|| texts::memories::hidden(language, hidden)),
        is_first: before.is_none(),
        added,
    }
}
