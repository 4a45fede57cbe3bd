//! PDFs on the web: their text is extracted by the same port as for users' PDFs, and by nothing else.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aizuchi_agent::documents::{DocumentError, DocumentReader, DocumentText};
use aizuchi_agent::web_access::address_guard::AddressGuard;
use aizuchi_agent::web_access::direct_reader::DirectReader;
use aizuchi_agent::web_access::{Page, PageReader, WebError};
use aizuchi_model::ip_network::IpNetwork;
use async_trait::async_trait;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::web_server::{WebServer, redirect, response};

const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_BYTES: usize = 1_000;

/// Answers depending on the content of a document, and records what it was given.
#[derive(Default)]
struct Documents {
    given: Mutex<Vec<Vec<u8>>>,
}

#[async_trait]
impl DocumentReader for Documents {
    async fn pdf_text(&self, bytes: Vec<u8>) -> Result<DocumentText, DocumentError> {
        let held = String::from_utf8_lossy(&bytes).into_owned();
        self.given.lock().unwrap().push(bytes);
        match held.strip_prefix("%PDF-1.7 ") {
            Some("locked") => Err(DocumentError::Unreadable),
            Some("later") => Err(DocumentError::Unavailable("no processes".to_owned())),
            Some("endless") => std::future::pending().await,
            Some(text) => Ok(DocumentText { text: text.to_owned(), is_cut: text == "long" }),
            None => Err(DocumentError::Unreadable),
        }
    }
}

fn pdf(body: &[u8]) -> Vec<u8> {
    response(200, &[("content-type", "application/pdf")], body)
}

fn packed(body: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    let body = encoder.finish().unwrap();
    response(200, &[("content-type", "application/pdf"), ("content-encoding", "gzip")], &body)
}

fn respond(path: &str) -> Vec<u8> {
    let large = [&b"%PDF-1.7 "[..], &[b'x'; MAX_BYTES]].concat();
    match path {
        "/moved" => redirect("/roses.pdf"),
        "/roses.pdf" => pdf(b"%PDF-1.7 Prune them in March.\r\nNot\x20later.\n"),
        "/packed.pdf" => packed(b"%PDF-1.7 packed"),
        "/hidden.pdf" => pdf("%PDF-1.7 ro\u{200b}ses\u{e0041}".as_bytes()),
        "/blank.pdf" => pdf(b"%PDF-1.7  \n "),
        "/large.pdf" => pdf(&large),
        "/bomb.pdf" => packed(&large),
        "/page.pdf" => pdf(b"<html>no document"),
        name => pdf(format!("%PDF-1.7 {}", name.trim_matches('/')).as_bytes()),
    }
}

fn reader(port: u16, timeout: Duration) -> DirectReader {
    let loopback = IpNetwork::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
    DirectReader::new(AddressGuard::new(vec![loopback], &[port]), timeout).unwrap()
}

#[tokio::test]
async fn the_text_of_a_pdf_is_a_page() {
    let server = WebServer::start(respond).await;
    let documents = Arc::new(Documents::default());
    let reader = reader(server.port, TIMEOUT).with_documents(documents.clone(), MAX_BYTES);
    let address = |path: &str| format!("http://127.0.0.1:{}{path}", server.port);
    for (path, expected) in [
        ("/moved", Ok(("/roses.pdf", "Prune them in March.\nNot later."))),
        ("/packed.pdf", Ok(("/packed.pdf", "packed"))),
        ("/hidden.pdf", Ok(("/hidden.pdf", "roses"))),
        ("/blank.pdf", Err(WebError::Empty)),
        ("/locked", Err(WebError::NotText)),
        ("/later", Err(WebError::Unusable)),
    ] {
        let expected = expected.map(|(path, text)| Page {
            address: address(path),
            title: None,
            text: text.to_owned(),
            is_cut: false,
        });
        assert_eq!(reader.read(&address(path)).await, expected, "{path}");
    }
    // The model is told that it saw only the beginning.
    assert!(reader.read(&address("/long")).await.unwrap().is_cut);
    let accepted = server.requests().remove(0).to_lowercase();
    assert!(accepted.contains("application/pdf"), "{accepted}");
    // A body that cannot be a document, or is too large, is not passed on.
    let given = documents.given.lock().unwrap().len();
    for (path, expected) in [
        ("/large.pdf", WebError::TooLarge),
        ("/bomb.pdf", WebError::TooLarge),
        ("/page.pdf", WebError::NotText),
    ] {
        assert_eq!(reader.read(&address(path)).await, Err(expected), "{path}");
    }
    assert_eq!(documents.given.lock().unwrap().len(), given);
}

#[tokio::test]
async fn a_document_that_takes_for_ever_takes_no_longer_than_a_page_may() {
    let server = WebServer::start(respond).await;
    let documents = Arc::new(Documents::default());
    let hasty = reader(server.port, Duration::from_millis(300));
    let hasty = hasty.with_documents(documents, MAX_BYTES);
    let address = format!("http://127.0.0.1:{}/endless", server.port);
    assert_eq!(hasty.read(&address).await, Err(WebError::TimedOut));
}

#[tokio::test]
async fn without_what_reads_them_and_with_a_size_of_nothing_no_pdf_is_read() {
    let server = WebServer::start(respond).await;
    let documents = Arc::new(Documents::default());
    let none = reader(server.port, TIMEOUT);
    let nothing = reader(server.port, TIMEOUT).with_documents(documents.clone(), 0);
    let address = format!("http://127.0.0.1:{}/roses.pdf", server.port);
    for reader in [none, nothing] {
        assert_eq!(reader.read(&address).await, Err(WebError::NotText));
    }
    assert!(documents.given.lock().unwrap().is_empty());
    assert!(server.requests().iter().all(|request| !request.contains("application/pdf")));
}
