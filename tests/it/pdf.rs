//! PDFs: their text is extracted in a separate process, and a hostile document ends only that process.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use aizuchi::pdf_text::{COMMAND, PdfProcesses};
use aizuchi_agent::documents::{DocumentError, DocumentReader as _};
use aizuchi_harness::providers::{Server, ServerLimits};
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::console::harness::client;
use crate::program::Home;

const PROGRAM: &str = env!("CARGO_BIN_EXE_aizuchi");

/// Builds a PDF from these objects, numbered from 1. The first one is the catalog.
fn pdf(objects: &[String]) -> Vec<u8> {
    let mut text = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(text.len());
        let _ = write!(text, "{} 0 obj\n{object}\nendobj\n", number + 1);
    }
    let table = text.len();
    let _ = write!(text, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        let _ = writeln!(text, "{place:010} 00000 n ");
    }
    let size = objects.len() + 1;
    let _ = write!(text, "trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n");
    text.into_bytes()
}

/// Returns the objects of one page with this content, as one of these children of the page tree.
fn objects(kids: &str, content: &str) -> Vec<String> {
    vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count 1 >>"),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ]
}

fn saying(words: &str) -> Vec<u8> {
    pdf(&objects("3 0 R", &format!("BT /F1 24 Tf 20 100 Td ({words}) Tj ET")))
}

fn reader() -> PdfProcesses {
    PdfProcesses::new(PROGRAM.into())
}

#[tokio::test]
async fn the_text_of_a_pdf_is_read() {
    let text = reader().pdf_text(saying("Two oars and a sail")).await.unwrap().text;
    assert!(text.contains("Two oars and a sail"), "{text}");
}

/// Returns a document with this many pages.
fn pages(count: usize) -> Vec<u8> {
    let kids: Vec<String> = (5..5 + count).map(|number| format!("{number} 0 R")).collect();
    let content = "BT /F1 24 Tf 20 100 Td (Another oar) Tj ET";
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {count} >>", kids.join(" ")),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 3 0 R \
                /Resources << /Font << /F1 4 0 R >> >> >>";
    objects.extend(kids.iter().map(|_| page.to_owned()));
    pdf(&objects)
}

/// A model that gets the first twenty pages must be told that there are more.
#[tokio::test]
async fn a_document_that_goes_on_is_told_from_a_whole_one() {
    for (count, expected) in [(1, false), (20, false), (21, true)] {
        let read = reader().pdf_text(pages(count)).await.unwrap();
        assert_eq!(read.is_cut, expected, "{count} pages");
        assert_eq!(read.text.matches("Another oar").count(), count.min(20));
        assert!(!read.text.contains('\u{4}'), "{:?}", read.text);
    }
}

/// Any hostile document ends soon, without text.
#[tokio::test]
async fn a_hostile_pdf_harms_nobody() {
    let deep = |character: &str| character.repeat(2_000_000);
    let nested = |content: String| {
        let mut all = objects("3 0 R", "BT ET");
        all.push(content);
        pdf(&all)
    };
    let mut cut = saying("cut");
    cut.truncate(200);
    for (name, bytes) in [
        ("nothing", Vec::new()),
        ("no PDF", b"<html>".to_vec()),
        ("a mark alone", b"%PDF-1.7".to_vec()),
        ("cut", cut),
        ("no page", pdf(&objects("", "BT ET"))),
        ("a page tree that is its own child", pdf(&objects("2 0 R", "BT ET"))),
        ("no text", pdf(&objects("3 0 R", "BT ET"))),
        ("deep arrays", nested(deep("["))),
        ("deep dictionaries", nested(deep("<</A "))),
        ("deep content", pdf(&objects("3 0 R", &deep("[")))),
        ("deep states", pdf(&objects("3 0 R", &deep("q ")))),
        ("a page that is not there", pdf(&objects("3 0 R", "BT ET")[..2])),
        (
            "noise",
            (0..1_000_000_u32)
                .map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8)
                .collect(),
        ),
    ] {
        let began = Instant::now();
        let read = reader().pdf_text(bytes).await;
        assert_eq!(read, Err(DocumentError::Unreadable), "{name}");
        assert!(began.elapsed() < Duration::from_secs(60), "{name}: {:?}", began.elapsed());
    }
}

/// A process that is missing or does not extract text costs only the text.
#[tokio::test]
async fn without_a_reader_there_is_no_text() {
    let nobody = PdfProcesses::new("/nonexistent/aizuchi".into());
    let read = nobody.pdf_text(saying("hi")).await;
    assert!(matches!(read, Err(DocumentError::Unavailable(_))), "{read:?}");
    // The document may be fine, and another process may be able to read it.
    for other in ["/bin/false", "/bin/echo"] {
        let read = PdfProcesses::new(other.into()).pdf_text(saying("hi")).await;
        assert!(matches!(read, Err(DocumentError::Unavailable(_))), "{other}: {read:?}");
    }
}

/// The command is internal: no help mentions it.
#[test]
fn no_help_names_the_reader() {
    let help = assert_cmd::Command::new(PROGRAM).arg("--help").output().unwrap();
    assert!(!String::from_utf8(help.stdout).unwrap().contains(COMMAND));
}

/// A PDF is sent in the local room, and its beginning becomes part of the prompt.
#[tokio::test]
async fn a_pdf_is_read_when_somebody_asks_about_it() {
    let model = Server::start(ServerLimits::default()).await;
    let home = Home::new(1000.0);
    home.add(&format!(
        "agents:\n  response:\n    model_id: openai/large-1\n    client_args: {{api_key: sk-test, api_base: '{}/v1'}}\n",
        model.base
    ));
    let program = home.start();
    let mut ids = Vec::new();
    for (name, bytes) in [("oars.pdf", saying("Two oars")), ("odd.pdf", b"%PDF-1.4 odd".to_vec())] {
        let address = format!("{}/api/files?name={name}", program.address);
        let upload = client().post(address).header(CONTENT_TYPE, "application/pdf").body(bytes);
        let answer: Value = upload.send().await.unwrap().json().await.unwrap();
        ids.push(answer["id"].clone());
    }
    model.will_say(&["Two of them."]);
    let text = "@Aizuchi how many oars?";
    let body = json!({ "channel": "general", "user": "mio", "text": text, "files": ids });
    let address = format!("{}/api/messages", program.address);
    let sent = client().post(address).json(&body).send().await.unwrap();
    assert_eq!(sent.status(), StatusCode::CREATED);
    home.until_kept("SELECT count(*) FROM decisions WHERE ended = 'spoke'", 1).await;
    let prompt = model.prompt();
    assert!(prompt.contains("[file “oars.pdf”, it begins:]\n> Two oars"), "{prompt}");
    assert!(prompt.contains("[file “odd.pdf”, it could not be opened]"), "{prompt}");
    assert_eq!(program.stop(), Some(0));
}
