//! The statuses and the names of refusals that other parts of the program declare. The names never change.

use aizuchi_actions::refusal::{ActionRefusal, RefusalKind};
use aizuchi_config::configured_models::choice::ChoiceError;
use aizuchi_past::past_moment::Unjudgeable;
use aizuchi_platform::local::error::LocalRoomError;
use axum::http::StatusCode;

pub(super) fn of_action(why: &ActionRefusal) -> (StatusCode, &'static str) {
    let (kind, id) = why.kind();
    let status = match kind {
        RefusalKind::Forbidden => StatusCode::FORBIDDEN,
        RefusalKind::Unknown => StatusCode::NOT_FOUND,
        RefusalKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        RefusalKind::Conflict => StatusCode::CONFLICT,
    };
    (status, id)
}

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

pub(super) fn unjudgeable_id(why: Unjudgeable) -> &'static str {
    match why {
        Unjudgeable::NoJudge => "no_judge",
        Unjudgeable::PromptGone => "prompt_gone",
        Unjudgeable::MessagesGone => "messages_gone",
    }
}
