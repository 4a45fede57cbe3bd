//! Recognizes texts that name a user or quote them, where no lineage shows that they are about the user.

use std::collections::HashSet;

use aizuchi_model::memory::MessageRef;
use aizuchi_model::overlap::quotes::QuoteIndex;
use aizuchi_model::overlap::{has_name, is_unspaced, normalize};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::StoreError;
use crate::database::connection::{Connection, Query, Row, query};
use crate::database::forget::Forgetting;
use crate::database::rows;
use crate::database::sql::forget as sql;

/// How long a user must have had a name before it counts. Otherwise a user could take a name just before being
/// forgotten.
const MIN_NAME_AGE: SignedDuration = SignedDuration::from_hours(3 * 24);
/// How many of the newest messages are used to recognize names that are common words.
const VOCABULARY: i64 = 2000;
/// A word is common, and not taken for a name, if others use it in more than one of this many messages.
const COMMON_WORD: usize = 100;
/// How many messages from before a user had a name are searched for the same word.
const EARLIER_MESSAGES: usize = 20_000;
/// Spare capacity for the text that exceeds a part.
const LONG_TEXT: usize = 50_000;
/// How many messages are read at once.
const MESSAGES: i64 = 100;

/// Evidence that a text is about a user.
pub struct References {
    names: Vec<ForgottenName>,
    quotes: QuoteIndex,
    /// The part of the user's texts that the quotes are from, and where the next part begins.
    pub texts_after: i64,
    pub next_texts_after: Option<i64>,
    /// The channels that the user has written in: names count only there.
    written: HashSet<String>,
    /// The public channels: quotes count there, too.
    public: HashSet<String>,
    /// The channels in which only the user and the persona write.
    pub alone: HashSet<String>,
    /// The persona's own author ids.
    pub persona: Vec<String>,
}

/// A name of the user, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ForgottenName {
    /// In lower case.
    text: String,
    form: NameForm,
}

/// The form in which a name must occur to refer to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameForm {
    Any,
    /// Others used it as a word before the user had the name, so only a mention counts: “@compost”.
    Mention,
}

impl ForgottenName {
    /// Whether a normalized text names the user.
    fn is_in(&self, text: &str) -> bool {
        match self.form {
            NameForm::Any => has_name(text, &self.text),
            NameForm::Mention => has_name(text, &format!("@{}", self.text)),
        }
    }
}

/// A name that may count. Others cannot have meant the user with it before `known_since`.
struct NameCandidate {
    name: String,
    known_since: Timestamp,
}

/// Where a text can be read.
#[derive(Clone, Copy)]
pub enum TextScope<'a> {
    Channel(&'a str),
    /// In the whole workspace, for a text made from messages of these channels.
    Workspace(&'a [MessageRef]),
}

impl References {
    /// Reads at most this many characters of the user's texts.
    pub async fn load(
        connection: &mut Connection,
        forgetting: &Forgetting,
        characters: usize,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let (workspace, user) = (forgetting.workspace.as_str(), forgetting.user.as_str());
        let written = query(sql::CHANNELS_OF_USER).bind(workspace).bind(user);
        let written = texts(connection, written, "channel").await?;
        let public = query(sql::PUBLIC_CHANNELS).bind(workspace);
        let public = texts(connection, public, "id").await?;
        let listed: Vec<[&String; 1]> = written.iter().map(|channel| [channel]).collect();
        let alone = query(sql::TALKS_ALONE).bind(workspace).bind(user);
        let alone = texts(connection, alone.bind(json!(listed).to_string()), "id").await?;
        let persona = query(sql::PERSONA_AUTHORS).bind(workspace);
        let persona = texts(connection, persona, "author").await?;
        let texts_after = forgetting.position.texts_after;
        let (quotes, next_texts_after) = read_quotes(connection, forgetting, characters).await?;
        Ok(Self {
            names: names_that_count(connection, forgetting, now).await?,
            quotes,
            texts_after,
            next_texts_after,
            written: written.into_iter().collect(),
            public: public.into_iter().collect(),
            alone: alone.into_iter().collect(),
            persona,
        })
    }

    /// Whether a text names or quotes the user. If its source messages are known, they alone decide: otherwise a user
    /// could copy what others are told, and have it forgotten.
    pub fn are_in(&self, text: &str, scope: TextScope<'_>, sources: &[MessageRef]) -> bool {
        if !sources.is_empty() {
            return false;
        }
        let normalized = normalize(text);
        let names_them = self.names.iter().any(|name| name.is_in(&normalized));
        (names_them && self.names_count_in(scope)) || !self.quoted_runs(text, scope).is_empty()
    }

    /// The runs of the user's texts that a text quotes, if quotes count there.
    pub fn quoted_runs(&self, text: &str, scope: TextScope<'_>) -> Vec<u64> {
        match self.quotes_count_in(scope) {
            true => self.quotes.shared_runs(text),
            false => Vec::new(),
        }
    }

    fn names_count_in(&self, scope: TextScope<'_>) -> bool {
        match scope {
            TextScope::Channel(channel) => self.written.contains(channel),
            TextScope::Workspace(sources) => {
                sources.iter().any(|MessageRef(channel, _)| self.written.contains(channel.as_str()))
            }
        }
    }

    fn quotes_count_in(&self, scope: TextScope<'_>) -> bool {
        match scope {
            TextScope::Channel(channel) => {
                self.written.contains(channel) || self.public.contains(channel)
            }
            TextScope::Workspace(_) => true,
        }
    }
}

async fn texts(
    connection: &mut Connection,
    statement: Query,
    column: &str,
) -> Result<Vec<String>, StoreError> {
    let found = statement.fetch_all(connection).await?;
    found.iter().map(|row| rows::column(row, column)).collect()
}

/// Indexes a part of the user's texts. Also returns where the next part begins.
async fn read_quotes(
    connection: &mut Connection,
    forgetting: &Forgetting,
    characters: usize,
) -> Result<(QuoteIndex, Option<i64>), StoreError> {
    let mut quotes = QuoteIndex::with_capacity(characters + LONG_TEXT);
    let mut after = forgetting.position.texts_after;
    loop {
        let page = query(sql::TEXTS_AFTER)
            .bind(forgetting.workspace.as_str())
            .bind(forgetting.user.as_str())
            .bind(after)
            .bind(forgetting.until)
            .bind(MESSAGES);
        let page = page.fetch_all(&mut *connection).await?;
        for row in &page {
            if quotes.len() >= characters {
                quotes.finish();
                return Ok((quotes, Some(after)));
            }
            quotes.add(&rows::column::<String>(row, "text")?);
            after = rows::column(row, "heard")?;
        }
        if page.len() < MESSAGES as usize {
            quotes.finish();
            return Ok((quotes, None));
        }
    }
}

/// The names that count as a reference to the user: those that the user has had for days, that no one else has or had
/// (not even as a part), and that are not common words in the workspace. A name that others used as a word before
/// counts only as a mention: otherwise a user could take a rare word as a name, and have what others are told about it
/// forgotten.
async fn names_that_count(
    connection: &mut Connection,
    forgetting: &Forgetting,
    now: Timestamp,
) -> Result<Vec<ForgottenName>, StoreError> {
    let (workspace, user) = (forgetting.workspace.as_str(), forgetting.user.as_str());
    let known = query(sql::ALL_NAMES).bind(workspace).fetch_all(&mut *connection).await?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for row in &known {
        let name = normalize(&rows::column::<String>(row, "name")?);
        let since = rows::to_timestamp(rows::column(row, "since_ms")?)?;
        match rows::column::<String>(row, "user_id")? == user {
            true => own.push((name, since)),
            false => others.push(name),
        }
    }
    let first_message = query(sql::FIRST_MESSAGE_AT).bind(workspace).bind(user);
    let first_message = first_message.fetch_one(&mut *connection).await?;
    let first_message: i64 = rows::column(&first_message, "at_ms")?;
    let first_known =
        own.iter().map(|(_, since)| *since).filter(|since| *since > Timestamp::UNIX_EPOCH);
    let first_known = first_known.min();
    let mut candidates: Vec<NameCandidate> = Vec::new();
    for (name, since) in own {
        if now.duration_since(since) < MIN_NAME_AGE {
            continue;
        }
        // The history that was backfilled when the user was first seen mentions them by their first known name.
        let known_since = match Some(since) == first_known {
            true => since.min(rows::to_timestamp(first_message)?),
            false => since,
        };
        for name in parts_of_name(&name) {
            match candidates.iter_mut().find(|candidate| candidate.name == name) {
                Some(known) => known.known_since = known.known_since.min(known_since),
                None => candidates.push(NameCandidate { name, known_since }),
            }
        }
    }
    candidates.retain(|candidate| !others.iter().any(|other| has_name(other, &candidate.name)));
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let vocabulary = query(sql::NEWEST_TEXTS_OF_OTHERS).bind(workspace).bind(user);
    let vocabulary = texts(connection, vocabulary.bind(VOCABULARY), "text").await?;
    let vocabulary: Vec<String> = vocabulary.iter().map(|text| normalize(text)).collect();
    candidates.retain(|candidate| !is_common(&candidate.name, &vocabulary));
    find_forms(connection, forgetting, candidates).await
}

/// Searches what others wrote before the user had a name for the same word.
async fn find_forms(
    connection: &mut Connection,
    forgetting: &Forgetting,
    mut candidates: Vec<NameCandidate>,
) -> Result<Vec<ForgottenName>, StoreError> {
    let mut names = Vec::new();
    let mut before = i64::MAX;
    for _ in 0..EARLIER_MESSAGES / MESSAGES as usize {
        let Some(latest) = candidates.iter().map(|candidate| candidate.known_since).max() else {
            break;
        };
        let page = query(sql::EARLIER_TEXTS_OF_OTHERS)
            .bind(forgetting.workspace.as_str())
            .bind(forgetting.user.as_str())
            .bind(before)
            .bind(latest.as_millisecond())
            .bind(MESSAGES);
        let page = page.fetch_all(&mut *connection).await?;
        for row in &page {
            before = rows::column(row, "revision")?;
            let at = rows::to_timestamp(rows::column(row, "at_ms")?)?;
            let text = normalize(&rows::column::<String>(row, "text")?);
            let is_word = |candidate: &mut NameCandidate| {
                at < candidate.known_since && has_name(&text, &candidate.name)
            };
            let words = candidates.extract_if(.., is_word);
            names.extend(
                words.map(|word| ForgottenName { text: word.name, form: NameForm::Mention }),
            );
        }
        if page.len() < MESSAGES as usize {
            break;
        }
    }
    let never_words = candidates.into_iter();
    names.extend(never_words.map(|name| ForgottenName { text: name.name, form: NameForm::Any }));
    Ok(names)
}

fn is_common(word: &str, texts: &[String]) -> bool {
    let uses = texts.iter().filter(|text| has_name(text, word)).count();
    uses >= 2 && uses * COMMON_WORD > texts.len()
}

/// A name as a whole, and its parts, such as the first name. Parts that are too short or too plain to tell from a word
/// are left out.
fn parts_of_name(name: &str) -> Vec<String> {
    let parts = name.split(|character: char| !character.is_alphanumeric());
    let parts = [name].into_iter().chain(parts).map(str::to_owned);
    parts.filter(|part| is_distinct_from_words(part)).collect()
}

fn is_distinct_from_words(name: &str) -> bool {
    let is_hiragana = |character: char| matches!(character, '\u{3041}'..='\u{309f}');
    let is_unspaced = name.chars().any(is_unspaced);
    let min_length = if is_unspaced { 2 } else { 3 };
    let characters = name.chars().filter(|character| character.is_alphanumeric()).count();
    characters >= min_length && !name.chars().all(is_hiragana)
}

/// The messages that a column lists as JSON.
pub fn listed_messages(row: &Row, column: &str) -> Result<Vec<MessageRef>, StoreError> {
    rows::parse_json(&rows::column::<String>(row, column)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_as_a_whole_and_by_its_parts() {
        for (name, expected) in [
            ("ann", vec!["ann"]),
            ("ann smith", vec!["ann smith", "ann", "smith"]),
            ("al", vec![]),
            ("です", vec![]),
            ("花子", vec!["花子"]),
            ("森", vec![]),
            ("]}\"", vec![]),
            ("jean-luc", vec!["jean-luc", "jean", "luc"]),
        ] {
            let mut parts = parts_of_name(name);
            parts.dedup();
            assert_eq!(parts, expected, "{name}");
        }
    }

    #[test]
    fn a_name_that_is_a_word_counts_as_a_mention_alone() {
        let name = |form| ForgottenName { text: "compost".to_owned(), form };
        for (text, in_any_form, as_mention) in [
            ("the compost smells", true, false),
            ("ask @compost about it", true, true),
            ("@composter knows", false, false),
        ] {
            assert_eq!(name(NameForm::Any).is_in(text), in_any_form, "{text}");
            assert_eq!(name(NameForm::Mention).is_in(text), as_mention, "{text}");
        }
    }

    #[test]
    fn a_word_that_others_use_is_no_name() {
        let texts: Vec<String> =
            ["the roof leaks", "where is the key?", "zoe knows"].map(str::to_owned).into();
        assert!(is_common("the", &texts));
        assert!(!is_common("zoe", &texts));
    }
}
