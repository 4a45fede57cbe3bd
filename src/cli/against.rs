//! `aizuchi replay --against`: what another version of the program, or other settings, would decide differently.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::cli::judge::Judge;
use crate::cli::{print, strip_control_characters};
use crate::replay::difference::{
    MessageOutcome, ReplayedMessageKey, Treatment, TreatmentDifference, TreatmentWriter,
    Treatments, differences,
};
use crate::replay::history::{ChannelSource, RecordedMessage};
use crate::replay::input::Recording;
use crate::replay::other_version::OtherVersion;
use crate::replay::rows::IdHash;
use crate::replay::{Policy, ReplaySettings};
use aizuchi_core::clock::duration_from_seconds;
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::persona::Language;
use aizuchi_core::texts;

/// How many differences are printed. The JSON contains all of them.
const MAX_PRINTED: usize = 40;
/// How much of a message is quoted.
const MAX_QUOTE: usize = 100;

/// What a replay is compared with.
#[derive(Clone, Debug)]
pub enum ComparisonTarget {
    /// Another version of the program.
    Program(PathBuf),
    /// A config, or a part of one.
    Settings(PathBuf),
}

impl FromStr for ComparisonTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Without a slash, the program would be looked up in PATH.
        let path = std::path::absolute(text).map_err(|error| error.to_string())?;
        let data = path.metadata().map_err(|error| format!("it cannot be read: {error}"))?;
        let is_settings = path.extension().is_some_and(|it| it == "yaml" || it == "yml");
        match data.is_file() && data.permissions().mode() & 0o111 != 0 {
            _ if data.is_file() && is_settings => Ok(ComparisonTarget::Settings(path)),
            true => Ok(ComparisonTarget::Program(path)),
            false => Err("it is neither a program nor a config that ends in .yaml".to_owned()),
        }
    }
}

impl ComparisonTarget {
    /// The policy of other settings; `None` for another version. Another version can be compared with any judge but a
    /// model.
    pub fn policy(&self, judge: &str) -> anyhow::Result<Option<Policy>> {
        match self {
            ComparisonTarget::Program(_) => {
                anyhow::ensure!(
                    judge != "model",
                    "another version is compared with --judge builtin, or with a file of recorded answers: it would \
                     ask the model once more"
                );
                Ok(None)
            }
            ComparisonTarget::Settings(file) => Policy::open(file).map(Some),
        }
    }
}

/// The replay that another version or other settings are compared with.
pub struct PresentReplay<'a> {
    pub recording: &'a Recording,
    pub policy: &'a Policy,
    /// The file of the policy; `None` for the defaults.
    pub policy_file: Option<&'a Path>,
    /// The policy of other settings.
    pub changed: Option<&'a Policy>,
    pub judge: &'a Judge,
    /// The judge as named on the command line.
    pub judge_name: String,
    pub settings: ReplaySettings,
}

/// The differences, and the names of both sides.
pub struct ReplayComparison {
    before: String,
    after: String,
    differences: Vec<TreatmentDifference>,
    /// How many messages were considered in either replay.
    looked_at: usize,
    messages: HashMap<ReplayedMessageKey, RecordedMessage>,
}

impl PresentReplay<'_> {
    /// Compares with another version, which counts as the older side, or with other settings, which count as the newer
    /// one.
    pub fn compare(&self, other: &ComparisonTarget) -> anyhow::Result<ReplayComparison> {
        let own = self.treatments(self.policy)?;
        let version = concat!("aizuchi ", env!("CARGO_PKG_VERSION")).to_owned();
        let (before, after, names) = match other {
            ComparisonTarget::Program(program) => {
                let other = OtherVersion { program };
                let treatments = other.replay(
                    self.recording,
                    &self.judge_name,
                    self.policy_file,
                    self.policy.config.language.own(),
                    &self.settings,
                )?;
                (treatments, own, (other.version()?, format!("this {version}")))
            }
            ComparisonTarget::Settings(_) => {
                let changed = self.changed.context("the other settings were not read")?;
                let names = (self.policy.name.clone(), changed.name.clone());
                (own, self.treatments(changed)?, names)
            }
        };
        let differences = differences(&before, &after);
        let looked_at = before.keys().filter(|key| !after.contains_key(*key)).count() + after.len();
        let messages = self.messages(&differences)?;
        Ok(ReplayComparison { before: names.0, after: names.1, differences, looked_at, messages })
    }

    fn treatments(&self, policy: &Policy) -> anyhow::Result<Treatments> {
        let writer = TreatmentWriter::default();
        let treatments = writer.treatments();
        let replay = self.judge.replay(policy, self.settings)?;
        let writer =
            replay.run(self.recording, 0, Some(Box::new(writer)), &mut |_, _, _| Ok(()))?;
        drop(writer);
        Ok(std::mem::take(&mut treatments.lock()))
    }

    /// The messages behind the differences that are printed.
    fn messages(
        &self,
        differences: &[TreatmentDifference],
    ) -> anyhow::Result<HashMap<ReplayedMessageKey, RecordedMessage>> {
        let printed = differences.iter().take(MAX_PRINTED);
        let wanted: HashSet<&ReplayedMessageKey> =
            printed.map(|difference| &difference.key).collect();
        let mut found = HashMap::new();
        for index in 0..self.recording.channel_count() {
            let channel = self.recording.channel(index)?;
            let mut reader = channel.reader();
            for key in wanted.iter().filter(|key| key.channel == channel.name) {
                if let Some(row) = channel.rows.find(IdHash::new(&key.message)) {
                    found.insert((*key).clone(), reader.read(&row)?);
                }
            }
            channel.rows.check()?;
        }
        Ok(found)
    }
}

impl ReplayComparison {
    pub fn print(&self, is_json: bool) -> anyhow::Result<()> {
        match is_json {
            true => print(&serde_json::to_string_pretty(&self.to_json())?),
            false => print(self.to_text().trim_end()),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "before": self.before,
            "after": self.after,
            "looked_at": self.looked_at,
            "differences": self.differences,
        })
    }

    fn to_text(&self) -> String {
        let Self { before, after, differences, looked_at, .. } = self;
        let mut text = match &differences[..] {
            [] => format!(
                "{before} and {after} decide the same about all {looked_at} messages that they considered.\n"
            ),
            [_] => format!(
                "{before} and {after} decide differently about 1 of {looked_at} messages.\n"
            ),
            several => format!(
                "{before} and {after} decide differently about {} of {looked_at} messages.\n",
                several.len()
            ),
        };
        text.push_str(&self.summary());
        let shown = differences.iter().take(MAX_PRINTED);
        // Writing to a string never fails.
        for difference in shown {
            let _ = write!(text, "\n{}", self.describe(difference));
        }
        if differences.len() > MAX_PRINTED {
            let _ = writeln!(
                text,
                "\n… and {} more; --json shows all of them",
                differences.len() - MAX_PRINTED
            );
        }
        text
    }

    /// A table of how many messages changed from which outcome to which, the most frequent first.
    fn summary(&self) -> String {
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for difference in &self.differences {
            let before = describe_outcome(difference.before.outcome);
            let after = match difference.delay_seconds() {
                Some(delay) if delay > 0.0 => "speaks later",
                Some(_) => "speaks earlier",
                None => describe_outcome(difference.after.outcome),
            };
            *counts.entry((before, after)).or_default() += 1;
        }
        if counts.is_empty() {
            return String::new();
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(outcomes, count)| (Reverse(*count), *outcomes));
        let rows = counts.into_iter().map(|((before, after), count)| {
            [before.to_owned(), after.to_owned(), count.to_string()]
        });
        let head = [self.before.clone(), self.after.clone(), "messages".to_owned()];
        let rows: Vec<[String; 3]> = std::iter::once(head).chain(rows).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let (first, second, third) = (width(0), width(1), width(2));
        let line = |row: &[String; 3]| {
            format!("  {:first$}  {:second$}  {:>third$}\n", row[0], row[1], row[2])
        };
        format!("\n{}", rows.iter().map(line).collect::<String>())
    }

    fn describe(&self, difference: &TreatmentDifference) -> String {
        let TreatmentDifference { key, before, after } = difference;
        let delay = difference.delay_seconds().map(|seconds| {
            let (much, when) = (
                duration_from_seconds(seconds.abs().round()),
                if seconds > 0.0 { "later" } else { "earlier" },
            );
            format!(", {much:#} {when}")
        });
        let channel = strip_control_characters(key.channel.trim_start_matches('#'));
        let message = self.messages.get(key).map_or(String::new(), |message| {
            let at = message.at().to_zoned(TimeZone::system());
            let author = message.name.as_deref().unwrap_or(&message.author);
            let quote = strip_control_characters(&shorten(&message.text));
            let author = strip_control_characters(author);
            format!(", {}: {author}: “{quote}”", at.strftime("%Y-%m-%d %H:%M"))
        });
        let width = self.before.chars().count().max(self.after.chars().count());
        format!(
            "#{channel}{message}\n  {:width$}  {}\n  {:width$}  {}{}\n",
            self.before,
            describe(before),
            self.after,
            describe(after),
            delay.unwrap_or_default()
        )
    }
}

fn describe_outcome(outcome: MessageOutcome) -> &'static str {
    match outcome {
        MessageOutcome::SpokenTo => "speaks",
        MessageOutcome::Reacted => "reacts",
        MessageOutcome::KeptSilent => "stays silent",
        MessageOutcome::Unknown => "is unknown",
    }
}

fn describe(treatment: &Treatment) -> String {
    let outcome = describe_outcome(treatment.outcome);
    // Another version may have gates that are unknown here.
    let gate =
        treatment.gate.as_ref().map(|gate| match serde_json::from_value::<Gate>(json!(gate)) {
            Ok(known) => texts::ledger::gate(Language::En, known).to_owned(),
            Err(_) => strip_control_characters(gate),
        });
    gate.map_or(outcome.to_owned(), |gate| format!("{outcome} ({gate})"))
}

fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
