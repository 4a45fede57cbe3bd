//! `forget`: takes a person out of the database, for good.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::cli::print;
use crate::config::{Config, LoadedConfig, ModelSelection};
use aizuchi_core::chat::{AuthorKind, User, to_single_line};
use aizuchi_core::clock::Clock;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::forget::ForgetReport;
use aizuchi_core::store::database::location::DatabaseLocation;

/// Forget a person: their messages, memos about them, and what is remembered of them.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Who it is: an id, or a name.
    #[arg(long, value_name = "USER")]
    user: String,
}

impl ForgetArgs {
    pub fn run(self, file: Option<&Path>) -> anyhow::Result<ExitCode> {
        let LoadedConfig { config, .. } = Config::load(file, ModelSelection::NoModel)?;
        let address = config.database_address();
        if let DatabaseLocation::Sqlite(path) = &address {
            anyhow::ensure!(path.exists(), "there is no database at {address}, so nobody is known");
        }
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        runtime.block_on(async {
            let (store, writer) = address.open().await?;
            let stop = CancellationToken::new();
            let forgetting = async {
                let told = self.forget(&store).await;
                stop.cancel();
                told
            };
            let (written, told) = tokio::join!(writer.run(stop.clone()), forgetting);
            written?;
            print(&told?)?;
            Ok(ExitCode::SUCCESS)
        })
    }

    async fn forget(&self, store: &DatabaseStore) -> anyhow::Result<String> {
        let found = store.find_users(&self.user).await?;
        let asked = to_single_line(&self.user);
        anyhow::ensure!(!found.is_empty(), "nobody is known by the id or name \"{asked}\"");
        let is_own = found.iter().any(|user| user.kind == AuthorKind::Persona);
        anyhow::ensure!(!is_own, "\"{asked}\" is what I am called; I cannot forget myself");
        let is_one = found.iter().all(|other| other.id == found[0].id);
        anyhow::ensure!(
            is_one,
            "\"{asked}\" may be any of {}; name one of these ids",
            found.iter().map(describe_user).collect::<Vec<_>>().join(", ")
        );
        let mut forgotten = ForgetReport::default();
        // The same person may be known in more than one workspace.
        for user in &found {
            let here = store.forget_user(user, Clock::system().now()).await?;
            forgotten.messages += here.messages;
            forgotten.own_messages += here.own_messages;
            forgotten.memos += here.memos;
            forgotten.memories += here.memories;
        }
        Ok(format!(
            "{} is forgotten: {} lines, {} lines of my own that repeated them, {} memos; {} memories are \
             written anew at the next start",
            describe_user(&found[0]),
            forgotten.messages,
            forgotten.own_messages,
            forgotten.memos,
            forgotten.memories,
        ))
    }
}

fn describe_user(user: &User) -> String {
    format!("{} ({})", to_single_line(user.id.as_str()), to_single_line(&user.name))
}
