//! The routes of the JSON API, each with its parameters and its response. The router and the description of the API
//! are both built from this list, so that they cannot differ.

use std::sync::Arc;

use aizuchi_model::persona::Language;
use aizuchi_model::texts::api as texts;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::api::messages::{
    DeleteQuery, DeletedAnswer, EditBody, MessagesAnswer, MessagesQuery, PostBody, ReactBody,
    WrittenAnswer,
};
use crate::api::{
    ChannelsAnswer, DecisionsAnswer, DecisionsQuery, NameBody, RoomAnswer, UsersAnswer,
};
use crate::consents::{CallBody, CallsAnswer};
use crate::console::api::{HealthAnswer, StatusAnswer};
use crate::dead_letters::{DeadLetterParameters, DeadLettersAnswer};
use crate::figures::answer::{FiguresAnswer, FiguresQuery};
use crate::files::{FileQuery, UploadQuery, UploadedAnswer};
use crate::judge_again::{JudgeBody, JudgedAgainAnswer};
use crate::marks::MarkBody;
use crate::memories::api::{
    ChangesAnswer, MemoBody, MemoRevertBody, MemoriesAnswer, MemoriesQuery, MemoryOrderBody,
};
use crate::models::{ChoiceBody, ModelsAnswer};
use crate::order_journal::{OptOutsAnswer, OrdersAnswer, OrdersQuery};
use crate::orders::{ModeBody, MuteBody, OptOutBody, StopBody, UnmuteBody};
use crate::place_settings::{SettingBody, SettingsAnswer, SettingsQuery};
use crate::private_reads::{PrivateReadsAnswer, ReadsQuery};
use crate::proposals::{ProposalBody, ProposalsAnswer};
use crate::standing_orders::{StandingOrderBody, StandingOrdersAnswer, StandingOrdersQuery};
use crate::trust::TrustBody;
use crate::views::{AddedChannelView, ListedUser, SpendingView};
use crate::workspaces::{WorkspaceFilter, WorkspaceQuery, WorkspacesAnswer};
use crate::{
    MAX_FORM_BYTES, MAX_TEXT_BYTES, Web, api, consents, console, dead_letters, demo, figures,
    files, judge_again, marks, memories, models, order_journal, orders, place_settings,
    private_reads, proposals, standing_orders, trust, workspaces,
};

/// Makes the schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;
/// A text in the reader's language.
pub type TextIn = fn(Language) -> &'static str;

/// The topic of a group of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiTopic {
    Messages,
    Channels,
    Orders,
    Ledger,
    Memory,
    Program,
}

/// A request that the API accepts.
pub struct Endpoint {
    pub method: &'static str,
    pub path: &'static str,
    /// Its name, which never changes.
    pub id: &'static str,
    pub topic: ApiTopic,
    pub summary: TextIn,
    pub query: Option<SchemaOf>,
    pub body: Option<SchemaOf>,
    pub status: u16,
    pub answer: Option<SchemaOf>,
    /// Whether the request body is a file.
    pub takes_file: bool,
    /// Whether the response body is a file.
    pub answers_file: bool,
    route: MethodRouter<Arc<Web>>,
}

impl ApiTopic {
    pub const ALL: [ApiTopic; 6] = [
        ApiTopic::Messages,
        ApiTopic::Channels,
        ApiTopic::Orders,
        ApiTopic::Ledger,
        ApiTopic::Memory,
        ApiTopic::Program,
    ];

    pub fn name(self, language: Language) -> &'static str {
        match self {
            ApiTopic::Messages => texts::topic_messages(language),
            ApiTopic::Channels => texts::topic_channels(language),
            ApiTopic::Orders => texts::topic_orders(language),
            ApiTopic::Ledger => texts::topic_ledger(language),
            ApiTopic::Memory => texts::topic_memory(language),
            ApiTopic::Program => texts::topic_program(language),
        }
    }
}

impl Endpoint {
    fn new(
        (method, path): (&'static str, &'static str),
        (id, topic): (&'static str, ApiTopic),
        summary: TextIn,
        route: MethodRouter<Arc<Web>>,
    ) -> Self {
        let (query, body, answer) = (None, None, None);
        let (takes_file, answers_file) = (false, false);
        Self {
            method,
            path,
            id,
            topic,
            summary,
            query,
            body,
            status: 204,
            answer,
            takes_file,
            answers_file,
            route,
        }
    }

    fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    fn body<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    fn takes_file(self) -> Self {
        Self { takes_file: true, ..self }
    }

    fn answers_file(self) -> Self {
        Self { answers_file: true, status: 200, ..self }
    }

    fn answers<T: JsonSchema>(self) -> Self {
        self.answers_with::<T>(200)
    }

    fn answers_with<T: JsonSchema>(self, status: u16) -> Self {
        Self { status, answer: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    /// Limits request bodies to this many bytes.
    fn within(self, bytes: usize) -> Self {
        Self { route: self.route.layer(DefaultBodyLimit::max(bytes)), ..self }
    }
}

pub fn router() -> Router<Arc<Web>> {
    let endpoints = endpoints().into_iter();
    endpoints.fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.route))
}

/// Returns all endpoints, by topic.
pub fn endpoints() -> Vec<Endpoint> {
    [messages(), channels(), what_holds(), ledger(), memory(), program()]
        .into_iter()
        .flatten()
        .collect()
}

fn messages() -> Vec<Endpoint> {
    let topic = ApiTopic::Messages;
    vec![
        Endpoint::new(
            ("GET", "/api/messages"),
            ("listMessages", topic),
            texts::list_messages,
            get(api::messages::messages),
        )
        .query::<MessagesQuery>()
        .answers::<MessagesAnswer>(),
        Endpoint::new(
            ("POST", "/api/messages"),
            ("postMessage", topic),
            texts::post_message,
            post(api::messages::post_message),
        )
        .body::<PostBody>()
        .answers_with::<WrittenAnswer>(201),
        Endpoint::new(
            ("PATCH", "/api/messages/{id}"),
            ("editMessage", topic),
            texts::edit_message,
            patch(api::messages::edit),
        )
        .body::<EditBody>()
        .answers::<WrittenAnswer>(),
        Endpoint::new(
            ("DELETE", "/api/messages/{id}"),
            ("deleteMessage", topic),
            texts::delete_message,
            delete(api::messages::delete),
        )
        .query::<DeleteQuery>()
        .answers::<DeletedAnswer>(),
        Endpoint::new(
            ("POST", "/api/reactions"),
            ("changeReaction", topic),
            texts::change_reaction,
            post(api::messages::react),
        )
        .body::<ReactBody>(),
        Endpoint::new(
            ("POST", "/api/files"),
            ("uploadFile", topic),
            texts::upload_file,
            post(files::upload),
        )
        .query::<UploadQuery>()
        .takes_file()
        .answers_with::<UploadedAnswer>(201),
        Endpoint::new(
            ("DELETE", "/api/files/{id}"),
            ("removeFile", topic),
            texts::remove_file,
            delete(files::remove),
        )
        .query::<WorkspaceQuery>(),
        Endpoint::new(
            ("GET", "/api/files/{id}"),
            ("getFile", topic),
            texts::get_file,
            get(files::download),
        )
        .query::<FileQuery>()
        .answers_file(),
    ]
}

fn channels() -> Vec<Endpoint> {
    let topic = ApiTopic::Channels;
    vec![
        Endpoint::new(
            ("GET", "/api/workspaces"),
            ("listWorkspaces", topic),
            texts::list_workspaces,
            get(workspaces::workspaces),
        )
        .query::<WorkspaceFilter>()
        .answers::<WorkspacesAnswer>(),
        Endpoint::new(
            ("GET", "/api/channels"),
            ("listChannels", topic),
            texts::list_channels,
            get(api::channels),
        )
        .query::<WorkspaceQuery>()
        .answers::<ChannelsAnswer>(),
        Endpoint::new(
            ("POST", "/api/channels"),
            ("addChannel", topic),
            texts::add_channel,
            post(api::add_channel),
        )
        .body::<NameBody>()
        .answers_with::<AddedChannelView>(201),
        Endpoint::new(
            ("GET", "/api/people"),
            ("listPeople", topic),
            texts::list_people,
            get(api::users),
        )
        .query::<WorkspaceQuery>()
        .answers::<UsersAnswer>(),
        Endpoint::new(
            ("POST", "/api/people"),
            ("addPerson", topic),
            texts::add_person,
            post(api::add_user),
        )
        .body::<NameBody>()
        .answers_with::<ListedUser>(201),
        Endpoint::new(("GET", "/api/room"), ("getRoom", topic), texts::get_room, get(api::room))
            .query::<WorkspaceQuery>()
            .answers::<RoomAnswer>(),
    ]
}

fn what_holds() -> Vec<Endpoint> {
    let topic = ApiTopic::Orders;
    vec![
        Endpoint::new(("POST", "/api/mute"), ("mute", topic), texts::mute, post(orders::mute))
            .body::<MuteBody>(),
        Endpoint::new(
            ("POST", "/api/unmute"),
            ("unmute", topic),
            texts::unmute,
            post(orders::unmute),
        )
        .body::<UnmuteBody>(),
        Endpoint::new(("POST", "/api/stop"), ("stop", topic), texts::stop, post(orders::stop))
            .body::<StopBody>(),
        Endpoint::new(
            ("POST", "/api/mode"),
            ("setMode", topic),
            texts::set_mode,
            post(orders::set_mode),
        )
        .body::<ModeBody>(),
        Endpoint::new(
            ("POST", "/api/opt-out"),
            ("optOut", topic),
            texts::opt_out,
            post(orders::opt_out),
        )
        .body::<OptOutBody>(),
        Endpoint::new(
            ("GET", "/api/opt-outs"),
            ("listOptOuts", topic),
            texts::list_opt_outs,
            get(order_journal::opt_outs),
        )
        .query::<WorkspaceQuery>()
        .answers::<OptOutsAnswer>(),
        Endpoint::new(
            ("GET", "/api/standing-orders"),
            ("listStandingOrders", topic),
            texts::list_standing_orders,
            get(standing_orders::list),
        )
        .query::<StandingOrdersQuery>()
        .answers::<StandingOrdersAnswer>(),
        Endpoint::new(
            ("POST", "/api/standing-orders"),
            ("giveStandingOrder", topic),
            texts::give_standing_order,
            post(standing_orders::give),
        )
        .body::<StandingOrderBody>(),
        Endpoint::new(
            ("POST", "/api/standing-orders/{id}/keep"),
            ("keepStandingOrder", topic),
            texts::keep_standing_order,
            post(standing_orders::keep),
        )
        .query::<WorkspaceQuery>(),
        Endpoint::new(
            ("DELETE", "/api/standing-orders/{id}"),
            ("dropStandingOrder", topic),
            texts::drop_standing_order,
            delete(standing_orders::drop),
        )
        .query::<WorkspaceQuery>(),
        Endpoint::new(
            ("GET", "/api/settings"),
            ("listSettings", topic),
            texts::list_settings,
            get(place_settings::list),
        )
        .query::<SettingsQuery>()
        .answers::<SettingsAnswer>(),
        Endpoint::new(
            ("POST", "/api/settings"),
            ("changeSetting", topic),
            texts::change_setting,
            post(place_settings::change),
        )
        .body::<SettingBody>(),
        Endpoint::new(
            ("GET", "/api/orders"),
            ("listOrders", topic),
            texts::list_orders,
            get(order_journal::list),
        )
        .query::<OrdersQuery>()
        .answers::<OrdersAnswer>(),
    ]
}

fn ledger() -> Vec<Endpoint> {
    let topic = ApiTopic::Ledger;
    vec![
        Endpoint::new(
            ("GET", "/api/decisions"),
            ("listDecisions", topic),
            texts::list_decisions,
            get(api::decisions),
        )
        .query::<DecisionsQuery>()
        .answers::<DecisionsAnswer>(),
        Endpoint::new(
            ("POST", "/api/decisions/{id}/mark"),
            ("markDecision", topic),
            texts::mark_decision,
            post(marks::mark),
        )
        .body::<MarkBody>(),
        Endpoint::new(
            ("POST", "/api/decisions/{id}/judge"),
            ("judgeAgain", topic),
            texts::judge_again,
            post(judge_again::judge),
        )
        .body::<JudgeBody>()
        .answers::<JudgedAgainAnswer>(),
        Endpoint::new(
            ("GET", "/api/proposals"),
            ("listProposals", topic),
            texts::list_proposals,
            get(proposals::list),
        )
        .query::<WorkspaceFilter>()
        .answers::<ProposalsAnswer>(),
        Endpoint::new(
            ("POST", "/api/proposals/{id}"),
            ("decideProposal", topic),
            texts::decide_proposal,
            post(proposals::post),
        )
        .body::<ProposalBody>()
        .within(MAX_TEXT_BYTES),
        Endpoint::new(
            ("POST", "/api/trust-offers/{id}"),
            ("answerTrust", topic),
            texts::answer_trust,
            post(trust::post),
        )
        .body::<TrustBody>(),
        Endpoint::new(
            ("GET", "/api/calls"),
            ("listCalls", topic),
            texts::list_calls,
            get(consents::list),
        )
        .query::<WorkspaceFilter>()
        .answers::<CallsAnswer>(),
        Endpoint::new(
            ("POST", "/api/calls/{id}"),
            ("decideCall", topic),
            texts::decide_call,
            post(consents::post),
        )
        .body::<CallBody>(),
        Endpoint::new(
            ("GET", "/api/dead-letters"),
            ("listDeadLetters", topic),
            texts::list_dead_letters,
            get(dead_letters::list),
        )
        .query::<DeadLetterParameters>()
        .answers::<DeadLettersAnswer>(),
        Endpoint::new(
            ("POST", "/api/dead-letters/{id}/retry"),
            ("retryDeadLetter", topic),
            texts::retry_dead_letter,
            post(dead_letters::retry),
        )
        .query::<WorkspaceFilter>(),
        Endpoint::new(
            ("DELETE", "/api/dead-letters/{id}"),
            ("dropDeadLetter", topic),
            texts::drop_dead_letter,
            delete(dead_letters::drop),
        )
        .query::<WorkspaceFilter>(),
    ]
}

fn memory() -> Vec<Endpoint> {
    let topic = ApiTopic::Memory;
    vec![
        Endpoint::new(
            ("GET", "/api/memories"),
            ("listMemories", topic),
            texts::list_memories,
            get(memories::api::list),
        )
        .query::<MemoriesQuery>()
        .answers::<MemoriesAnswer>(),
        Endpoint::new(
            ("POST", "/api/memories"),
            ("changeMemory", topic),
            texts::change_memory,
            post(memories::api::order),
        )
        .body::<MemoryOrderBody>()
        .within(MAX_TEXT_BYTES),
        Endpoint::new(
            ("GET", "/api/memory-changes"),
            ("listMemoryChanges", topic),
            texts::list_memory_changes,
            get(memories::api::journal),
        )
        .query::<MemoriesQuery>()
        .answers::<ChangesAnswer>(),
        Endpoint::new(
            ("PUT", "/api/memos/{id}"),
            ("changeMemo", topic),
            texts::change_memo,
            put(memories::api::put_memo),
        )
        .body::<MemoBody>()
        .within(MAX_TEXT_BYTES),
        Endpoint::new(
            ("POST", "/api/memos/{id}/revert"),
            ("revertMemo", topic),
            texts::revert_memo,
            post(memories::api::post_memo_revert),
        )
        .body::<MemoRevertBody>(),
        Endpoint::new(
            ("DELETE", "/api/memos/{id}"),
            ("removeMemo", topic),
            texts::remove_memo,
            delete(memories::api::delete_memo),
        )
        .query::<MemoriesQuery>(),
    ]
}

fn program() -> Vec<Endpoint> {
    let topic = ApiTopic::Program;
    vec![
        Endpoint::new(
            ("GET", "/api/status"),
            ("getStatus", topic),
            texts::get_status,
            get(console::api::status),
        )
        .query::<WorkspaceFilter>()
        .answers::<StatusAnswer>(),
        Endpoint::new(
            ("GET", "/api/health"),
            ("getHealth", topic),
            texts::get_health,
            get(console::api::health),
        )
        .query::<WorkspaceFilter>()
        .answers::<HealthAnswer>(),
        Endpoint::new(
            ("GET", "/api/spending"),
            ("getSpending", topic),
            texts::get_spending,
            get(orders::spending),
        )
        .query::<WorkspaceQuery>()
        .answers::<SpendingView>(),
        Endpoint::new(
            ("GET", "/api/figures"),
            ("getFigures", topic),
            texts::get_figures,
            get(figures::answer::figures),
        )
        .query::<FiguresQuery>()
        .answers::<FiguresAnswer>(),
        Endpoint::new(
            ("GET", "/api/private-reads"),
            ("listPrivateReads", topic),
            texts::list_private_reads,
            get(private_reads::list),
        )
        .query::<ReadsQuery>()
        .answers::<PrivateReadsAnswer>(),
        Endpoint::new(
            ("GET", "/api/models"),
            ("getModels", topic),
            texts::get_models,
            get(models::models),
        )
        .query::<WorkspaceFilter>()
        .answers::<ModelsAnswer>(),
        Endpoint::new(
            ("POST", "/api/models"),
            ("chooseModel", topic),
            texts::choose_model,
            post(models::choose),
        )
        .body::<ChoiceBody>()
        .answers::<ModelsAnswer>()
        .within(MAX_FORM_BYTES),
        Endpoint::new(
            ("POST", "/api/models/look"),
            ("lookForModels", topic),
            texts::look_for_models,
            post(models::look),
        )
        .answers::<ModelsAnswer>(),
        Endpoint::new(
            ("POST", "/api/demo"),
            ("startDemo", topic),
            texts::start_demo,
            post(demo::start),
        )
        .query::<WorkspaceQuery>()
        .answers::<demo::DemoView>(),
        Endpoint::new(
            ("DELETE", "/api/demo"),
            ("endDemo", topic),
            texts::end_demo,
            delete(demo::skip),
        )
        .query::<WorkspaceQuery>(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients are generated from these names.
    #[test]
    fn each_request_has_a_name_of_its_own() {
        let mut ids: Vec<&str> = endpoints().iter().map(|endpoint| endpoint.id).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn no_route_of_the_api_stands_elsewhere() {
        let router = include_str!("lib.rs");
        let others: Vec<&str> = router.matches("\"/api/").collect();
        assert_eq!(others.len(), 1, "only /api/openapi.json: {others:?}");
    }
}
