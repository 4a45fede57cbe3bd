//! `aizuchi migrate`: moves all data to another database.

use aizuchi_config::source::ConfigSource;
use aizuchi_config::storage::StorageUrl;
use aizuchi_config::{LoadedConfig, ModelSelection};
use aizuchi_store::transfer::{self, IfOccupied, MoveReport};
use clap::Args;

use crate::cli::print;
use crate::cli::transfer::{count, spin};

/// Move everything to another database: from a file to a PostgreSQL server, or back.
///
/// Stop Aizuchi first. As soon as the move begins, the old database can no longer be used, so that Aizuchi never answers from both. If the move is interrupted, run it again.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// The destination, as in storage.url: `sqlite://FILE`, relative to the config's folder, or
    /// `postgres://USER:PASSWORD@HOST/DATABASE`.
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    to: StorageUrl,
    /// Replace a database at the destination that contains messages.
    #[arg(long)]
    replace: bool,
}

fn parse_url(url: &str) -> Result<StorageUrl, &'static str> {
    StorageUrl::try_from(url.to_owned())
}

impl MigrateArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let LoadedConfig { config, .. } = source.load(ModelSelection::NoModel)?;
        let (from, to) = (config.database_address(), config.locate(self.to.0));
        let occupied = match self.replace {
            true => IfOccupied::Replace,
            false => IfOccupied::Refuse,
        };
        let work = transfer::move_to(&from, &to, occupied);
        let report = spin("moving", work)?;
        let moved = match report {
            MoveReport::Moved(report) => {
                format!("{} and everything else", count(report.rows_of("messages"), "message"))
            }
            MoveReport::WasMoved => "everything, as an earlier call had left it,".to_owned(),
        };
        print(&format!(
            "moved {moved} from {from} to {to}; now point storage.url to the new location and start Aizuchi. The old \
             database is kept but can no longer be used."
        ))?;
        Ok(())
    }
}
