//! The status of each refusal, and its name for programs. The names never change.

use aizuchi_config::configured_models::choice::ChoiceError;
use aizuchi_model::memo::MemoError;
use aizuchi_past::past_moment::Unjudgeable;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_store::refusal_reason::RefusalReason;
use axum::http::StatusCode;

use crate::refusal::Refusal;

impl Refusal {
    pub(super) fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            Refusal::OtherSite => (StatusCode::FORBIDDEN, "other_site"),
            Refusal::OtherSiteOrMachine => (StatusCode::FORBIDDEN, "other_site_or_machine"),
            Refusal::ForwardedWithoutToken => (StatusCode::FORBIDDEN, "forwarded_without_token"),
            Refusal::UnknownToProxy => (StatusCode::FORBIDDEN, "unknown_to_proxy"),
            Refusal::NotFromProxy { .. } => (StatusCode::FORBIDDEN, "not_from_proxy"),
            Refusal::TokenNeeded => (StatusCode::UNAUTHORIZED, "token_needed"),
            Refusal::WrongToken => (StatusCode::UNAUTHORIZED, "wrong_token"),
            Refusal::TooManyTokens { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_tokens"),
            Refusal::WrongLink => (StatusCode::UNAUTHORIZED, "wrong_link"),
            Refusal::RoleExcluded { .. } => (StatusCode::FORBIDDEN, "role_excluded"),
            Refusal::NoOrders => (StatusCode::FORBIDDEN, "no_orders"),
            Refusal::NoQuestions => (StatusCode::FORBIDDEN, "no_questions"),
            Refusal::SignInToRead => (StatusCode::FORBIDDEN, "sign_in_to_read"),
            Refusal::ChannelWithheld => (StatusCode::FORBIDDEN, "channel_withheld"),
            Refusal::PeopleWithheld => (StatusCode::FORBIDDEN, "people_withheld"),
            Refusal::OrdersWithheld => (StatusCode::FORBIDDEN, "orders_withheld"),
            Refusal::ModelsWithheldHere => (StatusCode::FORBIDDEN, "models_withheld_here"),
            Refusal::ModelsWithheld => (StatusCode::FORBIDDEN, "models_withheld"),
            Refusal::OnlyAdminChoosesModels => (StatusCode::FORBIDDEN, "only_admin_chooses_models"),
            Refusal::OnlyAdminRegenerates => (StatusCode::FORBIDDEN, "only_admin_regenerates"),
            Refusal::OnlyAdminReverts => (StatusCode::FORBIDDEN, "only_admin_reverts"),
            Refusal::OnlyAdminReadsLooks => (StatusCode::FORBIDDEN, "only_admin_reads_looks"),
            Refusal::OnlyThisMachineChoosesModels => {
                (StatusCode::FORBIDDEN, "only_this_machine_chooses_models")
            }
            Refusal::NothingHere => (StatusCode::NOT_FOUND, "nothing_here"),
            Refusal::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, "wrong_method"),
            Refusal::NoFile => (StatusCode::NOT_FOUND, "no_file"),
            Refusal::UnknownWorkspace(_) => (StatusCode::NOT_FOUND, "unknown_workspace"),
            Refusal::UnknownChannel { .. } => (StatusCode::NOT_FOUND, "unknown_channel"),
            Refusal::NoChannel => (StatusCode::NOT_FOUND, "unknown_channel"),
            Refusal::UnknownUser { .. } => (StatusCode::NOT_FOUND, "unknown_user"),
            Refusal::NoDecision => (StatusCode::NOT_FOUND, "unknown_decision"),
            Refusal::NoDeadLetter => (StatusCode::NOT_FOUND, "unknown_dead_letter"),
            Refusal::NoProposal => (StatusCode::NOT_FOUND, "unknown_proposal"),
            Refusal::NoMemory => (StatusCode::NOT_FOUND, "unknown_memory"),
            Refusal::NoMemo => (StatusCode::NOT_FOUND, "unknown_memo"),
            Refusal::OnlyLocal => (StatusCode::BAD_REQUEST, "only_local"),
            Refusal::WhichChannel => (StatusCode::BAD_REQUEST, "channel_needed"),
            Refusal::UnreadableId => (StatusCode::BAD_REQUEST, "unreadable_id"),
            Refusal::WhereAndWhose => (StatusCode::BAD_REQUEST, "channel_and_user_needed"),
            Refusal::OfWhat => (StatusCode::BAD_REQUEST, "message_or_channel_needed"),
            Refusal::AfterOrBefore => (StatusCode::BAD_REQUEST, "after_and_before"),
            Refusal::RevisionNeeded => (StatusCode::BAD_REQUEST, "revision_needed"),
            Refusal::LetterNumberNeeded => (StatusCode::BAD_REQUEST, "dead_letter_id_needed"),
            Refusal::ChangeNumberNeeded => (StatusCode::BAD_REQUEST, "change_number_needed"),
            Refusal::OrderNumberNeeded => (StatusCode::BAD_REQUEST, "order_number_needed"),
            Refusal::UnclearOutcome => (StatusCode::BAD_REQUEST, "unclear_outcome"),
            Refusal::UnclearGate => (StatusCode::BAD_REQUEST, "unclear_gate"),
            Refusal::UnclearTime => (StatusCode::BAD_REQUEST, "unclear_time"),
            Refusal::UnclearBefore => (StatusCode::BAD_REQUEST, "unclear_before"),
            Refusal::UnclearQuery => (StatusCode::BAD_REQUEST, "unclear_query"),
            Refusal::TimeNeeded => (StatusCode::BAD_REQUEST, "time_needed"),
            Refusal::IncompleteForm => (StatusCode::UNPROCESSABLE_ENTITY, "incomplete_form"),
            Refusal::MalformedOrder => (StatusCode::UNPROCESSABLE_ENTITY, "malformed_order"),
            Refusal::UnreadableForm => (StatusCode::UNPROCESSABLE_ENTITY, "unreadable_form"),
            Refusal::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Refusal::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json"),
            Refusal::BrokenBody(_) => (StatusCode::BAD_REQUEST, "broken_body"),
            Refusal::WrongBody(_) => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_body"),
            Refusal::WrongCap => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_cap"),
            Refusal::WrongDays { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_days"),
            Refusal::WrongNumber { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_number"),
            Refusal::WrongPersonaName => (StatusCode::UNPROCESSABLE_ENTITY, "wrong_persona_name"),
            Refusal::PersonaTooLong { .. } => {
                (StatusCode::UNPROCESSABLE_ENTITY, "persona_too_long")
            }
            Refusal::UnfitPersona => (StatusCode::UNPROCESSABLE_ENTITY, "unfit_persona"),
            Refusal::EntryLength { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "entry_length"),
            Refusal::DetailLength { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "detail_length"),
            Refusal::StandingOrderLength { .. } => {
                (StatusCode::UNPROCESSABLE_ENTITY, "standing_order_length")
            }
            Refusal::Memo(error) => (StatusCode::UNPROCESSABLE_ENTITY, memo_id(*error)),
            Refusal::Room(error) => of_room(error),
            Refusal::Choice(error) => of_choice(error),
            Refusal::EntryChanged => (StatusCode::CONFLICT, "entry_changed"),
            Refusal::SeveralUsers { .. } => (StatusCode::CONFLICT, "several_users"),
            Refusal::Order(why) => (StatusCode::CONFLICT, order_id(why)),
            Refusal::Unjudgeable(why) => (StatusCode::CONFLICT, unjudgeable_id(*why)),
            Refusal::OverBudget(_) => (StatusCode::CONFLICT, "over_budget"),
            Refusal::CapReached => (StatusCode::UNPROCESSABLE_ENTITY, "cap_reached"),
            Refusal::Unpriced => (StatusCode::UNPROCESSABLE_ENTITY, "unpriced_model"),
            Refusal::TooManyStreams => (StatusCode::TOO_MANY_REQUESTS, "too_many_streams"),
            Refusal::OthersCompute => (StatusCode::SERVICE_UNAVAILABLE, "others_compute"),
            Refusal::ComputationFailed => (StatusCode::SERVICE_UNAVAILABLE, "computation_failed"),
            Refusal::ComputationStopped => (StatusCode::SERVICE_UNAVAILABLE, "computation_stopped"),
            Refusal::ComputationTooLong => {
                (StatusCode::SERVICE_UNAVAILABLE, "computation_too_long")
            }
            Refusal::ModelUnprepared => (StatusCode::SERVICE_UNAVAILABLE, "model_unprepared"),
            Refusal::PromptUnprepared => (StatusCode::SERVICE_UNAVAILABLE, "prompt_unprepared"),
            Refusal::ModelUnanswered => (StatusCode::SERVICE_UNAVAILABLE, "model_unanswered"),
            Refusal::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store_unusable"),
            Refusal::PageFailed => (StatusCode::INTERNAL_SERVER_ERROR, "page_failed"),
            Refusal::SessionFailed => (StatusCode::INTERNAL_SERVER_ERROR, "session_failed"),
            Refusal::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, "shutting_down"),
            Refusal::StandingBy => (StatusCode::SERVICE_UNAVAILABLE, "standing_by"),
            Refusal::NotConnected(_) => (StatusCode::SERVICE_UNAVAILABLE, "not_connected"),
            Refusal::StepsStalled { .. } => (StatusCode::SERVICE_UNAVAILABLE, "steps_stalled"),
            Refusal::WebhookUnused { .. } => (StatusCode::NOT_FOUND, "webhook_unused"),
            Refusal::WebhookNotAuthentic(_) => (StatusCode::UNAUTHORIZED, "webhook_not_authentic"),
            Refusal::WebhookMalformed(_) => (StatusCode::BAD_REQUEST, "webhook_malformed"),
            Refusal::WebhookNotKept(_) => (StatusCode::SERVICE_UNAVAILABLE, "webhook_not_kept"),
        }
    }
}

fn of_room(error: &LocalRoomError) -> (StatusCode, &'static str) {
    match error {
        LocalRoomError::UnknownChannel(_) => (StatusCode::NOT_FOUND, "unknown_channel"),
        LocalRoomError::UnknownThread(_) => (StatusCode::NOT_FOUND, "unknown_thread"),
        LocalRoomError::UnknownMessage(_) => (StatusCode::NOT_FOUND, "unknown_message"),
        LocalRoomError::NotAuthor => (StatusCode::FORBIDDEN, "not_author"),
        LocalRoomError::InvalidName => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_name"),
        LocalRoomError::InvalidChannelName => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid_channel_name")
        }
        LocalRoomError::InvalidId => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_id"),
        LocalRoomError::InvalidEmoji => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_emoji"),
        LocalRoomError::InvalidMinutes => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_minutes"),
        LocalRoomError::EmptyText => (StatusCode::UNPROCESSABLE_ENTITY, "empty_text"),
        LocalRoomError::NameTaken(_) => (StatusCode::CONFLICT, "name_taken"),
        LocalRoomError::ChannelTaken(_) => (StatusCode::CONFLICT, "channel_taken"),
        LocalRoomError::IdTaken => (StatusCode::CONFLICT, "id_taken"),
        LocalRoomError::TextTooLong(_) => (StatusCode::PAYLOAD_TOO_LARGE, "text_too_long"),
        LocalRoomError::NoUploads => (StatusCode::FORBIDDEN, "no_uploads"),
        LocalRoomError::EmptyFile => (StatusCode::UNPROCESSABLE_ENTITY, "empty_file"),
        LocalRoomError::FileTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "file_too_large"),
        LocalRoomError::UntakenFile => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "untaken_file"),
        LocalRoomError::TooManyUploads => (StatusCode::TOO_MANY_REQUESTS, "too_many_uploads"),
        LocalRoomError::UploadsFull => (StatusCode::INSUFFICIENT_STORAGE, "uploads_full"),
        LocalRoomError::TooManyFiles => (StatusCode::UNPROCESSABLE_ENTITY, "too_many_files"),
        LocalRoomError::UnknownFile => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_file"),
        LocalRoomError::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store_unusable"),
    }
}

fn of_choice(error: &ChoiceError) -> (StatusCode, &'static str) {
    match error {
        ChoiceError::NamedBy(_) | ChoiceError::NamedByVariable(_) => {
            (StatusCode::CONFLICT, "model_set_elsewhere")
        }
        ChoiceError::ModelNeeded(_) => (StatusCode::UNPROCESSABLE_ENTITY, "model_needed"),
        ChoiceError::MalformedModel => (StatusCode::UNPROCESSABLE_ENTITY, "malformed_model"),
        ChoiceError::MalformedAddress => (StatusCode::UNPROCESSABLE_ENTITY, "malformed_address"),
        ChoiceError::MalformedKey => (StatusCode::UNPROCESSABLE_ENTITY, "malformed_key"),
        ChoiceError::KeyNeeded(_) => (StatusCode::UNPROCESSABLE_ENTITY, "key_needed"),
        ChoiceError::NotFoundHere => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_model"),
        ChoiceError::Failed { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "model_failed"),
        ChoiceError::NotSaved(_) => (StatusCode::INTERNAL_SERVER_ERROR, "choice_not_saved"),
    }
}

fn memo_id(error: MemoError) -> &'static str {
    match error {
        MemoError::EmptyName => "memo_name_empty",
        MemoError::NameTooLong => "memo_name_too_long",
        MemoError::InvalidName => "memo_name_invalid",
        MemoError::InvalidPriority => "memo_priority_invalid",
        MemoError::EmptyContent => "memo_content_empty",
        MemoError::ContentTooLong => "memo_content_too_long",
        MemoError::DetailTooLong => "memo_detail_too_long",
        MemoError::TagTooLong => "memo_tag_too_long",
        MemoError::TooMany => "too_many_memos",
        MemoError::TooManyTags => "too_many_tags",
        MemoError::NothingToChange => "nothing_to_change",
        MemoError::ReadOnlyHere => "memo_read_only",
    }
}

fn order_id(why: &RefusalReason) -> &'static str {
    match why {
        RefusalReason::DeadLetterGone => "dead_letter_gone",
        RefusalReason::DeadLetterBlocked => "dead_letter_blocked",
        RefusalReason::DeadLetterIncomplete => "dead_letter_incomplete",
        RefusalReason::MemoryChanged => "memory_changed",
        RefusalReason::NotDecided => "not_decided",
        RefusalReason::TooManyStandingOrders => "too_many_standing_orders",
        RefusalReason::NoStandingOrder => "no_standing_order",
        RefusalReason::NoOrderDraft => "no_order_draft",
        RefusalReason::ProposalGone => "proposal_gone",
        RefusalReason::ProposalDecided => "proposal_decided",
        RefusalReason::ProposalLapsed => "proposal_lapsed",
        RefusalReason::ProposalBlocked => "proposal_blocked",
        RefusalReason::TrustOfferGone => "trust_offer_gone",
        RefusalReason::ConsentGone => "consent_gone",
        RefusalReason::ConsentDecided => "consent_decided",
        RefusalReason::ConsentLapsed => "consent_lapsed",
        RefusalReason::Unstorable(_) => "unstorable",
    }
}

fn unjudgeable_id(why: Unjudgeable) -> &'static str {
    match why {
        Unjudgeable::NoJudge => "no_judge",
        Unjudgeable::PromptGone => "prompt_gone",
        Unjudgeable::MessagesGone => "messages_gone",
    }
}
