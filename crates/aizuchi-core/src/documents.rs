//! The port of what takes the text out of documents. They come from anybody, and their formats are intricate, so whatever
//! implements it reads them where a crash or a loop harms nothing else.

use async_trait::async_trait;

/// It stands at the beginning of a PDF, perhaps behind some other bytes.
const PDF_MARK: &[u8] = b"%PDF-";
const MAX_BYTES_BEFORE_MARK: usize = 1024;

#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// The beginning of the text of a PDF, never blank. Ends within seconds, whatever the bytes are; dropping the future
    /// ends the work.
    async fn pdf_text(&self, bytes: Vec<u8>) -> Result<DocumentText, DocumentError>;
}

/// What a document says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentText {
    pub text: String,
    /// Whether the document goes on, as far as is known.
    pub is_cut: bool,
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

/// Whether the bytes look like a PDF, whatever their name says.
pub fn is_pdf(bytes: &[u8]) -> bool {
    let beginning = &bytes[..bytes.len().min(MAX_BYTES_BEFORE_MARK)];
    beginning.windows(PDF_MARK.len()).any(|part| part == PDF_MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pdf_is_known_by_its_mark() {
        let behind = |bytes: usize| [vec![b'x'; bytes], b"%PDF-1.7".to_vec()].concat();
        for (bytes, expected) in [
            (behind(0), true),
            (behind(900), true),
            (behind(1100), false),
            (b"<html>".to_vec(), false),
            (Vec::new(), false),
        ] {
            assert_eq!(is_pdf(&bytes), expected, "{} bytes", bytes.len());
        }
    }
}
