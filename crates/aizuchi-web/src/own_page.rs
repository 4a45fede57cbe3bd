//! The address of a page of this server, to return to after a form or a sign-in. It comes from a form or a link, so an
//! attacker may have chosen it: an address elsewhere would make these pages an open redirect.

use axum::response::Redirect;
use serde::{Deserialize, Deserializer};

/// The path of a page with its query, without anything that a browser could take for another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPage(String);

/// The maximum length of an address, so that a form that carries one stays below its own limit.
const MAX_LENGTH: usize = 1000;
/// Paths below `/console/` that are not pages: a stream and a style sheet.
const NOT_PAGES: [&str; 2] = ["console/events", "console/report.css"];

impl OwnPage {
    /// Returns `None` if it is not the address of a page here. In such an address, characters other than ASCII are
    /// percent-encoded.
    pub fn parse(address: &str) -> Option<Self> {
        // Browsers take a backslash for a slash, so `/\host` would lead to another host.
        let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let path = address.split(['?', '#']).next()?;
        let is_own = is_plain && address.len() <= MAX_LENGTH && is_page(path);
        is_own.then(|| Self(address.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the local room's page, to which a sign-in leads anyway.
    pub fn is_room(&self) -> bool {
        self.0 == "/"
    }

    /// Redirects a browser to this page, or without one to the usual one.
    pub fn redirect(page: Option<&Self>, usual: &str) -> Redirect {
        Redirect::to(page.map_or(usual, Self::as_str))
    }
}

/// Deserializes a field of a form or a query. A foreign address counts as none, so that the form is carried out all
/// the same.
pub fn if_own<'de, D: Deserializer<'de>>(field: D) -> Result<Option<OwnPage>, D::Error> {
    let address = Option::<String>::deserialize(field)?;
    Ok(address.as_deref().and_then(OwnPage::parse))
}

fn is_page(path: &str) -> bool {
    let Some(path) = path.strip_prefix('/') else { return false };
    let is_known =
        path == "console" || path.starts_with("console/") || path.starts_with("decisions/");
    let is_room = path.is_empty();
    is_room || is_known && path.split('/').all(is_name) && !NOT_PAGES.contains(&path)
}

/// Whether a part of a path is a name. Browsers take `.` and `..`, also percent-encoded, as steps.
fn is_name(part: &str) -> bool {
    let part = part.to_ascii_lowercase().replace("%2e", ".");
    !matches!(&*part, "" | "." | "..")
}

#[cfg(test)]
mod tests {
    use axum::http::header;
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn pages_of_this_server_are_own() {
        for address in [
            "/",
            "/?channel=general",
            "/console",
            "/console?x=1#y",
            "/console/queue",
            "/console/queue?before=7",
            "/console/orders",
            "/console/orders?workspace=slack%3AT1",
            "/console/memory?workspace=slack%3AT1&person=%E5%81%A5#journal",
            "/console/channels/slack%3AT1/a%2Fb?q=//evil.example",
            "/console/decisions/slack:T1/7",
            "/decisions/7",
        ] {
            let page = OwnPage::parse(address);
            assert_eq!(page.as_ref().map(OwnPage::as_str), Some(address), "{address}");
            let answer = OwnPage::redirect(page.as_ref(), "/").into_response();
            assert_eq!(answer.headers()[header::LOCATION], address);
        }
    }

    #[test]
    fn no_other_address_is_own() {
        let long = format!("/console/memory?person={}", "a".repeat(MAX_LENGTH));
        for address in [
            "",
            "console",
            " /console",
            "https://evil.example",
            "https://evil.example/console",
            "https:/console",
            "javascript:alert(1)",
            "data:text/html,x",
            "//evil.example",
            "//evil.example/console",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "\\/evil.example",
            "/%2Fevil.example",
            "/%5Cevil.example",
            "/\t/evil.example",
            "/console\t",
            "/console\r\nset-cookie: x=y",
            "/console\nx",
            "/console\0",
            "/console\u{7f}",
            "/console/\u{202e}",
            "/console／／evil.example",
            "/consoleevil",
            "/console@evil.example",
            "/console.evil.example",
            "/console/",
            "/console//evil.example",
            "/console/queue//evil.example",
            "/console/..//evil.example",
            "/console/../logout",
            "/console/./queue",
            "/console/%2e%2e/logout",
            "/console/%2E./logout",
            "/console/a\\b",
            "/console?x=\\",
            "/decisions",
            "/decisionsevil",
            "/login",
            "/login?next=/console",
            "/logout",
            "/api/channels",
            "/events",
            "/console/events",
            "/console/report.css",
            "/static/room.js",
            "/slack/events",
            &*long,
        ] {
            assert_eq!(OwnPage::parse(address), None, "{address:?}");
        }
        let answer = OwnPage::redirect(None, "/console").into_response();
        assert_eq!(answer.headers()[header::LOCATION], "/console");
    }

    #[test]
    fn a_foreign_address_in_a_form_counts_as_none() {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            #[serde(default, deserialize_with = "if_own")]
            back: Option<OwnPage>,
        }
        for (form, expected) in [
            (serde_json::json!({ "back": "/console/queue" }), Some("/console/queue")),
            (serde_json::json!({ "back": "//evil.example" }), None),
            (serde_json::json!({ "back": null }), None),
            (serde_json::json!({}), None),
        ] {
            let fields: Fields = serde_json::from_value(form.clone()).unwrap();
            assert_eq!(fields.back.as_ref().map(OwnPage::as_str), expected, "{form}");
        }
    }
}
