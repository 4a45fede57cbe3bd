//! The results, as a table or as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use aizuchi_fakes::slack::delivery::{AckStatus, EnvelopeStatus};
use aizuchi_fakes::slack::state::FakeSlackState;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};
use jiff::Timestamp;
use serde::Serialize;

use crate::Options;
use crate::database::Missing;
use crate::program::Sample;
use crate::team::Team;

/// The goal for 99 % of all acknowledgments.
const ACK_GOAL_MS: f64 = 500.0;
const MEGABYTE: f64 = 1_000_000.0;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub channels: usize,
    pub people: usize,
    pub lines: u64,
    pub lines_per_second: f64,
    pub mail: DeliveryReport,
    pub missing: Missing,
    pub outage: Option<Outage>,
    pub samples: Vec<Sample>,
    pub questions: usize,
    pub posts: usize,
    pub calls: BTreeMap<String, usize>,
    pub log_lines: usize,
    pub database_bytes: u64,
}

/// What happened to the events.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryReport {
    pub events: usize,
    pub acked: usize,
    pub deliveries: usize,
    pub redeliveries: usize,
    pub missed_deliveries: usize,
    /// Never acknowledged in spite of all redeliveries.
    pub dropped: usize,
    pub under_way: usize,
    pub ack_p50_ms: f64,
    pub ack_p90_ms: f64,
    pub ack_p99_ms: f64,
    pub ack_max_ms: f64,
}

/// A period without a connection between Slack and the program.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outage {
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// The messages posted during the outage that still exist.
    pub lines: usize,
    /// From the end of the outage until the last of them was stored, in seconds; `None` if that did not happen.
    pub caught_up_in: Option<f64>,
}

impl DeliveryReport {
    fn from_state(state: &FakeSlackState) -> Self {
        let (envelopes, deliveries) = (&state.dispatcher.envelopes, &state.dispatcher.deliveries);
        let count = |status| envelopes.iter().filter(|it| it.status == status).count();
        let mut took: Vec<f64> =
            deliveries.iter().filter_map(|delivery| delivery.milliseconds).collect();
        took.sort_by(f64::total_cmp);
        let quantile = |quantile: f64| {
            let index = (took.len().saturating_sub(1) as f64 * quantile).round() as usize;
            took.get(index).copied().unwrap_or_default()
        };
        let missed = |receipt: &AckStatus| matches!(receipt, AckStatus::TimedOut | AckStatus::Late);
        Self {
            events: envelopes.len(),
            acked: count(EnvelopeStatus::Acked),
            deliveries: deliveries.len(),
            redeliveries: deliveries.iter().filter(|delivery| delivery.retry_attempt > 0).count(),
            missed_deliveries: deliveries.iter().filter(|one| missed(&one.ack_status)).count(),
            dropped: count(EnvelopeStatus::Dropped),
            under_way: count(EnvelopeStatus::InFlight),
            ack_p50_ms: quantile(0.5),
            ack_p90_ms: quantile(0.9),
            ack_p99_ms: quantile(0.99),
            ack_max_ms: quantile(1.0),
        }
    }
}

impl Report {
    pub fn new(
        options: &Options,
        team: &Team,
        duration: Duration,
        samples: Vec<Sample>,
        missing: Missing,
        outage: Option<Outage>,
        questions: usize,
    ) -> Self {
        let lines = u64::from(options.rate) * options.seconds;
        Self {
            channels: options.channels,
            people: options.people,
            lines,
            lines_per_second: lines as f64 / duration.as_secs_f64(),
            mail: team.fake.read(DeliveryReport::from_state),
            missing,
            outage,
            samples,
            questions,
            posts: team.fake.read(|state| state.journal.posts.len()),
            calls: team.fake.read(|state| {
                let mut calls = BTreeMap::new();
                for call in &state.journal.calls {
                    *calls.entry(call.method.clone()).or_default() += 1;
                }
                calls
            }),
            log_lines: 0,
            database_bytes: 0,
        }
    }

    pub fn with_log(self, log_lines: usize, database_bytes: u64) -> Self {
        Self { log_lines, database_bytes, ..self }
    }

    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(["", "measured", "goal"]);
        self.rows(|name, value, goal| {
            table.add_row([name.to_owned(), value, goal.to_owned()]);
        });
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.to_string()
    }

    fn rows(&self, mut row: impl FnMut(&str, String, &str)) {
        let mail = &self.mail;
        row("channels, people", format!("{}, {}", self.channels, self.people), "200, 1000");
        row("lines said", self.lines.to_string(), "");
        row("… a second", format!("{:.1}", self.lines_per_second), "50");
        row("events sent", mail.events.to_string(), "");
        row("… acknowledged", mail.acked.to_string(), "all");
        row("… brought again", mail.redeliveries.to_string(), "0");
        row("… too late or never", mail.missed_deliveries.to_string(), "0");
        row("… given up, still under way", format!("{}, {}", mail.dropped, mail.under_way), "0, 0");
        let milliseconds = |value: f64| format!("{value:.1} ms");
        row("acknowledged after, p50", milliseconds(mail.ack_p50_ms), "");
        row("… p90", milliseconds(mail.ack_p90_ms), "");
        row("… p99", milliseconds(mail.ack_p99_ms), &format!("< {ACK_GOAL_MS:.0} ms"));
        row("… the longest", milliseconds(mail.ack_max_ms), "< 3000 ms");
        let missing = &self.missing;
        let all = format!(
            "{} ({}, {}, {}, {})",
            missing.total(),
            missing.lines,
            missing.edits,
            missing.deletions,
            missing.reactions
        );
        row("lost (lines, edits, deletions, reactions)", all, "0");
        if let Some(outage) = &self.outage {
            row("said while it was cut off", outage.lines.to_string(), "");
            let took = outage.caught_up_in.map(|seconds| format!("{seconds:.1} s"));
            row("… all kept after", took.unwrap_or("never".to_owned()), "");
        }
        let began = self.samples.first().map_or(0.0, |sample| sample.seconds);
        for sample in &self.samples {
            let name = format!("memory after {:.0} s", sample.seconds - began);
            row(&name, megabytes(sample.resident_bytes), "flat");
        }
        if let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) {
            row("… at most", megabytes(last.peak_bytes), "");
            let (cpu, time) = (last.cpu_seconds - first.cpu_seconds, last.seconds - first.seconds);
            let share = 100.0 * cpu / time.max(f64::MIN_POSITIVE);
            row("processor time", format!("{cpu:.1} s ({share:.0} % of one)"), "");
            row(
                "open files, at first and last",
                format!("{}, {}", first.open_files, last.open_files),
                "flat",
            );
            row("memory of this example", megabytes(last.own_resident_bytes), "");
        }
        row("database", megabytes(self.database_bytes), "");
        row("questions to the mute model", self.questions.to_string(), "");
        let calls = self.calls.iter().map(|(method, count)| format!("{method} {count}"));
        row("calls of Slack's API", calls.collect::<Vec<_>>().join(", "), "");
        row("posts", self.posts.to_string(), "");
        row("lines of its log", self.log_lines.to_string(), "");
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / MEGABYTE)
}
