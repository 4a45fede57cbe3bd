//! The web tools: what a reply searches and reads on the web. An address is read only if it occurs in full in the
//! conversation or in a tool's results. Otherwise a member could make the model write what it knows into an address of
//! the member's.

use std::fmt::Write as _;

use aizuchi_llm::prompt::neutralize_text::to_inert_text;
use aizuchi_model::chat::{is_line_break, to_single_line};
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::web_call::{WebCall, WebLimit};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tracing::{info, warn};

use crate::agent::tools::Toolbox;
use crate::agent::tools::quoted_results::{NOTE_TOKENS, fit, write_quoted};
use crate::agent::tools::spec::Tool;
use crate::web_access::{
    MAX_ADDRESS_BYTES, Page, RefusedAddress, SearchAnswer, SearchResult, WebError, WebTools,
};

/// The maximum number of sources that are named below an answer.
const MAX_SOURCES: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WebSearchArguments {
    query: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WebFetchArguments {
    url: String,
}

/// The web tools as one reply may use them.
pub struct WebSession {
    tools: WebTools,
    clock: Clock,
    /// When the last call has to end: the rest of the time is for the model's answer.
    deadline: Timestamp,
    /// The record that counts each call.
    call: WebCall,
    sources: Vec<ReadPage>,
}

/// Why a call is not made.
enum NotCounted {
    Limit(WebLimit),
    Failed(StoreError),
}

/// A page that was read.
struct ReadPage {
    /// The address as the model requested it.
    requested: String,
    /// The address of the page that was read, after redirects.
    address: String,
}

/// The result of a web tool.
struct WebResult {
    parts: Vec<ResultPart>,
    /// Whether some of it has already been left out.
    is_cut: bool,
}

enum ResultPart {
    /// Text that may repeat what the model asked for, so an address does not become known by occurring in it.
    Repeated(String),
    /// Text from the index of a search engine, or from a page.
    Found(String),
}

impl WebSession {
    pub fn new(tools: WebTools, clock: Clock, deadline: Timestamp, call: WebCall) -> Self {
        Self { tools, clock, deadline, call, sources: Vec::new() }
    }

    async fn within_deadline<T>(
        &self,
        work: impl Future<Output = Result<T, WebError>>,
    ) -> Result<T, WebError> {
        let left = self.deadline.duration_since(self.clock.now());
        if left <= SignedDuration::ZERO {
            return Err(WebError::TimedOut);
        }
        self.clock.timeout(left, work).await.unwrap_or(Err(WebError::TimedOut))
    }
}

impl Toolbox {
    /// Counts a call, unless a limit is reached. A call that cannot be counted is not made.
    async fn count_web_call(&self, now: Timestamp) -> Result<(), NotCounted> {
        let call = &self.web.call;
        if call.limits.is_unlimited() {
            return Ok(());
        }
        match self.store.count_web_call(call, now).await {
            Ok(None) => Ok(()),
            Ok(Some(limit)) => Err(NotCounted::Limit(limit)),
            Err(error) => Err(NotCounted::Failed(error)),
        }
    }

    /// Names the pages that were read, if the text names none of them.
    pub(in crate::agent) fn sources(&self, text: &str) -> Option<String> {
        let is_named = |source: &ReadPage| {
            [&source.requested, &source.address]
                .iter()
                .any(|address| text.contains(address.as_str()))
        };
        let sources = &self.web.sources;
        if sources.is_empty() || sources.iter().any(is_named) {
            return None;
        }
        let addresses = sources.iter().take(MAX_SOURCES).map(|source| source.address.as_str());
        let addresses: Vec<&str> = addresses.collect();
        Some(texts::tools::sources(self.language, &addresses.join(", ")))
    }

    pub(super) async fn web_search(
        &mut self,
        arguments: &WebSearchArguments,
        now: Timestamp,
        tokens_left: u64,
    ) -> String {
        let query = to_single_line(&arguments.query);
        if query.is_empty() {
            return texts::tools::empty_query(self.language).to_owned();
        }
        if self.secrets.has_secret(&query) {
            return texts::tools::secret_not_sent(self.language).to_owned();
        }
        // Counted just before the request, so a refused one uses up nothing.
        if let Err(why) = self.count_web_call(now).await {
            let failed = texts::tools::web_search_failed(self.language);
            return describe_not_counted(&why, failed, self.language).to_owned();
        }
        let Some(engine) = self.web.tools.search.clone() else {
            return texts::tools::web_search_failed(self.language).to_owned();
        };
        let answer = match self.web.within_deadline(engine.search(&query)).await {
            Ok(answer) => answer,
            Err(error) => {
                warn!(error = %error, "searching the web for a reply failed");
                self.note_failed(Tool::WebSearch.name(), &error);
                return texts::tools::web_search_failed(self.language).to_owned();
            }
        };
        let Some(shown) = self.format_answer(&query, &answer) else {
            return texts::tools::nothing_found(self.language).to_owned();
        };
        self.show(&shown, tokens_left)
    }

    pub(super) async fn web_fetch(
        &mut self,
        arguments: &WebFetchArguments,
        now: Timestamp,
        tokens_left: u64,
    ) -> String {
        let address = arguments.url.trim();
        if !is_web_address(address) {
            return texts::tools::no_page_address(self.language).to_owned();
        }
        if !self.is_known_address(address) {
            return texts::tools::unknown_page_address(self.language).to_owned();
        }
        if self.secrets.has_secret(address) {
            return texts::tools::secret_not_sent(self.language).to_owned();
        }
        if let Err(why) = self.count_web_call(now).await {
            let failed = texts::tools::page_not_read(self.language);
            return describe_not_counted(&why, failed, self.language).to_owned();
        }
        let Some(reader) = self.web.tools.reader.clone() else {
            return texts::tools::page_not_read(self.language).to_owned();
        };
        let page = match self.web.within_deadline(reader.read(address)).await {
            Ok(page) => page,
            Err(error) => {
                info!(error = %error, "a page could not be read for a reply");
                self.note_failed(Tool::WebFetch.name(), &error);
                return describe_error(error, self.language);
            }
        };
        let requested = address.to_owned();
        // After a redirect the page has another address, which the answer may name.
        self.known_urls.add(&page.address);
        self.web.sources.push(ReadPage { requested, address: page.address.clone() });
        let shown = self.format_page(&page);
        self.show(&shown, tokens_left)
    }

    /// Whether the address occurs in the conversation or in a result. A trailing slash makes no difference. It is not
    /// enough that its host may be linked: the model could have made up the rest.
    fn is_known_address(&self, address: &str) -> bool {
        let bare = address.strip_suffix('/').unwrap_or(address);
        [bare, &format!("{bare}/")].iter().any(|form| self.known_urls.has_seen(form))
    }

    /// Formats the results, numbered. Their texts are quoted, so that no text can forge another result (invariant 10).
    fn format_answer(&self, query: &str, answer: &SearchAnswer) -> Option<WebResult> {
        let most = self.web.tools.max_result_characters;
        let query = texts::tools::web_results(self.language, query);
        let mut parts = vec![ResultPart::Repeated(format!("{query}\n"))];
        let summary = answer.summary.as_deref().filter(|summary| !summary.trim().is_empty());
        if let Some(summary) = summary {
            let mut quoted = String::new();
            write_quoted(&mut quoted, "", &shorten(summary.trim(), most));
            parts.push(ResultPart::Repeated(quoted));
        }
        let results = answer.results.iter().filter(|result| is_web_address(&result.address));
        let results: Vec<&SearchResult> = results.collect();
        for (result, number) in results.iter().zip(1..) {
            let title = to_single_line(&result.title);
            parts.push(ResultPart::Repeated(format!("{number}. **{title}**\n")));
            let mut found = format!("   <{}>\n", result.address);
            write_quoted(&mut found, "   ", &shorten(result.text.trim(), most));
            parts.push(ResultPart::Found(found));
        }
        let has_found = !results.is_empty() || summary.is_some();
        has_found.then_some(WebResult { parts, is_cut: false })
    }

    /// Formats the page, quoted.
    fn format_page(&self, page: &Page) -> WebResult {
        let mut text = String::new();
        if let Some(title) = &page.title {
            let _ = writeln!(text, "**{}**", to_single_line(title));
        }
        let _ = writeln!(text, "<{}>", page.address);
        let most = self.web.tools.max_page_characters;
        let end = page.text.char_indices().nth(most).map(|(end, _)| end);
        write_quoted(&mut text, "", &page.text[..end.unwrap_or(page.text.len())]);
        WebResult { parts: vec![ResultPart::Found(text)], is_cut: page.is_cut || end.is_some() }
    }

    /// Returns as much of a result as fits. The URLs in the part that the model sees may be read and linked from now
    /// on.
    fn show(&mut self, result: &WebResult, tokens_left: u64) -> String {
        let mut text = String::new();
        let mut found = Vec::new();
        for part in &result.parts {
            let start = text.len();
            match part {
                ResultPart::Repeated(part) => text.push_str(&to_inert_text(part)),
                ResultPart::Found(part) => {
                    text.push_str(&to_inert_text(part));
                    found.push(start..text.len());
                }
            }
        }
        let text = text.trim_end();
        let fitting = fit(text, tokens_left.saturating_sub(NOTE_TOKENS));
        for part in found {
            let seen = fitting.get(part.start..part.end.min(fitting.len()));
            self.known_urls.add(seen.unwrap_or_default());
        }
        if result.is_cut || fitting.len() < text.len() {
            return format!("{fitting}\n\n{}", texts::tools::page_cut(self.language));
        }
        fitting.to_owned()
    }
}

fn describe_not_counted(
    why: &NotCounted,
    failed: &'static str,
    language: Language,
) -> &'static str {
    match why {
        NotCounted::Limit(WebLimit::Answer) => texts::tools::web_limit_of_reply(language),
        NotCounted::Limit(WebLimit::User) => texts::tools::web_limit_of_person(language),
        NotCounted::Limit(WebLimit::Day) => texts::tools::web_limit_of_day(language),
        NotCounted::Failed(error) => {
            warn!(error = %error, "a look-up on the web could not be counted");
            failed
        }
    }
}

fn describe_error(error: WebError, language: Language) -> String {
    let text = match error {
        WebError::Status(status) => return texts::tools::page_status(language, status),
        WebError::Refused(RefusedAddress::NoAddress | RefusedAddress::Scheme) => {
            texts::tools::no_page_address(language)
        }
        WebError::Refused(
            RefusedAddress::UserInfo | RefusedAddress::Port | RefusedAddress::Internal,
        ) => texts::tools::page_address_refused(language),
        WebError::Refused(RefusedAddress::Downgrade) => texts::tools::page_unencrypted(language),
        WebError::TimedOut => texts::tools::page_timed_out(language),
        WebError::NotText => texts::tools::page_not_text(language),
        WebError::TooLarge => texts::tools::page_too_large(language),
        WebError::Empty => texts::tools::page_empty(language),
        WebError::Unreachable
        | WebError::Broken
        | WebError::TooManyRedirects
        | WebError::KeyRefused
        | WebError::UsedUp
        | WebError::NoJson
        | WebError::Unusable => texts::tools::page_not_read(language),
    };
    text.to_owned()
}

/// Whether the text looks like a whole web address and cannot break out of the line that shows it.
fn is_web_address(address: &str) -> bool {
    let is_web = ["http://", "https://"].iter().any(|scheme| {
        address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    });
    let breaks_out = |character: char| {
        character.is_whitespace()
            || character.is_control()
            || is_line_break(character)
            || "<>".contains(character)
    };
    is_web && address.len() <= MAX_ADDRESS_BYTES && !address.contains(breaks_out)
}

fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_addresses_are_web_addresses() {
        for (address, expected) in [
            ("https://a.example/b?c=1", true),
            ("HTTP://A.example", true),
            ("ftp://a.example", false),
            ("a.example", false),
            ("https://a.example/> b", false),
            ("https://a.example/\nb", false),
            ("", false),
            ("htt", false),
            ("相槌", false),
        ] {
            assert_eq!(is_web_address(address), expected, "{address}");
        }
    }
}
