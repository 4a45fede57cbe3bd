//! The answers of the tools: the same as those of the API and the command line, under the API's access rules.

use std::collections::BTreeMap;

use aizuchi_actions::access::Access;
use aizuchi_model::chat::{Channel, ChannelId, MessageId, Visibility, WorkspaceId, to_single_line};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::persona::Language;
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_model::texts;
use aizuchi_past::ledger::reference::Reference;
use aizuchi_past::ledger::{self, DecisionDetails, LabeledValue, MessageDecisions};
use aizuchi_store::StoreError;
use aizuchi_store::stored_message::StoredMessage;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::mcp::size;
use crate::mcp::tool::{DECISIONS_LIMIT, LookupTool, SEARCH_LIMIT};
use crate::room::decision;
use crate::workspaces::Shown;
use crate::{ApiProblem, Web, api, console, memories, views, workspaces};

/// Looks things up for a visitor.
pub struct Lookup<'a> {
    pub web: &'a Web,
    pub access: &'a Access,
}

/// Why a tool has no answer.
#[derive(Debug)]
pub enum Problem {
    InvalidArguments(String),
    NoWords,
    NothingNamed,
    /// Only the id of a message was given.
    NoChannelNamed,
    UnclearMessage,
    NoChannel(String),
    /// `places` has the workspace and the id of each.
    SeveralChannels {
        name: String,
        places: String,
    },
    NoMessage(MessageId),
    Refused(ApiProblem),
}

impl Problem {
    pub fn describe(&self, language: Language) -> String {
        match self {
            Problem::InvalidArguments(problem) => texts::mcp::invalid_arguments(language, problem),
            Problem::NoWords => texts::mcp::no_words(language).to_owned(),
            Problem::NothingNamed => texts::mcp::nothing_named(language).to_owned(),
            Problem::NoChannelNamed => texts::mcp::no_channel_named(language).to_owned(),
            Problem::UnclearMessage => texts::mcp::unclear_message(language).to_owned(),
            Problem::NoChannel(name) => texts::mcp::no_channel(language, name),
            Problem::SeveralChannels { name, places } => {
                texts::mcp::several_channels(language, name, places)
            }
            Problem::NoMessage(id) => texts::mcp::no_message(language, id.as_str()),
            Problem::Refused(problem) => problem.0.describe(language),
        }
    }
}

impl From<ApiProblem> for Problem {
    fn from(problem: ApiProblem) -> Self {
        Self::Refused(problem)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.into())
    }
}

// Models write numbers with or without a fraction, so both are accepted.

#[derive(Deserialize)]
struct MessageSearchArguments {
    query: String,
    workspace: Option<String>,
    channel: Option<String>,
    limit: Option<f64>,
}

#[derive(Deserialize)]
struct RecallArguments {
    about: Option<String>,
    workspace: Option<String>,
    channel: Option<String>,
}

#[derive(Deserialize)]
struct WhyArguments {
    message: Option<String>,
    decision: Option<f64>,
    workspace: Option<String>,
    channel: Option<String>,
}

#[derive(Deserialize)]
struct DecisionsArguments {
    channel: String,
    workspace: Option<String>,
    limit: Option<f64>,
    before: Option<f64>,
}

#[derive(Deserialize)]
struct StatusArguments {
    workspace: Option<String>,
}

impl Lookup<'_> {
    /// Returns an answer of limited size.
    pub async fn answer(
        &self,
        tool: LookupTool,
        arguments: Map<String, Value>,
        language: Language,
    ) -> Result<Value, Problem> {
        let answer = match tool {
            LookupTool::SearchMessages => self.search(parse(arguments)?).await?,
            LookupTool::Recall => self.recall(parse(arguments)?).await?,
            LookupTool::Why => self.why(parse(arguments)?, language).await?,
            LookupTool::Decisions => {
                let page = self.decisions(parse(arguments)?).await?;
                return Ok(size::fit_page(page, "decisions", size::MAX_BYTES));
            }
            LookupTool::Status => self.status(parse(arguments)?).await?,
        };
        Ok(size::fit(answer, size::MAX_BYTES))
    }

    async fn search(&self, wanted: MessageSearchArguments) -> Result<Value, Problem> {
        if wanted.query.trim().is_empty() {
            return Err(Problem::NoWords);
        }
        let limit = SEARCH_LIMIT.of(wanted.limit);
        let mut found = Vec::new();
        let mut is_withheld = true;
        for (workspace, channel) in self.places(&wanted.workspace, &wanted.channel).await? {
            let may_read = |visibility| self.access.may_read(&workspace, visibility);
            let is_named_readable =
                channel.as_ref().is_none_or(|channel| may_read(channel.visibility));
            let visible_from = match (may_read(Visibility::Private), may_read(Visibility::Public)) {
                (true, _) => None,
                (false, true) if is_named_readable => Some(RecallQuery::outside()),
                (false, _) => continue,
            };
            is_withheld = false;
            let query = RecallQuery {
                workspace,
                visible_from,
                channel: channel.map(|channel| channel.id),
                text: wanted.query.clone(),
                before: None,
                limit,
            };
            found.extend(self.web.store.recall(&query).await?);
        }
        if is_withheld {
            return Err(ApiProblem::from(self.access.unreadable()).into());
        }
        found.sort_by(|one, other| other.score.total_cmp(&one.score));
        found.truncate(limit);
        let found = self.readable(found).await?;
        let messages: Vec<_> = found.iter().map(views::found_message).collect();
        Ok(json!({ "messages": messages }))
    }

    /// Returns the messages that the visitor may read, in their current version. Reads of private ones are recorded.
    async fn readable(&self, found: Vec<RecalledMessage>) -> Result<Vec<RecalledMessage>, Problem> {
        let mut looked_at: BTreeMap<WorkspaceId, Vec<StoredMessage>> = BTreeMap::new();
        let mut readable = Vec::new();
        for found in found {
            let conversation = &found.message.conversation;
            let (workspace, channel) = (&conversation.workspace, &conversation.channel);
            let stored = self.web.archive.message(workspace, channel, &found.message.id).await?;
            let stored = stored.filter(|stored| !stored.is_deleted);
            let stored = stored.filter(|stored| self.access.may_read_message(stored));
            if let Some(stored) = stored {
                looked_at.entry(workspace.clone()).or_default().push(stored);
                readable.push(found);
            }
        }
        for (workspace, messages) in &looked_at {
            let shown = Shown::Messages(messages);
            workspaces::record_look(self.web, self.access, workspace, shown).await?;
        }
        Ok(readable)
    }

    async fn recall(&self, wanted: RecallArguments) -> Result<Value, Problem> {
        let about = wanted.about.unwrap_or_default();
        let mut remembered = Vec::new();
        for (workspace, channel) in self.places(&wanted.workspace, &wanted.channel).await? {
            let channel = channel.map(|channel| channel.id);
            let mut found =
                memories::api::read_as(self.web, self.access, &workspace, channel.as_ref()).await?;
            found.retain_about(&about);
            remembered
                .push(json!({ "workspace": workspace, "channel": channel, "remembered": found }));
        }
        Ok(json!({ "places": remembered }))
    }

    async fn why(&self, wanted: WhyArguments, language: Language) -> Result<Value, Problem> {
        let reference = match (given(&wanted.message), wanted.decision) {
            (_, Some(number)) => Reference::Decision(DecisionId(number as i64)),
            (Some(text), None) => Reference::parse(text).map_err(|_| Problem::UnclearMessage)?,
            (None, None) => return Err(Problem::NothingNamed),
        };
        match reference {
            Reference::Decision(id) => {
                let found = decision::find(self.web, id).await?.ok_or_else(decision::absent)?;
                let details = DecisionDetails::load(&*self.web.archive, found).await?;
                let explained = self.explain(details, language).await?;
                Ok(json!({ "messages": [], "decisions": [explained] }))
            }
            Reference::Message { channel: linked, id } => {
                let workspaces = self.workspaces(&wanted.workspace).await?;
                let named = given(&wanted.channel).or(linked.as_ref().map(ChannelId::as_str));
                // There may be thousands of channels, and each would need a search of its own.
                let named = named.ok_or(Problem::NoChannelNamed)?;
                let channels = self.channels(&workspaces, named).await?;
                self.why_message(&channels, &id, language).await
            }
        }
    }

    /// Returns a message of one of these channels, and the decisions on it, newest first.
    async fn why_message(
        &self,
        channels: &[Channel],
        id: &MessageId,
        language: Language,
    ) -> Result<Value, Problem> {
        let (mut messages, mut explained) = (Vec::new(), Vec::new());
        for channel in channels {
            let (workspace, channel) = (&channel.workspace, &channel.id);
            let Some(message) = self.web.archive.message(workspace, channel, id).await? else {
                continue;
            };
            let found = MessageDecisions::load(&*self.web.archive, message).await?;
            let heard = std::slice::from_ref(&found.message);
            let message = api::message_views(self.web, self.access, heard).await?.pop();
            let gate = ledger::describe_gate_when_heard(&found.message, language);
            messages.push(json!({ "message": message, "settled_when_heard": gate }));
            for details in found.decisions {
                explained.push(self.explain(details, language).await?);
            }
        }
        if messages.is_empty() {
            return Err(Problem::NoMessage(id.clone()));
        }
        explained.reverse();
        Ok(json!({ "messages": messages, "decisions": explained }))
    }

    /// Returns a decision as its page shows it. Reads of private decisions are recorded.
    async fn explain(
        &self,
        details: DecisionDetails,
        language: Language,
    ) -> Result<Value, Problem> {
        let workspace = details.decision.conversation.workspace.clone();
        let details = match self.access.may_read_models(&workspace) {
            true => {
                let shown = Shown::Decisions(std::slice::from_ref(&details.decision));
                workspaces::record_look(self.web, self.access, &workspace, shown).await?;
                details
            }
            false => details.without_texts(),
        };
        let may_name = self.access.may_name(details.visibility);
        let (mark, may_order) = (details.mark.as_ref(), self.access.may_order());
        let considered: Vec<_> = details.considered.iter().map(views::message).collect();
        let said: Vec<_> = details.posted_messages.iter().map(views::message).collect();
        Ok(json!({
            "workspace": workspace,
            "channel_name": may_name.then_some(&details.channel_name),
            "explanation": explanation(&details, language),
            "considered": considered,
            "said": said,
            "decision": views::marked_decision(&details.decision, mark, may_order),
        }))
    }

    async fn decisions(&self, wanted: DecisionsArguments) -> Result<Value, Problem> {
        let workspaces = self.workspaces(&wanted.workspace).await?;
        let channels = self.channels(&workspaces, &wanted.channel).await?;
        let [channel] = &*channels else {
            let place = |channel: &Channel| format!("{} {}", channel.workspace, channel.id);
            let places: Vec<String> = channels.iter().map(place).collect();
            return Err(Problem::SeveralChannels {
                name: wanted.channel,
                places: places.join(", "),
            });
        };
        let before = wanted.before.map(|before| DecisionId(before as i64));
        let most = DECISIONS_LIMIT.of(wanted.limit);
        let (found, older) =
            api::decision_page(self.web, channel.clone(), None, before, most).await?;
        let workspace = &channel.workspace;
        let mut decisions = api::decision_views(self.web, self.access, workspace, found).await?;
        decisions.reverse();
        Ok(json!({
            "workspace": workspace, "channel": channel.id, "decisions": decisions, "older": older,
        }))
    }

    async fn status(&self, wanted: StatusArguments) -> Result<Value, Problem> {
        let only = workspaces::find_only(self.web, given(&wanted.workspace)).await?;
        let status = console::api::read_status(self.web, self.access, only.as_ref()).await?;
        Ok(json!(status))
    }

    /// Returns where to look: in the requested channels, or in all channels of each workspace.
    async fn places(
        &self,
        workspace: &Option<String>,
        channel: &Option<String>,
    ) -> Result<Vec<(WorkspaceId, Option<Channel>)>, Problem> {
        let workspaces = self.workspaces(workspace).await?;
        let Some(channel) = given(channel) else {
            return Ok(workspaces.into_iter().map(|workspace| (workspace, None)).collect());
        };
        let channels = self.channels(&workspaces, channel).await?.into_iter();
        Ok(channels.map(|channel| (channel.workspace.clone(), Some(channel))).collect())
    }

    /// Returns the requested workspace, or all of them.
    async fn workspaces(&self, named: &Option<String>) -> Result<Vec<WorkspaceId>, Problem> {
        let only = workspaces::find_only(self.web, given(named)).await?;
        Ok(workspaces::wanted(self.web, only).await?)
    }

    async fn all_channels(&self, workspaces: &[WorkspaceId]) -> Result<Vec<Channel>, Problem> {
        let mut channels = Vec::new();
        for workspace in workspaces {
            channels.extend(self.web.archive.channels(workspace).await?);
        }
        Ok(channels)
    }

    /// Returns the channels with this id, or with this name if the visitor may know it.
    async fn channels(
        &self,
        workspaces: &[WorkspaceId],
        wanted: &str,
    ) -> Result<Vec<Channel>, Problem> {
        let name = wanted.trim().trim_start_matches('#');
        let mut channels = self.all_channels(workspaces).await?;
        channels.retain(|channel| {
            let is_named = channel.name.trim_start_matches('#') == name;
            channel.id.as_str() == wanted || is_named && self.access.may_name(channel.visibility)
        });
        match channels.is_empty() {
            true => Err(Problem::NoChannel(wanted.to_owned())),
            false => Ok(channels),
        }
    }
}

/// Returns the same lines as `aizuchi why`, except for messages and model calls.
fn explanation(details: &DecisionDetails, language: Language) -> Vec<String> {
    let ended = texts::command_line::ended(language);
    let ended = LabeledValue::new(ended, details.ended(language));
    let values = details.labeled_values(language).into_iter().chain([ended]);
    let values = values.chain(details.aftermath(language));
    let colon = texts::command_line::colon(language);
    values.map(|value| format!("{}{colon}{}", value.name, value.value)).collect()
}

fn parse<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Problem> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Problem::InvalidArguments(to_single_line(&error.to_string())))
}

/// Returns an argument, unless it is empty.
fn given(argument: &Option<String>) -> Option<&str> {
    argument.as_deref().filter(|argument| !argument.trim().is_empty())
}
