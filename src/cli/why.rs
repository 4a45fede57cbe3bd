//! `aizuchi why`: why it spoke, or why it did not. It only looks, also while an Aizuchi is running.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use crate::cli::{excerpt, print, strip_control_characters};
use crate::config::{Config, ModelSelection};
use crate::ledger::{self, DecisionDetails, labels};
use crate::web::views;
use aizuchi_core::chat::{ChannelId, MessageId, WorkspaceId};
use aizuchi_core::decision::Attempt;
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::persona::Language;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::database::read_only::ReadOnlyDatabase;
use aizuchi_core::store::{Archive, DecisionQuery, StoredMessage};

#[derive(Debug, Args)]
pub struct WhyArgs {
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
struct MessageDecisions {
    message: StoredMessage,
    decisions: Vec<DecisionDetails>,
}

impl WhyArgs {
    pub fn run(self, file: Option<&Path>) -> anyhow::Result<ExitCode> {
        let config = Config::load(file, ModelSelection::NoModel)?.config;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        let found = runtime.block_on(self.find_message(&config.database_address()))?;
        if self.json {
            let lines: Vec<_> = found.iter().map(|found| views::message(&found.message)).collect();
            let accounts = found.iter().flat_map(|found| &found.decisions);
            let decisions: Vec<_> =
                accounts.map(|account| views::decision(&account.decision)).collect();
            let all = json!({ "messages": lines, "decisions": decisions });
            print(&serde_json::to_string_pretty(&all)?)?;
        } else {
            let (language, currency) = (config.language, &config.models.currency.0);
            let told = found.iter().map(|found| found.format(language, currency));
            print(&told.collect::<Vec<_>>().join("\n\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn find_message(
        &self,
        address: &DatabaseLocation,
    ) -> anyhow::Result<Vec<MessageDecisions>> {
        let database = ReadOnlyDatabase::open(address).await?;
        let places = self.find_channels(&database).await?;
        let archive = database.into_store();
        let id = MessageId::new(self.message.as_str());
        let mut found = Vec::new();
        for (workspace, channel) in places {
            if let Some(line) = archive.message(&workspace, &channel, &id).await? {
                found.push(MessageDecisions {
                    decisions: load_decisions(&archive, &line).await?,
                    message: line,
                });
            }
        }
        let shown = strip_control_characters(&self.message);
        match &self.channel {
            Some(channel) => {
                let channel = strip_control_characters(channel);
                anyhow::ensure!(!found.is_empty(), "there is no message {shown:?} in {channel:?}");
            }
            None => anyhow::ensure!(!found.is_empty(), "there is no message {shown:?}"),
        }
        Ok(found)
    }

    /// Where the message may be: platforms number messages anew in each channel.
    async fn find_channels(
        &self,
        database: &ReadOnlyDatabase,
    ) -> anyhow::Result<Vec<(WorkspaceId, ChannelId)>> {
        if let Some(wanted) = &self.channel {
            let places = database.find_channels(wanted).await?;
            let shown = strip_control_characters(wanted);
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
async fn load_decisions(
    archive: &DatabaseStore,
    line: &StoredMessage,
) -> anyhow::Result<Vec<DecisionDetails>> {
    let place = &line.message.conversation;
    let query = DecisionQuery::Messages {
        workspace: place.workspace.clone(),
        channel: place.channel.clone(),
        messages: vec![line.message.id.clone()],
    };
    let mut accounts = Vec::new();
    for decision in archive.decisions(query).await? {
        accounts.push(DecisionDetails::load(archive, decision).await?);
    }
    Ok(accounts)
}

impl MessageDecisions {
    fn format(&self, language: Language, currency: &str) -> String {
        let mut told = vec![format_message(&self.message, language)];
        told.extend(self.describe_gate(language));
        told.extend(
            self.decisions.iter().map(|account| format_decision(account, language, currency)),
        );
        told.join("\n")
    }

    /// What became of a line that no decision is about.
    fn describe_gate(&self, language: Language) -> Option<String> {
        let is_told = !self.decisions.is_empty();
        match self.message.gate {
            // Why it said this is told by the decision.
            Some(Gate::OwnLine) if is_told => None,
            Some(gate) => {
                let name = language.pick("Settled when it was heard", "聞いた時点で適用");
                Some(fact(name, &ledger::describe_gate_when_heard(gate, language), language))
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

fn format_decision(account: &DecisionDetails, language: Language, currency: &str) -> String {
    let decision = &account.decision;
    let name = language.pick("Decision", "判断");
    let channel = strip_control_characters(account.channel_name.trim_start_matches('#'));
    let mut lines = vec![format!("{name} {} · #{channel}", decision.id)];
    let looked_at = language.pick("Looked at", "対象にした発言");
    let considered = account.considered.iter();
    lines.extend(considered.map(|line| fact(looked_at, &format_message(line, language), language)));
    let facts = account.labeled_values(language);
    lines.extend(facts.iter().map(|one| fact(one.name, &one.value, language)));
    let calls = decision.attempts.iter();
    lines.extend(calls.map(|attempt| call(attempt, language, currency)));
    let ended = labels::ended(decision.ended, language);
    let why = decision.why.as_deref().filter(|why| !why.is_empty());
    let ended = why.map_or(ended.to_owned(), |why| format!("{ended} — {why}"));
    lines.push(fact(language.pick("How it ended", "結果"), &ended, language));
    let said_name = language.pick("Said", "発言");
    lines.extend(
        account
            .posted_messages
            .iter()
            .map(|line| fact(said_name, &format_message(line, language), language)),
    );
    lines.extend(account.aftermath(language).map(|next| fact(next.name, &next.value, language)));
    lines.join("\n")
}

fn call(attempt: &Attempt, language: Language, currency: &str) -> String {
    let title = ledger::call_title(attempt, language);
    let facts = ledger::call_values(attempt, language, currency);
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
    format!("  {name}{}{}", language.pick(": ", "："), strip_control_characters(value))
}

fn format_message(line: &StoredMessage, language: Language) -> String {
    let at = ledger::format_time(line.message.at);
    format!(
        "{at}  {}: {}",
        strip_control_characters(&line.author_name),
        excerpt(&ledger::message_text(line, language))
    )
}
