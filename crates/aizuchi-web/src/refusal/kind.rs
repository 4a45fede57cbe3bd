//! The statuses and the names of refusals that other parts of the program declare. The names never change.

use aizuchi_config::configured_models::choice::ChoiceError;
use aizuchi_model::memo::MemoError;
use aizuchi_past::past_moment::Unjudgeable;
use aizuchi_platform::local::error::LocalRoomError;
use aizuchi_store::refusal_reason::RefusalReason;
use axum::http::StatusCode;

pub(super) fn of_room(error: &LocalRoomError) -> (StatusCode, &'static str) {
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

pub(super) fn of_choice(error: &ChoiceError) -> (StatusCode, &'static str) {
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

pub(super) fn memo_id(error: MemoError) -> &'static str {
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

pub(super) fn order_id(why: &RefusalReason) -> &'static str {
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

pub(super) fn unjudgeable_id(why: Unjudgeable) -> &'static str {
    match why {
        Unjudgeable::NoJudge => "no_judge",
        Unjudgeable::PromptGone => "prompt_gone",
        Unjudgeable::MessagesGone => "messages_gone",
    }
}
