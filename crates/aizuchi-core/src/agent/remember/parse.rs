//! Reading what a mind wants to remember. What is wrong is said without repeating the answer, which
//! holds chat text.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::chat::{Visibility, to_single_line};
use crate::memory::{Memory, MemoryEntry, MessageRef, date_in_zone};
use crate::prompt::memory_input::{MemoryInput, MemorySource};
use crate::prompt::tokens;

/// Who counts tokens counts differently; an answer may be longer by this share than was asked for.
const LENGTH_TOLERANCE: f64 = 1.25;

/// What an answer may be trusted to say.
pub struct EntryParser<'a> {
    pub material: &'a MemoryInput,
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
    /// The entries, oldest first. One that names no source is asked for once more; after that it is taken
    /// to be made from all of them.
    pub fn parse(&self, answer: &str, is_last_try: bool) -> Result<Vec<MemoryEntry>, String> {
        let begin = answer.find('{').ok_or("it holds no JSON object")?;
        let end =
            answer.rfind('}').filter(|end| *end > begin).ok_or("its JSON object does not end")?;
        let answered: RawMemory = serde_json::from_str(&answer[begin..=end])
            .map_err(|_| "it is not JSON of the form that was asked for".to_owned())?;
        let is_known = |told: &RawEntry| {
            let mut sources = told.sources.iter();
            !told.sources.is_empty()
                && sources.all(|number| self.material.source(*number).is_some())
        };
        if !is_last_try && !answered.entries.iter().all(is_known) {
            return Err("an entry does not name the numbers of its sources".to_owned());
        }
        let told = answered.entries.iter().filter(|told| !to_single_line(&told.text).is_empty());
        let mut entries: Vec<MemoryEntry> = told.map(|told| self.to_entry(told)).collect();
        let length =
            Memory::render_entries(&entries, |_| true).map_or(0, |text| tokens::estimate(&text));
        let most = f64::from(self.material.max_tokens) * LENGTH_TOLERANCE;
        if length as f64 > most {
            return Err(format!(
                "it is longer than {} tokens; keep what matters most",
                self.material.max_tokens
            ));
        }
        entries.sort_by_key(|entry| entry.date);
        Ok(entries)
    }

    fn to_entry(&self, told: &RawEntry) -> MemoryEntry {
        let mut sources: Vec<&MemorySource> =
            told.sources.iter().filter_map(|number| self.material.source(*number)).collect();
        if sources.is_empty() || sources.len() != told.sources.len() {
            sources = self.material.sources.iter().collect();
        }
        let mut lines: Vec<MessageRef> =
            sources.iter().flat_map(|source| source.message_refs()).collect();
        lines.sort();
        lines.dedup();
        let date = told.date.trim().parse::<Date>().ok().or_else(|| self.newest_day(&sources));
        MemoryEntry {
            date: date.unwrap_or_default(),
            text: to_single_line(&told.text).into(),
            visibility: Visibility::Private,
            messages: lines,
        }
    }

    /// The day of the newest of these.
    fn newest_day(&self, sources: &[&MemorySource]) -> Option<Date> {
        let days = sources.iter().filter_map(|source| match source {
            MemorySource::Messages(talk) => {
                talk.messages.last().map(|line| date_in_zone(line.at, self.zone))
            }
            MemorySource::Entry(known) => Some(known.entry.date),
        });
        days.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, MessageId, WorkspaceId};
    use crate::memory::{MemoryKey, MemoryScope, MemoryTerm};
    use crate::prompt::memory_input::{EntryOwner, KnownEntry};
    use jiff::civil::date;

    fn line(id: &str) -> MessageRef {
        MessageRef(ChannelId::new("c"), MessageId::new(id))
    }

    fn material() -> MemoryInput {
        let known = |day: i8, ids: &[&str]| {
            MemorySource::Entry(KnownEntry {
                owner: EntryOwner::SameMemory,
                entry: MemoryEntry {
                    date: date(2027, 1, day),
                    text: "known".into(),
                    visibility: Visibility::Public,
                    messages: ids.iter().map(|id| line(id)).collect(),
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
            names: Default::default(),
            merged: Vec::new(),
            considered: 0,
        }
    }

    #[test]
    fn an_entry_comes_from_the_sources_that_it_names_or_else_from_all() {
        let material = material();
        let trusted = EntryParser { material: &material, zone: &TimeZone::UTC };
        let read = |answer: &str| trusted.parse(answer, true);
        for (answer, expected) in [
            (
                r#"{"entries":[{"date":"2027-01-05","text":"x","sources":[1]}]}"#,
                (5, vec!["a", "b"]),
            ),
            (r#"so: {"entries":[{"text":"x","sources":[2]}]} ok"#, (2, vec!["b", "c"])),
            (r#"{"entries":[{"date":"soon","text":"x","sources":[]}]}"#, (2, vec!["a", "b", "c"])),
            (r#"{"entries":[{"date":"","text":"x","sources":[1,9]}]}"#, (2, vec!["a", "b", "c"])),
        ] {
            let entries = read(answer).unwrap();
            let lines: Vec<MessageRef> = expected.1.into_iter().map(line).collect();
            assert_eq!(entries.len(), 1, "{answer}");
            assert_eq!(
                (entries[0].date, &entries[0].messages),
                (date(2027, 1, expected.0), &lines)
            );
        }
        let unnamed = r#"{"entries":[{"text":"x","sources":[1,9]}]}"#;
        assert!(trusted.parse(unnamed, false).unwrap_err().contains("numbers of its sources"));
        assert_eq!(read(r#"{"entries":[{"text":" \n "}]}"#), Ok(Vec::new()));
        for (answer, why) in [
            ("no", "holds no JSON"),
            ("{", "does not end"),
            (r#"{"entries": 5}"#, "form that was asked for"),
            (&format!(r#"{{"entries":[{{"text":"{}"}}]}}"#, "word ".repeat(60)), "longer than 20"),
        ] {
            let error = read(answer).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
