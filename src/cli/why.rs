//! `aizuchi why`: explains why Aizuchi spoke or stayed silent. It opens the database read-only, so it also works while an
//! Aizuchi is running.

use std::time::Duration;

use aizuchi_config::ModelSelection;
use aizuchi_config::source::ConfigSource;
use aizuchi_model::chat::{ChannelId, MessageId, WorkspaceId, strip_control_characters};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::{Attempt, DecisionId};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_past::ledger::reference::Reference;
use aizuchi_past::ledger::{self, DecisionDetails, MessageDecisions};
use aizuchi_store::archive::Archive;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::query::DecisionQuery;
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_web::views;
use clap::{Args, value_parser};
use serde_json::{Value, json};

use crate::app::last_program::LastProgram;
use crate::cli::locale::terminal_language;
use crate::cli::run::LanguageArg;
use crate::cli::{block_on, excerpt, print, print_json};

/// How long to wait for the running program to answer.
const LOOK_TIMEOUT: Duration = Duration::from_millis(300);

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// The message: its id, or the link to it that you copy from Slack, Discord or the page. If omitted: the newest
    /// decision.
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
    /// Look only in this channel: its name or its id.
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Explain the newest N decisions instead of a message, at most 100.
    #[arg(long, value_name = "N", conflicts_with = "message",
          value_parser = value_parser!(u64).range(1..=100))]
    last: Option<u64>,
    /// Explain in this language. If omitted: the config's language, or your locale's if the config sets none.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    language: Option<LanguageArg>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The search result: messages with their decisions, or decisions alone.
#[derive(Default)]
struct WhyResult {
    messages: Vec<MessageDecisions>,
    decisions: Vec<DecisionDetails>,
}

/// How to format decisions.
struct Format<'a> {
    language: Language,
    currency: &'a str,
    /// The address of the pages, if it is known.
    pages: Option<String>,
}

impl WhyArgs {
    /// Runs the command. `before_verb` is the language option before the verb.
    pub fn run(
        self,
        source: &ConfigSource,
        before_verb: Option<LanguageArg>,
    ) -> anyhow::Result<()> {
        let loaded = source.load(ModelSelection::NoModel)?;
        let asked = self.language.or(before_verb).map(LanguageArg::setting);
        let language = terminal_language(asked.unwrap_or(loaded.config.language));
        let config = loaded.config;
        let address = config.database_address();
        let found = block_on(self.find(&address))?;
        if self.json {
            print_json(&found.to_json())
        } else {
            let format = Format {
                language,
                currency: &config.models.currency.0,
                pages: block_on(async { anyhow::Ok(running_pages(&address).await) })?
                    .or(config.page_address()),
            };
            print(&found.format(&format))
        }
    }

    async fn find(&self, address: &DatabaseLocation) -> anyhow::Result<WhyResult> {
        let reference = self.message.as_deref().map(|text| {
            let shown = strip_control_characters(text);
            Reference::parse(text).map_err(|problem| anyhow::anyhow!("{shown:?}: {problem}"))
        });
        let reference = reference.transpose()?;
        let database = ReadOnlyDatabase::open(address).await?;
        match reference {
            Some(Reference::Message { channel, id }) => {
                let channels = self.find_channels(&database, channel.as_ref()).await?;
                self.find_message(channels, &id, &database.into_store()).await
            }
            Some(Reference::Decision(id)) => {
                let workspaces = database.workspaces().await?;
                find_decision(workspaces, id, &database.into_store()).await
            }
            None => {
                let channels = self.find_channels(&database, None).await?;
                self.find_last(channels, &database.into_store()).await
            }
        }
    }

    async fn find_message(
        &self,
        channels: Vec<(WorkspaceId, ChannelId)>,
        id: &MessageId,
        archive: &DatabaseStore,
    ) -> anyhow::Result<WhyResult> {
        let mut messages = Vec::new();
        for (workspace, channel) in channels {
            if let Some(message) = archive.message(&workspace, &channel, id).await? {
                messages.push(MessageDecisions::load(archive, message).await?);
            }
        }
        let shown = strip_control_characters(id.as_str());
        match &self.channel {
            Some(channel) => {
                let channel = strip_control_characters(channel);
                anyhow::ensure!(
                    !messages.is_empty(),
                    "there is no message {shown:?} in {channel:?}"
                );
            }
            None => anyhow::ensure!(!messages.is_empty(), "there is no message {shown:?}"),
        }
        Ok(WhyResult { messages, decisions: Vec::new() })
    }

    /// The most recent decisions of these channels, newest last.
    async fn find_last(
        &self,
        channels: Vec<(WorkspaceId, ChannelId)>,
        archive: &DatabaseStore,
    ) -> anyhow::Result<WhyResult> {
        let limit = self.last.and_then(|last| usize::try_from(last).ok()).unwrap_or(1);
        let mut newest = Vec::new();
        for (workspace, channel) in channels {
            newest.extend(
                archive.decisions(DecisionQuery::Channel { workspace, channel, limit }).await?,
            );
        }
        newest.sort_by_key(|decision| (decision.opened, decision.id));
        let shown = newest.split_off(newest.len().saturating_sub(limit));
        if shown.is_empty() {
            let place = self.channel.as_deref().map(strip_control_characters);
            let place = place.map_or(String::new(), |channel| format!(" in {channel:?}"));
            anyhow::bail!("Aizuchi has not made any decisions{place} yet");
        }
        let mut decisions = Vec::new();
        for decision in shown {
            decisions.push(DecisionDetails::load(archive, decision).await?);
        }
        Ok(WhyResult { messages: Vec::new(), decisions })
    }

    /// The channels to search for the message: on some platforms an id is unique only within its channel, which a link
    /// names.
    async fn find_channels(
        &self,
        database: &ReadOnlyDatabase,
        linked: Option<&ChannelId>,
    ) -> anyhow::Result<Vec<(WorkspaceId, ChannelId)>> {
        if let Some(wanted) = self.channel.as_deref().or(linked.map(ChannelId::as_str)) {
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

/// The address of the pages of the program that uses this database, if it answers there.
async fn running_pages(database: &DatabaseLocation) -> Option<String> {
    let store = ReadOnlyDatabase::open(database).await.ok()?.into_store();
    let page = LastProgram::read(&store).await.ok()?.page?;
    let host = page.strip_prefix("http://")?;
    let connection = tokio::net::TcpStream::connect(host);
    tokio::time::timeout(LOOK_TIMEOUT, connection).await.ok()?.ok()?;
    Some(page)
}

async fn find_decision(
    workspaces: Vec<WorkspaceId>,
    id: DecisionId,
    archive: &DatabaseStore,
) -> anyhow::Result<WhyResult> {
    let mut decisions = Vec::new();
    for workspace in workspaces {
        for decision in archive.decisions(DecisionQuery::One { workspace, id }).await? {
            decisions.push(DecisionDetails::load(archive, decision).await?);
        }
    }
    anyhow::ensure!(!decisions.is_empty(), "there is no decision {id}");
    Ok(WhyResult { messages: Vec::new(), decisions })
}

impl WhyResult {
    fn to_json(&self) -> Value {
        let messages = self.messages.iter();
        let decisions = messages.clone().flat_map(|found| &found.decisions).chain(&self.decisions);
        let decisions: Vec<_> = decisions
            .map(|details| views::marked_decision(&details.decision, details.mark.as_ref(), true))
            .collect();
        let messages: Vec<_> = messages.map(|found| views::message(&found.message)).collect();
        json!({ "messages": messages, "decisions": decisions })
    }

    fn format(&self, format: &Format<'_>) -> String {
        let messages = self.messages.iter().map(|found| format_message_decisions(found, format));
        let decisions = self.decisions.iter().map(|details| format.decision(details));
        messages.chain(decisions).collect::<Vec<_>>().join("\n\n")
    }
}

fn format_message_decisions(found: &MessageDecisions, format: &Format<'_>) -> String {
    let mut lines = vec![format_message(&found.message, format.language)];
    lines.extend(describe_gate(found, format.language));
    lines.extend(found.decisions.iter().map(|details| format.decision(details)));
    lines.join("\n")
}

/// Describes the gate that settled a message when it was heard, if no decision says it.
fn describe_gate(found: &MessageDecisions, language: Language) -> Option<String> {
    let has_decisions = !found.decisions.is_empty();
    let gate = ledger::describe_gate_when_heard(&found.message, language);
    match (found.message.gate, gate) {
        // The decision explains why the persona posted this.
        (Some(Gate::OwnMessage), _) | (None, _) if has_decisions => None,
        (_, Some(gate)) => {
            let name = texts::command_line::settled_when_heard(language);
            Some(format_value(name, gate, language))
        }
        (_, None) => Some(texts::command_line::nothing_decided(language).to_owned()),
    }
}

impl Format<'_> {
    fn decision(&self, details: &DecisionDetails) -> String {
        let (language, currency) = (self.language, self.currency);
        let decision = &details.decision;
        let name = texts::command_line::decision(language);
        let channel = strip_control_characters(details.channel_name.trim_start_matches('#'));
        let mut lines = vec![format!("{name} {} · #{channel}", decision.id)];
        let covers_name = texts::command_line::covers(language);
        lines.extend(details.considered.iter().map(|message| {
            format_value(covers_name, &format_message(message, language), language)
        }));
        let values = details.labeled_values(language);
        lines.extend(values.iter().map(|value| format_value(value.name, &value.value, language)));
        let calls = decision.attempts.iter();
        lines.extend(calls.map(|attempt| call(attempt, language, currency)));
        let ended = details.ended(language);
        lines.push(format_value(texts::command_line::ended(language), &ended, language));
        let posted_name = texts::command_line::said(language);
        lines.extend(details.posted_messages.iter().map(|message| {
            format_value(posted_name, &format_message(message, language), language)
        }));
        lines.extend(
            details.aftermath(language).map(|next| format_value(next.name, &next.value, language)),
        );
        let pages = self.pages.iter();
        let page = pages.map(|pages| format!("{pages}/decisions/{}", decision.id));
        lines.extend(
            page.map(|page| format_value(texts::command_line::page(language), &page, language)),
        );
        lines.join("\n")
    }
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
    let name = match attempt.is_model_call() {
        true => texts::command_line::call(language),
        false => texts::ledger::error(language),
    };
    format_value(name, &call, language)
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
