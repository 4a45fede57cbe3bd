//! The arguments that name recorded messages, for `replay` and `tune`.

use std::path::PathBuf;

use aizuchi_config::ModelSelection;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::storage::StorageUrl;
use aizuchi_import::input::database::LabelsByChannel;
use aizuchi_import::input::{InputFormat, InputOptions, PrivateChannels, Recording, database};
use aizuchi_model::chat::strip_control_characters;
use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted;
use aizuchi_store::database::location::DatabaseLocation;
use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::cli::{block_on, number_of, progress_bar, tell};

#[derive(Debug, Args)]
pub struct RecordingArgs {
    /// The recorded messages: an export of Slack (the zip or its folder), the JSON of DiscordChatExporter (a file, or a
    /// folder of them), or JSON Lines, plain or gzipped.
    #[arg(required_unless_present = "from_store", conflicts_with = "from_store")]
    pub input: Option<PathBuf>,
    /// Use the messages that Aizuchi itself has heard, from the configured database or the one named here. The database is only
    /// read; Aizuchi can keep running.
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    from_store: Option<Option<String>>,
    /// Leave out messages written before this date (2026-11-01, from midnight UTC) or time (2026-11-01T09:00:00Z).
    #[arg(long, value_name = "T", value_parser = parse_time)]
    from: Option<Timestamp>,
    /// Leave out messages written at or after this time, given as for --from.
    #[arg(long, value_name = "T", value_parser = parse_time)]
    to: Option<Timestamp>,
    /// Include private channels and direct messages.
    #[arg(long)]
    private: bool,
}

impl RecordingArgs {
    /// Reads the input, and reports on stderr what was left out.
    pub fn open(&self, source: &ConfigSource, language: Language) -> anyhow::Result<Recording> {
        if let (Some(from), Some(to)) = (self.from, self.to) {
            anyhow::ensure!(from < to, "--from must be a time before --to");
        }
        let options = InputOptions {
            from: self.from,
            to: self.to,
            private: if self.private { PrivateChannels::Taken } else { PrivateChannels::LeftOut },
            language,
        };
        let bar = progress_bar("reading {spinner} {human_pos} messages", None);
        let progress = |messages| bar.set_position(messages);
        let recording = match (&self.input, &self.from_store) {
            (Some(input), _) => Recording::open(input, &options, &progress)?,
            (None, store) => {
                let url = store.as_ref().and_then(Option::as_deref);
                let location = database_location(url, source)?;
                block_on(database::read(&location, &options, &progress))
                    .with_context(|| format!("cannot read {location}"))?
            }
        };
        bar.finish_and_clear();
        self.report(&recording);
        let left_out = recording.left_out.describe();
        let why = if left_out.is_empty() {
            String::new()
        } else {
            format!("; left out: {}", left_out.join(", "))
        };
        anyhow::ensure!(!recording.channels.is_empty(), "{} holds no messages{why}", self.name());
        Ok(recording)
    }

    /// The labels of how welcome messages were in each channel, if the input has a ledger.
    pub fn welcome_labels(&self, source: &ConfigSource) -> anyhow::Result<Option<LabelsByChannel>> {
        if self.input.is_some() {
            return Ok(None);
        }
        let url = self.from_store.as_ref().and_then(Option::as_deref);
        let location = database_location(url, source)?;
        let private = if self.private { PrivateChannels::Taken } else { PrivateChannels::LeftOut };
        let labels = block_on(database::welcome_labels(&location, private));
        Ok(Some(labels.with_context(|| format!("cannot read {location}"))?))
    }

    fn report(&self, recording: &Recording) {
        let mut named = 0;
        for bad in recording.bad_records.named() {
            tell(&format!("{}; left out", strip_control_characters(bad)));
            named += 1;
        }
        if recording.bad_records.count > named {
            tell(&format!("… and {} more", recording.bad_records.count - named));
        }
        let left_out = recording.left_out.describe();
        if recording.format == InputFormat::JsonLines && left_out.is_empty() {
            return;
        }
        let (channels, messages) = (recording.channels.len(), recording.messages());
        let messages = number_of(counted::messages, messages);
        let channels = number_of(counted::channels, channels as u64);
        tell(&format!("{}: {messages} in {channels}", recording.format.describe()));
        if !left_out.is_empty() {
            tell(&format!("left out: {}", left_out.join(", ")));
        }
    }

    fn name(&self) -> String {
        match &self.input {
            Some(input) => input.display().to_string(),
            None => "the database".to_owned(),
        }
    }
}

fn database_location(url: Option<&str>, source: &ConfigSource) -> anyhow::Result<DatabaseLocation> {
    match url {
        Some(url) => {
            let url = StorageUrl::try_from(url.to_owned());
            Ok(url.map_err(|problem| anyhow::anyhow!("--from-store: {problem}"))?.0)
        }
        None => Ok(source.load(ModelSelection::NoModel)?.config.database_address()),
    }
}

/// Parses a date, which means midnight UTC, or a time.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    let date = || Date::strptime("%Y-%m-%d", text).ok()?.to_zoned(TimeZone::UTC).ok();
    let time = text.parse::<Timestamp>().ok();
    time.or_else(|| Some(date()?.timestamp())).ok_or_else(|| {
        "it is neither a date like 2026-11-01 nor a time like 2026-11-01T09:00:00Z".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_exact() {
        let at = |text: &str| parse_time(text).map(|at| at.to_string());
        assert_eq!(at("2026-11-01").unwrap(), "2026-11-01T00:00:00Z");
        assert_eq!(at("2026-11-01T09:00:00+09:00").unwrap(), "2026-11-01T00:00:00Z");
        for bad in ["yesterday", "2026-13-01", "", "2026-11-01T09:00:00"] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }
}
