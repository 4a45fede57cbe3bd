//! Reads the elements of a long JSON array one at a time. The array is a file of its own, or the field `messages` of an
//! object.

use std::fmt;
use std::io::BufRead;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The field that holds the elements.
const ELEMENTS: &str = "messages";
/// What some programs write at the beginning of a file. It is not part of the JSON.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Receives the parts of a document in order. An error stops the reading.
pub trait ExportReader {
    /// Receives a field of the object that precedes `messages`.
    fn field(&mut self, _name: &str, _value: Value) -> anyhow::Result<()> {
        Ok(())
    }

    /// Whether to read the elements. Otherwise, the reading stops where they begin.
    fn begins_elements(&mut self) -> anyhow::Result<ElementsWanted> {
        Ok(ElementsWanted::Yes)
    }

    /// Receives an element. `number` is counted from 1.
    fn element(&mut self, number: u64, value: Value) -> anyhow::Result<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementsWanted {
    Yes,
    No,
}

/// Why a document could not be read to its end.
#[derive(Debug)]
pub enum ExportError {
    /// The problem names the place and quotes none of the text. `record` is the number of the element that could not be
    /// read.
    Malformed { record: u64, problem: String },
    /// The reader of the parts failed, or the file could not be read.
    Failed(anyhow::Error),
}

pub fn read_document(
    mut input: impl BufRead,
    reader: &mut dyn ExportReader,
) -> Result<(), ExportError> {
    let beginning = input.fill_buf().map_err(|error| ExportError::Failed(error.into()))?;
    let has_mark = beginning.starts_with(BYTE_ORDER_MARK);
    input.consume(if has_mark { BYTE_ORDER_MARK.len() } else { 0 });
    let mut state = DocumentState { reader, stop: None, elements: 0 };
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let result =
        deserializer.deserialize_any(Document(&mut state)).and_then(|()| deserializer.end());
    match (state.stop, result) {
        (Some(StopReason::Done), _) | (None, Ok(())) => Ok(()),
        (Some(StopReason::Failed(error)), _) => Err(ExportError::Failed(error)),
        (None, Err(error)) if error.is_io() => Err(ExportError::Failed(error.into())),
        (None, Err(error)) => {
            let (line, column) = (error.line(), error.column());
            let what = if error.is_eof() { "it ends too early" } else { "it is not valid JSON" };
            let problem = format!("{what}, at line {line}, column {column}");
            Err(ExportError::Malformed { record: state.elements + 1, problem })
        }
    }
}

struct DocumentState<'a> {
    reader: &'a mut dyn ExportReader,
    stop: Option<StopReason>,
    elements: u64,
}

enum StopReason {
    Done,
    Failed(anyhow::Error),
}

impl DocumentState<'_> {
    /// Stores the error that stops the reading; the parser only learns that it stops.
    fn check<T, E: Error>(&mut self, result: anyhow::Result<T>) -> Result<T, E> {
        result.map_err(|error| {
            self.stop = Some(StopReason::Failed(error));
            E::custom("stopped")
        })
    }
}

/// An array, or an object with one.
struct Document<'s, 'r>(&'s mut DocumentState<'r>);

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let wanted = self.0.reader.begins_elements();
        if self.0.check::<_, A::Error>(wanted)? == ElementsWanted::No {
            self.0.stop = Some(StopReason::Done);
            return Err(A::Error::custom("stopped"));
        }
        while let Some(value) = elements.next_element::<Value>()? {
            self.0.elements += 1;
            let taken = self.0.reader.element(self.0.elements, value);
            self.0.check::<_, A::Error>(taken)?;
        }
        Ok(())
    }

    /// Some programs write `null` for an empty list.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut is_past_elements = false;
        while let Some(name) = fields.next_key::<String>()? {
            if name == ELEMENTS {
                is_past_elements = true;
                fields.next_value_seed(Elements(&mut *self.0))?;
            } else if is_past_elements {
                fields.next_value::<IgnoredAny>()?;
            } else {
                let value = fields.next_value()?;
                let taken = self.0.reader.field(&name, value);
                self.0.check::<_, A::Error>(taken)?;
            }
        }
        Ok(())
    }
}

struct Elements<'s, 'r>(&'s mut DocumentState<'r>);

impl<'de> DeserializeSeed<'de> for Elements<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(Document(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<String>);

    impl ExportReader for Log {
        fn field(&mut self, name: &str, value: Value) -> anyhow::Result<()> {
            self.0.push(format!("{name}={value}"));
            Ok(())
        }

        fn begins_elements(&mut self) -> anyhow::Result<ElementsWanted> {
            self.0.push("elements".to_owned());
            Ok(ElementsWanted::Yes)
        }

        fn element(&mut self, number: u64, value: Value) -> anyhow::Result<()> {
            anyhow::ensure!(value != "stop", "stopped by the reader");
            self.0.push(format!("{number}:{value}"));
            Ok(())
        }
    }

    fn read(text: &str) -> (String, String) {
        let mut log = Log::default();
        let end = match read_document(text.as_bytes(), &mut log) {
            Ok(()) => String::new(),
            Err(ExportError::Malformed { problem, .. }) => problem,
            Err(ExportError::Failed(error)) => error.to_string(),
        };
        (log.0.join(" "), end)
    }

    #[test]
    fn elements_are_passed_on_until_the_document_breaks() {
        for (text, parts, end) in [
            (r#"{"a":1,"messages":[2,"x"],"b":3}"#, r#"a=1 elements 1:2 2:"x""#, ""),
            ("[1,2]", "elements 1:1 2:2", ""),
            ("null", "", ""),
            (r#"{"a":1,"messages":null}"#, "a=1", ""),
            ("\u{feff}[1,2]", "elements 1:1 2:2", ""),
            (r#"{"messages":[1,{"#, "elements 1:1", "it ends too early, at line 1, column 16"),
            ("[1,\nsecret]", "elements 1:1", "it is not valid JSON, at line 2, column 1"),
            (r#"{"messages":"secret"}"#, "", "it is not valid JSON, at line 1, column 20"),
            (r#"[1,"stop",2]"#, "elements 1:1", "stopped by the reader"),
            ("", "", "it ends too early, at line 1, column 0"),
        ] {
            assert_eq!(read(text), (parts.to_owned(), end.to_owned()), "{text}");
        }
    }
}
