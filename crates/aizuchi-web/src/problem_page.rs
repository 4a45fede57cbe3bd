//! A refusal in the reader's language: a page for people, JSON for programs.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use askama::Template;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::ApiProblem;
use crate::own_page::OwnPage;

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
    /// The page that the browser came from.
    origin: Option<OwnPage>,
}

impl RefusedRequest {
    /// Reads a request whose response is in this language.
    pub fn new(request: &Request, language: Language) -> Self {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let is_for_browser = is_for_browser(&method, &path, request.headers());
        let origin = origin(request.headers());
        Self { method, path, language, is_for_browser, origin }
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
        let (title, detail) = match (self.method == Method::GET, is_missing) {
            (true, true) => (texts::pages::nothing_here(language), String::new()),
            (true, false) => (texts::pages::not_shown(language), problem.0.describe(language)),
            (false, _) => (texts::pages::not_done(language), problem.0.describe(language)),
        };
        let home = if self.path.starts_with("/console") { "/console" } else { "/" };
        let page = ProblemPage {
            language: language.tag(),
            title,
            detail: &detail,
            back: texts::pages::go_back(language),
            address: self.origin.as_ref().map_or(home, OwnPage::as_str),
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

/// Returns the page of this server from which a request was sent.
fn origin(headers: &HeaderMap) -> Option<OwnPage> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let (_scheme, address) = text(header::REFERER)?.split_once("://")?;
    OwnPage::parse(address.strip_prefix(text(header::HOST)?)?)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::refusal::Refusal;

    const CHANNELS: &str = "http://localhost:1/console/channels?q=tea";

    /// The page of a refusal.
    async fn shown(method: Method, path: &str, referer: &str, refusal: Refusal) -> String {
        let request = Request::builder().method(method).uri(path).header("accept", "text/html");
        let request = request.header("host", "localhost:1").header("referer", referer);
        let request = RefusedRequest::new(&request.body(Body::empty()).unwrap(), Language::En);
        let answer = request.translate(ApiProblem::from(refusal).into_response());
        let page = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(page.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_refused_form_says_that_nothing_was_done_and_leads_back_to_its_page() {
        let form = "/console/channels";
        for (method, path, referer, refusal, title, back) in [
            (
                Method::POST,
                form,
                CHANNELS,
                Refusal::NoChannelChosen,
                "Not done.",
                "/console/channels?q=tea",
            ),
            (
                Method::POST,
                form,
                CHANNELS,
                Refusal::NothingHere,
                "Not done.",
                "/console/channels?q=tea",
            ),
            (Method::POST, form, "", Refusal::NoChannelChosen, "Not done.", "/console"),
            (
                Method::GET,
                form,
                CHANNELS,
                Refusal::NothingHere,
                "There is nothing here.",
                "/console/channels?q=tea",
            ),
            (Method::GET, form, "", Refusal::UnclearTime, "This cannot be shown.", "/console"),
            (
                Method::GET,
                "/x",
                "http://localhost:1/login",
                Refusal::NothingHere,
                "There is nothing here.",
                "/",
            ),
        ] {
            let page = shown(method, path, referer, refusal).await;
            assert!(page.contains(&format!("<h1>{title}</h1>")), "{path} {referer}: {page}");
            assert!(page.contains(&format!("<a href=\"{back}\" data-testid=\"back\">")), "{page}");
        }
    }

    #[tokio::test]
    async fn a_refused_form_leads_to_no_other_site() {
        for referer in [
            "https://evil.example/console/channels",
            "http://localhost:1.evil.example/console/channels",
            "http://localhost:1@evil.example/console/channels",
            "http://localhost:1//evil.example",
            "/console/channels",
        ] {
            let page =
                shown(Method::POST, "/console/channels", referer, Refusal::NoChannelChosen).await;
            assert!(page.contains("<a href=\"/console\" data-testid"), "{referer}: {page}");
        }
    }
}
