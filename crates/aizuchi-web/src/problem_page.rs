//! A refusal in the reader's language: a page for people, JSON for programs.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::ApiProblem;

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    language: &'a str,
    title: &'a str,
    /// Empty if the title says it all.
    detail: &'a str,
    back: &'a str,
    /// Where the link back leads.
    address: &'a str,
}

/// The part of a request that the wording of a refusal depends on.
pub struct RefusedRequest {
    method: Method,
    path: String,
    language: Language,
    is_for_browser: bool,
}

impl RefusedRequest {
    /// Reads a request whose response is in this language.
    pub fn new(request: &Request, language: Language) -> Self {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let is_for_browser = is_for_browser(&method, &path, request.headers());
        Self { method, path, language, is_for_browser }
    }

    /// Translates the response for its reader if it is a refusal. Other responses stay as they are.
    pub fn translate(&self, mut response: Response) -> Response {
        let Some(problem) = response.extensions_mut().remove::<ApiProblem>() else {
            return response;
        };
        let translated = match self.is_for_browser {
            true => self.page(&problem).map(|page| Html(page).into_response()),
            false => Ok(problem.to_json(self.language).into_response()),
        };
        let Ok(translated) = translated else { return response };
        let (translated, body) = translated.into_parts();
        let (mut parts, _) = response.into_parts();
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.extend(translated.headers);
        parts
            .headers
            .insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(self.language.tag()));
        Response::from_parts(parts, body)
    }

    fn page(&self, problem: &ApiProblem) -> Result<String, askama::Error> {
        let language = self.language;
        let is_missing = problem.0.status() == StatusCode::NOT_FOUND;
        // For an order, the page also has to say what is missing.
        let is_in_title = is_missing && self.method == Method::GET;
        let detail = problem.0.describe(language);
        let page = ProblemPage {
            language: language.tag(),
            title: match is_missing {
                true => texts::pages::nothing_here(language),
                false => texts::pages::not_shown(language),
            },
            detail: if is_in_title { "" } else { &detail },
            back: texts::pages::back(language),
            address: if self.path.starts_with("/console") { "/console" } else { "/" },
        };
        page.render()
    }
}

/// Whether a person sees the response in a browser.
fn is_for_browser(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let is_page = accepted.is_some_and(|accepted| accepted.contains("text/html"));
    (*method == Method::GET || path.starts_with("/console/"))
        && is_page
        && !path.starts_with("/api/")
}
