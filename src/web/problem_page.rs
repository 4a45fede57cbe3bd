//! A page for people in place of an error that a program would read.

use askama::Template;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::web::ApiProblem;
use aizuchi_core::persona::Language;
use aizuchi_core::texts;

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    language: &'a str,
    title: &'a str,
    /// Empty if the title says it all.
    detail: &'a str,
    back: &'a str,
    /// Where that leads.
    address: &'a str,
}

/// Whether somebody looks at the answer in a browser.
pub fn is_for_browser(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let is_page = accepted.is_some_and(|accepted| accepted.contains("text/html"));
    (*method == Method::GET || path.starts_with("/console/"))
        && is_page
        && !path.starts_with("/api/")
}

/// The page for a response that is an error, or the response itself.
pub fn page_for(
    response: Response,
    (method, path): (&Method, &str),
    language: Language,
) -> Response {
    let Some(problem) = response.extensions().get::<ApiProblem>() else { return response };
    let is_missing = problem.status == StatusCode::NOT_FOUND;
    let page = ProblemPage {
        language: language.tag(),
        title: match is_missing {
            true => texts::pages::nothing_here(language),
            false => texts::pages::not_shown(language),
        },
        // Of an order it has to be said what is missing.
        detail: if is_missing && *method == Method::GET { "" } else { &problem.detail },
        back: texts::pages::back(language),
        address: if path.starts_with("/console") { "/console" } else { "/" },
    };
    match page.render() {
        Ok(page) => (problem.status, Html(page)).into_response(),
        Err(_) => response,
    }
}
