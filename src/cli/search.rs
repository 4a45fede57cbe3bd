//! `aizuchi search`: finds messages by their words. It opens the database read-only, so it also works while an Aizuchi
//! is running.

use aizuchi_config::ModelSelection;
use aizuchi_config::source::ConfigSource;
use aizuchi_model::chat::{ChannelId, WorkspaceId, strip_control_characters};
use aizuchi_model::persona::Language;
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use aizuchi_model::texts::files::shown_text;
use aizuchi_store::database::location::DatabaseLocation;
use aizuchi_store::read_only::ReadOnlyDatabase;
use aizuchi_web::views;
use clap::{Args, value_parser};
use serde_json::json;

use crate::cli::{block_on, excerpt, print, print_json};

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// The words to look for. Messages with more of them, and with rarer ones, come first.
    #[arg(required = true, num_args = 1.., value_name = "QUERY")]
    words: Vec<String>,
    /// Search only this channel: its name or its id.
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// Show at most N messages, up to 100.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = value_parser!(u64).range(1..=100))]
    limit: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl SearchArgs {
    pub fn run(self, source: &ConfigSource) -> anyhow::Result<()> {
        let config = source.load(ModelSelection::NoModel)?.config;
        let found = block_on(self.search(&config.database_address()))?;
        if self.json {
            let results: Vec<_> = found.iter().map(views::found_message).collect();
            print_json(&json!({ "results": results }))
        } else if found.is_empty() {
            print("Nothing was found.")
        } else {
            print(&found.iter().map(format_result).collect::<Vec<_>>().join("\n"))
        }
    }

    async fn search(&self, address: &DatabaseLocation) -> anyhow::Result<Vec<RecalledMessage>> {
        let database = ReadOnlyDatabase::open(address).await?;
        let mut found = Vec::new();
        for (workspace, channel) in self.search_scopes(&database).await? {
            let query = RecallQuery {
                workspace,
                visible_from: None,
                channel,
                text: self.words.join(" "),
                before: None,
                limit: self.limit as usize,
            };
            found.extend(database.recall(&query).await?);
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(self.limit as usize);
        Ok(found)
    }

    /// Every workspace, or the channels that match `--channel`.
    async fn search_scopes(
        &self,
        database: &ReadOnlyDatabase,
    ) -> anyhow::Result<Vec<(WorkspaceId, Option<ChannelId>)>> {
        let Some(wanted) = &self.channel else {
            let workspaces = database.workspaces().await?.into_iter();
            return Ok(workspaces.map(|workspace| (workspace, None)).collect());
        };
        let channels = database.find_channels(wanted).await?.into_iter();
        let scopes: Vec<_> =
            channels.map(|(workspace, channel)| (workspace, Some(channel))).collect();
        anyhow::ensure!(!scopes.is_empty(), "there is no channel {wanted:?} in the database");
        Ok(scopes)
    }
}

/// A result as one line of text, with the id that `aizuchi why` takes.
fn format_result(found: &RecalledMessage) -> String {
    let at = found.message.at.strftime("%Y-%m-%d %H:%M:%S UTC");
    let channel = strip_control_characters(strip_hash(&found.channel_name));
    let name = strip_control_characters(&found.author_name);
    let text = excerpt(&shown_text(Language::En, &found.message));
    let id = strip_control_characters(found.message.id.as_str());
    format!("{id}  {at}  #{channel}  {name}: {text}")
}

fn strip_hash(channel: &str) -> &str {
    channel.strip_prefix('#').unwrap_or(channel)
}
