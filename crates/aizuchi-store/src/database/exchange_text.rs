//! Prompts and answers as they are stored: compressed, since they are the bulk of the database and seldom read.

use crate::StoreError;

/// Marks a compressed exchange in `exchanges.prompt`. The column is empty if the texts were dropped, and holds the
/// prompt itself if an earlier version stored it.
pub const PACKED: &str = "zstd";
/// Higher levels take several times as long and save a few percent.
const COMPRESSION_LEVEL: i32 = 6;

pub fn pack(prompt: &str, answer: Option<&str>) -> Result<Vec<u8>, StoreError> {
    let broken = |error: &dyn std::fmt::Display| {
        StoreError::Broken(format!("a prompt cannot be compressed: {error}"))
    };
    let texts = serde_json::to_vec(&(prompt, answer)).map_err(|error| broken(&error))?;
    zstd::bulk::compress(&texts, COMPRESSION_LEVEL).map_err(|error| broken(&error))
}

/// Decompresses an exchange to its prompt and answer.
pub fn unpack(packed: &[u8]) -> Result<(String, Option<String>), StoreError> {
    // The error messages of both libraries may contain chat text.
    let broken = || StoreError::Broken("a stored prompt cannot be read".to_owned());
    let texts = zstd::stream::decode_all(packed).map_err(|_| broken())?;
    serde_json::from_slice(&texts).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_texts_are_read_back() {
        let long = "おはよう。\n\"quoted\" \u{0} 🎉 ".repeat(10_000);
        for (prompt, answer) in [("a", None), ("a", Some("")), (&*long, Some("yes"))] {
            let packed = pack(prompt, answer).unwrap();
            let (read, read_answer) = unpack(&packed).unwrap();
            assert_eq!((&*read, read_answer.as_deref()), (prompt, answer));
        }
        assert!(pack(&long, None).unwrap().len() < long.len() / 100);
        assert!(unpack(b"nonsense").is_err());
    }
}
