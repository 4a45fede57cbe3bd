//! `aizuchi restore`: restores a backup.

use std::fmt::Write as _;
use std::path::PathBuf;

use aizuchi_config::source::ConfigSource;
use aizuchi_config::{LoadedConfig, ModelSelection};
use aizuchi_store::transfer::{self, IfOccupied};
use clap::Args;

use crate::cli::print;
use crate::cli::transfer::{count, spin};

/// Restore a backup.
///
/// Stop Aizuchi first. Anyone who was forgotten or opted out since the backup was made is forgotten or opted out again,
/// provided the database being replaced has a record of it.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The file that `aizuchi backup` wrote.
    file: PathBuf,
    /// Replace a database that contains messages. Its file is kept next to the new one.
    #[arg(long)]
    replace: bool,
}

impl RestoreArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let LoadedConfig { config, .. } = source.load_without_database(ModelSelection::NoModel)?;
        let address = config.database_address();
        let occupied = match self.replace {
            true => IfOccupied::Replace,
            false => IfOccupied::Refuse,
        };
        let work = transfer::restore(&self.file, &address, occupied);
        let report = spin("restoring", work)?;
        let mut text = format!(
            "{address} holds {} of {}",
            count(report.copied.rows_of("messages"), "message"),
            self.file.display(),
        );
        if let Some(old) = &report.set_aside {
            // Writing to a string never fails.
            let _ = write!(text, "; what was there before is {}", old.display());
        }
        if report.forgotten > 0 {
            let _ = write!(
                text,
                "; {} forgotten since then will be forgotten again at the next start",
                count(report.forgotten as u64, "person"),
            );
        }
        if report.opted_out > 0 {
            let _ = write!(
                text,
                "; {} who opted out since then {} still opted out",
                count(report.opted_out as u64, "person"),
                if report.opted_out == 1 { "is" } else { "are" },
            );
        }
        text.push('.');
        print(&text)
    }
}
