//! The pages that find a person, show what is known of them, and have them forgotten.

use std::sync::Arc;

use aizuchi_model::chat::{AuthorKind, User, WorkspaceId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::people::ForgetReport;
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::response::{Html, Redirect};
use serde::Deserialize;

use crate::access::Visitor;
use crate::console::layout::{
    Layout, ListSlice, Section, TimeView, channel_address, encode, memory_address, render,
};
use crate::language::PageLanguage;
use crate::order_journal::may_name_users;
use crate::people::{ForgettingView, KnownPerson, read_forgettings};
use crate::refusal::Refusal;
use crate::{ApiProblem, Web, workspaces};

#[derive(Template)]
#[template(path = "console/people.html")]
struct PeoplePage<'a> {
    layout: Layout<'a>,
    workspace: String,
    workspace_label: String,
    workspaces: Vec<(String, String)>,
    search: String,
    people: Vec<PersonRow>,
    slice: Option<ListSlice>,
    withheld: Option<&'static str>,
    /// `None` for visitors who may not have anybody forgotten.
    forgettings: Option<Vec<ForgettingRow>>,
}

struct PersonRow {
    id: String,
    name: Arc<str>,
    address: String,
    /// What sets them apart from others.
    notes: Vec<&'static str>,
}

struct ForgettingRow {
    number: i64,
    at: TimeView,
    workspace: String,
    state: String,
    gone: String,
}

#[derive(Template)]
#[template(path = "console/person.html")]
struct PersonPage<'a> {
    layout: Layout<'a>,
    workspace: String,
    workspace_label: String,
    list: String,
    row: PersonRow,
    written: Vec<WrittenRow>,
    memories: String,
    memos: String,
    memory_address: String,
    /// `None` for visitors who may not read all of it.
    export: Option<String>,
    may_forget: bool,
    /// The progress, if the person is being forgotten.
    forgetting: Option<String>,
}

struct WrittenRow {
    address: String,
    name: String,
    messages: u64,
    answers: u64,
    last: TimeView,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct PeopleQuery {
    workspace: String,
    person: String,
    people_after: usize,
}

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
    let workspace = match query.workspace.as_str() {
        // The local room comes first, but a team's workspace is of more interest, if the visitor may read it.
        "" => {
            let teams_first = || known.iter().skip(1).chain(known.first());
            let readable = teams_first().find(|it| may_name_users(access, it));
            readable.or(teams_first().next()).cloned().ok_or(Refusal::NothingHere)?
        }
        id => workspaces::find(&web, Some(id)).await?,
    };
    let is_readable = may_name_users(access, &workspace);
    let wanted = query.person.trim().trim_start_matches('@').to_lowercase();
    let mut people = match is_readable {
        true => web.archive.users(&workspace).await?,
        false => Vec::new(),
    };
    people.retain(|user| {
        user.name.to_lowercase().contains(&wanted) || user.id.as_str().to_lowercase() == wanted
    });
    people.sort_by_cached_key(|user| (user.kind != AuthorKind::Human, user.name.to_lowercase()));
    let opted_out = web.store.orders(&workspace).await?.opted_out;
    let all = people.len();
    let people = people.iter().skip(query.people_after).take(PEOPLE);
    let row = |user: &User| PersonRow::new(user, opted_out.contains(&user.id), language);
    let people: Vec<PersonRow> = people.map(row).collect();
    let search = encode(query.person.trim());
    let address = format!("{}&person={search}", list_address(&workspace));
    let shown = (people.len(), all);
    let forgettings = match access.may_administer() {
        true => {
            let forgettings = read_forgettings(&web, access, Some(workspace.clone())).await?;
            let row = |it| {
                ForgettingRow::new(it, workspaces::label(&web, &workspace, language), language)
            };
            Some(forgettings.into_iter().map(row).collect())
        }
        false => None,
    };
    render(&PeoplePage {
        layout: Layout::new(&web, &visitor, language, Section::People),
        workspace_label: workspaces::label(&web, &workspace, language),
        workspaces: workspaces::choices(&web, &known, language),
        search: query.person,
        slice: ListSlice::new(("people", address.as_str()), query.people_after, shown, language),
        people,
        withheld: (!is_readable).then(|| access.withheld(language)),
        forgettings,
        workspace: workspace.to_string(),
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
    let written = person.written.into_iter().map(|it| WrittenRow {
        address: format!(
            "{}?person={}",
            channel_address(&workspace, &it.channel),
            encode(&person.user.name)
        ),
        name: it.name,
        messages: it.messages,
        answers: it.answers,
        last: TimeView::from_seconds(it.ts),
    });
    let query = format!("workspace={}&user={}", encode(workspace.as_str()), encode(&id));
    render(&PersonPage {
        layout: Layout::new(&web, &visitor, language, Section::People),
        workspace_label: workspaces::label(&web, &workspace, language),
        list: list_address(&workspace),
        written: written.collect(),
        memories: texts::people::memories(language, person.memories),
        memos: texts::people::memos(language, person.memos),
        memory_address: format!(
            "{}&person={}",
            memory_address(&workspace, None),
            encode(&person.user.name)
        ),
        export: access.may_read_models(&workspace).then(|| format!("/api/person/export?{query}")),
        may_forget: access.may_administer() && person.user.kind != AuthorKind::Persona,
        forgetting: running
            .map(|it| texts::people::being_forgotten(language, it.done + 1, it.phases)),
        row: PersonRow::new(&person.user, person.opted_out, language),
        workspace: workspace.to_string(),
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
    let order = web.desk().forget(&visitor.access, &workspace, &form.user).await?;
    let user = web.desk().user(&workspace, &form.user).await?;
    if form.name.trim() != user.name.trim() {
        return Err(Refusal::NotConfirmed.into());
    }
    web.apply(order).await?;
    Ok(Redirect::to(&format!("{}#forgettings", list_address(&workspace))))
}

fn list_address(workspace: &WorkspaceId) -> String {
    format!("/console/people?workspace={}", encode(workspace.as_str()))
}

impl PersonRow {
    fn new(user: &User, opted_out: bool, language: Language) -> Self {
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
        }
    }
}

impl ForgettingRow {
    fn new(view: ForgettingView, workspace: String, language: Language) -> Self {
        let gone = view.gone.map_or("–".to_owned(), |gone| {
            let ForgetReport { messages, own_messages, memos, memories } = gone;
            texts::people::gone(language, messages, own_messages, memos, memories)
        });
        Self {
            number: view.number,
            at: TimeView::from_seconds(view.ts),
            workspace,
            state: match view.done {
                true => texts::people::done(language).to_owned(),
                false => texts::people::being_forgotten(language, view.step + 1, view.steps),
            },
            gone,
        }
    }
}
