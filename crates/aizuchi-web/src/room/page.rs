//! The page of the local room and its static files.

use std::collections::BTreeMap;
use std::sync::Arc;

use aizuchi_model::access_scope::AccessScope;
use aizuchi_model::chat::AuthorKind;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::texts;
use aizuchi_platform::local::limits::MAX_FILES;
use askama::Template;
use axum::extract::rejection::PathRejection;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::RustEmbed;
use serde_json::json;

use crate::access::Visitor;
use crate::language::PageLanguage;
use crate::refusal::Refusal;
use crate::{ApiProblem, Web};

#[derive(Template)]
#[template(path = "room.html")]
struct RoomPage<'a> {
    language: &'a str,
    persona: &'a str,
    /// JSON inside a `script` element.
    settings: String,
    /// The progress of the backfill, empty when it is complete.
    backfill_progress: String,
    has_session: bool,
}

#[derive(RustEmbed)]
#[folder = "src/static"]
struct Files;

/// The colors that the report shares with all pages.
#[derive(RustEmbed)]
#[folder = "../aizuchi-past/src/report/style"]
struct ReportStyle;

pub async fn room(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
) -> Result<Html<String>, ApiProblem> {
    // The gates that settle a message when it is heard. The persona's own messages need no reason, and a command has
    // its answer.
    let gates = [Gate::OptedOut, Gate::OtherBot, Gate::Backfilled, Gate::ChannelMode];
    let gates = gates.map(|gate| {
        (gate.name(), texts::judging::gate_reason_when_heard(language, gate, AuthorKind::Human))
    });
    let gates: BTreeMap<&str, &str> = gates.into();
    let settings = json!({
        "language": language.tag(),
        "persona": web.persona.name,
        "wait_seconds": web.room_wait_seconds,
        "usual_wait_seconds": web.platform_wait_seconds,
        "mind": web.models.response(),
        "judge": web.models.judgment(),
        "gates": gates,
        "max_upload_bytes": web.room.max_upload_bytes(),
        "max_files": MAX_FILES,
    });
    // A platform counts the channels of all its workspaces.
    let backfills = match web.scope {
        AccessScope::Everything => web.platforms.backfill_progress(),
        AccessScope::Only(_) => Vec::new(),
    };
    let backfills = backfills.into_iter().filter(|it| !it.is_complete());
    let backfills: Vec<String> = backfills.map(|progress| progress.describe(language)).collect();
    let page = RoomPage {
        backfill_progress: backfills.join(" "),
        has_session: visitor.session.is_some(),
        language: language.tag(),
        persona: &web.persona.name,
        // A name with `</script>` must not close the element.
        settings: settings.to_string().replace('<', "\\u003c"),
    };
    page.render().map(Html).map_err(|_| Refusal::PageFailed.into())
}

pub async fn file(name: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Response {
    let found = |Path(name): Path<String>| Files::get(&name).or_else(|| ReportStyle::get(&name));
    let Some(file) = name.ok().and_then(found) else {
        return ApiProblem::from(Refusal::NoFile).into_response();
    };
    let hash = file.metadata.sha256_hash();
    let tag = format!("\"{}\"", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    // The tag of a compressed response is weak.
    let is_known = known.is_some_and(|known| known.trim_start_matches("W/") == tag);
    let headers = [
        (header::CONTENT_TYPE, file.metadata.mimetype().to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, file.data.into_owned()).into_response()
}
