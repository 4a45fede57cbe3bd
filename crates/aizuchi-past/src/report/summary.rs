//! A report in a few lines for the terminal.

use std::fmt::Write as _;

use aizuchi_model::persona::Language;
use aizuchi_model::texts::counted::{self, Counted};
use aizuchi_model::texts::report as texts;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use crate::report::cautions::cautions;
use crate::report::figures::{PolicyFigures, Report, ReportSource};
use crate::report::format;
use crate::report::headline::{Headline, headline};
use crate::report::policy_sentences;
use crate::report::sentences;
use crate::report::story::{Story, StoryKind};

const MAX_CHANNELS: usize = 12;
const MAX_WRONG: usize = 3;

/// Formats the headline of each policy with its channels and its interruptions. `has_page` says whether a page was
/// written.
pub fn summary(report: &Report, zone: &TimeZone, language: Language, has_page: bool) -> String {
    let mut text = String::new();
    for policy in &report.policies {
        if report.policies.len() > 1 {
            let _ = writeln!(text, "{}", policy.name);
        }
        add_policy(&mut text, report, policy, zone, language);
        text.push('\n');
    }
    add_comparison(&mut text, report, language);
    if !has_page {
        let hint = match report.source {
            ReportSource::Ledger => texts::write_page_ledger(language),
            ReportSource::Builtin
            | ReportSource::AlwaysSilent
            | ReportSource::AlwaysSpeak
            | ReportSource::Model => texts::write_page(language),
        };
        let _ = writeln!(text, "{hint}");
    }
    text.trim_end().to_owned()
}

/// Adds which policy is ahead by which measure, and which to take, or why nothing is compared.
fn add_comparison(text: &mut String, report: &Report, language: Language) {
    let mut sentences = policy_sentences::not_compared(report, language);
    sentences.extend(policy_sentences::findings(report, language));
    sentences.extend(policy_sentences::advice(report, language));
    if report.policies.len() > 1 {
        sentences.extend(policy_sentences::posts(report, language));
        sentences.extend(cautions(report, language));
    }
    if sentences.is_empty() {
        return;
    }
    for sentence in sentences {
        let _ = writeln!(text, "{}", shown(&sentence));
    }
    text.push('\n');
}

fn add_policy(
    text: &mut String,
    report: &Report,
    policy: &PolicyFigures,
    zone: &TimeZone,
    language: Language,
) {
    // Writing to a string does not fail.
    let Headline { title, details, interruption, ways } = headline(report, policy, language);
    let _ = writeln!(text, "{title}");
    let interruption = interruption.map(str::to_owned);
    for detail in details.into_iter().chain(interruption).chain(ways) {
        let _ = writeln!(text, "{detail}");
    }
    let Some((spoke, wrong)) = policy.spoke.zip(policy.wrong) else { return };
    let mut channels: Vec<_> = policy.by_channel.iter().collect();
    channels.sort_by_key(|channel| (std::cmp::Reverse(channel.spoke), &channel.name));
    let names: Vec<String> =
        channels.iter().map(|channel| shown(&format::channel(&channel.name))).collect();
    let widest = names.iter().take(MAX_CHANNELS).map(|name| name.width()).max().unwrap_or(0);
    for (channel, name) in channels.iter().zip(&names).take(MAX_CHANNELS) {
        let spoke = format::number_of(spoken(report), channel.spoke, language);
        let messages = format::number_of(counted::messages, channel.messages, language);
        let line = texts::channel_line(language, &spoke, &messages);
        let _ = writeln!(text, "  {}  {line}", padded(name, widest));
    }
    if channels.len() > MAX_CHANNELS {
        let rest = channels.len() - MAX_CHANNELS;
        let more = format::number_of(counted::more_channels, rest, language);
        let _ = writeln!(text, "  {more}");
    }
    match (spoke, wrong) {
        (0, _) => {}
        (_, 0) => {
            let _ = writeln!(text, "{}", texts::no_wrong(language));
        }
        (spoke, wrong) => {
            let posts = format::number_of(spoken_of(report), spoke, language);
            let wrong = texts::wrong_line(language, &format::count(wrong), &posts);
            let _ = writeln!(text, "{wrong}");
        }
    }
    let stories = policy.stories.iter().filter(|story| story.kind == StoryKind::Wrong);
    for story in stories.take(MAX_WRONG) {
        let _ = writeln!(text, "  {}", wrong_line(story, report, zone, language));
    }
}

/// Returns the unit that is counted in a channel: times, or moments where the built-in mind replaces the model.
fn spoken(report: &Report) -> Counted {
    if report.has_stand_in() { counted::moments } else { counted::times }
}

/// Returns the unit of which some would have interrupted.
fn spoken_of(report: &Report) -> Counted {
    if report.has_stand_in() { counted::moments } else { counted::posts }
}

fn wrong_line(story: &Story, report: &Report, zone: &TimeZone, language: Language) -> String {
    let at = format::date_and_time(story.at, zone, language);
    let note = sentences::note(story, report, zone, language).unwrap_or_default();
    shown(&format!("{at}  {}  {note}", format::channel(&story.channel)))
}

/// Pads a name with spaces to a width in columns. Japanese characters are two columns wide.
fn padded(name: &str, columns: usize) -> String {
    format!("{name}{}", " ".repeat(columns.saturating_sub(name.width())))
}

/// Removes control characters: names come from outside and must not control the terminal.
fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_wide_for_japanese_names() {
        for (name, expected) in [
            ("#harbour-desk", "#harbour-desk"),
            ("#港の雑談", "#港の雑談    "),
            ("#lobby", "#lobby       "),
        ] {
            assert_eq!(padded(name, 13), expected);
        }
    }
}
