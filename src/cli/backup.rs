//! `aizuchi backup`: writes the whole database into one file.

use std::path::PathBuf;

use aizuchi_config::source::ConfigSource;
use aizuchi_config::{LoadedConfig, ModelSelection};
use aizuchi_store::transfer;
use clap::Args;

use crate::cli::print;
use crate::cli::transfer::{count, spin};

/// Write everything that Aizuchi knows into a new file.
///
/// Aizuchi can keep running. The file is read back and verified before it gets its name. It contains all messages in
/// clear text, so its permissions let only you read it. `aizuchi restore` restores it, to a file or to a server.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// A new file.
    file: PathBuf,
}

impl BackupArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let LoadedConfig { config, .. } = source.load(ModelSelection::NoModel)?;
        let address = config.database_address();
        let work = transfer::back_up(&address, &self.file);
        let report = spin("writing the backup", work)?;
        print(&format!(
            "{} holds {}, {} and {} of {address}; it was read back and verified",
            self.file.display(),
            count(report.rows_of("messages"), "message"),
            count(report.rows_of("decisions"), "decision"),
            count(report.rows_of("memories") + report.rows_of("memos"), "memory or memo"),
        ))?;
        Ok(())
    }
}
