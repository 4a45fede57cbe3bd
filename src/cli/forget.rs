//! `aizuchi forget`: deletes a user from the database. The running program does it itself, if there is one.

use std::time::Duration;

use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_model::chat::{AuthorKind, User};
use aizuchi_model::clock::Clock;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::people::ForgetReport;
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_store::sqlite::earlier_version;
use aizuchi_web::in_address;
use aizuchi_web::people::ForgettingsAnswer;
use anyhow::Context as _;
use clap::Args;
use reqwest::Method;
use tokio::time::sleep;

use crate::cli::running::{ProgramClient, UnknownConnections};
use crate::cli::{block_on, find_by_name, print, tell, with_store};

/// How often the running program is asked how far it is.
const POLL: Duration = Duration::from_millis(500);

/// Delete a person and everything remembered about them.
///
/// This deletes their messages, memos about them, and memories of what they said, without asking first. A running
/// Aizuchi does it while it runs; if it is interrupted, it goes on at the next start.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// The person's id or name.
    #[arg(long, value_name = "USER")]
    user: String,
}

impl ForgetArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let LoadedConfig { config, .. } = source.load(ModelSelection::NoModel)?;
        let address = config.database_address();
        if let DatabaseLocation::Sqlite(path) = &address {
            anyhow::ensure!(path.exists(), "there is no database at {address}");
        }
        let report = block_on(async {
            match self.forget_online(&config).await? {
                Ok(report) => anyhow::Ok(report),
                Err(unknown) => self.forget_offline(&address, unknown).await,
            }
        })?;
        // A copy that an earlier version left behind still holds the forgotten text.
        let left = match &address {
            DatabaseLocation::Sqlite(path) => earlier_version::remove_copies(path, Duration::ZERO),
            DatabaseLocation::Postgres(_) => Vec::new(),
        };
        print(&report)?;
        if let Some(copy) = left.first() {
            let copy = copy.display();
            anyhow::bail!("{copy} still holds the text, and cannot be removed; delete it");
        }
        Ok(())
    }

    /// Forgets the person while no program uses the database. `unknown` says why none could be asked.
    async fn forget_offline(
        &self,
        address: &DatabaseLocation,
        unknown: Option<UnknownConnections>,
    ) -> anyhow::Result<String> {
        let forget = async |store: DatabaseStore| self.forget(&store).await;
        let report = with_store(address, forget).await;
        match unknown {
            Some(unknown) => report.context(unknown.told),
            None => report,
        }
    }

    /// Has the running program forget the person. `Err` says why it cannot be asked; without a database of this
    /// version, no program runs on it.
    async fn forget_online(
        &self,
        config: &Config,
    ) -> anyhow::Result<Result<String, Option<UnknownConnections>>> {
        let Ok(database) = ReadOnlyDatabase::open(&config.database_address()).await else {
            return Ok(Err(None));
        };
        let store = database.into_store();
        let client = match ProgramClient::find(config, &store).await? {
            Ok((client, _)) => client,
            Err(unknown) => return Ok(Err(Some(unknown))),
        };
        let users = find(&store, &self.user).await?;
        let mut total = ForgetReport::default();
        for user in &users {
            let workspace = in_address(user.workspace.as_str());
            let id = in_address(user.id.as_str());
            let target = format!("/api/person?workspace={workspace}&user={id}");
            let begun: ForgettingsAnswer = client.request(Method::DELETE, &target, None).await?;
            let number = begun.forgettings.first().context("the program forgets nobody")?.number;
            let target = format!("/api/forgettings?workspace={workspace}");
            let mut told = 0;
            loop {
                let answer: ForgettingsAnswer = client.request(Method::GET, &target, None).await?;
                let found = answer.forgettings.into_iter().find(|it| it.number == number);
                let found =
                    found.context("the program forgets too many people; look at its console")?;
                if found.done {
                    let taken_over =
                        "another order to forget this person has taken over; see the console";
                    add(&mut total, found.gone.context(taken_over)?);
                    break;
                }
                if found.step > told {
                    told = found.step;
                    tell(&format!("step {} of {}", found.step, found.steps));
                }
                sleep(POLL).await;
            }
        }
        Ok(Ok(told(&users[0], &total, "are written again")))
    }

    async fn forget(&self, store: &DatabaseStore) -> anyhow::Result<String> {
        let users = find(store, &self.user).await?;
        let mut total = ForgetReport::default();
        // The same id may belong to a user in more than one workspace.
        for user in &users {
            add(&mut total, store.forget_user(user, "", Clock::system().now()).await?);
        }
        Ok(told(&users[0], &total, "are written again at the next start"))
    }
}

async fn find(store: &DatabaseStore, id_or_name: &str) -> anyhow::Result<Vec<User>> {
    let users = find_by_name::find_user(store, id_or_name).await?;
    let is_own = users.iter().any(|user| user.kind == AuthorKind::Persona);
    anyhow::ensure!(
        !is_own,
        "{} is the companion itself, which cannot be forgotten",
        find_by_name::describe(&users[0])
    );
    Ok(users)
}

fn add(total: &mut ForgetReport, more: ForgetReport) {
    total.messages += more.messages;
    total.own_messages += more.own_messages;
    total.memos += more.memos;
    total.memories += more.memories;
}

fn told(user: &User, total: &ForgetReport, rewritten: &str) -> String {
    format!(
        "{} is forgotten: {} messages, {} messages of the companion that repeated them, and {} memos are deleted; {} \
         memories {rewritten}",
        find_by_name::describe(user),
        total.messages,
        total.own_messages,
        total.memos,
        total.memories,
    )
}
