//! `aizuchi prompt`: prints the prompt that a model would get now. It opens the database read-only, so it also works
//! while an Aizuchi is running.

use std::sync::Arc;

use aizuchi_agent::metrics::Metrics;
use aizuchi_config::source::ConfigSource;
use aizuchi_config::{Config, LoadedConfig, ModelSelection};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_model::chat::{ConversationId, MessageId, to_single_line};
use aizuchi_model::clock::Clock;
use aizuchi_model::platform::Platforms;
use aizuchi_store::Store as _;
use aizuchi_store::read_only::ReadOnlyDatabase;
use clap::{Args, ValueEnum};

use crate::app::agent::{build_agent, build_command_answers};
use crate::cli::find_by_name::find_channel;
use crate::cli::{block_on, print, tell};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PromptKind {
    /// Whether to join in.
    Judge,
    /// What to answer.
    Reply,
    /// What to remember.
    Remember,
    /// The state of the conversation.
    State,
}

#[derive(Debug, Args)]
pub struct PromptArgs {
    /// What the model would be asked for.
    question: PromptKind,
    /// The channel: its name or its id.
    #[arg(long, value_name = "CHANNEL")]
    channel: String,
    /// The thread: the id of its first message. If omitted: the messages of the channel that are not in a thread.
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
}

impl PromptArgs {
    /// Prints the prompt to stdout, and the estimated size of its sections to stderr.
    pub fn run(self, source: &ConfigSource, selection: ModelSelection<'_>) -> anyhow::Result<()> {
        let LoadedConfig { config, .. } = source.load(selection)?;
        let prompts = block_on(self.prompts(&config))?;
        if prompts.is_empty() {
            tell("there is nothing new to remember there");
        }
        for prompt in &prompts {
            print(prompt.full_text().trim_end())?;
            tell(&format!("\n{}", sections(prompt)));
        }
        Ok(())
    }

    async fn prompts(&self, config: &Config) -> anyhow::Result<Vec<Prompt>> {
        let database = ReadOnlyDatabase::open(&config.database_address()).await?;
        let conversation = self.conversation(&database).await?;
        let store = Arc::new(database.into_store());
        let (clock, metrics) = (Clock::system(), Arc::new(Metrics::default()));
        let answers = build_command_answers(config, store.clone(), store.clone());
        let workspace = &conversation.workspace;
        let ordered = store.orders(workspace).await?.settings;
        answers.rulebook.update(|book| book.clone().with_orders(workspace, &ordered));
        let agent = build_agent(
            config,
            (store, answers),
            Platforms::default(),
            clock,
            metrics,
            0,
            // MCP servers are not asked for their tools.
            None,
        )?;
        let verb = match self.question {
            PromptKind::Judge => PromptVerb::Judge,
            PromptKind::Reply => PromptVerb::Reply,
            PromptKind::Remember => PromptVerb::Remember,
            PromptKind::State => PromptVerb::State,
        };
        agent.preview_prompts(verb, &conversation).await
    }

    async fn conversation(&self, database: &ReadOnlyDatabase) -> anyhow::Result<ConversationId> {
        let wanted = &self.channel;
        let (workspace, channel) = find_channel(database, wanted, None).await?;
        let thread = self.thread.as_deref().map(MessageId::new);
        if let Some(thread) = &thread {
            let shown_id = to_single_line(thread.as_str());
            anyhow::ensure!(
                database.has_message(&workspace, &channel, thread).await?,
                "there is no message {shown_id:?} in this channel"
            );
        }
        Ok(ConversationId { workspace, channel, thread })
    }
}

/// The estimated tokens of each section, and the omissions.
fn sections(prompt: &Prompt) -> String {
    let mut lines =
        vec![format!("{:<18} {:>7} tokens, as estimated", "in all", prompt.total_tokens())];
    let section = |(name, tokens): &(&str, u64)| format!("{name:<18} {tokens:>7}");
    lines.extend(prompt.sections.iter().map(section));
    let tools = prompt.total_tokens().saturating_sub(prompt.tokens);
    if tools > 0 {
        lines.push(section(&("tools", tools)));
    }
    let trimmed = prompt.trimmed.iter();
    lines.extend(trimmed.map(|trimmed| format!("left out: {trimmed}")));
    lines.join("\n")
}
