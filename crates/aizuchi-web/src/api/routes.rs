//! The routes of the JSON API, each with its parameters and its response. The router and the description of the API
//! are both built from this list, so that they cannot differ.

use std::sync::Arc;

use aizuchi_model::persona::Language;
use aizuchi_model::texts::api as texts;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::actions::{act, act_on};
use crate::api::messages::{
    DeleteQuery, DeletedAnswer, EditBody, MessagesAnswer, MessagesQuery, PostBody, ReactBody,
    WrittenAnswer,
};
use crate::api::{
    ChannelsAnswer, DecisionsAnswer, DecisionsQuery, NameBody, RoomAnswer, UsersAnswer,
};
use crate::configuration::{ConfigInForce, ReloadAnswer};
use crate::consents::{CallBody, CallsAnswer};
use crate::console::api::{HealthAnswer, StatusAnswer};
use crate::console::orders::{ChangedAnswer, ChannelsBody};
use crate::dead_letters::{DeadLetterParameters, DeadLettersAnswer, LetterDrop, LetterRetry};
use crate::failures::{FailuresAnswer, FailuresQuery};
use crate::figures::answer::{FiguresAnswer, FiguresQuery};
use crate::judge_again::{JudgeBody, JudgedAgainAnswer};
use crate::memories::MemoryOrderBody;
use crate::memories::api::{
    ChangesAnswer, MemoBody, MemoRemove, MemoRevertBody, MemoriesAnswer, MemoriesQuery,
};
use crate::models::{ChoiceBody, ModelsAnswer};
use crate::order_journal::{OptOutsAnswer, OrdersAnswer, OrdersQuery};
use crate::orders::{MarkBody, ModeBody, MuteBody, OptOutBody, StopBody, UnmuteBody};
use crate::people::{ForgettingsAnswer, ForgettingsQuery, PersonAnswer, PersonQuery};
use crate::place_settings::{SettingBody, SettingsAnswer, SettingsQuery};
use crate::plans::{PlanDrop, PlansAnswer, PlansQuery};
use crate::private_reads::{PrivateReadsAnswer, ReadsQuery};
use crate::proposals::{ProposalBody, ProposalsAnswer};
use crate::room::demo;
use crate::room::files;
use crate::room::files::{FileQuery, UploadQuery, UploadedAnswer};
use crate::standing_orders::{
    DraftKeep, StandingOrderBody, StandingOrderDrop, StandingOrdersAnswer, StandingOrdersQuery,
};
use crate::trust::TrustBody;
use crate::views::{AddedChannelView, ListedUser, SpendingView};
use crate::workspaces::{WorkspaceFilter, WorkspaceQuery, WorkspacesAnswer};
use crate::{
    MAX_FORM_BYTES, MAX_TEXT_BYTES, Web, api, configuration, consents, console, dead_letters,
    failures, figures, judge_again, memories, models, order_journal, orders, people,
    place_settings, plans, private_reads, proposals, standing_orders, workspaces,
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
        Self { status: 200, answer: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    fn accepts<T: JsonSchema>(self) -> Self {
        Self { status: 202, ..self.answers::<T>() }
    }

    fn creates<T: JsonSchema>(self) -> Self {
        Self { status: 201, ..self.answers::<T>() }
    }

    /// Limits request bodies to this many bytes.
    fn within(self, bytes: usize) -> Self {
        Self { route: self.route.layer(DefaultBodyLimit::max(bytes)), ..self }
    }
}

/// Lists endpoints by topic: method, path, name, summary and handler, then what it takes and answers.
macro_rules! endpoints {
    ($($topic:ident {$(
        $method:ident $path:literal $id:literal $summary:ident => $handler:path
        $(, $part:ident $(<$type:ty>)? $(($argument:expr))?)*;
    )*})*) => {
        /// Returns all endpoints, by topic.
        pub fn endpoints() -> Vec<Endpoint> {
            vec![$($(
                Endpoint {
                    method: stringify!($method),
                    path: $path,
                    id: $id,
                    topic: ApiTopic::$topic,
                    summary: texts::$summary,
                    query: None,
                    body: None,
                    status: 204,
                    answer: None,
                    takes_file: false,
                    answers_file: false,
                    route: on(MethodFilter::$method, $handler),
                }
                $(.$part$(::<$type>)?($($argument)?))*,
            )*)*]
        }
    };
}

endpoints! {
    Messages {
        GET "/api/messages" "listMessages" list_messages => api::messages::messages,
            query<MessagesQuery>, answers<MessagesAnswer>;
        POST "/api/messages" "postMessage" post_message => api::messages::post_message,
            body<PostBody>, creates<WrittenAnswer>;
        PATCH "/api/messages/{id}" "editMessage" edit_message => api::messages::edit,
            body<EditBody>, answers<WrittenAnswer>;
        DELETE "/api/messages/{id}" "deleteMessage" delete_message => api::messages::delete,
            query<DeleteQuery>, answers<DeletedAnswer>;
        POST "/api/reactions" "changeReaction" change_reaction => api::messages::react, body<ReactBody>;
        POST "/api/files" "uploadFile" upload_file => files::upload,
            query<UploadQuery>, takes_file, creates<UploadedAnswer>;
        DELETE "/api/files/{id}" "removeFile" remove_file => files::remove, query<WorkspaceQuery>;
        GET "/api/files/{id}" "getFile" get_file => files::download, query<FileQuery>, answers_file;
    }
    Channels {
        GET "/api/workspaces" "listWorkspaces" list_workspaces => workspaces::workspaces,
            query<WorkspaceFilter>, answers<WorkspacesAnswer>;
        GET "/api/channels" "listChannels" list_channels => api::channels,
            query<WorkspaceQuery>, answers<ChannelsAnswer>;
        POST "/api/channels" "addChannel" add_channel => api::add_channel,
            body<NameBody>, creates<AddedChannelView>;
        GET "/api/people" "listPeople" list_people => api::users,
            query<WorkspaceQuery>, answers<UsersAnswer>;
        POST "/api/people" "addPerson" add_person => api::add_user, body<NameBody>, creates<ListedUser>;
        GET "/api/person" "getPerson" get_person => people::person,
            query<PersonQuery>, answers<PersonAnswer>;
        GET "/api/person/export" "exportPerson" export_person => people::export,
            query<PersonQuery>, answers_file;
        DELETE "/api/person" "forgetPerson" forget_person => people::forget,
            query<PersonQuery>, accepts<ForgettingsAnswer>;
        GET "/api/forgettings" "listForgettings" list_forgettings => people::forgettings,
            query<ForgettingsQuery>, answers<ForgettingsAnswer>;
        GET "/api/room" "getRoom" get_room => api::room, query<WorkspaceQuery>, answers<RoomAnswer>;
    }
    Orders {
        POST "/api/mute" "mute" mute => act::<MuteBody>, body<MuteBody>;
        POST "/api/unmute" "unmute" unmute => act::<UnmuteBody>, body<UnmuteBody>;
        POST "/api/stop" "stop" stop => act::<StopBody>, body<StopBody>;
        POST "/api/mode" "setMode" set_mode => act::<ModeBody>, body<ModeBody>;
        POST "/api/opt-out" "optOut" opt_out => act::<OptOutBody>, body<OptOutBody>;
        GET "/api/opt-outs" "listOptOuts" list_opt_outs => order_journal::opt_outs,
            query<WorkspaceQuery>, answers<OptOutsAnswer>;
        GET "/api/standing-orders" "listStandingOrders" list_standing_orders => standing_orders::list,
            query<StandingOrdersQuery>, answers<StandingOrdersAnswer>;
        POST "/api/standing-orders" "giveStandingOrder" give_standing_order => act::<StandingOrderBody>,
            body<StandingOrderBody>;
        POST "/api/standing-orders/{id}/keep" "keepStandingOrder" keep_standing_order => act_on::<DraftKeep>,
            query<DraftKeep>;
        DELETE "/api/standing-orders/{id}" "dropStandingOrder" drop_standing_order => act_on::<StandingOrderDrop>,
            query<StandingOrderDrop>;
        GET "/api/plans" "listPlans" list_plans => plans::list, query<PlansQuery>, answers<PlansAnswer>;
        DELETE "/api/plans/{id}" "dropPlan" drop_plan => act_on::<PlanDrop>, query<PlanDrop>;
        GET "/api/settings" "listSettings" list_settings => place_settings::list,
            query<SettingsQuery>, answers<SettingsAnswer>;
        POST "/api/settings" "changeSetting" change_setting => act::<SettingBody>,
            body<SettingBody>;
        POST "/api/channels/order" "orderInChannels" order_in_channels => console::orders::in_channels,
            body<ChannelsBody>, answers<ChangedAnswer>, within(MAX_TEXT_BYTES);
        POST "/api/orders/{id}/undo" "undoOrder" undo_order => console::orders::undo,
            answers<ChangedAnswer>;
        GET "/api/orders/export" "exportOrders" export_orders => order_journal::export,
            query<WorkspaceFilter>, answers_file;
        GET "/api/orders" "listOrders" list_orders => order_journal::list,
            query<OrdersQuery>, answers<OrdersAnswer>;
    }
    Ledger {
        GET "/api/decisions" "listDecisions" list_decisions => api::decisions,
            query<DecisionsQuery>, answers<DecisionsAnswer>;
        POST "/api/decisions/{id}/mark" "markDecision" mark_decision => act::<MarkBody>, body<MarkBody>;
        POST "/api/decisions/{id}/judge" "judgeAgain" judge_again => judge_again::judge,
            body<JudgeBody>, answers<JudgedAgainAnswer>;
        GET "/api/proposals" "listProposals" list_proposals => proposals::list,
            query<WorkspaceFilter>, answers<ProposalsAnswer>;
        POST "/api/proposals/{id}" "decideProposal" decide_proposal => act::<ProposalBody>,
            body<ProposalBody>, within(MAX_TEXT_BYTES);
        POST "/api/trust-offers/{id}" "answerTrust" answer_trust => act::<TrustBody>, body<TrustBody>;
        GET "/api/calls" "listCalls" list_calls => consents::list,
            query<WorkspaceFilter>, answers<CallsAnswer>;
        POST "/api/calls/{id}" "decideCall" decide_call => act::<CallBody>, body<CallBody>;
        GET "/api/failures" "listFailures" list_failures => failures::list,
            query<FailuresQuery>, answers<FailuresAnswer>;
        GET "/api/dead-letters" "listDeadLetters" list_dead_letters => dead_letters::list,
            query<DeadLetterParameters>, answers<DeadLettersAnswer>;
        POST "/api/dead-letters/{id}/retry" "retryDeadLetter" retry_dead_letter => act_on::<LetterRetry>,
            query<LetterRetry>;
        DELETE "/api/dead-letters/{id}" "dropDeadLetter" drop_dead_letter => act_on::<LetterDrop>,
            query<LetterDrop>;
    }
    Memory {
        GET "/api/memories" "listMemories" list_memories => memories::api::list,
            query<MemoriesQuery>, answers<MemoriesAnswer>;
        POST "/api/memories" "changeMemory" change_memory => act::<MemoryOrderBody>,
            body<MemoryOrderBody>, within(MAX_TEXT_BYTES);
        GET "/api/memory-changes" "listMemoryChanges" list_memory_changes => memories::api::journal,
            query<MemoriesQuery>, answers<ChangesAnswer>;
        PUT "/api/memos/{id}" "changeMemo" change_memo => act::<MemoBody>,
            body<MemoBody>, within(MAX_TEXT_BYTES);
        POST "/api/memos/{id}/revert" "revertMemo" revert_memo => act::<MemoRevertBody>,
            body<MemoRevertBody>;
        DELETE "/api/memos/{id}" "removeMemo" remove_memo => act_on::<MemoRemove>,
            query<MemoRemove>;
    }
    Program {
        GET "/api/status" "getStatus" get_status => console::api::status,
            query<WorkspaceFilter>, answers<StatusAnswer>;
        GET "/api/health" "getHealth" get_health => console::api::health,
            query<WorkspaceFilter>, answers<HealthAnswer>;
        GET "/api/spending" "getSpending" get_spending => orders::spending,
            query<WorkspaceQuery>, answers<SpendingView>;
        GET "/api/figures" "getFigures" get_figures => figures::answer::figures,
            query<FiguresQuery>, answers<FiguresAnswer>;
        GET "/api/private-reads" "listPrivateReads" list_private_reads => private_reads::list,
            query<ReadsQuery>, answers<PrivateReadsAnswer>;
        GET "/api/models" "getModels" get_models => models::models,
            query<WorkspaceFilter>, answers<ModelsAnswer>;
        POST "/api/models" "chooseModel" choose_model => models::choose,
            body<ChoiceBody>, answers<ModelsAnswer>, within(MAX_FORM_BYTES);
        POST "/api/models/look" "lookForModels" look_for_models => models::look, answers<ModelsAnswer>;
        GET "/api/configuration" "getConfiguration" get_configuration => configuration::show,
            answers<ConfigInForce>;
        POST "/api/reload" "reload" reload => configuration::reload, answers<ReloadAnswer>;
        POST "/api/demo" "startDemo" start_demo => demo::start,
            query<WorkspaceQuery>, answers<demo::DemoView>;
        DELETE "/api/demo" "endDemo" end_demo => demo::skip, query<WorkspaceQuery>;
    }
}

pub fn router() -> Router<Arc<Web>> {
    let endpoints = endpoints().into_iter();
    endpoints.fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.route))
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
        let router = include_str!("../lib.rs");
        let others: Vec<&str> = router.matches("\"/api/").collect();
        assert_eq!(others.len(), 1, "only /api/openapi.json: {others:?}");
    }
}
