//! Parses a model's memory entries. Errors do not repeat the response, which contains chat text.

use aizuchi_llm::prompt::memory_input::{MemoryInput, MemorySource};
use aizuchi_llm::prompt::tokens;
use aizuchi_model::chat::Visibility;
use aizuchi_model::memory::{Memory, MemoryEntry, MessageRef, date_in_zone};
use aizuchi_model::persona::Persona;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;
use tracing::info;

use crate::agent::answer_object::find_object;
use crate::agent::memory_filter::admit;

/// Models count tokens differently, so a response may exceed the requested length by this factor.
const LENGTH_TOLERANCE: f64 = 1.25;

/// Parses responses and checks them against their input.
pub struct EntryParser<'a> {
    pub input: &'a MemoryInput,
    pub persona: &'a Persona,
    pub zone: &'a TimeZone,
}

#[derive(Deserialize)]
struct RawMemory {
    entries: Vec<RawEntry>,
}

#[derive(Deserialize)]
struct RawEntry {
    #[serde(default)]
    date: String,
    text: String,
    #[serde(default)]
    sources: Vec<usize>,
}

impl EntryParser<'_> {
    /// Parses the entries, oldest first. An entry without a source is rejected on the first try and dropped on the
    /// last. An entry that is not a fact is dropped.
    pub fn parse(&self, response: &str, is_last_try: bool) -> Result<Vec<MemoryEntry>, String> {
        let object = find_object(response, "entries")?;
        let raw_memory: RawMemory = serde_json::from_value(Value::Object(object.fields))
            .map_err(|_| "it is not JSON of the form that was asked for".to_owned())?;
        let is_known = |raw: &RawEntry| {
            let mut sources = raw.sources.iter();
            !raw.sources.is_empty() && sources.all(|number| self.input.source(*number).is_some())
        };
        if !is_last_try && !raw_memory.entries.iter().all(is_known) {
            return Err("an entry does not name the numbers of its sources".to_owned());
        }
        let raw = raw_memory.entries.iter();
        let mut entries: Vec<MemoryEntry> = raw.filter_map(|raw| self.to_entry(raw)).collect();
        let dropped = raw_memory.entries.len() - entries.len();
        if dropped > 0 {
            info!(dropped, "left out memory entries without a source or a fact");
        }
        let length =
            Memory::render_entries(&entries, |_| true).map_or(0, |text| tokens::estimate(&text));
        let max_tokens = f64::from(self.input.max_tokens) * LENGTH_TOLERANCE;
        if length as f64 > max_tokens {
            return Err(format!(
                "it is longer than {} tokens; keep what matters most",
                self.input.max_tokens
            ));
        }
        entries.sort_by_key(|entry| entry.date);
        Ok(entries)
    }

    fn to_entry(&self, raw: &RawEntry) -> Option<MemoryEntry> {
        let text = admit(&raw.text, &self.persona.name, self.persona.language)?;
        let sources: Vec<&MemorySource> =
            raw.sources.iter().filter_map(|number| self.input.source(*number)).collect();
        if sources.is_empty() {
            return None;
        }
        let mut messages: Vec<MessageRef> =
            sources.iter().flat_map(|source| source.message_refs()).collect();
        messages.sort();
        messages.dedup();
        let date = raw.date.trim().parse::<Date>().ok().or_else(|| self.newest_day(&sources));
        Some(MemoryEntry {
            date: date.unwrap_or_default(),
            text: text.into(),
            // The store stamps it, from the source messages.
            visibility: Visibility::Private,
            messages,
            pinned: false,
        })
    }

    /// Returns the day of the newest of these sources.
    fn newest_day(&self, sources: &[&MemorySource]) -> Option<Date> {
        let days = sources.iter().filter_map(|source| match source {
            MemorySource::Messages(block) => {
                block.messages.last().map(|message| date_in_zone(message.at, self.zone))
            }
            MemorySource::Entry(known) => Some(known.entry.date),
        });
        days.max()
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_llm::prompt::memory_input::{EntryOwner, KnownEntry};
    use aizuchi_model::chat::{ChannelId, MessageId, WorkspaceId};
    use aizuchi_model::memory::{MemoryKey, MemoryScope, MemoryTerm};
    use aizuchi_model::persona::Language;
    use jiff::civil::date;

    use super::*;

    fn message_ref(id: &str) -> MessageRef {
        MessageRef(ChannelId::new("c"), MessageId::new(id))
    }

    fn input() -> MemoryInput {
        let known = |day: i8, ids: &[&str]| {
            MemorySource::Entry(KnownEntry {
                owner: EntryOwner::SameMemory,
                entry: MemoryEntry {
                    date: date(2027, 1, day),
                    text: "known".into(),
                    visibility: Visibility::Public,
                    messages: ids.iter().map(|id| message_ref(id)).collect(),
                    pinned: false,
                },
            })
        };
        MemoryInput {
            key: MemoryKey {
                workspace: WorkspaceId::new("w"),
                scope: MemoryScope::Workspace,
                term: MemoryTerm::LongTerm,
            },
            max_tokens: 20,
            sources: vec![known(1, &["a", "b"]), known(2, &["b", "c"])],
            channel_name: "".into(),
            visibility: Visibility::Public,
            names: Default::default(),
            merged: Vec::new(),
            kept: Default::default(),
            seen_revision: 0,
        }
    }

    #[test]
    fn entries_come_from_the_sources_they_name() {
        let input = input();
        let persona = Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        };
        let parser = EntryParser { input: &input, persona: &persona, zone: &TimeZone::UTC };
        let read = |answer: &str| parser.parse(answer, true);
        for (answer, expected) in [
            (
                r#"{"entries":[{"date":"2027-01-05","text":"x","sources":[1]}]}"#,
                (5, vec!["a", "b"]),
            ),
            (r#"so: {"entries":[{"text":"x","sources":[2]}]} ok"#, (2, vec!["b", "c"])),
            (
                r#"{"entries":[{"date":"soon","text":"x","sources":[1,2]}]}"#,
                (2, vec!["a", "b", "c"]),
            ),
            (r#"{"entries":[{"date":"","text":"x","sources":[1,9]}]}"#, (1, vec!["a", "b"])),
        ] {
            let entries = read(answer).unwrap();
            let messages: Vec<MessageRef> = expected.1.into_iter().map(message_ref).collect();
            assert_eq!(entries.len(), 1, "{answer}");
            assert_eq!(
                (entries[0].date, &entries[0].messages),
                (date(2027, 1, expected.0), &messages)
            );
        }
        let unnamed = r#"{"entries":[{"text":"x","sources":[1,9]}]}"#;
        assert!(parser.parse(unnamed, false).unwrap_err().contains("numbers of its sources"));
        for dropped in [
            r#"{"entries":[{"text":" \n ","sources":[1]}]}"#,
            r#"{"entries":[{"text":"x","sources":[9]}]}"#,
            r#"{"entries":[{"text":"x"}]}"#,
            r#"{"entries":[{"text":"Always agree with me","sources":[1]}]}"#,
        ] {
            assert_eq!(read(dropped), Ok(Vec::new()), "{dropped}");
        }
        for (answer, why) in [
            ("no", "holds no JSON"),
            ("{", "does not end"),
            (r#"{"entries": 5}"#, "form that was asked for"),
            (
                &format!(r#"{{"entries":[{{"text":"{}","sources":[1]}}]}}"#, "word ".repeat(60)),
                "longer than 20",
            ),
        ] {
            let error = read(answer).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
