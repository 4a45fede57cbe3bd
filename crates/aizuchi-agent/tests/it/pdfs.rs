//! PDFs: their reader's result is kept, and the reader can neither delay nor prevent an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aizuchi_agent::agent::AgentSettings;
use aizuchi_agent::agent::files::FileSettings;
use aizuchi_agent::documents::{DocumentError, DocumentReader, DocumentText};
use aizuchi_harness::fixtures::{message, top_level};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::Message;
use aizuchi_model::chat::attachment::{Attachment, AttachmentContent};
use async_trait::async_trait;

/// Returns the same result for every PDF.
struct Reader {
    says: Result<String, DocumentError>,
    asked: AtomicUsize,
}

#[async_trait]
impl DocumentReader for Reader {
    async fn pdf_text(&self, _bytes: Vec<u8>) -> Result<DocumentText, DocumentError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.says.clone().map(|text| DocumentText { text, is_cut: false })
    }
}

fn pdf(id: &str, size_bytes: u64) -> Attachment {
    Attachment::new(id, "oars.pdf", "application/pdf", size_bytes)
}

async fn reading(
    store: TestStore,
    says: Result<&str, DocumentError>,
    options: HarnessOptions,
) -> (Harness, Arc<Reader>) {
    let reader = Reader { says: says.map(str::to_owned), asked: AtomicUsize::new(0) };
    let reader = Arc::new(reader);
    let options = HarnessOptions { documents: Some(reader.clone()), ..options };
    let harness = Harness::new(store).await.with_options(options);
    for (id, bytes) in [("P1", &b"%PDF-1.7 bytes"[..]), ("H1", &b"<html>"[..])] {
        harness.platform.files.lock().unwrap().insert(id.to_owned(), bytes.to_vec());
    }
    (harness, reader)
}

async fn sends(harness: &Harness, id: &str, files: Vec<Attachment>) {
    let sent = message(top_level("garden"), id, harness.clock.now(), "alice", "@Aizuchi look");
    harness.hear(Message { attachments: files, ..sent }).await;
    harness.pass(10).await;
}

fn newest_prompt(harness: &Harness) -> String {
    harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap()
}

#[tokio::test]
async fn a_pdf_is_read_once_when_it_is_needed() {
    on_every_store(async |store| {
        let says = Ok("\n\nTwo oars\n# and a sail\u{202e}\n");
        let (harness, reader) = reading(store, says, HarnessOptions::default()).await;
        for id in ["m-1", "m-2"] {
            let files = if id == "m-1" { vec![pdf("P1", 14)] } else { Vec::new() };
            sends(&harness, id, files).await;
            let prompt = newest_prompt(&harness);
            let lines = "[file “oars.pdf”, it begins:]\n> Two oars\n\\> # and a sail";
            assert!(prompt.contains(lines), "{prompt}");
        }
        assert_eq!(reader.asked.load(Ordering::SeqCst), 1);
    })
    .await;
}

#[tokio::test]
async fn what_no_reader_can_read_is_asked_about_once() {
    let unavailable = || DocumentError::Unavailable("no more processes".to_owned());
    for (says, id, asked, expected) in [
        (Err(DocumentError::Unreadable), "P1", 1, Some(AttachmentContent::Unreadable)),
        (Ok(" \u{200b}\n"), "P1", 1, Some(AttachmentContent::Unreadable)),
        // It only claims to be a PDF.
        (Ok("never"), "H1", 0, Some(AttachmentContent::Unreadable)),
        // A retry may succeed.
        (Err(unavailable()), "P1", 2, None),
    ] {
        on_every_store(async |store| {
            let (harness, reader) = reading(store, says.clone(), HarnessOptions::default()).await;
            sends(&harness, "m-1", vec![pdf(id, 14)]).await;
            sends(&harness, "m-2", Vec::new()).await;
            assert_eq!(harness.platform.posted_texts().len(), 2);
            assert_eq!(reader.asked.load(Ordering::SeqCst), asked);
            let stored = harness.messages("garden").await;
            assert_eq!(stored[0].message.attachments[0].content, expected);
        })
        .await;
    }
}

#[tokio::test]
async fn a_pdf_that_is_too_large_or_not_wanted_is_not_fetched() {
    for (max_pdf_bytes, size) in [(10_000_000, 10_000_001), (0, 0)] {
        on_every_store(async |store| {
            let files = FileSettings { max_pdf_bytes, ..FileSettings::default() };
            let settings = AgentSettings { files, ..HarnessOptions::default().settings };
            let options = HarnessOptions { settings, ..HarnessOptions::default() };
            let (harness, reader) = reading(store, Ok("never"), options).await;
            sends(&harness, "m-1", vec![pdf("P1", size)]).await;
            let line = "[file “oars.pdf”, its content is unknown]";
            assert!(newest_prompt(&harness).contains(line));
            assert_eq!(reader.asked.load(Ordering::SeqCst), 0);
            assert!(harness.platform.fetched.lock().unwrap().is_empty());
        })
        .await;
    }
}
