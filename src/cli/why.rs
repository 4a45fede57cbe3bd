//! `aizuchi why`: why it spoke, or why it did not. It only looks, also while an Aizuchi is running.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use crate::cli::{excerpt, plain, print};
use crate::config::{Config, Thinkers};
use crate::ledger::{self, Account, words};
use crate::web::shapes;
use aizuchi_core::chat::{ChannelId, MessageId, WorkspaceId};
use aizuchi_core::decision::Attempt;
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::persona::Language;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::address::Address;
use aizuchi_core::store::database::onlooker::Onlooker;
use aizuchi_core::store::{Archive, DecisionQuery, Line};

#[derive(Debug, Args)]
pub struct Why {
    /// The message, by its id.
    #[arg(value_name = "MESSAGE")]
    message: String,
    /// Only in this channel, by its name or id.
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A message, and every decision that covers it or that it came of.
struct Found {
    line: Line,
    accounts: Vec<Account>,
}

impl Why {
    pub fn obey(self, file: Option<&Path>) -> anyhow::Result<ExitCode> {
        let config = Config::load(file, Thinkers::Nobody)?.config;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        let found = runtime.block_on(self.look(&config.database()))?;
        if self.json {
            let lines: Vec<_> = found.iter().map(|found| shapes::message(&found.line)).collect();
            let accounts = found.iter().flat_map(|found| &found.accounts);
            let decisions: Vec<_> =
                accounts.map(|account| shapes::decision(&account.decision)).collect();
            let all = json!({ "messages": lines, "decisions": decisions });
            print(&serde_json::to_string_pretty(&all)?)?;
        } else {
            let (language, currency) = (config.language, &config.models.currency.0);
            let told = found.iter().map(|found| found.tell(language, currency));
            print(&told.collect::<Vec<_>>().join("\n\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn look(&self, address: &Address) -> anyhow::Result<Vec<Found>> {
        let database = Onlooker::open(address).await?;
        let places = self.places(&database).await?;
        let archive = database.store();
        let id = MessageId::new(self.message.as_str());
        let mut found = Vec::new();
        for (workspace, channel) in places {
            if let Some(line) = archive.line(&workspace, &channel, &id).await? {
                found.push(Found { accounts: accounts(&archive, &line).await?, line });
            }
        }
        let shown = plain(&self.message);
        match &self.channel {
            Some(channel) => {
                let channel = plain(channel);
                anyhow::ensure!(!found.is_empty(), "there is no message {shown:?} in {channel:?}");
            }
            None => anyhow::ensure!(!found.is_empty(), "there is no message {shown:?}"),
        }
        Ok(found)
    }

    /// Where the message may be: platforms number messages anew in each channel.
    async fn places(&self, database: &Onlooker) -> anyhow::Result<Vec<(WorkspaceId, ChannelId)>> {
        if let Some(wanted) = &self.channel {
            let places = database.channels_called(wanted).await?;
            let shown = plain(wanted);
            anyhow::ensure!(!places.is_empty(), "there is no channel {shown:?} in the database");
            return Ok(places);
        }
        let mut places = Vec::new();
        for workspace in database.workspaces().await? {
            let channels = database.channels(&workspace).await?.into_iter();
            places.extend(channels.map(|channel| (workspace.clone(), channel.id)));
        }
        Ok(places)
    }
}

/// Newest last.
async fn accounts(archive: &DatabaseStore, line: &Line) -> anyhow::Result<Vec<Account>> {
    let place = &line.message.conversation;
    let query = DecisionQuery::Lines {
        workspace: place.workspace.clone(),
        channel: place.channel.clone(),
        lines: vec![line.message.id.clone()],
    };
    let mut accounts = Vec::new();
    for decision in archive.decisions(query).await? {
        accounts.push(Account::read(archive, decision).await?);
    }
    Ok(accounts)
}

impl Found {
    fn tell(&self, language: Language, currency: &str) -> String {
        let mut told = vec![said(&self.line, language)];
        told.extend(self.settled(language));
        told.extend(self.accounts.iter().map(|account| tell(account, language, currency)));
        told.join("\n")
    }

    /// What became of a line that no decision is about.
    fn settled(&self, language: Language) -> Option<String> {
        let is_told = !self.accounts.is_empty();
        match self.line.gate {
            // Why it said this is told by the decision.
            Some(Gate::OwnLine) if is_told => None,
            Some(gate) => {
                let name = language.pick("Settled when it was heard", "聞いた時点で適用");
                Some(fact(name, &ledger::settled_when_heard(gate, language), language))
            }
            None if is_told => None,
            None => Some(
                language
                    .pick("  nothing was decided about it", "  これについての判断はありません")
                    .to_owned(),
            ),
        }
    }
}

fn tell(account: &Account, language: Language, currency: &str) -> String {
    let decision = &account.decision;
    let name = language.pick("Decision", "判断");
    let channel = plain(account.channel_name.trim_start_matches('#'));
    let mut lines = vec![format!("{name} {} · #{channel}", decision.id)];
    let looked_at = language.pick("Looked at", "対象にした発言");
    let considered = account.considered.iter();
    lines.extend(considered.map(|line| fact(looked_at, &said(line, language), language)));
    let facts = account.facts(language);
    lines.extend(facts.iter().map(|one| fact(one.name, &one.value, language)));
    let calls = decision.attempts.iter();
    lines.extend(calls.map(|attempt| call(attempt, language, currency)));
    let ended = words::ended(decision.ended, language);
    let why = decision.why.as_deref().filter(|why| !why.is_empty());
    let ended = why.map_or(ended.to_owned(), |why| format!("{ended} — {why}"));
    lines.push(fact(language.pick("How it ended", "結果"), &ended, language));
    let said_name = language.pick("Said", "発言");
    lines.extend(account.said.iter().map(|line| fact(said_name, &said(line, language), language)));
    lines.extend(account.next(language).map(|next| fact(next.name, &next.value, language)));
    lines.join("\n")
}

fn call(attempt: &Attempt, language: Language, currency: &str) -> String {
    let title = ledger::call_title(attempt, language);
    let facts = ledger::call_facts(attempt, language, currency);
    let told: Vec<String> = facts
        .iter()
        .map(|fact| format!("{}{}{}", fact.name, language.pick(": ", "："), fact.value))
        .collect();
    let told = match language {
        Language::En => format!("{title} ({})", told.join("; ")),
        Language::Ja => format!("{title}（{}）", told.join("、")),
    };
    fact(language.pick("Call", "呼び出し"), &told, language)
}

fn fact(name: &str, value: &str, language: Language) -> String {
    format!("  {name}{}{}", language.pick(": ", "："), plain(value))
}

fn said(line: &Line, language: Language) -> String {
    let at = ledger::moment(line.message.at);
    format!("{at}  {}: {}", plain(&line.name), excerpt(&ledger::text(line, language)))
}
