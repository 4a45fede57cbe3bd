//! What a command is answered with: what holds and what was decided, as it is kept. It says what is so, not
//! what was asked for, so it stays true if somebody outranks whoever asked.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::chat::{ChannelId, Role};
use crate::command::reply_texts::{self, ReplyRenderer};
use crate::command::{Command, CommandRequest, MuteScope};
use crate::decision::Decision;
use crate::decision::gate::Gate;
use crate::memory::{Memory, MemoryScope};
use crate::persona::{Language, Persona};
use crate::rules::{Mode, Rulebook};
use crate::store::{Archive, DecisionQuery, StandingOrders, Store, StoreError};

/// Among so many of a channel's newest decisions the one that is asked about is looked for.
const MAX_DECISIONS: usize = 50;
/// The longest that it tells of its memory, in characters: what fits on a screen.
const MAX_MEMORY_LENGTH: usize = 1500;

pub struct CommandReplies {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub rulebook: Arc<Rulebook>,
    pub persona: Arc<Persona>,
    /// Where people's clocks are.
    pub zone: TimeZone,
}

impl CommandReplies {
    pub async fn reply_to(
        &self,
        given: &CommandRequest,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        let language = self.persona.language;
        if !given.is_allowed() {
            return Ok(reply_texts::not_allowed(language).to_owned());
        }
        let told = ReplyRenderer { language, name: &self.persona.name, zone: &self.zone, now };
        let orders = self.store.orders(&given.conversation.workspace).await?;
        let channel = &given.conversation.channel;
        Ok(match given.command {
            Command::Why => match self.last_decision(given).await? {
                Some(decision) => told.explain_decision(&decision),
                None => reply_texts::nothing_decided(language).to_owned(),
            },
            Command::Memory => self.memory_text(given).await?,
            Command::Status => {
                let silence = mute_text(&orders, channel, &told);
                let silence = silence.map_or(String::new(), |silence| format!("\n{silence}"));
                told.mode(self.effective_mode(given, &orders).await?)
                    + &silence
                    + &self.opt_out_text(&orders, given, language)
            }
            Command::Mode(_) => told.mode(self.effective_mode(given, &orders).await?),
            Command::Mute { scope: MuteScope::Workspace, .. }
            | Command::Unmute(MuteScope::Workspace) => match orders.workspace_mute(now) {
                Some(mute) => told.muted(mute, MuteScope::Workspace),
                None => told.not_muted(self.effective_mode(given, &orders).await?),
            },
            Command::Mute { scope: MuteScope::Channel, .. }
            | Command::Stop
            | Command::Unmute(MuteScope::Channel) => {
                let is_undone = matches!(given.command, Command::Unmute(_));
                let above = orders.mute_above_role(given.role, channel, now).filter(|_| is_undone);
                match (above, mute_text(&orders, channel, &told)) {
                    (Some(mute), _) => told.still_muted(mute),
                    (None, Some(silence)) => silence,
                    (None, None) => told.not_muted(self.effective_mode(given, &orders).await?),
                }
            }
            Command::Reset => reply_texts::reset_done(language).to_owned(),
            Command::ForgetMe => reply_texts::forget_done(language).to_owned(),
            Command::OptOut | Command::OptIn => {
                let is_out = self.has_opted_out(&orders, given);
                reply_texts::opt_out_status(is_out, language).to_owned()
            }
            Command::Help => {
                reply_texts::help(&self.persona.name, given.role == Role::Admin, language)
            }
        })
    }

    /// What it says when it has joined a room.
    pub fn join_notice(&self, mode: Mode) -> String {
        reply_texts::join_notice(&self.persona.name, mode, self.persona.language)
    }

    /// The newest decision that was about talk: in the conversation where it is asked for, else in the channel.
    async fn last_decision(&self, given: &CommandRequest) -> Result<Option<Decision>, StoreError> {
        let query = DecisionQuery::Channel {
            workspace: given.conversation.workspace.clone(),
            channel: given.conversation.channel.clone(),
            limit: MAX_DECISIONS,
        };
        let decisions = self.archive.decisions(query).await?;
        let is_about_talk = |decision: &&Decision| {
            decision.closed.is_some() && decision.gate != Some(Gate::Command)
        };
        let mut newest: Vec<Decision> =
            decisions.iter().rev().filter(is_about_talk).cloned().collect();
        let here = newest.iter().position(|decision| decision.conversation == given.conversation);
        Ok(match newest.is_empty() {
            true => None,
            false => Some(newest.swap_remove(here.unwrap_or(0))),
        })
    }

    async fn memory_text(&self, given: &CommandRequest) -> Result<String, StoreError> {
        let language = self.persona.language;
        let memories = self.store.memories(&given.conversation.workspace).await?;
        let is_here = |memory: &&Memory| match &memory.key.scope {
            MemoryScope::Channel(channel) => *channel == given.conversation.channel,
            MemoryScope::Thread(channel, thread) => {
                *channel == given.conversation.channel
                    && Some(thread) == given.conversation.thread.as_ref()
            }
            MemoryScope::Workspace => false,
        };
        let entries = memories.iter().filter(is_here).flat_map(|memory| &memory.entries);
        let told: Vec<String> =
            entries.map(|entry| format!("- {}: {}", entry.date, entry.text)).collect();
        if told.is_empty() {
            return Ok(reply_texts::nothing_remembered(language).to_owned());
        }
        Ok(truncate(&told.join("\n")))
    }

    fn opt_out_text(
        &self,
        orders: &StandingOrders,
        given: &CommandRequest,
        language: Language,
    ) -> String {
        match self.has_opted_out(orders, given) {
            true => format!("\n{}", reply_texts::opt_out_status(true, language)),
            false => String::new(),
        }
    }

    fn has_opted_out(&self, orders: &StandingOrders, given: &CommandRequest) -> bool {
        self.rulebook.opted_out.contains(&given.user) || orders.opted_out.contains(&given.user)
    }

    /// What people ordered outranks what the settings say.
    async fn effective_mode(
        &self,
        given: &CommandRequest,
        orders: &StandingOrders,
    ) -> Result<Mode, StoreError> {
        let channel = &given.conversation.channel;
        if let Some((_, mode)) = orders.modes.iter().find(|(ordered, _)| ordered == channel) {
            return Ok(*mode);
        }
        let channels = self.archive.channels(&given.conversation.workspace).await?;
        let name = channels.into_iter().find(|known| known.id == *channel);
        let name = name.map_or_else(|| channel.0.clone(), |known| known.name);
        Ok(self.rulebook.channel_rules(channel, &name).mode)
    }
}

/// That it is to say nothing, if it is. Where that holds everywhere, taking it back here would change nothing.
fn mute_text(
    orders: &StandingOrders,
    channel: &ChannelId,
    told: &ReplyRenderer<'_>,
) -> Option<String> {
    let everywhere = orders.workspace_mute(told.now);
    let everywhere = everywhere.map(|mute| told.muted(mute, MuteScope::Workspace));
    let here = || orders.channel_mute(channel, told.now);
    everywhere.or_else(|| here().map(|mute| told.muted(mute, MuteScope::Channel)))
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_MEMORY_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
