//! The port of what takes the text out of documents. They come from anybody, and their formats are intricate, so whatever
//! implements it reads them where a crash or a loop harms nothing else.

use async_trait::async_trait;

#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// The beginning of the text of a PDF, never blank. Ends within seconds, whatever the bytes are; dropping the future
    /// ends the work.
    async fn pdf_text(&self, bytes: Vec<u8>) -> Result<String, DocumentError>;
}

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// It is no such document, has no text, or asks for too much. It stays so.
    #[error("the document cannot be read")]
    Unreadable,
    /// Nothing was read; another time may do.
    #[error("documents cannot be read now: {0}")]
    Unavailable(String),
}
