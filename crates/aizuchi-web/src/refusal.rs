//! Why a request is refused: each reason with its status, a name for programs, and a sentence in the reader's language.

pub mod body_format;
mod kind;

use aizuchi_config::configured_models::choice::ChoiceError;
use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::decision::limit::Limit;
use aizuchi_model::memo::MemoError;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_model::texts::refusals;
use aizuchi_past::past_moment::Unjudgeable;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_store::StoreError;
use aizuchi_store::refusal_reason::RefusalReason;
use axum::http::StatusCode;

use crate::MAX_BODY_BYTES;
use crate::refusal::body_format::BodyFormat;

/// Why a request is refused.
#[derive(Debug)]
#[cfg_attr(test, derive(strum::VariantNames))]
pub enum Refusal {
    // Where a request comes from.
    /// Another site's page sent it.
    OtherSite,
    /// The same, or the request names this machine by another host name, while no token is set.
    OtherSiteOrMachine,
    ForwardedWithoutToken,
    /// The proxy named a user who is in none of the lists.
    UnknownToProxy,
    /// Only a proxy can sign visitors in, with this header.
    NotFromProxy {
        header: String,
    },
    // Tokens and links.
    TokenNeeded,
    WrongToken,
    TooManyTokens {
        seconds: u64,
    },
    WrongLink,
    // What a visitor may do and read.
    RoleExcluded {
        role: &'static str,
    },
    NoOrders,
    /// Only visitors who may give orders can ask models.
    NoQuestions,
    SignInToRead,
    ChannelWithheld,
    PeopleWithheld,
    OrdersWithheld,
    /// What models wrote, for visitors who did not sign in.
    ModelsWithheldHere,
    ModelsWithheld,
    OnlyAdminChoosesModels,
    OnlyAdminRegenerates,
    OnlyAdminReverts,
    OnlyAdminReadsLooks,
    OnlyThisMachineChoosesModels,
    // What does not exist.
    NothingHere,
    WrongMethod,
    NoFile,
    UnknownWorkspace(String),
    UnknownChannel {
        id: String,
        workspace: WorkspaceId,
    },
    /// The address cannot even be parsed.
    NoChannel,
    UnknownUser {
        id: String,
        workspace: WorkspaceId,
    },
    NoDecision,
    NoDeadLetter,
    NoProposal,
    NoMemory,
    NoMemo,
    // What is missing in an address.
    OnlyLocal,
    WhichChannel,
    UnreadableId,
    WhereAndWhose,
    OfWhat,
    AfterOrBefore,
    RevisionNeeded,
    LetterNumberNeeded,
    ChangeNumberNeeded,
    OrderNumberNeeded,
    UnclearOutcome,
    UnclearGate,
    UnclearTime,
    UnclearBefore,
    UnclearQuery,
    TimeNeeded,
    // Forms and bodies.
    IncompleteForm,
    MalformedOrder,
    UnreadableForm,
    TooLarge(BodyFormat),
    NotJson,
    /// The body is not JSON, although it claims to be.
    BrokenBody(BodyFormat),
    /// The body is JSON of another shape.
    WrongBody(BodyFormat),
    WrongCap,
    WrongDays {
        most: i64,
    },
    WrongNumber {
        name: &'static str,
    },
    WrongPersonaName,
    PersonaTooLong {
        most: usize,
    },
    /// The persona leaves no space for messages.
    UnfitPersona,
    EntryLength {
        most: usize,
    },
    DetailLength {
        most: usize,
    },
    StandingOrderLength {
        most: usize,
    },
    Memo(MemoError),
    Room(LocalRoomError),
    Choice(ChoiceError),
    // What conflicts with the current state.
    EntryChanged,
    /// For an order about a user.
    SeveralUsers {
        name: String,
    },
    Order(RefusalReason),
    Unjudgeable(Unjudgeable),
    OverBudget(Limit),
    CapReached,
    /// Without a price, a cap on money would limit nothing.
    Unpriced,
    // What cannot be done at the moment.
    TooManyStreams,
    OthersCompute,
    ComputationFailed,
    ComputationStopped,
    ComputationTooLong,
    ModelUnprepared,
    PromptUnprepared,
    ModelUnanswered,
    Store(StoreError),
    PageFailed,
    SessionFailed,
    ShuttingDown,
    StandingBy,
    /// A platform is not connected, for this reason.
    NotConnected(String),
    StepsStalled {
        seconds: i64,
    },
    // Web hooks.
    WebhookUnused {
        platform: String,
    },
    WebhookNotAuthentic(String),
    WebhookMalformed(&'static str),
    WebhookNotKept(&'static str),
}

impl Refusal {
    pub fn status(&self) -> StatusCode {
        self.kind().0
    }

    /// Returns the name of the refusal for programs, which never changes.
    pub fn id(&self) -> &'static str {
        self.kind().1
    }

    /// Returns the sentence for the reader.
    pub fn describe(&self, language: Language) -> String {
        let text: fn(Language) -> &'static str = match self {
            Refusal::OtherSite => refusals::other_site,
            Refusal::OtherSiteOrMachine => refusals::other_site_or_machine,
            Refusal::ForwardedWithoutToken => refusals::forwarded_without_token,
            Refusal::UnknownToProxy => refusals::unknown_to_proxy,
            Refusal::NotFromProxy { header } => return refusals::not_from_proxy(language, header),
            Refusal::TokenNeeded => refusals::token_needed,
            Refusal::WrongToken => refusals::wrong_token,
            Refusal::TooManyTokens { seconds } => {
                return refusals::too_many_tokens(language, *seconds);
            }
            Refusal::WrongLink => refusals::wrong_link,
            Refusal::RoleExcluded { role } => return refusals::role_excluded(language, role),
            Refusal::NoOrders => refusals::no_orders,
            Refusal::NoQuestions => texts::shadow::may_not_ask,
            Refusal::SignInToRead => refusals::sign_in_to_read,
            Refusal::ChannelWithheld => refusals::channel_withheld,
            Refusal::PeopleWithheld => refusals::people_withheld,
            Refusal::OrdersWithheld => refusals::orders_withheld,
            Refusal::ModelsWithheldHere => texts::console::withheld_here,
            Refusal::ModelsWithheld => texts::console::models_withheld,
            Refusal::OnlyAdminChoosesModels => refusals::only_admin_chooses_models,
            Refusal::OnlyAdminRegenerates => refusals::only_admin_regenerates,
            Refusal::OnlyAdminReverts => refusals::only_admin_reverts,
            Refusal::OnlyAdminReadsLooks => refusals::only_admin_reads_looks,
            Refusal::OnlyThisMachineChoosesModels => texts::models::choice_needs_this_machine,
            Refusal::NothingHere => refusals::nothing_here,
            Refusal::WrongMethod => refusals::wrong_method,
            Refusal::NoFile => refusals::no_file,
            Refusal::UnknownWorkspace(id) => return refusals::unknown_workspace(language, id),
            Refusal::UnknownChannel { id, workspace } => {
                return refusals::unknown_channel(language, id, workspace.as_str());
            }
            Refusal::NoChannel => refusals::no_channel,
            Refusal::UnknownUser { id, workspace } => {
                return refusals::unknown_user(language, id, workspace.as_str());
            }
            Refusal::NoDecision => refusals::no_decision,
            Refusal::NoDeadLetter => refusals::no_dead_letter,
            Refusal::NoProposal => refusals::no_proposal,
            Refusal::NoMemory => refusals::no_memory,
            Refusal::NoMemo => refusals::no_memo,
            Refusal::OnlyLocal => refusals::only_local,
            Refusal::WhichChannel => refusals::which_channel,
            Refusal::UnreadableId => refusals::unreadable_id,
            Refusal::WhereAndWhose => refusals::where_and_whose,
            Refusal::OfWhat => refusals::of_what,
            Refusal::AfterOrBefore => refusals::after_or_before,
            Refusal::RevisionNeeded => refusals::revision_needed,
            Refusal::LetterNumberNeeded => refusals::letter_number_needed,
            Refusal::ChangeNumberNeeded => refusals::change_number_needed,
            Refusal::OrderNumberNeeded => refusals::order_number_needed,
            Refusal::UnclearOutcome => refusals::unclear_outcome,
            Refusal::UnclearGate => refusals::unclear_gate,
            Refusal::UnclearTime => refusals::unclear_time,
            Refusal::UnclearBefore => refusals::unclear_before,
            Refusal::UnclearQuery => refusals::unclear_query,
            Refusal::TimeNeeded => refusals::time_needed,
            Refusal::IncompleteForm => refusals::incomplete_form,
            Refusal::MalformedOrder => refusals::malformed_order,
            Refusal::UnreadableForm => texts::shadow::wrong_form,
            Refusal::TooLarge(format) if format.is_message() => {
                return refusals::message_too_large(language, MAX_BODY_BYTES / 1024 / 1024);
            }
            Refusal::TooLarge(_) => refusals::body_too_large,
            Refusal::NotJson => refusals::not_json,
            Refusal::BrokenBody(format) | Refusal::WrongBody(format) => {
                return refusals::send(language, format.describe(language));
            }
            Refusal::WrongCap => texts::shadow::wrong_cap,
            Refusal::WrongDays { most } => return refusals::wrong_days(language, *most),
            Refusal::WrongNumber { name } => return texts::what_if::wrong_number(language, name),
            Refusal::WrongPersonaName => texts::shadow::wrong_name,
            Refusal::PersonaTooLong { most } => return texts::shadow::too_long(language, *most),
            Refusal::UnfitPersona => texts::shadow::does_not_fit,
            Refusal::EntryLength { most } => return refusals::entry_length(language, *most),
            Refusal::DetailLength { most } => return refusals::detail_length(language, *most),
            Refusal::StandingOrderLength { most } => {
                return refusals::standing_order_length(language, *most);
            }
            Refusal::Memo(error) => return refusals::memo(language, *error),
            Refusal::Room(error) => return error.describe(language),
            Refusal::Choice(error) => return error.describe(language),
            Refusal::EntryChanged => refusals::entry_changed,
            Refusal::SeveralUsers { name } => return refusals::several_users(language, name),
            Refusal::Order(why) => return why.describe(language),
            Refusal::Unjudgeable(why) => return why.describe(language).to_owned(),
            Refusal::OverBudget(limit) => {
                let why = texts::judging::limit_reason(language, *limit);
                return texts::shadow::over_budget(language, &why);
            }
            Refusal::CapReached => texts::shadow::cap_reached,
            Refusal::Unpriced => texts::shadow::unpriced,
            Refusal::TooManyStreams => refusals::too_many_streams,
            Refusal::OthersCompute => texts::pages::others_compute,
            Refusal::ComputationFailed => texts::pages::computation_failed,
            Refusal::ComputationStopped => texts::pages::computation_stopped,
            Refusal::ComputationTooLong => texts::pages::computation_too_long,
            Refusal::ModelUnprepared => texts::shadow::model_unprepared,
            Refusal::PromptUnprepared => texts::shadow::prompt_unprepared,
            Refusal::ModelUnanswered => texts::shadow::unanswered,
            Refusal::Store(error) => {
                return refusals::store_unusable(language, &error.to_string());
            }
            Refusal::PageFailed => refusals::page_failed,
            Refusal::SessionFailed => refusals::session_failed,
            Refusal::ShuttingDown => refusals::shutting_down,
            Refusal::StandingBy => refusals::standing_by,
            Refusal::NotConnected(why) => return refusals::not_connected(language, why),
            Refusal::StepsStalled { seconds } => {
                return refusals::steps_stalled(language, *seconds);
            }
            Refusal::WebhookUnused { platform } => {
                return refusals::webhook_unused(language, platform);
            }
            Refusal::WebhookNotAuthentic(why) => {
                return refusals::webhook_not_authentic(language, why);
            }
            Refusal::WebhookMalformed(why) => return refusals::webhook_malformed(language, why),
            Refusal::WebhookNotKept(why) => return refusals::webhook_not_kept(language, why),
        };
        text(language).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use aizuchi_config::agents::ModelParamsConfig;
    use aizuchi_config::minds::ResolvedModel;
    use aizuchi_config::model_sources::ModelOrigin;
    use aizuchi_llm::model::{ModelId, PROVIDERS};
    use aizuchi_model::decision::model_problem::ModelProblem;
    use strum::VariantNames as _;

    use super::*;

    /// Returns each reason. A reason that wraps another enum is listed once for each reason in it.
    fn all() -> Vec<Refusal> {
        let id = || "tea".to_owned();
        let workspace = || WorkspaceId::new("slack:T1");
        let format = BodyFormat::Memo;
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
            Refusal::NoOrders,
            Refusal::NoQuestions,
            Refusal::SignInToRead,
            Refusal::ChannelWithheld,
            Refusal::PeopleWithheld,
            Refusal::OrdersWithheld,
            Refusal::ModelsWithheldHere,
            Refusal::ModelsWithheld,
            Refusal::OnlyAdminChoosesModels,
            Refusal::OnlyAdminRegenerates,
            Refusal::OnlyAdminReverts,
            Refusal::OnlyAdminReadsLooks,
            Refusal::OnlyThisMachineChoosesModels,
            Refusal::NothingHere,
            Refusal::WrongMethod,
            Refusal::NoFile,
            Refusal::UnknownWorkspace(id()),
            Refusal::UnknownChannel { id: id(), workspace: workspace() },
            Refusal::NoChannel,
            Refusal::UnknownUser { id: id(), workspace: workspace() },
            Refusal::NoDecision,
            Refusal::NoDeadLetter,
            Refusal::NoProposal,
            Refusal::NoMemory,
            Refusal::NoMemo,
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
            Refusal::TooLarge(format),
            Refusal::NotJson,
            Refusal::BrokenBody(format),
            Refusal::WrongBody(format),
            Refusal::WrongCap,
            Refusal::WrongDays { most: 90 },
            Refusal::WrongNumber { name: "viewer" },
            Refusal::WrongPersonaName,
            Refusal::PersonaTooLong { most: 7 },
            Refusal::UnfitPersona,
            Refusal::EntryLength { most: 7 },
            Refusal::DetailLength { most: 7 },
            Refusal::StandingOrderLength { most: 7 },
            Refusal::EntryChanged,
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
            Refusal::StandingBy,
            Refusal::NotConnected(id()),
            Refusal::StepsStalled { seconds: 7 },
            Refusal::WebhookUnused { platform: id() },
            Refusal::WebhookNotAuthentic(id()),
            Refusal::WebhookMalformed("it is no form"),
            Refusal::WebhookNotKept("it is no form"),
        ];
        all.extend(memo_errors().map(Refusal::Memo));
        all.extend(room_errors().map(Refusal::Room));
        all.extend(choice_errors().map(Refusal::Choice));
        all.extend(order_reasons().map(Refusal::Order));
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
            let end = shown.find(|letter: char| !letter.is_alphanumeric());
            shown[..end.unwrap_or(shown.len())].to_owned()
        });
        let names: BTreeSet<String> = names.collect();
        let variants = Refusal::VARIANTS.iter().map(|name| (*name).to_owned());
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
                no_uploads not_author not_from_proxy only_admin_chooses_models only_admin_reads_looks only_admin_regenerates \
                only_admin_reverts only_this_machine_chooses_models orders_withheld other_site other_site_or_machine \
                people_withheld role_excluded sign_in_to_read unknown_to_proxy",
            ),
            (
                404,
                "no_file nothing_here unknown_channel unknown_dead_letter unknown_decision unknown_memo \
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
                model_failed model_needed nothing_to_change persona_too_long standing_order_length too_many_files \
                too_many_memos too_many_tags unfit_persona unknown_file unknown_model unpriced_model unreadable_form wrong_body wrong_cap \
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
        let told = |format| Refusal::TooLarge(format).describe(Language::En);
        assert_eq!(told(BodyFormat::Edit), "the message is larger than 4 MB");
        assert_eq!(told(BodyFormat::Memo), "the request is too large");
    }
}
