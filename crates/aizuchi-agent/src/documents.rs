//! The port for extracting the text of documents. They are untrusted, and their formats are complex, so implementations
//! must read them where a crash or an endless loop harms nothing else.

use async_trait::async_trait;

/// The signature at the beginning of a PDF, perhaps after some other bytes.
const PDF_MARK: &[u8] = b"%PDF-";
const MAX_BYTES_BEFORE_MARK: usize = 1024;

#[async_trait]
pub trait DocumentReader: Send + Sync {
    /// Extracts the beginning of the text of a PDF, which is never blank. Ends within seconds for any input; dropping
    /// the future ends the work.
    async fn pdf_text(&self, bytes: Vec<u8>) -> Result<DocumentText, DocumentError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentText {
    pub text: String,
    /// Whether the document has more text, as far as is known.
    pub is_cut: bool,
}

/// Why the text could not be extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The document is invalid, has no text, or needs too many resources. Permanent.
    #[error("the document cannot be read")]
    Unreadable,
    /// Nothing was read; retrying may help.
    #[error("documents cannot be read now: {0}")]
    Unavailable(String),
}

/// Whether the bytes look like a PDF, whatever their name is.
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
