//! `aizuchi forget`: deletes a user from the database.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::cli::print;
use crate::config::source::ConfigSource;
use crate::config::{LoadedConfig, ModelSelection};
use aizuchi_core::chat::{AuthorKind, User, to_single_line};
use aizuchi_core::clock::Clock;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::forget::ForgetReport;
use aizuchi_core::store::database::location::DatabaseLocation;

/// Delete a person and everything remembered of them.
///
/// That is their messages, memos about them, and memories of what they said. Stop Aizuchi first.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// The person's id or name.
    #[arg(long, value_name = "USER")]
    user: String,
}

impl ForgetArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        let LoadedConfig { config, .. } = source.load(ModelSelection::NoModel)?;
        let address = config.database_address();
        if let DatabaseLocation::Sqlite(path) = &address {
            anyhow::ensure!(path.exists(), "there is no database at {address}");
        }
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        runtime.block_on(async {
            let (store, writer) = address.open().await?;
            let stop = CancellationToken::new();
            let forget = async {
                let report = self.forget(&store).await;
                stop.cancel();
                report
            };
            let (writer_end, report) = tokio::join!(writer.run(stop.clone()), forget);
            writer_end?;
            print(&report?)?;
            Ok(ExitCode::SUCCESS)
        })
    }

    async fn forget(&self, store: &DatabaseStore) -> anyhow::Result<String> {
        let users = store.find_users(&self.user).await?;
        let wanted = to_single_line(&self.user);
        anyhow::ensure!(!users.is_empty(), "there is no user with the id or name \"{wanted}\"");
        let is_own = users.iter().any(|user| user.kind == AuthorKind::Persona);
        anyhow::ensure!(!is_own, "\"{wanted}\" is the companion itself, which cannot be forgotten");
        let is_one = users.iter().all(|other| other.id == users[0].id);
        anyhow::ensure!(
            is_one,
            "\"{wanted}\" may be any of {}; name one of these ids",
            users.iter().map(describe_user).collect::<Vec<_>>().join(", ")
        );
        let mut total = ForgetReport::default();
        // One id may belong to a user in more than one workspace.
        for user in &users {
            let report = store.forget_user(user, Clock::system().now()).await?;
            total.messages += report.messages;
            total.own_messages += report.own_messages;
            total.memos += report.memos;
            total.memories += report.memories;
        }
        Ok(format!(
            "{} is forgotten: {} messages, {} messages of the companion that repeated them, and {} memos are \
             deleted; {} memories are written anew at the next start",
            describe_user(&users[0]),
            total.messages,
            total.own_messages,
            total.memos,
            total.memories,
        ))
    }
}

fn describe_user(user: &User) -> String {
    format!("{} ({})", to_single_line(user.id.as_str()), to_single_line(&user.name))
}
