//! The language of a page: the one that the reader's browser asks for if it is supported, else that of the chat.

use std::convert::Infallible;
use std::sync::Arc;

use aizuchi_model::persona::Language;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::Web;

const LANGUAGES: [Language; 2] = [Language::En, Language::Ja];

#[derive(Clone, Copy, Debug)]
pub struct PageLanguage(pub Language);

impl FromRequestParts<Arc<Web>> for PageLanguage {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, web: &Arc<Web>) -> Result<Self, Infallible> {
        Ok(Self(language_of(&parts.headers).unwrap_or(web.persona.language)))
    }
}

/// Returns the supported language that the reader prefers (RFC 9110 §12.5.4).
pub fn language_of(headers: &HeaderMap) -> Option<Language> {
    let accepted = headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?;
    let known = accepted.split(',').filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let tag = parts.next()?.split('-').next()?;
        let language = LANGUAGES.into_iter().find(|own| tag.eq_ignore_ascii_case(own.tag()))?;
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        Some((language, weight.unwrap_or(1.0)))
    });
    let wanted = known.filter(|(_, weight)| *weight > 0.0);
    // Of several languages with the same weight, the first one wins.
    let best = wanted.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(language, _)| language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_wanted_of_our_languages_is_chosen() {
        for (accepted, expected) in [
            ("ja", Some(Language::Ja)),
            ("en-US,en;q=0.9", Some(Language::En)),
            ("de-DE,de;q=0.9,ja;q=0.8,en;q=0.7", Some(Language::Ja)),
            ("en;q=0.2, JA-jp;q=0.3", Some(Language::Ja)),
            ("fr, *;q=0.5", None),
            ("en;q=0", None),
            ("", None),
        ] {
            let value = accepted.parse().unwrap();
            let headers = HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, value)]);
            assert_eq!(language_of(&headers), expected, "{accepted}");
        }
        assert_eq!(language_of(&HeaderMap::new()), None);
    }
}
