//! The pages that find a person, show what is known of them, and have them forgotten.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::{AuthorKind, ChannelId, User, UserId, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::response::{Html, Redirect};
use jiff::Timestamp;
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{
    Layout, ListSlice, Section, TimeView, address_with, encode, memory_address, render,
};
use crate::console::memory;
use crate::console::memory::views::MemoryView;
use crate::language::PageLanguage;
use crate::order_journal::may_name_users;
use crate::people::{COUNTED, ForgettingView, KnownPerson, read_forgettings};
use crate::refusal::Refusal;
use crate::{ApiProblem, Web, order_journal, workspaces};

#[derive(Template)]
#[template(path = "console/people.html")]
struct PeoplePage<'a> {
    layout: Layout<'a>,
    /// Empty for all workspaces.
    workspace: String,
    workspaces: Vec<(String, String)>,
    search: String,
    people: Vec<PersonRow>,
    slice: Option<ListSlice>,
    /// The users who have opted out. Empty for visitors who may not give orders.
    opted_out: Vec<(WorkspaceId, String, UserId, Arc<str>)>,
    /// The users whom the config opts out.
    in_config: Option<String>,
    /// Set if people of some workspaces are hidden.
    withheld: Option<&'static str>,
    /// Each with the label of its workspace. `None` for visitors who may not have anybody forgotten.
    forgettings: Option<Vec<(String, ForgettingView)>>,
}

struct PersonRow {
    id: String,
    name: Arc<str>,
    address: String,
    /// What sets them apart from others.
    notes: Vec<&'static str>,
    workspace_label: String,
    /// When they last wrote where the visitor may read it.
    seen: Option<TimeView>,
}

#[derive(Template)]
#[template(path = "console/person.html")]
struct PersonPage<'a> {
    layout: Layout<'a>,
    workspace: WorkspaceId,
    list: String,
    row: PersonRow,
    person: KnownPerson,
    /// Says that not all of their messages are counted.
    older_note: Option<String>,
    /// What is remembered of them.
    remembered: Vec<RememberedLine>,
    memos: Vec<RememberedLine>,
    /// `None` for visitors who may not read all of it.
    export: Option<String>,
    may_forget: bool,
    /// The progress, if the person is being forgotten.
    forgetting: Option<String>,
}

/// What memories say of a person, with the first place that says so.
struct RememberedLine {
    text: String,
    place: String,
    /// Where it can be changed.
    address: String,
    known: &'static str,
    /// The number of other places that say the same.
    elsewhere: usize,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PeopleQuery {
    workspace: String,
    person: String,
    people_after: usize,
}

const LIST: &str = "/console/people";
/// The number of entries of memories, and of memos, that a person's page shows at first.
const SHOWN: usize = 10;
/// The maximum number of either.
const MOST_REMEMBERED: usize = 200;
/// The number of people per page.
const PEOPLE: usize = 50;

pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<PeopleQuery>, QueryRejection>,
) -> Result<Html<String>, ApiProblem> {
    let query = query.map_or(PeopleQuery::default(), |Query(query)| query);
    let access = &visitor.access;
    let known = workspaces::all(&web).await?;
    let only = workspaces::find_only(&web, Some(&query.workspace)).await?;
    let shown = only.as_ref().map_or(&known[..], std::slice::from_ref);
    let readable: Vec<_> = shown.iter().filter(|it| may_name_users(access, it)).collect();
    let is_part = readable.len() < shown.len();
    let wanted = query.person.trim().trim_start_matches('@').to_lowercase();
    let (mut people, mut opted_out) = (Vec::new(), HashMap::new());
    for workspace in &readable {
        people.extend(web.archive.users(workspace).await?);
        opted_out.insert(*workspace, web.store.orders(workspace).await?.opted_out);
    }
    people.retain(|user| {
        user.name.to_lowercase().contains(&wanted) || user.id.as_str().to_lowercase() == wanted
    });
    people.sort_by_cached_key(|user| (user.kind != AuthorKind::Human, user.name.to_lowercase()));
    let all = people.len();
    let people: Vec<User> = people.into_iter().skip(query.people_after).take(PEOPLE).collect();
    let mut seen: HashMap<(&WorkspaceId, UserId), Timestamp> = HashMap::new();
    for workspace in &readable {
        let here = people.iter().filter(|user| user.workspace == **workspace);
        let ids = here.map(|user| user.id.clone()).collect();
        for (id, visibility, at) in web.archive.last_written(workspace, &ids).await? {
            if access.may_read(workspace, visibility) {
                let last = seen.entry((*workspace, id)).or_insert(at);
                *last = at.max(*last);
            }
        }
    }
    let label = |workspace: &WorkspaceId| workspaces::label(&web, workspace, language);
    let row = |user: &User| {
        let is_out = opted_out.get(&user.workspace).is_some_and(|out| out.contains(&user.id));
        let seen = seen.get(&(&user.workspace, user.id.clone())).copied().map(TimeView::new);
        PersonRow::new(user, is_out, seen, (label(&user.workspace), language))
    };
    let mut out = Vec::new();
    for workspace in shown.iter().filter(|_| access.may_order()) {
        let ids = order_journal::opted_out(&web, access, workspace).await?.into_iter().collect();
        let names = order_journal::user_names(&web, access, workspace, &ids).await?;
        out.extend(ids.into_iter().map(|id| {
            let name = names.get(&id).map_or_else(|| id.as_str().into(), Arc::clone);
            (workspace.clone(), label(workspace), id, name)
        }));
    }
    // The config does not say to which workspace they belong.
    let is_for_all = access.may_order() && web.scope == AccessScope::Everything;
    let rulebook = web.room.rulebook();
    let in_config = rulebook.opted_out.iter().filter(|_| is_for_all).map(ToString::to_string);
    let in_config = in_config.collect::<Vec<_>>().join(", ");
    let people: Vec<PersonRow> = people.iter().map(row).collect();
    let fields = [("workspace", &*query.workspace), ("person", query.person.trim())];
    let address = address_with(LIST, &fields);
    let shown = (people.len(), all);
    let forgettings = match access.may_administer() {
        true => {
            let forgettings = read_forgettings(&web, access, only.clone()).await?.into_iter();
            let row = |it: ForgettingView| (label(&it.workspace), it);
            Some(forgettings.map(row).collect())
        }
        false => None,
    };
    render(&PeoplePage {
        layout: Layout::new(&web, &visitor, language, Section::People),
        workspaces: workspaces::choices(&web, &known, language),
        search: query.person,
        slice: ListSlice::new(("people", address.as_str()), query.people_after, shown, language),
        people,
        opted_out: out,
        in_config: (!in_config.is_empty()).then(|| texts::orders::in_config(language, &in_config)),
        withheld: is_part.then(|| access.withheld(language)),
        forgettings,
        workspace: query.workspace,
    })
}

pub async fn person(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    place: Result<Path<(String, String)>, PathRejection>,
) -> Result<Html<String>, ApiProblem> {
    let Path((workspace, id)) = place.map_err(|_| Refusal::NothingHere)?;
    let access = &visitor.access;
    let workspace = workspaces::find(&web, Some(&workspace)).await?;
    let person = KnownPerson::read(&web, access, &workspace, &id).await?;
    let running = web.archive.forgettings().await?;
    let running = running.iter().find(|it| it.workspace == workspace && it.user == person.user.id);
    let (memories, memos) = memory::of_user(&web, access, &person.user, language).await?;
    let seen = person.written.iter().map(|it| it.ts).max_by(f64::total_cmp);
    let query = format!("workspace={}&user={}", encode(workspace.as_str()), encode(&id));
    render(&PersonPage {
        layout: Layout::new(&web, &visitor, language, Section::People),
        list: list_address(&workspace),
        remembered: lines(memories.into_iter().flat_map(|memory| {
            let MemoryView { title, entries, key, .. } = memory;
            let channel = key.channel.map(ChannelId::new);
            let address = memory_address(&workspace, channel.as_ref());
            entries.into_iter().map(move |it| RememberedLine {
                text: it.text,
                place: title.clone(),
                address: address.clone(),
                known: it.known,
                elsewhere: 0,
            })
        })),
        memos: lines(memos.into_iter().map(|memo| RememberedLine {
            text: format!("{}: {}", memo.name, memo.content),
            place: format!("#{}", memo.place),
            address: format!("{}#memos", memory_address(&workspace, None)),
            known: memo.known,
            elsewhere: 0,
        })),
        export: access.may_read_models(&workspace).then(|| format!("/api/person/export?{query}")),
        may_forget: access.may_administer() && person.user.kind != AuthorKind::Persona,
        forgetting: running
            .map(|it| texts::people::being_forgotten(language, it.done + 1, it.phases)),
        row: PersonRow::new(
            &person.user,
            person.opted_out,
            seen.map(TimeView::from_seconds),
            (workspaces::label(&web, &workspace, language), language),
        ),
        older_note: person.has_older.then(|| texts::console::newest_of_more(language, COUNTED)),
        person,
        workspace,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetForm {
    workspace: String,
    user: String,
    /// The person's name, typed as a confirmation.
    name: String,
}

pub async fn forget(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    form: Result<Form<ForgetForm>, FormRejection>,
) -> Result<Redirect, ApiProblem> {
    let Form(form) = form.map_err(|_| Refusal::MalformedOrder)?;
    let workspace = workspaces::find(&web, Some(&form.workspace)).await?;
    let order = web.authorization().forget(&visitor.access, &workspace, &form.user).await?;
    let user = web.authorization().user(&workspace, &form.user).await?;
    if form.name.trim() != user.name.trim() {
        return Err(Refusal::NotConfirmed.into());
    }
    web.apply(order).await?;
    Ok(Redirect::to(&format!("{}#forgettings", list_address(&workspace))))
}

/// Gathers what is said in several places.
fn lines(remembered: impl Iterator<Item = RememberedLine>) -> Vec<RememberedLine> {
    let mut lines: Vec<RememberedLine> = Vec::new();
    let mut known_texts: HashMap<String, usize> = HashMap::new();
    for line in remembered {
        match known_texts.get(&line.text) {
            Some(index) => lines[*index].elsewhere += 1,
            None => {
                known_texts.insert(line.text.clone(), lines.len());
                lines.push(line);
            }
        }
    }
    lines
}

fn list_address(workspace: &WorkspaceId) -> String {
    address_with(LIST, &[("workspace", workspace.as_str())])
}

impl PersonRow {
    fn new(
        user: &User,
        opted_out: bool,
        seen: Option<TimeView>,
        (workspace_label, language): (String, Language),
    ) -> Self {
        let (workspace, id) = (encode(user.workspace.as_str()), encode(user.id.as_str()));
        let notes = [
            (user.kind != AuthorKind::Human).then(|| texts::people::bot(language)),
            (user.role == aizuchi_model::chat::Role::Admin)
                .then(|| texts::people::role_admin(language)),
            opted_out.then(|| texts::people::opted_out(language)),
        ];
        Self {
            id: user.id.to_string(),
            name: user.name.clone(),
            address: format!("/console/people/{workspace}/{id}"),
            notes: notes.into_iter().flatten().collect(),
            workspace_label,
            seen,
        }
    }
}
