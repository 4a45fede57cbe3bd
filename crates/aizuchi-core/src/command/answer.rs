//! What a command is answered with: what holds and what was decided, as it is kept. It says what is so, not
//! what was asked for, so it stays true if somebody outranks whoever asked.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::chat::{ChannelId, Role};
use crate::command::words::{self, Told};
use crate::command::{Command, Given, Place};
use crate::decision::Decision;
use crate::decision::gate::Gate;
use crate::memory::{Memory, Scope};
use crate::persona::{Language, Persona};
use crate::rules::{Mode, Rulebook};
use crate::store::{Archive, DecisionQuery, Orders, Store, StoreError};

/// Among so many of a channel's newest decisions the one that is asked about is looked for.
const LOOKED_THROUGH: usize = 50;
/// The longest that it tells of its memory, in characters: what fits on a screen.
const LONGEST_MEMORY: usize = 1500;

pub struct Answers {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub rulebook: Arc<Rulebook>,
    pub persona: Arc<Persona>,
    /// Where people's clocks are.
    pub zone: TimeZone,
}

impl Answers {
    pub async fn to(&self, given: &Given, now: Timestamp) -> Result<String, StoreError> {
        let language = self.persona.language;
        if !given.is_allowed() {
            return Ok(words::not_allowed(language).to_owned());
        }
        let told = Told { language, name: &self.persona.name, zone: &self.zone, now };
        let orders = self.store.orders(&given.place.workspace).await?;
        let channel = &given.place.channel;
        Ok(match given.command {
            Command::Why => match self.decided_last(given).await? {
                Some(decision) => told.why(&decision),
                None => words::nothing_decided(language).to_owned(),
            },
            Command::Memory => self.remembered(given).await?,
            Command::Status => {
                let silence = silence(&orders, channel, &told);
                let silence = silence.map_or(String::new(), |silence| format!("\n{silence}"));
                told.mode(self.mode(given, &orders).await?)
                    + &silence
                    + &self.listening(&orders, given, language)
            }
            Command::Mode(_) => told.mode(self.mode(given, &orders).await?),
            Command::Mute { place: Place::Everywhere, .. } | Command::Unmute(Place::Everywhere) => {
                match orders.muted_everywhere(now) {
                    Some(mute) => told.silence(mute, Place::Everywhere),
                    None => told.awake(self.mode(given, &orders).await?),
                }
            }
            Command::Mute { place: Place::Here, .. }
            | Command::Stop
            | Command::Unmute(Place::Here) => {
                let is_undone = matches!(given.command, Command::Unmute(_));
                let above = orders.muted_above(given.role, channel, now).filter(|_| is_undone);
                match (above, silence(&orders, channel, &told)) {
                    (Some(mute), _) => told.stays_silent(mute),
                    (None, Some(silence)) => silence,
                    (None, None) => told.awake(self.mode(given, &orders).await?),
                }
            }
            Command::Reset => words::reset(language).to_owned(),
            Command::ForgetMe => words::forgotten(language).to_owned(),
            Command::OptOut | Command::OptIn => {
                let is_out = self.has_opted_out(&orders, given);
                words::listening(is_out, language).to_owned()
            }
            Command::Help => words::help(&self.persona.name, given.role == Role::Admin, language),
        })
    }

    /// What it says when it has joined a room.
    pub fn notice(&self, mode: Mode) -> String {
        words::notice(&self.persona.name, mode, self.persona.language)
    }

    /// The newest decision that was about talk: in the conversation where it is asked for, else in the channel.
    async fn decided_last(&self, given: &Given) -> Result<Option<Decision>, StoreError> {
        let query = DecisionQuery::Channel {
            workspace: given.place.workspace.clone(),
            channel: given.place.channel.clone(),
            limit: LOOKED_THROUGH,
        };
        let decisions = self.archive.decisions(query).await?;
        let is_about_talk = |decision: &&Decision| {
            decision.closed.is_some() && decision.gate != Some(Gate::Command)
        };
        let mut newest: Vec<Decision> =
            decisions.iter().rev().filter(is_about_talk).cloned().collect();
        let here = newest.iter().position(|decision| decision.conversation == given.place);
        Ok(match newest.is_empty() {
            true => None,
            false => Some(newest.swap_remove(here.unwrap_or(0))),
        })
    }

    async fn remembered(&self, given: &Given) -> Result<String, StoreError> {
        let language = self.persona.language;
        let memories = self.store.memories(&given.place.workspace).await?;
        let is_here = |memory: &&Memory| match &memory.key.scope {
            Scope::Channel(channel) => *channel == given.place.channel,
            Scope::Thread(channel, thread) => {
                *channel == given.place.channel && Some(thread) == given.place.thread.as_ref()
            }
            Scope::Workspace => false,
        };
        let entries = memories.iter().filter(is_here).flat_map(|memory| &memory.entries);
        let told: Vec<String> =
            entries.map(|entry| format!("- {}: {}", entry.date, entry.text)).collect();
        if told.is_empty() {
            return Ok(words::nothing_remembered(language).to_owned());
        }
        Ok(shortened(&told.join("\n")))
    }

    fn listening(&self, orders: &Orders, given: &Given, language: Language) -> String {
        match self.has_opted_out(orders, given) {
            true => format!("\n{}", words::listening(true, language)),
            false => String::new(),
        }
    }

    fn has_opted_out(&self, orders: &Orders, given: &Given) -> bool {
        self.rulebook.opted_out.contains(&given.by) || orders.opted_out.contains(&given.by)
    }

    /// What people ordered outranks what the settings say.
    async fn mode(&self, given: &Given, orders: &Orders) -> Result<Mode, StoreError> {
        let channel = &given.place.channel;
        if let Some((_, mode)) = orders.modes.iter().find(|(ordered, _)| ordered == channel) {
            return Ok(*mode);
        }
        let channels = self.archive.channels(&given.place.workspace).await?;
        let name = channels.into_iter().find(|known| known.id == *channel);
        let name = name.map_or_else(|| channel.0.clone(), |known| known.name);
        Ok(self.rulebook.of(channel, &name).mode)
    }
}

/// That it is to say nothing, if it is. Where that holds everywhere, taking it back here would change nothing.
fn silence(orders: &Orders, channel: &ChannelId, told: &Told<'_>) -> Option<String> {
    let everywhere = orders.muted_everywhere(told.now);
    let everywhere = everywhere.map(|mute| told.silence(mute, Place::Everywhere));
    let here = || orders.muted_here(channel, told.now);
    everywhere.or_else(|| here().map(|mute| told.silence(mute, Place::Here)))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_MEMORY) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
