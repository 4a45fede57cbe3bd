//! The statuses and the names of refusals that other parts of the program declare. The names never change.

use aizuchi_config::models::in_use::choice::ChoiceError;
use aizuchi_model::refusal::RefusalKind;
use aizuchi_past::past_moment::Unjudgeable;
use axum::http::StatusCode;

pub(super) fn status((kind, id): (RefusalKind, &'static str)) -> (StatusCode, &'static str) {
    let status = match kind {
        RefusalKind::Forbidden => StatusCode::FORBIDDEN,
        RefusalKind::Unknown => StatusCode::NOT_FOUND,
        RefusalKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        RefusalKind::Conflict => StatusCode::CONFLICT,
        RefusalKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        RefusalKind::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        RefusalKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        RefusalKind::Full => StatusCode::INSUFFICIENT_STORAGE,
        RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, id)
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
