//! Reads pages and PDFs directly from their servers: without cookies and proxies, and only from addresses that were
//! checked.

use std::error::Error;
use std::io::Read as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aizuchi_http::body::read_beginning;
use aizuchi_model::chat::to_visible_text;
use async_trait::async_trait;
use flate2::read::MultiGzDecoder;
use reqwest::dns::Resolve;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::header::{HeaderMap, HeaderName};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use tokio::{task, time};
use tracing::debug;

use crate::documents::{DocumentError, DocumentReader, DocumentText, is_pdf};
use crate::web_access::address_guard::AddressGuard;
use crate::web_access::api::error_of;
use crate::web_access::charset::decode;
use crate::web_access::html::{HtmlText, read_html};
use crate::web_access::resolver::{GuardedResolver, SystemLookup};
use crate::web_access::{MAX_ADDRESS_BYTES, Page, PageReader, RefusedAddress, WebError};

/// The maximum size of a page that is read, both before and after decompression.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;
const MAX_REDIRECTS: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The `Accept` header, best types first.
const ACCEPTED: &str =
    "text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.7";
/// The `Accept` header if PDFs are read.
const ACCEPTED_WITH_PDF: &str = concat!(
    "text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.7, ",
    "application/pdf;q=0.6"
);

pub struct DirectReader {
    http: Client,
    guard: Arc<AddressGuard>,
    /// The time limit for reading a page, including all redirects.
    timeout: Duration,
    pdfs: Option<PdfReading>,
}

/// The reader of PDFs, and the maximum size of a PDF.
struct PdfReading {
    documents: Arc<dyn DocumentReader>,
    max_bytes: usize,
}

/// The beginning of a response's body.
#[derive(Debug, PartialEq, Eq)]
struct Body {
    bytes: Vec<u8>,
    /// Whether there was more.
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    Html,
    /// Plain text or JSON.
    Text,
    Pdf,
}

impl DirectReader {
    pub fn new(guard: AddressGuard, timeout: Duration) -> anyhow::Result<Self> {
        Self::with_lookup(guard, Arc::new(SystemLookup), timeout)
    }

    /// Creates a reader that resolves names with `lookup` instead of the system's resolver.
    pub fn with_lookup(
        guard: AddressGuard,
        lookup: Arc<dyn Resolve>,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        // Fails if one is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let guard = Arc::new(guard);
        let http = Client::builder()
            // A proxy would resolve the name itself, without the check.
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .dns_resolver(GuardedResolver { lookup, guard: guard.clone() })
            // A reused connection would bypass the resolver, and with it the check.
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("aizuchi/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self { http, guard, timeout, pdfs: None })
    }

    /// Also reads PDFs, up to this many bytes. They are untrusted, so `documents` has to be robust against any input.
    pub fn with_documents(self, documents: Arc<dyn DocumentReader>, max_bytes: usize) -> Self {
        let pdfs = (max_bytes > 0).then_some(PdfReading { documents, max_bytes });
        Self { pdfs, ..self }
    }

    async fn request(&self, url: &Url, timeout: Duration) -> Result<Response, WebError> {
        let request = self.http.get(url.clone()).timeout(timeout);
        let accepted = if self.pdfs.is_some() { ACCEPTED_WITH_PDF } else { ACCEPTED };
        // Decompressed below, within a limit: a small body may unpack to any size.
        let request = request.header(ACCEPT, accepted).header(ACCEPT_ENCODING, "gzip");
        request.send().await.map_err(|error| match refusal_in(&error) {
            Some(refusal) => refusal.into(),
            None => error_of(&error),
        })
    }
}

impl DirectReader {
    async fn read_response(
        &self,
        url: Url,
        response: Response,
        deadline: Instant,
    ) -> Result<Page, WebError> {
        let status = response.status();
        if !status.is_success() {
            return Err(WebError::Status(status.as_u16()));
        }
        let content_type = header(response.headers(), CONTENT_TYPE);
        let kind = body_kind(&content_type).ok_or(WebError::NotText)?;
        let max_bytes = match (kind, &self.pdfs) {
            (BodyKind::Html | BodyKind::Text, _) => MAX_BODY_BYTES,
            (BodyKind::Pdf, Some(pdfs)) => pdfs.max_bytes,
            (BodyKind::Pdf, None) => return Err(WebError::NotText),
        };
        let is_packed = match header(response.headers(), CONTENT_ENCODING).as_str() {
            "" | "identity" => false,
            "gzip" | "x-gzip" => true,
            _ => return Err(WebError::Broken),
        };
        let body = read_beginning(response, max_bytes).await;
        let (bytes, is_cut) = body.map_err(|error| error_of(&error))?;
        let body = Body { bytes, is_cut };
        // Both may take tens of milliseconds, during which this thread has other work to do.
        let unpack = move || if is_packed { unpack(&body, max_bytes) } else { Ok(body) };
        if let (BodyKind::Pdf, Some(pdfs)) = (kind, &self.pdfs) {
            let body = task::spawn_blocking(unpack).await.unwrap_or(Err(WebError::Broken))?;
            return pdfs.read(url, body, deadline).await;
        }
        let parse = move || parse_body(url, &unpack()?, kind, &content_type);
        task::spawn_blocking(parse).await.unwrap_or(Err(WebError::Broken))
    }
}

impl PdfReading {
    async fn read(&self, url: Url, body: Body, deadline: Instant) -> Result<Page, WebError> {
        if body.is_cut {
            return Err(WebError::TooLarge);
        }
        if !is_pdf(&body.bytes) {
            return Err(WebError::NotText);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        // Other PDFs may be being read, and this one waits for them.
        let reading = time::timeout(left, self.documents.pdf_text(body.bytes));
        match reading.await.map_err(|_| WebError::TimedOut)? {
            Ok(DocumentText { text, is_cut }) => {
                let text = to_visible_text(&text).trim().to_owned();
                let page = Page { address: url.into(), title: None, text, is_cut };
                if page.text.is_empty() { Err(WebError::Empty) } else { Ok(page) }
            }
            Err(DocumentError::Unreadable) => Err(WebError::NotText),
            Err(error @ DocumentError::Unavailable(_)) => {
                debug!(%error, "a PDF of the web could not be read");
                Err(WebError::Unusable)
            }
        }
    }
}

#[async_trait]
impl PageReader for DirectReader {
    async fn read(&self, address: &str) -> Result<Page, WebError> {
        let deadline = Instant::now() + self.timeout;
        let mut url = self.guard.parse(address)?;
        for _ in 0..=MAX_REDIRECTS {
            let left = deadline.saturating_duration_since(Instant::now());
            let response = self.request(&url, left).await?;
            match redirect_target(&url, &response)? {
                Some(next) => {
                    self.guard.check_url(&next)?;
                    url = next;
                }
                None => return self.read_response(url, response, deadline).await,
            }
        }
        Err(WebError::TooManyRedirects)
    }

    /// Always succeeds, since it needs nothing but the internet.
    async fn check(&self) -> Result<(), WebError> {
        Ok(())
    }
}

/// Returns why the resolver refused a name, if it did.
fn refusal_in(error: &reqwest::Error) -> Option<RefusedAddress> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(refusal) = error.downcast_ref::<RefusedAddress>() {
            return Some(*refusal);
        }
        source = error.source();
    }
    None
}

/// Returns the target of a response, if it is a redirect.
fn redirect_target(url: &Url, response: &Response) -> Result<Option<Url>, RefusedAddress> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let location = response.headers().get(LOCATION).filter(|_| is_redirect);
    let Some(location) = location else { return Ok(None) };
    let location = std::str::from_utf8(location.as_bytes());
    let location = location.ok().filter(|location| location.len() <= MAX_ADDRESS_BYTES);
    let location = location.ok_or(RefusedAddress::NoAddress)?;
    let next = url.join(location).map_err(|_| RefusedAddress::NoAddress)?;
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(RefusedAddress::Downgrade);
    }
    Ok(Some(next))
}

fn parse_body(url: Url, body: &Body, kind: BodyKind, content_type: &str) -> Result<Page, WebError> {
    let text = decode(&body.bytes, content_type);
    let read = match kind {
        BodyKind::Html => read_html(&text, &url),
        BodyKind::Text | BodyKind::Pdf => {
            HtmlText { title: None, markdown: text.trim().to_owned(), is_cut: false }
        }
    };
    if read.markdown.is_empty() {
        return Err(WebError::Empty);
    }
    let is_cut = body.is_cut || read.is_cut;
    Ok(Page { address: url.into(), title: read.title, text: read.markdown, is_cut })
}

/// Returns a header in lower case, or an empty string.
fn header(headers: &HeaderMap, name: HeaderName) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().trim().to_ascii_lowercase()
}

fn body_kind(content_type: &str) -> Option<BodyKind> {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    match name {
        "text/html" | "application/xhtml+xml" => Some(BodyKind::Html),
        "text/plain" | "text/markdown" | "application/json" => Some(BodyKind::Text),
        "application/pdf" | "application/x-pdf" => Some(BodyKind::Pdf),
        name => name.ends_with("+json").then_some(BodyKind::Text),
    }
}

/// Decompresses the beginning of a body. If the body was cut, only its beginning can be decompressed.
fn unpack(packed: &Body, max_bytes: usize) -> Result<Body, WebError> {
    let mut bytes = Vec::new();
    let limit = max_bytes as u64 + 1;
    let read = MultiGzDecoder::new(&packed.bytes[..]).take(limit).read_to_end(&mut bytes);
    if read.is_err() && !packed.is_cut {
        return Err(WebError::Broken);
    }
    let is_cut = packed.is_cut || bytes.len() > max_bytes;
    bytes.truncate(max_bytes);
    Ok(Body { bytes, is_cut })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn only_text_is_read() {
        for (content_type, expected) in [
            ("text/html; charset=utf-8", Some(BodyKind::Html)),
            ("application/xhtml+xml", Some(BodyKind::Html)),
            ("text/plain", Some(BodyKind::Text)),
            ("application/json", Some(BodyKind::Text)),
            ("application/problem+json; charset=utf-8", Some(BodyKind::Text)),
            ("application/pdf", Some(BodyKind::Pdf)),
            ("image/svg+xml", None),
            ("application/octet-stream", None),
            ("text/javascript", None),
            ("", None),
        ] {
            assert_eq!(body_kind(content_type), expected, "{content_type}");
        }
    }

    #[test]
    fn a_compressed_body_has_the_same_limit() {
        let pack = |body: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        };
        let unpack = |body: &Body| unpack(body, MAX_BODY_BYTES);
        let whole = |bytes: Vec<u8>| Body { bytes, is_cut: false };
        let small = pack(b"roses");
        assert_eq!(unpack(&whole(small.clone())), Ok(whole(b"roses".to_vec())));
        // A decompression bomb
        let unpacked = unpack(&whole(pack(&vec![b'a'; 8_000_000]))).unwrap();
        assert_eq!((unpacked.bytes.len(), unpacked.is_cut), (MAX_BODY_BYTES, true));
        assert_eq!(unpack(&whole(b"no gzip".to_vec())), Err(WebError::Broken));
        let beginning = small[..small.len() - 9].to_vec();
        assert_eq!(unpack(&whole(beginning.clone())), Err(WebError::Broken));
        assert!(unpack(&Body { bytes: beginning, is_cut: true }).unwrap().is_cut);
    }
}
