//! `forget`: takes a person out of the database, for good.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::cli::print;
use crate::config::{Config, Loaded, Thinkers};
use aizuchi_core::chat::{AuthorKind, User, one_line};
use aizuchi_core::clock::Clock;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::address::Address;
use aizuchi_core::store::database::forget::Forgotten;

/// Forget a person: their messages, memos about them, and what is remembered of them.
#[derive(Debug, Args)]
pub struct Forget {
    /// Who it is: an id, or a name.
    #[arg(long, value_name = "USER")]
    user: String,
}

impl Forget {
    pub fn obey(self, file: Option<&Path>) -> anyhow::Result<ExitCode> {
        let Loaded { config, .. } = Config::load(file, Thinkers::Nobody)?;
        let address = config.database();
        if let Address::File(path) = &address {
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
        let found = store.find_person(&self.user).await?;
        let asked = one_line(&self.user);
        anyhow::ensure!(!found.is_empty(), "nobody is known by the id or name \"{asked}\"");
        let is_own = found.iter().any(|user| user.kind == AuthorKind::Persona);
        anyhow::ensure!(!is_own, "\"{asked}\" is what I am called; I cannot forget myself");
        let is_one = found.iter().all(|other| other.id == found[0].id);
        anyhow::ensure!(
            is_one,
            "\"{asked}\" may be any of {}; name one of these ids",
            found.iter().map(known).collect::<Vec<_>>().join(", ")
        );
        let mut forgotten = Forgotten::default();
        // The same person may be known in more than one workspace.
        for user in &found {
            let here = store.forget_person(user, Clock::system().now()).await?;
            forgotten.lines += here.lines;
            forgotten.own_lines += here.own_lines;
            forgotten.memos += here.memos;
            forgotten.memories += here.memories;
        }
        Ok(format!(
            "{} is forgotten: {} lines, {} lines of my own that repeated them, {} memos; {} memories are \
             written anew at the next start",
            known(&found[0]),
            forgotten.lines,
            forgotten.own_lines,
            forgotten.memos,
            forgotten.memories,
        ))
    }
}

fn known(user: &User) -> String {
    format!("{} ({})", one_line(user.id.as_str()), one_line(&user.name))
}
