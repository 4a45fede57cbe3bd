//! The sign-in page, which asks for the token and then leads to the requested page, and the sign-out.

use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::order_journal::{OrderKind, OrderRecord};
use askama::Template;
use axum::Form;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use jiff::SignedDuration;
use serde::Deserialize;

use crate::access::Visitor;
use crate::auth::{SESSION_COOKIE, TokenCheck};
use crate::console::layout::encode;
use crate::language::PageLanguage;
use crate::own_page::{self, OwnPage};
use crate::peer::Client;
use crate::refusal::Refusal;
use crate::sessions::SESSION_AGE;
use crate::sign_in_link::Purpose;
use crate::{ApiProblem, REFUSAL_HEADER, Web};

#[derive(Template)]
#[template(path = "login.html")]
struct SignInPage<'a> {
    language: &'a str,
    persona: &'a str,
    question: &'a str,
    label: &'a str,
    button: &'a str,
    error: Option<&'a str>,
    /// The code of a one-time sign-in link, instead of a token.
    link: Option<&'a str>,
    /// The requested page.
    next: Option<&'a str>,
}

#[derive(Default, Deserialize)]
pub struct SignInForm {
    token: Option<String>,
    link: Option<String>,
    /// The requested page.
    #[serde(default, deserialize_with = "own_page::if_own")]
    next: Option<OwnPage>,
}

#[derive(Default, Deserialize)]
pub struct SignInQuery {
    link: Option<String>,
    #[serde(default, deserialize_with = "own_page::if_own")]
    next: Option<OwnPage>,
    /// Set if the page itself led here.
    again: Option<String>,
}

/// A link takes effect only after a click, so that programs that open links before people do cannot use it up.
pub async fn page(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    PageLanguage(language): PageLanguage,
    headers: HeaderMap,
    query: Result<Query<SignInQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let SignInQuery { link, next, again } = query.map(|Query(query)| query).unwrap_or_default();
    let next = next.as_ref();
    if let Some(link) = link {
        return Ok(render(&web, language, None, Some(&link), next)?.into_response());
    }
    let is_signed_in = again.is_some() && visitor.session.is_some();
    if is_signed_in || !web.authenticator.has_tokens() {
        return Ok(OwnPage::redirect(next, "/").into_response());
    }
    let page = render(&web, language, None, None, next)?;
    if again.is_some() || !is_from_other_site(&headers) {
        return Ok(page.into_response());
    }
    // A browser sends no session along with a link on another site, but it does when this page leads on.
    let next = next.map(|next| format!("&next={}", encode(next.as_str()))).unwrap_or_default();
    let refresh = [(header::REFRESH, format!("0; url=/login?again=yes{next}"))];
    Ok((refresh, page).into_response())
}

fn is_from_other_site(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site")
}

pub async fn sign_in(
    State(web): State<Arc<Web>>,
    Extension(client): Extension<Client>,
    PageLanguage(language): PageLanguage,
    headers: HeaderMap,
    form: Result<Form<SignInForm>, FormRejection>,
) -> Result<Response, ApiProblem> {
    let authenticator = &web.authenticator;
    let SignInForm { token, link, next } = form.map(|Form(form)| form).unwrap_or_default();
    let next = next.as_ref();
    let now = web.clock.now();
    // Before the check, so that a replacement of the tokens after it is not missed.
    let tokens_ended = authenticator.token_ended();
    let (holder, start) = if let Some(link) = link {
        let Some(holder) = authenticator.links.redeem(Purpose::SignIn, &link, now) else {
            return again(&web, language, next, &Refusal::WrongLink);
        };
        (holder, "/console")
    } else if !authenticator.has_tokens() {
        return Ok(OwnPage::redirect(next, "/").into_response());
    } else {
        match authenticator.check(&token.unwrap_or_default(), client.peer, now) {
            TokenCheck::Right(holder) => (holder, "/"),
            TokenCheck::Wrong => {
                return again(&web, language, next, &Refusal::WrongToken);
            }
            TokenCheck::TooSoon(wait) => {
                let seconds = retry_seconds(wait);
                let page = again(&web, language, next, &Refusal::TooManyTokens { seconds })?;
                let retry_after = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
                return Ok((retry_after, page).into_response());
            }
        }
    };
    let broken = |error| {
        tracing::error!(%error, "cannot make the id of a session");
        Refusal::SessionFailed
    };
    let (by, role) = (holder.name.clone(), holder.role.name());
    let id = authenticator.sessions.open(holder, &tokens_ended, now).map_err(broken)?;
    let record = OrderRecord { value: Some(role.into()), ..OrderRecord::new(OrderKind::SignIn) };
    web.note(workspace_id(), record, by).await;
    let cookie = set_cookie(&id, SESSION_AGE, &headers);
    Ok(([(header::SET_COOKIE, cookie)], OwnPage::redirect(next, start)).into_response())
}

pub async fn sign_out(
    State(web): State<Arc<Web>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Response {
    if let Some(session) = &visitor.session {
        web.authenticator.sessions.end(session);
    }
    let cookie = set_cookie("", SignedDuration::ZERO, &headers);
    ([(header::SET_COOKIE, cookie)], Redirect::to("/login")).into_response()
}

fn retry_seconds(wait: SignedDuration) -> u64 {
    wait.as_millis_f64().max(0.0).div_euclid(1000.0) as u64 + 1
}

fn set_cookie(id: &str, age: SignedDuration, headers: &HeaderMap) -> String {
    let seconds = age.as_secs();
    // A client can forge the headers that tell this, but only affects its own cookie.
    let secure = if is_https(headers) { "; Secure" } else { "" };
    format!("{SESSION_COOKIE}={id}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// Whether the browser reached the pages over TLS, which a proxy terminates.
fn is_https(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let forwarded = text("x-forwarded-proto").and_then(|value| value.split(',').next());
    forwarded.is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
        || text("origin").is_some_and(|origin| origin.starts_with("https://"))
}

/// Returns the sign-in page again, with the error.
fn again(
    web: &Web,
    language: Language,
    next: Option<&OwnPage>,
    refusal: &Refusal,
) -> Result<Response, ApiProblem> {
    let page = render(web, language, Some(&refusal.describe(language)), None, next)?;
    let id = [(REFUSAL_HEADER, refusal.id())];
    Ok((refusal.status(), id, page).into_response())
}

fn render(
    web: &Web,
    language: Language,
    error: Option<&str>,
    link: Option<&str>,
    next: Option<&OwnPage>,
) -> Result<Html<String>, ApiProblem> {
    let page = SignInPage {
        language: language.tag(),
        persona: &web.persona.name,
        question: match link {
            Some(_) => texts::pages::link_question(language),
            None => texts::pages::token_needed(language),
        },
        label: texts::pages::token(language),
        button: texts::pages::enter(language),
        error,
        link,
        next: next.map(OwnPage::as_str),
    };
    page.render().map(Html).map_err(|_| Refusal::PageFailed.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_over_tls_is_secure() {
        for (name, value, expected) in [
            ("x-forwarded-proto", "https", true),
            ("x-forwarded-proto", "HTTPS, http", true),
            ("x-forwarded-proto", "http", false),
            ("origin", "https://aizuchi.example", true),
            ("origin", "http://aizuchi.example", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let cookie = set_cookie("id", SESSION_AGE, &headers);
            assert_eq!(cookie.ends_with("; Secure"), expected, "{name}: {value}");
        }
    }
}
