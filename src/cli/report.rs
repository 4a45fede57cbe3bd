//! `aizuchi report`: what Aizuchi did, and what it would have done where it only observes. It can read the database
//! while the program is running, and changes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, ModelSelection};
use aizuchi_model::chat::{Channel, Visibility, WorkspaceId, strip_control_characters};
use aizuchi_past::report::builder::{BuiltReport, ReportBuilder, ReportOptions};
use aizuchi_past::report::cost;
use aizuchi_past::report::figures::{LeftOut, Privacy, ReportSource};
use aizuchi_past::report::from_ledger::{ChannelLedger, calls, has_messages};
use aizuchi_past::report::summary::summary;
use aizuchi_store::archive::Archive;
use aizuchi_store::read_only::ReadOnlyDatabase;
use clap::Args;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::cli::report_page::{PageArgs, write_page};
use crate::cli::{block_on, print, print_json};

/// Show what Aizuchi did recently, and what it would have done where it only observes.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// How far back: a number of hours (h), days (d) or weeks (w).
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = parse_period)]
    last: PeriodArg,
    /// Write the report as one self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Only this channel: its name or its id.
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Include private channels.
    #[arg(long)]
    private: bool,
    #[command(flatten)]
    page: PageArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Debug)]
struct PeriodArg {
    shown: String,
    length: SignedDuration,
}

impl ReportArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let zone = config.time_zone_or(TimeZone::system());
        let built = block_on(self.build(&config, &zone, Timestamp::now()))?;
        let language = self.page.language(&config);
        let report = self.page.finish(built, language);
        if let Some(path) = &self.html {
            write_page(path, &report, &zone, language)?;
        }
        match self.json {
            true => print_json(&json!({ "report": report })),
            false => print(&summary(&report, language, self.html.is_some())),
        }
    }

    async fn build(
        &self,
        config: &Config,
        zone: &TimeZone,
        now: Timestamp,
    ) -> anyhow::Result<BuiltReport> {
        let since = now - self.last.length;
        let database = ReadOnlyDatabase::open(&config.database_address()).await?;
        let channels = self.find_channels(&database).await?;
        let archive = database.into_store();
        let options = ReportOptions {
            end: Some(now),
            ..ReportOptions::new(config, ReportSource::Ledger, zone.clone())
        };
        let mut builder = ReportBuilder::new(options);
        builder.begin_policy("ledger");
        let (mut decisions, mut private_channels, mut has_private) = (0, 0, false);
        // A channel that is named explicitly is included even if it is private.
        let is_meant = self.private || self.channel.is_some();
        for (workspace, channel) in &channels {
            if channel.visibility != Visibility::Public && !is_meant {
                let has_any = has_messages(&archive, workspace, channel, since).await?;
                private_channels += usize::from(has_any);
                continue;
            }
            has_private |= channel.visibility != Visibility::Public;
            let ledger = ChannelLedger::read(&archive, workspace, channel, since).await?;
            let ledger = if is_meant { ledger } else { ledger.public() };
            decisions += ledger.add_to(&mut builder, channel)?;
        }
        self.add_calls(&mut builder, &archive, &channels, (since, now)).await?;
        anyhow::ensure!(decisions > 0, "{}", self.nothing_decided(private_channels));
        builder.include(now, now);
        Ok(builder.finish(LeftOut {
            bad_records: 0,
            private_channels: Some(private_channels),
            privacy: if has_private || self.private { Privacy::Included } else { Privacy::LeftOut },
            records: None,
        }))
    }

    /// Adds the model calls: all of the workspaces', or those of the channel that is named.
    async fn add_calls(
        &self,
        builder: &mut ReportBuilder,
        archive: &dyn Archive,
        channels: &[(WorkspaceId, Channel)],
        (since, now): (Timestamp, Timestamp),
    ) -> anyhow::Result<()> {
        let mut read = BTreeMap::new();
        for (workspace, channel) in channels {
            if !read.contains_key(workspace) {
                let all = calls(archive, workspace, since, now).await?;
                read.insert(workspace.clone(), all);
            }
            if let (Some(_), Some(all)) = (&self.channel, read.get(workspace)) {
                builder.add_calls(cost::of_channel(all, &channel.id));
            }
        }
        if self.channel.is_none() {
            read.into_values().for_each(|all| builder.add_calls(all));
        }
        Ok(())
    }

    fn nothing_decided(&self, private_channels: usize) -> String {
        let place = self.channel.as_deref().map(strip_control_characters);
        let place = place.map(|channel| format!(" in {channel:?}")).unwrap_or_default();
        let nothing = format!("Aizuchi made no decisions{place} in the last {}", self.last.shown);
        match private_channels {
            0 => format!(
                "{nothing}; let it run where people talk, with `response.mode: observe` if it should only listen"
            ),
            1 => {
                format!("{nothing}; 1 private channel was left out, and --private includes it")
            }
            count => {
                format!(
                    "{nothing}; {count} private channels were left out, and --private includes them"
                )
            }
        }
    }

    async fn find_channels(
        &self,
        database: &ReadOnlyDatabase,
    ) -> anyhow::Result<Vec<(WorkspaceId, Channel)>> {
        let wanted = match &self.channel {
            Some(channel) => Some(database.find_channels(channel).await?),
            None => None,
        };
        if let (Some(channel), Some([])) = (&self.channel, wanted.as_deref()) {
            let shown = strip_control_characters(channel);
            anyhow::bail!("there is no channel {shown:?} in the database");
        }
        let mut found = Vec::new();
        for workspace in database.workspaces().await? {
            for channel in database.channels(&workspace).await? {
                let key = (workspace.clone(), channel.id.clone());
                if wanted.as_ref().is_none_or(|wanted| wanted.contains(&key)) {
                    found.push((workspace.clone(), channel));
                }
            }
        }
        Ok(found)
    }
}

fn parse_period(text: &str) -> Result<PeriodArg, String> {
    const WRONG: &str = "give a number of hours, days or weeks, such as 36h, 7d or 2w";
    const MAX_HOURS: i64 = 10 * 366 * 24;
    let unit = text.chars().next_back().ok_or(WRONG)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        _ => return Err(WRONG.to_owned()),
    };
    let number: i64 = text[..text.len() - 1].parse().map_err(|_| WRONG.to_owned())?;
    let hours = number.checked_mul(hours).filter(|hours| (1..=MAX_HOURS).contains(hours));
    let hours = hours.ok_or("give a time between 1h and ten years")?;
    let shown = match (number, unit) {
        (1, 'h') => "hour".to_owned(),
        (1, 'd') => "day".to_owned(),
        (1, _) => "week".to_owned(),
        (number, 'h') => format!("{number} hours"),
        (number, 'd') => format!("{number} days"),
        (number, _) => format!("{number} weeks"),
    };
    Ok(PeriodArg { shown, length: SignedDuration::from_hours(hours) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_hours_days_or_weeks() {
        for (text, hours, shown) in
            [("36h", 36, "36 hours"), ("7d", 168, "7 days"), ("1w", 168, "week")]
        {
            let period = parse_period(text).unwrap();
            assert_eq!((period.length.as_hours(), &*period.shown), (hours, shown));
        }
        for wrong in ["", "d", "7", "-1d", "0h", "7m", "99999w", "７d", "7日"] {
            assert!(parse_period(wrong).is_err(), "{wrong}");
        }
    }
}
