//! Why a request is refused: each reason with its status, a name for programs, and a sentence in the reader's language.

mod kind;

use aizuchi_actions::refusal::ActionRefusal;
use aizuchi_config::models::in_use::choice::ChoiceError;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::setting_override::SettingKind;
use aizuchi_model::texts;
use aizuchi_model::texts::refusals;
use aizuchi_past::past_moment::Unjudgeable;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_store::StoreError;
use axum::http::StatusCode;

use crate::MAX_BODY_BYTES;

/// The format of a request body, which is described to clients that sent another one.
pub type BodyFormat = fn(Language) -> &'static str;

aizuchi_model::refusals! {
    /// Why a request is refused.
    Refusal: StatusCode |language|
    // Where a request comes from.
    /// Another site's page sent it.
    OtherSite [FORBIDDEN "other_site"] refusals::other_site(language);
    /// The same, or the request names this machine by another host name, while no token is set.
    OtherSiteOrMachine [FORBIDDEN "other_site_or_machine"]
        refusals::other_site_or_machine(language);
    ForwardedWithoutToken [FORBIDDEN "forwarded_without_token"]
        refusals::forwarded_without_token(language);
    /// The proxy named a user who is in none of the lists.
    UnknownToProxy [FORBIDDEN "unknown_to_proxy"] refusals::unknown_to_proxy(language);
    /// Only a proxy can sign visitors in, with this header.
    NotFromProxy { header: String } [FORBIDDEN "not_from_proxy"]
        refusals::not_from_proxy(language, header);
    // Tokens and links.
    TokenNeeded [UNAUTHORIZED "token_needed"] refusals::token_needed(language);
    WrongToken [UNAUTHORIZED "wrong_token"] refusals::wrong_token(language);
    TooManyTokens { seconds: u64 } [TOO_MANY_REQUESTS "too_many_tokens"]
        refusals::too_many_tokens(language, *seconds);
    WrongLink [UNAUTHORIZED "wrong_link"] refusals::wrong_link(language);
    // What a visitor may do and read.
    Action(why: ActionRefusal) [= kind::status(why.kind())] why.describe(language);
    RoleExcluded { role: &'static str } [FORBIDDEN "role_excluded"]
        refusals::role_excluded(language, role);
    /// For a visitor who is limited to places.
    OutOfReach [FORBIDDEN "out_of_reach"] refusals::out_of_reach(language);
    /// Only visitors who may give orders can ask models.
    NoQuestions [FORBIDDEN "no_questions"] texts::shadow::may_not_ask(language);
    PeopleWithheld [FORBIDDEN "people_withheld"] refusals::people_withheld(language);
    OrdersWithheld [FORBIDDEN "orders_withheld"] refusals::orders_withheld(language);
    /// What models wrote, for visitors who did not sign in.
    ModelsWithheldHere [FORBIDDEN "models_withheld_here"] texts::console::withheld_here(language);
    ModelsWithheld [FORBIDDEN "models_withheld"] texts::console::models_withheld(language);
    /// The name that confirms it is another one.
    NotConfirmed [UNPROCESSABLE_ENTITY "not_confirmed"] refusals::not_confirmed(language);
    OnlyAdminConfigures [FORBIDDEN "only_admin_configures"]
        refusals::only_admin_configures(language);
    UnusableConfig(why: String) [UNPROCESSABLE_ENTITY "unusable_config"]
        refusals::unusable_config(language, why);
    OnlyAdminReadsLooks [FORBIDDEN "only_admin_reads_looks"]
        refusals::only_admin_reads_looks(language);
    OnlyThisMachineChoosesModels [FORBIDDEN "only_this_machine_chooses_models"]
        texts::models::choice_needs_this_machine(language);
    // What does not exist.
    NothingHere [NOT_FOUND "nothing_here"] refusals::nothing_here(language);
    WrongMethod [METHOD_NOT_ALLOWED "wrong_method"] refusals::wrong_method(language);
    NoFile [NOT_FOUND "no_file"] refusals::no_file(language);
    UnknownWorkspace(id: String) [NOT_FOUND "unknown_workspace"]
        refusals::unknown_workspace(language, id);
    /// The address cannot even be parsed.
    NoChannel [NOT_FOUND "unknown_channel"] refusals::no_channel(language);
    NoOrderToUndo [NOT_FOUND "no_order_to_undo"] refusals::no_order_to_undo(language);
    // What is missing in an address.
    OnlyLocal [BAD_REQUEST "only_local"] refusals::only_local(language);
    WhichChannel [BAD_REQUEST "channel_needed"] refusals::which_channel(language);
    UnreadableId [BAD_REQUEST "unreadable_id"] refusals::unreadable_id(language);
    WhereAndWhose [BAD_REQUEST "channel_and_user_needed"] refusals::where_and_whose(language);
    OfWhat [BAD_REQUEST "message_or_channel_needed"] refusals::of_what(language);
    AfterOrBefore [BAD_REQUEST "after_and_before"] refusals::after_or_before(language);
    RevisionNeeded [BAD_REQUEST "revision_needed"] refusals::revision_needed(language);
    LetterNumberNeeded [BAD_REQUEST "dead_letter_id_needed"]
        refusals::letter_number_needed(language);
    ChangeNumberNeeded [BAD_REQUEST "change_number_needed"]
        refusals::change_number_needed(language);
    OrderNumberNeeded [BAD_REQUEST "order_number_needed"] refusals::order_number_needed(language);
    UnclearOutcome [BAD_REQUEST "unclear_outcome"] refusals::unclear_outcome(language);
    UnclearGate [BAD_REQUEST "unclear_gate"] refusals::unclear_gate(language);
    UnclearTime [BAD_REQUEST "unclear_time"] refusals::unclear_time(language);
    UnclearBefore [BAD_REQUEST "unclear_before"] refusals::unclear_before(language);
    UnclearQuery [BAD_REQUEST "unclear_query"] refusals::unclear_query(language);
    TimeNeeded [BAD_REQUEST "time_needed"] refusals::time_needed(language);
    // Forms and bodies.
    IncompleteForm [UNPROCESSABLE_ENTITY "incomplete_form"] refusals::incomplete_form(language);
    NoChannelChosen [UNPROCESSABLE_ENTITY "no_channel_chosen"]
        refusals::no_channel_chosen(language);
    NotSure(count: usize) [UNPROCESSABLE_ENTITY "no_channel_chosen"]
        refusals::not_sure(language, *count);
    ValueNeeded(setting: SettingKind) [UNPROCESSABLE_ENTITY "value_needed"]
        refusals::value_needed(language, texts::settings::setting(language, *setting));
    MalformedOrder [UNPROCESSABLE_ENTITY "malformed_order"] refusals::malformed_order(language);
    UnreadableForm [UNPROCESSABLE_ENTITY "unreadable_form"] texts::shadow::wrong_form(language);
    TooLarge [PAYLOAD_TOO_LARGE "body_too_large"] refusals::body_too_large(language);
    MessageTooLarge [PAYLOAD_TOO_LARGE "body_too_large"]
        refusals::message_too_large(language, MAX_BODY_BYTES / 1024 / 1024);
    NotJson [UNSUPPORTED_MEDIA_TYPE "not_json"] refusals::not_json(language);
    /// The body is not JSON, although it claims to be.
    BrokenBody(format: BodyFormat) [BAD_REQUEST "broken_body"]
        refusals::send(language, format(language));
    /// The body is JSON of another shape.
    WrongBody(format: BodyFormat) [UNPROCESSABLE_ENTITY "wrong_body"]
        refusals::send(language, format(language));
    WrongCap [UNPROCESSABLE_ENTITY "wrong_cap"] texts::shadow::wrong_cap(language);
    WrongDays { most: i64 } [UNPROCESSABLE_ENTITY "wrong_days"]
        refusals::wrong_days(language, *most);
    WrongNumber { name: &'static str } [UNPROCESSABLE_ENTITY "wrong_number"]
        texts::what_if::wrong_number(language, name);
    WrongPersonaName [UNPROCESSABLE_ENTITY "wrong_persona_name"]
        texts::shadow::wrong_name(language);
    PersonaTooLong { most: usize } [UNPROCESSABLE_ENTITY "persona_too_long"]
        texts::shadow::too_long(language, *most);
    /// The persona leaves no space for messages.
    UnfitPersona [UNPROCESSABLE_ENTITY "unfit_persona"] texts::shadow::does_not_fit(language);
    Room(error: LocalRoomError) [= kind::status(error.kind())] error.describe(language);
    Choice(error: ChoiceError) [= kind::of_choice(error)] error.describe(language);
    // What conflicts with the current state.
    /// For an order about a user.
    SeveralUsers { name: String } [CONFLICT "several_users"]
        refusals::several_users(language, name);
    Unjudgeable(why: Unjudgeable) [CONFLICT (kind::unjudgeable_id(*why))] why.describe(language);
    OverBudget(limit: Limit) [CONFLICT "over_budget"]
        texts::shadow::over_budget(language, &texts::judging::limit_reason(language, *limit));
    CapReached [UNPROCESSABLE_ENTITY "cap_reached"] texts::shadow::cap_reached(language);
    /// Without a price, a cap on money would limit nothing.
    Unpriced [UNPROCESSABLE_ENTITY "unpriced_model"] texts::shadow::unpriced(language);
    // What cannot be done at the moment.
    TooManyStreams [TOO_MANY_REQUESTS "too_many_streams"] refusals::too_many_streams(language);
    OthersCompute [SERVICE_UNAVAILABLE "others_compute"] texts::pages::others_compute(language);
    ComputationFailed [SERVICE_UNAVAILABLE "computation_failed"]
        texts::pages::computation_failed(language);
    ComputationStopped [SERVICE_UNAVAILABLE "computation_stopped"]
        texts::pages::computation_stopped(language);
    ComputationTooLong [SERVICE_UNAVAILABLE "computation_too_long"]
        texts::pages::computation_too_long(language);
    ModelUnprepared [SERVICE_UNAVAILABLE "model_unprepared"]
        texts::shadow::model_unprepared(language);
    PromptUnprepared [SERVICE_UNAVAILABLE "prompt_unprepared"]
        texts::shadow::prompt_unprepared(language);
    ModelUnanswered [SERVICE_UNAVAILABLE "model_unanswered"] texts::shadow::unanswered(language);
    Store(error: StoreError) [SERVICE_UNAVAILABLE "store_unusable"]
        refusals::store_unusable(language, &error.to_string());
    PageFailed [INTERNAL_SERVER_ERROR "page_failed"] refusals::page_failed(language);
    SessionFailed [INTERNAL_SERVER_ERROR "session_failed"] refusals::session_failed(language);
    ShuttingDown [SERVICE_UNAVAILABLE "shutting_down"] refusals::shutting_down(language);
    StandingBy [SERVICE_UNAVAILABLE "standing_by"] refusals::standing_by(language);
    /// A platform is not connected, for this reason.
    NotConnected(why: String) [SERVICE_UNAVAILABLE "not_connected"]
        refusals::not_connected(language, why);
    StepsStalled { seconds: i64 } [SERVICE_UNAVAILABLE "steps_stalled"]
        refusals::steps_stalled(language, *seconds);
    // Web hooks.
    WebhookUnused { platform: String } [NOT_FOUND "webhook_unused"]
        refusals::webhook_unused(language, platform);
    WebhookNotAuthentic(why: String) [UNAUTHORIZED "webhook_not_authentic"]
        refusals::webhook_not_authentic(language, why);
    WebhookMalformed(why: &'static str) [BAD_REQUEST "webhook_malformed"]
        refusals::webhook_malformed(language, why);
    WebhookNotKept(why: &'static str) [SERVICE_UNAVAILABLE "webhook_not_kept"]
        refusals::webhook_not_kept(language, why);
}

impl Refusal {
    pub fn status(&self) -> StatusCode {
        self.kind().0
    }

    /// Returns the name of the refusal for programs, which never changes.
    pub fn id(&self) -> &'static str {
        self.kind().1
    }
}

impl From<ActionRefusal> for Refusal {
    fn from(why: ActionRefusal) -> Self {
        Refusal::Action(why)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use aizuchi_config::agents::ModelParamsConfig;
    use aizuchi_config::models::agent_models::ResolvedModel;
    use aizuchi_config::models::sources::ModelOrigin;
    use aizuchi_llm::model_id::ModelId;
    use aizuchi_llm::provider_list::PROVIDERS;
    use aizuchi_model::decision::model_problem::ModelProblem;
    use aizuchi_model::memo::MemoError;
    use aizuchi_store::refusal_reason::RefusalReason;
    use strum::VariantNames as _;

    use aizuchi_model::chat::WorkspaceId;

    use super::*;

    /// Returns each reason. A reason that wraps another enum is listed once for each reason in it.
    fn all() -> Vec<Refusal> {
        let id = || "tea".to_owned();
        let workspace = || WorkspaceId::new("slack:T1");
        let format: BodyFormat = refusals::format_of_memo;
        let mut all = vec![
            Refusal::OtherSite,
            Refusal::OtherSiteOrMachine,
            Refusal::ForwardedWithoutToken,
            Refusal::UnknownToProxy,
            Refusal::NotFromProxy { header: id() },
            Refusal::TokenNeeded,
            Refusal::WrongToken,
            Refusal::TooManyTokens { seconds: 7 },
            Refusal::WrongLink,
            Refusal::RoleExcluded { role: "viewer" },
            Refusal::OutOfReach,
            ActionRefusal::NoOrders.into(),
            Refusal::NoQuestions,
            ActionRefusal::SignInToRead.into(),
            ActionRefusal::ChannelWithheld.into(),
            ActionRefusal::NotKeeper.into(),
            Refusal::PeopleWithheld,
            Refusal::OrdersWithheld,
            Refusal::ModelsWithheldHere,
            Refusal::ModelsWithheld,
            ActionRefusal::OnlyAdminChoosesModels.into(),
            ActionRefusal::OnlyAdminRegenerates.into(),
            ActionRefusal::OnlyAdminForgets.into(),
            ActionRefusal::PersonaStays.into(),
            ActionRefusal::OnlyAdminReverts.into(),
            Refusal::NotConfirmed,
            Refusal::OnlyAdminReadsLooks,
            Refusal::OnlyThisMachineChoosesModels,
            Refusal::NothingHere,
            Refusal::WrongMethod,
            Refusal::NoFile,
            Refusal::UnknownWorkspace(id()),
            ActionRefusal::UnknownChannel { id: id(), workspace: workspace() }.into(),
            Refusal::NoChannel,
            Refusal::NoOrderToUndo,
            ActionRefusal::UnknownUser { id: id(), workspace: workspace() }.into(),
            ActionRefusal::NoDecision.into(),
            ActionRefusal::NoDeadLetter.into(),
            ActionRefusal::NoProposal.into(),
            ActionRefusal::NoMemory.into(),
            ActionRefusal::NoMemo.into(),
            Refusal::OnlyLocal,
            Refusal::WhichChannel,
            Refusal::UnreadableId,
            Refusal::WhereAndWhose,
            Refusal::OfWhat,
            Refusal::AfterOrBefore,
            Refusal::RevisionNeeded,
            Refusal::LetterNumberNeeded,
            Refusal::ChangeNumberNeeded,
            Refusal::OrderNumberNeeded,
            Refusal::UnclearOutcome,
            Refusal::UnclearGate,
            Refusal::UnclearTime,
            Refusal::UnclearBefore,
            Refusal::UnclearQuery,
            Refusal::TimeNeeded,
            Refusal::IncompleteForm,
            Refusal::MalformedOrder,
            Refusal::UnreadableForm,
            Refusal::TooLarge,
            Refusal::MessageTooLarge,
            Refusal::NotJson,
            Refusal::BrokenBody(format),
            Refusal::WrongBody(format),
            Refusal::WrongCap,
            Refusal::WrongDays { most: 90 },
            Refusal::WrongNumber { name: "viewer" },
            Refusal::WrongPersonaName,
            Refusal::PersonaTooLong { most: 7 },
            Refusal::UnfitPersona,
            ActionRefusal::EntryLength { most: 7 }.into(),
            ActionRefusal::DetailLength { most: 7 }.into(),
            ActionRefusal::StandingOrderLength { most: 7 }.into(),
            ActionRefusal::OfferAnswered.into(),
            ActionRefusal::EntryChanged.into(),
            Refusal::SeveralUsers { name: id() },
            Refusal::OverBudget(Limit::MoneyPerDay),
            Refusal::CapReached,
            Refusal::Unpriced,
            Refusal::TooManyStreams,
            Refusal::OthersCompute,
            Refusal::ComputationFailed,
            Refusal::ComputationStopped,
            Refusal::ComputationTooLong,
            Refusal::ModelUnprepared,
            Refusal::PromptUnprepared,
            Refusal::ModelUnanswered,
            Refusal::Store(StoreError::Busy("it is locked".to_owned())),
            Refusal::PageFailed,
            Refusal::SessionFailed,
            Refusal::ShuttingDown,
            Refusal::OnlyAdminConfigures,
            Refusal::UnusableConfig("line 3: it is not a mode".to_owned()),
            Refusal::NoChannelChosen,
            Refusal::NotSure(7),
            Refusal::ValueNeeded(SettingKind::MinConfidence),
            Refusal::StandingBy,
            Refusal::NotConnected(id()),
            Refusal::StepsStalled { seconds: 7 },
            Refusal::WebhookUnused { platform: id() },
            Refusal::WebhookNotAuthentic(id()),
            Refusal::WebhookMalformed("it is no form"),
            Refusal::WebhookNotKept("it is no form"),
        ];
        all.extend(memo_errors().map(|error| ActionRefusal::Memo(error).into()));
        all.extend(room_errors().map(Refusal::Room));
        all.extend(choice_errors().map(Refusal::Choice));
        all.extend(order_reasons().map(|why| ActionRefusal::Order(why).into()));
        let unjudgeable =
            [Unjudgeable::NoJudge, Unjudgeable::PromptGone, Unjudgeable::MessagesGone];
        all.extend(unjudgeable.map(Refusal::Unjudgeable));
        all
    }

    fn memo_errors() -> [MemoError; 12] {
        [
            MemoError::EmptyName,
            MemoError::NameTooLong,
            MemoError::InvalidName,
            MemoError::InvalidPriority,
            MemoError::EmptyContent,
            MemoError::ContentTooLong,
            MemoError::DetailTooLong,
            MemoError::TagTooLong,
            MemoError::TooMany,
            MemoError::TooManyTags,
            MemoError::NothingToChange,
            MemoError::ReadOnlyHere,
        ]
    }

    fn room_errors() -> [LocalRoomError; 23] {
        [
            LocalRoomError::UnknownChannel("tea".to_owned()),
            LocalRoomError::UnknownThread("m1".to_owned()),
            LocalRoomError::UnknownMessage("m1".to_owned()),
            LocalRoomError::NotAuthor,
            LocalRoomError::InvalidName,
            LocalRoomError::InvalidChannelName,
            LocalRoomError::ChannelTaken("tea".to_owned()),
            LocalRoomError::NameTaken("Mio".to_owned()),
            LocalRoomError::InvalidId,
            LocalRoomError::IdTaken,
            LocalRoomError::InvalidEmoji,
            LocalRoomError::InvalidMinutes,
            LocalRoomError::EmptyText,
            LocalRoomError::TextTooLong(20_000),
            LocalRoomError::NoUploads,
            LocalRoomError::EmptyFile,
            LocalRoomError::FileTooLarge(10_000_000),
            LocalRoomError::UntakenFile,
            LocalRoomError::TooManyUploads,
            LocalRoomError::UploadsFull,
            LocalRoomError::TooManyFiles,
            LocalRoomError::UnknownFile,
            LocalRoomError::Store(StoreError::Busy("it is locked".to_owned())),
        ]
    }

    fn choice_errors() -> [ChoiceError; 12] {
        let model = || {
            let params = ModelParamsConfig::default();
            Box::new(ResolvedModel { id: ModelId::Builtin, params, endpoint: None })
        };
        [
            ChoiceError::NamedBy(ModelOrigin::Flag),
            ChoiceError::NamedBy(ModelOrigin::Config),
            ChoiceError::NamedByVariable("AIZUCHI_MODEL"),
            ChoiceError::ModelNeeded(Vec::new()),
            ChoiceError::MalformedModel,
            ChoiceError::MalformedAddress,
            ChoiceError::MalformedKey,
            ChoiceError::KeyNeeded(PROVIDERS[0]),
            ChoiceError::NotFoundHere,
            ChoiceError::Failed {
                model: model(),
                problem: Some(ModelProblem::TimedOut),
                meant: None,
            },
            ChoiceError::Failed { model: model(), problem: None, meant: None },
            ChoiceError::NotSaved(anyhow::anyhow!("the disk is full")),
        ]
    }

    fn order_reasons() -> [RefusalReason; 17] {
        [
            RefusalReason::DeadLetterGone,
            RefusalReason::DeadLetterBlocked,
            RefusalReason::DeadLetterIncomplete,
            RefusalReason::MemoryChanged,
            RefusalReason::NotDecided,
            RefusalReason::TooManyStandingOrders,
            RefusalReason::NoStandingOrder,
            RefusalReason::NoOrderDraft,
            RefusalReason::ProposalGone,
            RefusalReason::ProposalDecided,
            RefusalReason::ProposalLapsed,
            RefusalReason::ProposalBlocked,
            RefusalReason::TrustOfferGone,
            RefusalReason::ConsentGone,
            RefusalReason::ConsentDecided,
            RefusalReason::ConsentLapsed,
            RefusalReason::Unstorable("the number is too large".to_owned()),
        ]
    }

    fn is_japanese(letter: char) -> bool {
        matches!(letter, '\u{3041}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
    }

    #[test]
    fn no_reason_is_left_out_here() {
        let names = all().into_iter().map(|refusal| {
            let shown = format!("{refusal:?}");
            let shown = shown.strip_prefix("Action(").unwrap_or(&shown);
            let end = shown.find(|letter: char| !letter.is_alphanumeric());
            shown[..end.unwrap_or(shown.len())].to_owned()
        });
        let names: BTreeSet<String> = names.collect();
        let variants = Refusal::VARIANTS.iter().chain(ActionRefusal::VARIANTS);
        let variants = variants.filter(|name| **name != "Action").map(|name| (*name).to_owned());
        let variants: BTreeSet<String> = variants.collect();
        assert_eq!(names, variants);
    }

    #[test]
    fn each_reason_is_told_in_both_languages() {
        for refusal in all() {
            let english = refusal.describe(Language::En);
            let japanese = refusal.describe(Language::Ja);
            assert!(!english.is_empty() && !english.chars().any(is_japanese), "{english}");
            assert!(japanese.chars().any(is_japanese), "{english}: {japanese}");
        }
    }

    /// Programs rely on these names and statuses.
    #[test]
    fn names_and_statuses_stay_the_same() {
        let mut found: BTreeMap<u16, BTreeSet<&str>> = BTreeMap::new();
        for refusal in all() {
            found.entry(refusal.status().as_u16()).or_default().insert(refusal.id());
        }
        let expected = [
            (
                400,
                "after_and_before broken_body change_number_needed channel_and_user_needed channel_needed \
                dead_letter_id_needed message_or_channel_needed only_local order_number_needed revision_needed \
                time_needed unclear_before unclear_gate unclear_outcome unclear_query unclear_time unreadable_id \
                webhook_malformed",
            ),
            (401, "token_needed webhook_not_authentic wrong_link wrong_token"),
            (
                403,
                "channel_withheld forwarded_without_token models_withheld models_withheld_here no_orders no_questions \
                no_uploads not_author not_from_proxy not_keeper only_admin_chooses_models only_admin_configures only_admin_forgets only_admin_reads_looks only_admin_regenerates \
                only_admin_reverts only_this_machine_chooses_models orders_withheld other_site other_site_or_machine out_of_reach \
                people_withheld role_excluded sign_in_to_read unknown_to_proxy",
            ),
            (
                404,
                "no_file no_order_to_undo nothing_here unknown_channel unknown_dead_letter unknown_decision unknown_memo \
                unknown_memory unknown_message unknown_proposal unknown_thread unknown_user unknown_workspace \
                webhook_unused",
            ),
            (405, "wrong_method"),
            (
                409,
                "channel_taken consent_decided consent_gone consent_lapsed dead_letter_blocked dead_letter_gone \
                dead_letter_incomplete entry_changed id_taken memory_changed messages_gone model_set_elsewhere \
                name_taken no_judge no_order_draft no_standing_order not_decided over_budget prompt_gone \
                proposal_blocked proposal_decided proposal_gone proposal_lapsed several_users \
                too_many_standing_orders trust_offer_gone unstorable",
            ),
            (413, "body_too_large file_too_large text_too_long"),
            (415, "not_json untaken_file"),
            (
                422,
                "cap_reached detail_length empty_file empty_text entry_length incomplete_form invalid_channel_name invalid_emoji \
                invalid_id invalid_minutes invalid_name key_needed malformed_address malformed_key malformed_model \
                malformed_order memo_content_empty memo_content_too_long memo_detail_too_long memo_name_empty \
                memo_name_invalid memo_name_too_long memo_priority_invalid memo_read_only memo_tag_too_long \
                model_failed model_needed no_channel_chosen not_confirmed nothing_to_change persona_stays persona_too_long standing_order_length too_many_files \
                too_many_memos too_many_tags unfit_persona unknown_file unknown_model unpriced_model unreadable_form unusable_config value_needed wrong_body wrong_cap \
                wrong_days wrong_number wrong_persona_name",
            ),
            (429, "too_many_streams too_many_tokens too_many_uploads"),
            (500, "choice_not_saved page_failed session_failed"),
            (
                503,
                "computation_failed computation_stopped computation_too_long model_unanswered \
                model_unprepared not_connected others_compute prompt_unprepared shutting_down \
                standing_by steps_stalled store_unusable webhook_not_kept",
            ),
            (507, "uploads_full"),
        ];
        let names = |ids: &'static str| -> BTreeSet<&str> { ids.split(' ').collect() };
        let expected = expected.map(|(status, ids)| (status, names(ids)));
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn a_body_that_is_too_large_is_told_with_its_own_limit() {
        let told = |refusal: Refusal| refusal.describe(Language::En);
        assert_eq!(told(Refusal::MessageTooLarge), "the message is larger than 4 MB");
        assert_eq!(told(Refusal::TooLarge), "the request is too large");
    }
}
