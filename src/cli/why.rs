//! `aizuchi why`: explains why the persona spoke or did not. It opens the database read-only, so it also works while an
//! Aizuchi is running.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use crate::cli::{excerpt, print, strip_control_characters};
use crate::config::ModelSelection;
use crate::config::source::ConfigSource;
use crate::ledger::{self, DecisionDetails};
use crate::web::views;
use aizuchi_core::chat::{ChannelId, MessageId, WorkspaceId};
use aizuchi_core::decision::Attempt;
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::persona::Language;
use aizuchi_core::store::database::DatabaseStore;
use aizuchi_core::store::database::location::DatabaseLocation;
use aizuchi_core::store::database::read_only::ReadOnlyDatabase;
use aizuchi_core::store::{Archive, DecisionQuery, StoredMessage};
use aizuchi_core::texts;

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

/// A message with every decision that covers it or that it resulted from.
struct MessageDecisions {
    message: StoredMessage,
    decisions: Vec<DecisionDetails>,
}

impl WhyArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<ExitCode> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
        let found = runtime.block_on(self.find_message(&config.database_address()))?;
        if self.json {
            let messages: Vec<_> =
                found.iter().map(|found| views::message(&found.message)).collect();
            let decisions = found.iter().flat_map(|found| &found.decisions);
            let decisions: Vec<_> =
                decisions.map(|details| views::decision(&details.decision)).collect();
            let all = json!({ "messages": messages, "decisions": decisions });
            print(&serde_json::to_string_pretty(&all)?)?;
        } else {
            let (language, currency) = (config.language, &config.models.currency.0);
            let texts = found.iter().map(|found| found.format(language, currency));
            print(&texts.collect::<Vec<_>>().join("\n\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn find_message(
        &self,
        address: &DatabaseLocation,
    ) -> anyhow::Result<Vec<MessageDecisions>> {
        let database = ReadOnlyDatabase::open(address).await?;
        let channels = self.find_channels(&database).await?;
        let archive = database.into_store();
        let id = MessageId::new(self.message.as_str());
        let mut found = Vec::new();
        for (workspace, channel) in channels {
            if let Some(message) = archive.message(&workspace, &channel, &id).await? {
                found.push(MessageDecisions {
                    decisions: load_decisions(&archive, &message).await?,
                    message,
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

    /// The channels that may hold the message: on some platforms an id is unique only within its channel.
    async fn find_channels(
        &self,
        database: &ReadOnlyDatabase,
    ) -> anyhow::Result<Vec<(WorkspaceId, ChannelId)>> {
        if let Some(wanted) = &self.channel {
            let channels = database.find_channels(wanted).await?;
            let shown = strip_control_characters(wanted);
            anyhow::ensure!(!channels.is_empty(), "there is no channel {shown:?} in the database");
            return Ok(channels);
        }
        let mut all = Vec::new();
        for workspace in database.workspaces().await? {
            let channels = database.channels(&workspace).await?.into_iter();
            all.extend(channels.map(|channel| (workspace.clone(), channel.id)));
        }
        Ok(all)
    }
}

/// Loads the decisions on a message, newest last.
async fn load_decisions(
    archive: &DatabaseStore,
    message: &StoredMessage,
) -> anyhow::Result<Vec<DecisionDetails>> {
    let conversation = &message.message.conversation;
    let query = DecisionQuery::Messages {
        workspace: conversation.workspace.clone(),
        channel: conversation.channel.clone(),
        messages: vec![message.message.id.clone()],
    };
    let mut decisions = Vec::new();
    for decision in archive.decisions(query).await? {
        decisions.push(DecisionDetails::load(archive, decision).await?);
    }
    Ok(decisions)
}

impl MessageDecisions {
    fn format(&self, language: Language, currency: &str) -> String {
        let mut lines = vec![format_message(&self.message, language)];
        lines.extend(self.describe_gate(language));
        lines.extend(
            self.decisions.iter().map(|details| format_decision(details, language, currency)),
        );
        lines.join("\n")
    }

    /// How the message was settled when it was heard, if no decision says it.
    fn describe_gate(&self, language: Language) -> Option<String> {
        let has_decisions = !self.decisions.is_empty();
        match self.message.gate {
            // The decision explains why the persona posted this.
            Some(Gate::OwnMessage) if has_decisions => None,
            Some(gate) => {
                let name = texts::command_line::settled_when_heard(language);
                Some(format_value(
                    name,
                    &ledger::describe_gate_when_heard(gate, language),
                    language,
                ))
            }
            None if has_decisions => None,
            None => Some(texts::command_line::nothing_decided(language).to_owned()),
        }
    }
}

fn format_decision(details: &DecisionDetails, language: Language, currency: &str) -> String {
    let decision = &details.decision;
    let name = texts::command_line::decision(language);
    let channel = strip_control_characters(details.channel_name.trim_start_matches('#'));
    let mut lines = vec![format!("{name} {} · #{channel}", decision.id)];
    let considered_name = texts::command_line::considered(language);
    let considered = details.considered.iter();
    lines.extend(considered.map(|message| {
        format_value(considered_name, &format_message(message, language), language)
    }));
    let values = details.labeled_values(language);
    lines.extend(values.iter().map(|value| format_value(value.name, &value.value, language)));
    let calls = decision.attempts.iter();
    lines.extend(calls.map(|attempt| call(attempt, language, currency)));
    let ended = texts::ledger::decision_result(language, decision.ended);
    let why = decision.why.as_deref().filter(|why| !why.is_empty());
    let ended = why.map_or(ended.to_owned(), |why| format!("{ended} — {why}"));
    lines.push(format_value(texts::command_line::ended(language), &ended, language));
    let posted_name = texts::command_line::said(language);
    lines.extend(
        details
            .posted_messages
            .iter()
            .map(|message| format_value(posted_name, &format_message(message, language), language)),
    );
    lines.extend(
        details.aftermath(language).map(|next| format_value(next.name, &next.value, language)),
    );
    lines.join("\n")
}

fn call(attempt: &Attempt, language: Language, currency: &str) -> String {
    let title = ledger::call_title(attempt, language);
    let values = ledger::call_values(attempt, language, currency);
    let values: Vec<String> = values
        .iter()
        .map(|value| {
            format!("{}{}{}", value.name, texts::command_line::colon(language), value.value)
        })
        .collect();
    let values = values.join(texts::command_line::value_separator(language));
    let call = texts::command_line::call_with_values(language, &title, &values);
    format_value(texts::command_line::call(language), &call, language)
}

fn format_value(name: &str, value: &str, language: Language) -> String {
    format!("  {name}{}{}", texts::command_line::colon(language), strip_control_characters(value))
}

fn format_message(message: &StoredMessage, language: Language) -> String {
    let at = ledger::format_time(message.message.at);
    format!(
        "{at}  {}: {}",
        strip_control_characters(&message.author_name),
        excerpt(&ledger::message_text(message, language))
    )
}
