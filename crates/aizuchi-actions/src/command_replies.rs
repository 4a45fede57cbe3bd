//! Answers to commands, from what is stored. An answer describes the resulting state, not the request, so it
//! stays true even if another user's order takes precedence.

mod renderer;
mod memory;
pub mod catch_up;

use std::sync::Arc;

use aizuchi_model::chat::{Role, Visibility, WorkspaceId, to_single_line};
use aizuchi_model::decision::Decision;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::quiet_order::OrderedQuiet;
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::platform::Platforms;
use aizuchi_model::reloadable::Reloadable;
use aizuchi_model::rules::place::Place;
use aizuchi_model::rules::setting_override::{PlaceSetting, SettingKind};
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_model::texts;
use aizuchi_store::archive::Archive;
use aizuchi_store::order::{Mute, OrdersInForce};
use aizuchi_store::query::DecisionQuery;
use aizuchi_store::spoken_language::SpokenLanguage;
use aizuchi_store::{Store, StoreError};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::command::{Command, CommandRequest, MuteScope, NearMiss};
use crate::command_replies::renderer::ReplyRenderer;
use crate::confirmation::sure_command;
use crate::named_message::named_message;
use crate::standing_order_trial::{StandingOrderTrial, StepTrial};

/// The maximum number of a channel's newest decisions that are searched for the one in question.
const MAX_DECISIONS: usize = 50;
/// The maximum length of a quotation of the message that was asked about, in characters.
const MAX_QUOTE_LENGTH: usize = 80;

#[derive(Clone)]
pub struct CommandReplies {
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub rulebook: Reloadable<Rulebook>,
    pub persona: Arc<Persona>,
    /// For the addresses of messages.
    pub platforms: Platforms,
    /// The users' time zone.
    pub zone: TimeZone,
    /// The workspace in which every user is an admin.
    pub admins_workspace: WorkspaceId,
    /// Reports what a drafted order would have changed, if that is possible.
    pub standing_order_trial: Option<Arc<dyn StandingOrderTrial>>,
}

impl CommandReplies {
    /// Returns the answer at once, without a trial.
    pub async fn reply_to(
        &self,
        request: &CommandRequest,
        now: Timestamp,
    ) -> Result<String, StoreError> {
        self.reply_with(request, now, None).await
    }

    /// Returns the answer for chat, where no request is held open: a drafted order is tried first, if that is allowed.
    pub async fn reply_in_chat(
        &self,
        request: &CommandRequest,
        now: Timestamp,
        trial: Option<&StepTrial<'_>>,
    ) -> Result<String, StoreError> {
        let mut answer = self.reply_with(request, now, trial).await?;
        if sure_command(&answer, &self.persona.name).is_some() {
            answer.push_str(texts::commands::or_yes(self.language_for(request).await?));
        }
        self.with_what_was_left_out(request, answer).await
    }

    async fn reply_with(
        &self,
        request: &CommandRequest,
        now: Timestamp,
        trial: Option<&StepTrial<'_>>,
    ) -> Result<String, StoreError> {
        let language = self.language_for(request).await?;
        if !request.is_allowed() {
            return Ok(texts::commands::admins_only(language).to_owned());
        }
        let renderer = ReplyRenderer { language, name: &self.persona.name, zone: &self.zone, now };
        let workspace = &request.conversation.workspace;
        let orders = self.store.orders(workspace).await?;
        let channel = &request.conversation.channel;
        Ok(match request.command {
            Command::Why => self.explain(request, &renderer).await?,
            Command::Memory => self.memory_text(request, language).await?,
            Command::Status => {
                // While it is muted, what it would otherwise do is of no interest.
                let manner = match self.mute_text(&orders, request, &renderer) {
                    Some(mute) => mute,
                    None => renderer.mode(self.effective_mode(request, &orders).await?),
                };
                match self.has_opted_out(&orders, request) {
                    true => format!("{manner}\n{}", self.opted_out_text(request, language)),
                    false => manner,
                }
            }
            Command::Mode(_) => renderer.mode(self.effective_mode(request, &orders).await?),
            Command::Mute { scope: MuteScope::Workspace, .. }
            | Command::Unmute(MuteScope::Workspace) => match orders.workspace_mute(now) {
                Some(mute) => {
                    renderer.muted(mute, MuteScope::Workspace, self.role_for(Role::Admin, request))
                }
                None => renderer.not_muted(self.effective_mode(request, &orders).await?),
            },
            Command::Mute { scope: MuteScope::Channel, .. }
            | Command::Stop
            | Command::Unmute(MuteScope::Channel) => {
                let is_undone = matches!(request.command, Command::Unmute(_));
                let above =
                    orders.mute_above_role(request.role, channel, now).filter(|_| is_undone);
                match (above, self.mute_text(&orders, request, &renderer)) {
                    (Some(mute), _) => renderer.still_muted(mute),
                    (None, Some(silence)) => silence,
                    (None, None) => {
                        renderer.not_muted(self.effective_mode(request, &orders).await?)
                    }
                }
            }
            Command::StandingOrder(_) => {
                self.standing_order_text(request, &orders, language, trial).await?
            }
            Command::ListStandingOrders => {
                self.standing_orders_text(request, &orders, language).await?
            }
            Command::ChangeSetting(_) => self.setting_text(request, language).await?,
            Command::ListSettings => {
                let manner = match self.mute_text(&orders, request, &renderer) {
                    Some(mute) => mute,
                    None => renderer.mode(self.effective_mode(request, &orders).await?),
                };
                format!("{manner}\n{}", self.settings_text(request, language).await?)
            }
            Command::Plan(command) => self.plan_text(request, command, language, now).await?,
            Command::CatchUp => self.catch_up_text(request, language).await?,
            Command::Reset => texts::commands::reset_done(language).to_owned(),
            Command::ForgetThat => self.forget_that_text(request, language).await?,
            Command::ForgetMe => {
                let place = texts::commands::elsewhere(language, workspace.kind());
                texts::commands::forget_for_sure(language, place, &self.persona.name)
            }
            Command::ForgetMeForSure => match was_forgotten_before(&orders, request) {
                true => texts::commands::forgotten_before(language).to_owned(),
                false => {
                    let place = texts::commands::elsewhere(language, workspace.kind());
                    texts::commands::forget_done(language, place, &self.persona.name)
                }
            },
            Command::OptOut | Command::OptIn => match self.has_opted_out(&orders, request) {
                true => self.opted_out_text(request, language),
                false => texts::commands::not_opted_out(language).to_owned(),
            },
            Command::Help => renderer.help(request.role),
            Command::Usage(NearMiss::Mode) => {
                texts::commands::mode_usage(language, &self.persona.name)
            }
            Command::Usage(NearMiss::Mute) => {
                texts::commands::mute_usage(language, &self.persona.name)
            }
            Command::Usage(NearMiss::Setting) => {
                texts::settings::usage(language, &self.persona.name)
            }
        })
    }

    /// Describes quiet that was just ordered for a channel, and how to undo it.
    pub fn quiet_text(
        &self,
        request: &CommandRequest,
        quiet: OrderedQuiet,
        language: Language,
        now: Timestamp,
    ) -> String {
        let renderer = ReplyRenderer { language, name: &self.persona.name, zone: &self.zone, now };
        match quiet {
            OrderedQuiet::Until(until, by) => {
                let role = self.role_for(by, request);
                renderer.muted(Mute { until, by }, MuteScope::Channel, role)
            }
            OrderedQuiet::From(from, _) => {
                let kind = SettingKind::MinConfidence;
                let word = texts::settings::command_word(language, kind);
                texts::settings::changed(
                    language,
                    texts::commands::for_this_channel(language),
                    texts::settings::setting(language, kind),
                    &PlaceSetting::MinConfidence(from).to_string(),
                    &self.persona.name,
                    &texts::settings::undo_here(language, word),
                )
            }
        }
    }

    /// Returns the notice that the persona posts when it joins a channel.
    pub fn join_notice(&self, mode: Mode) -> String {
        let Persona { name, language, .. } = &*self.persona;
        texts::commands::join_notice(*language, name, texts::commands::manner(*language, mode))
    }

    /// Explains why it spoke or stayed silent: about the message that the request names, or else the last time.
    async fn explain(
        &self,
        request: &CommandRequest,
        renderer: &ReplyRenderer<'_>,
    ) -> Result<String, StoreError> {
        let language = renderer.language;
        let Some(named) = named_message(&*self.archive, request, &self.persona.name).await? else {
            return Ok(match self.last_decision(request).await? {
                Some(decision) => screen_stored(&renderer.explain_decision(&decision), language),
                None => texts::commands::nothing_decided(language).to_owned(),
            });
        };
        // On some platforms, a message of another channel may have the same id.
        let query = DecisionQuery::Messages {
            workspace: request.conversation.workspace.clone(),
            channel: request.conversation.channel.clone(),
            messages: vec![named.message.id.clone()],
        };
        let decisions = self.archive.decisions(query).await?;
        let quote = truncate(&to_single_line(&named.message.text), MAX_QUOTE_LENGTH);
        let text = match decisions.iter().rev().find(|decision| is_about_messages(decision)) {
            Some(decision) => {
                let why = renderer.explain_decision(decision);
                match decision.subject().is_none_or(|subject| *subject == named.message.id) {
                    true => texts::commands::why_about(language, &quote, &why),
                    false => texts::commands::why_together(language, &quote, &why),
                }
            }
            None => match named.gate.filter(|gate| *gate != Gate::Command) {
                Some(gate) => {
                    let why = renderer.explain_gate(named.message.at, gate);
                    texts::commands::why_about(language, &quote, &why)
                }
                None if decisions.iter().any(|decision| decision.closed.is_none()) => {
                    let why = texts::commands::not_decided_yet(language);
                    texts::commands::why_about(language, &quote, why)
                }
                None => texts::commands::nothing_decided_about(language, &quote),
            },
        };
        Ok(screen_stored(&text, language))
    }

    /// Returns the newest decision about the conversation, or else about its channel. Decisions about commands do not
    /// count.
    async fn last_decision(
        &self,
        request: &CommandRequest,
    ) -> Result<Option<Decision>, StoreError> {
        let query = DecisionQuery::Channel {
            workspace: request.conversation.workspace.clone(),
            channel: request.conversation.channel.clone(),
            limit: MAX_DECISIONS,
        };
        let decisions = self.archive.decisions(query).await?;
        let newest = decisions.iter().rev().filter(|decision| is_about_messages(decision));
        let mut newest: Vec<Decision> = newest.cloned().collect();
        let here = newest.iter().position(|decision| decision.conversation == request.conversation);
        Ok(match newest.is_empty() {
            true => None,
            false => Some(newest.swap_remove(here.unwrap_or(0))),
        })
    }

    /// Returns the language in which a command is answered.
    pub(super) async fn language_for(
        &self,
        request: &CommandRequest,
    ) -> Result<Language, StoreError> {
        let spoken = SpokenLanguage {
            archive: &*self.archive,
            rulebook: &self.rulebook.read(),
            own: self.persona.language,
        };
        spoken.of_answer(&request.conversation, request.written_in).await
    }

    /// Says that the persona is muted, if it is. A mute of the workspace comes first, because an unmute here would not
    /// change it.
    fn mute_text(
        &self,
        orders: &OrdersInForce,
        request: &CommandRequest,
        renderer: &ReplyRenderer<'_>,
    ) -> Option<String> {
        let (channel, now) = (&request.conversation.channel, renderer.now);
        if let Some(mute) = orders.workspace_mute(now) {
            let role = self.role_for(Role::Admin, request);
            return Some(renderer.muted(mute, MuteScope::Workspace, role));
        }
        let mute = orders.channel_mute(channel, now)?;
        let role = match orders.mute_above_role(Role::Member, channel, now) {
            Some(_) => Role::Admin,
            None => Role::Member,
        };
        Some(renderer.muted(mute, MuteScope::Channel, self.role_for(role, request)))
    }

    /// Returns the role that a user must have been given for something that needs `role`.
    fn role_for(&self, role: Role, request: &CommandRequest) -> Role {
        match request.conversation.workspace == self.admins_workspace {
            true => Role::Member,
            false => role,
        }
    }

    fn opted_out_text(&self, request: &CommandRequest, language: Language) -> String {
        let kind = request.conversation.workspace.kind();
        let place = texts::commands::elsewhere(language, kind);
        texts::commands::opted_out(language, place, &self.persona.name)
    }

    fn has_opted_out(&self, orders: &OrdersInForce, request: &CommandRequest) -> bool {
        self.rulebook.read().opted_out.contains(&request.user)
            || orders.opted_out.contains(&request.user)
    }

    /// Returns the mode in force. A user's order takes precedence over the settings.
    async fn effective_mode(
        &self,
        request: &CommandRequest,
        orders: &OrdersInForce,
    ) -> Result<Mode, StoreError> {
        let channel = &request.conversation.channel;
        if let Some((_, mode)) = orders.modes.iter().find(|(ordered, _)| ordered == channel) {
            return Ok(*mode);
        }
        let channels = self.archive.channels(&request.conversation.workspace).await?;
        let known = channels.into_iter().find(|known| known.id == *channel);
        let visibility = known.as_ref().map_or(Visibility::Private, |known| known.visibility);
        let name = known.map_or_else(|| channel.0.clone(), |known| known.name);
        let place = Place::of_conversation(&request.conversation, &name, visibility);
        Ok(self.rulebook.read().rules_in(&place).mode)
    }
}

/// Whether the user was already forgotten so shortly before this request that nothing was done.
fn was_forgotten_before(orders: &OrdersInForce, request: &CommandRequest) -> bool {
    let last = orders.forgotten.iter().find(|(user, _)| *user == request.user);
    last.is_some_and(|(_, asked)| asked.as_millisecond() != request.at.as_millisecond())
}

/// Screens a model's text that was stored, perhaps by a version that screened less. None of its URLs becomes a link.
pub(super) fn screen_stored(text: &str, language: Language) -> String {
    let (known, secrets) = (KnownUrls::default(), SecretScanner::default());
    outgoing::screen(text, &known, CodeBlocks::LoseUrls, &secrets, language)
}

/// Whether a decision is closed and is not about a command.
fn is_about_messages(decision: &Decision) -> bool {
    decision.closed.is_some() && decision.gate != Some(Gate::Command)
}

pub(super) fn truncate(text: &str, max_length: usize) -> String {
    match text.char_indices().nth(max_length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
