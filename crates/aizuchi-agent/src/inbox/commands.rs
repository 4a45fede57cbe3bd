//! Commands in heard messages, and the orders that follow from them: what they are, and how they are carried out.

use aizuchi_actions::command::{Command, CommandRequest, stop_order};
use aizuchi_actions::confirmation::{PossibleYes, confirmed};
use aizuchi_actions::forget_that::{self, ForgetTargets};
use aizuchi_actions::parse::own_words;
use aizuchi_actions::parse::quiet::Quiet;
use aizuchi_actions::parse::setting::WrittenSetting;
use aizuchi_actions::{plans, settings, standing_orders};
use aizuchi_model::chat::{Arrival, ChannelId, ConversationId, Edit, Heard, Message, MessageId};
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::memory::asker;
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use futures_util::future::BoxFuture;
use jiff::SignedDuration;

use crate::inbox::Inbox;
use crate::inbox::addressed::by_name::is_call;

/// How much later than a newer message a live one may arrive and still not count as missed.
const MAX_REORDERING: SignedDuration = SignedDuration::from_mins(1);

/// The maximum number of removals for one command: one for each memory that says the same from other messages, and a
/// few retries if the memory has changed.
const MAX_REMOVALS: usize = 20;

impl Inbox {
    /// Returns the command in a heard event, if it is one. `names` are the persona's own.
    pub(super) fn parse_command(
        &self,
        heard: &Heard,
        reply_to: Option<&MessageId>,
        names: &[String],
    ) -> Option<CommandRequest> {
        // Not `BackfilledAnswered`: a command there has been answered.
        let Heard::Message(message, arrival @ (Arrival::Live | Arrival::Backfilled)) = heard else {
            return None;
        };
        let (text, name) = (&*message.text, self.persona_name.as_deref()?);
        let stops = || names.contains(&name.to_lowercase()) && Command::stops_by_name(text, name);
        let is_called = || message.is_human() && (is_call(text, names) || stops());
        if self.is_too_old(message, *arrival) || !message.is_addressed() && !is_called() {
            return None;
        }
        let command = Command::parse_message(text, name)?;
        // A request for silence counts without a mention.
        let asks_for_less = || Quiet::parse(&own_words(text, name)) == Some(Quiet::Less);
        if !message.is_addressed() && !command.is_quieting() && !asks_for_less() {
            return None;
        }
        let request = self.command_request(command, message);
        Some(CommandRequest { reply_to: reply_to.cloned(), ..request })
    }

    /// Returns the command that a message gives by answering “yes” to the persona. Without a mention, nobody else may
    /// have written since the persona was asked.
    pub(super) async fn find_confirmed(
        &self,
        heard: &Heard,
        reply_to: Option<&MessageId>,
    ) -> Result<Option<CommandRequest>, StoreError> {
        let Heard::Message(message, arrival @ (Arrival::Live | Arrival::Backfilled)) = heard else {
            return Ok(None);
        };
        let Some(name) = &self.persona_name else { return Ok(None) };
        if !message.is_human() || self.is_too_old(message, *arrival) {
            return Ok(None);
        }
        let said = PossibleYes {
            conversation: &message.conversation,
            user: &message.author.id,
            at: message.at,
            text: &message.text,
            is_addressed: message.is_addressed(),
            reply_to,
        };
        let found = confirmed(&*self.store, &*self.archive, said, name).await?;
        Ok(found.map(|(command, text)| CommandRequest {
            text,
            ..self.command_request(command, message)
        }))
    }

    fn command_request(&self, command: Command, message: &Message) -> CommandRequest {
        let ConversationId { workspace, channel, .. } = &message.conversation;
        let role = self.channel_cache.role(workspace, &message.author.id);
        let visibility = self.channel_cache.visibility(workspace, channel);
        CommandRequest::from_message(command, message, visibility, role)
    }

    /// Whether a message was missed for too long to be answered or carried out.
    pub(super) fn is_too_old(&self, message: &Message, arrival: Arrival) -> bool {
        let age = self.channel_cache.age(message, arrival, self.clock.now());
        let most = duration_from_seconds(self.wait_settings.max_message_age_seconds);
        match arrival {
            Arrival::Live => age >= most.max(MAX_REORDERING),
            Arrival::Backfilled | Arrival::BackfilledAnswered => age >= most,
        }
    }

    /// Carries out the command in a message, unless the message is already stored.
    pub(super) async fn carry_out_once(
        &self,
        request: &CommandRequest,
        heard: &Heard,
        client_message_id: Option<&str>,
    ) -> Result<(), StoreError> {
        let Heard::Message(message, arrival) = heard else { return Ok(()) };
        let conversation = &message.conversation;
        let is_stored = self
            .store
            .has_heard(
                &conversation.workspace, &conversation.channel, &message.id, client_message_id,
            )
            .await?;
        if is_stored {
            return Ok(());
        }
        // History is read out of order, so a later message may have revoked an order. Requests to be forgotten or left
        // out are carried out anyway, and so are commands that are only seconds late. A plan is of a time to come.
        let is_carried_out = *arrival == Arrival::Live
            || request.command.is_about_privacy()
            || matches!(request.command, Command::Plan(_))
            || self.is_late_command_in_time(message).await?;
        if is_carried_out { self.apply_command(request).await } else { Ok(()) }
    }

    /// Carries out a command that did not come in a message.
    pub fn carry_out<'a>(
        &'a self,
        request: &'a CommandRequest,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let _turn = self.channel_cache.lock_for_command().await;
            self.apply_command(request).await
        })
    }

    /// Applies a command's order, if it has one.
    fn apply_command<'a>(
        &'a self,
        request: &'a CommandRequest,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if request.command == Command::ForgetThat {
                return self.forget_that(request).await;
            }
            if let Command::StandingOrder(_) = request.command {
                return self.change_standing_orders(request).await;
            }
            if let Command::ChangeSetting(_) = request.command {
                return self.change_setting(request).await;
            }
            if let Command::Plan(_) = request.command {
                return self.change_plans(request).await;
            }
            let Some(mut order) = request.to_order(&self.zone) else { return Ok(()) };
            if request.command == Command::Stop {
                let ConversationId { workspace, channel, .. } = request.conversation.clone();
                let (place, at) = ((workspace, channel), request.at);
                order = stop_order(&*self.store, place, at, request.role).await?;
            }
            self.apply_order(order.signed(asker::sign(&request.user, request.at))).await
        })
    }

    /// Gives, drafts, keeps, changes or drops a standing order, if the user may. The answer reports the result.
    async fn change_standing_orders(&self, request: &CommandRequest) -> Result<(), StoreError> {
        if !request.is_allowed() {
            return Ok(());
        }
        let orders = self.store.orders(&request.conversation.workspace).await?;
        let name = self.persona_name.as_deref().unwrap_or_default();
        let command = request.command.under(&self.channel_cache.rulebook());
        let request = &CommandRequest { command, ..request.clone() };
        let Ok(order) = standing_orders::to_order(request, &orders, name) else { return Ok(()) };
        let signed = order.signed(asker::sign(&request.user, request.at));
        match self.apply_order(signed).await {
            // Another user was faster.
            Ok(()) | Err(StoreError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes, moves or cancels a plan, if the user may. The answer reports the result.
    async fn change_plans(&self, request: &CommandRequest) -> Result<(), StoreError> {
        let name = self.persona_name.as_deref().unwrap_or_default();
        let order = plans::to_order(request, &*self.archive, &self.zone, name).await?;
        let Some(order) = order else { return Ok(()) };
        match self.apply_order(order).await {
            // There are too many, or it was said in the meantime.
            Ok(()) | Err(StoreError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Moves the plans that an edited message asked for, or drops those that it asks for no more.
    pub(super) async fn move_edited_plans(&self, edit: &Edit) -> Result<(), StoreError> {
        let ConversationId { workspace, channel, .. } = &edit.conversation;
        let name = self.persona_name.as_deref().unwrap_or_default();
        for plan in self.archive.plans_of_message(workspace, channel, &edit.message).await? {
            let Some(change) = plans::edited(&plan, &edit.text, name) else { continue };
            let order = Order::ChangePlan { workspace: workspace.clone(), id: plan.id, change };
            match self.apply_order(order).await {
                Ok(()) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Changes a setting, if the user may. The answer reports the result.
    async fn change_setting(&self, request: &CommandRequest) -> Result<(), StoreError> {
        if !request.is_allowed() {
            return Ok(());
        }
        let workspace = &request.conversation.workspace;
        let name = self.persona_name.as_deref().unwrap_or_default();
        let rulebook = self.channel_cache.rulebook();
        let find = |name: &str| self.channel_cache.public_channel_named(workspace, name);
        let cache = &self.channel_cache;
        let bar = |id: &ChannelId| cache.with_rules(workspace, id, |rules| rules.min_confidence);
        let written = WrittenSetting::parse_message(&request.text, name);
        let Ok((_, order)) = settings::to_order(request, written, &rulebook, find, bar) else {
            return Ok(());
        };
        self.apply_order(order.signed(asker::sign(&request.user, request.at))).await
    }

    /// Removes what the user refers to, if that is one thing and they may. The answer reports the result.
    async fn forget_that(&self, request: &CommandRequest) -> Result<(), StoreError> {
        let (store, archive) = (&*self.store, &*self.archive);
        let (wanted, mut left) = match forget_that::meant(store, archive, request).await? {
            ForgetTargets::One(items) => (items.first().cloned(), items),
            // The process was stopped in between, or nothing is left to do.
            ForgetTargets::Forgotten(removed) => (removed.first().cloned(), Vec::new()),
            ForgetTargets::Nothing | ForgetTargets::Several(_) => return Ok(()),
        };
        let Some(wanted) = wanted else { return Ok(()) };
        if left.is_empty() {
            left = forget_that::doubles_of(store, archive, request, &wanted).await?;
        }
        let rulebook = self.channel_cache.rulebook();
        if forget_that::obstacle(archive, &rulebook, request, &left).await?.is_some() {
            return Ok(());
        }
        for _ in 0..MAX_REMOVALS {
            let Some(item) = left.into_iter().next() else { break };
            match self.apply_order(forget_that::order(request, item)).await {
                // Refused: it was changed or removed in the meantime, which the next look shows.
                Ok(()) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
            left = forget_that::doubles_of(store, archive, request, &wanted).await?;
        }
        Ok(())
    }

    /// Stores an order. Returns after the commit. The order applies at once, even to work in flight.
    pub fn apply_order(&self, order: Order) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let _turn = self.channel_cache.lock_for_order().await;
            // This comes before the store, because the order applies even if the caller stops waiting here.
            let now = self.clock.now();
            let mut order = order;
            if let Order::InChannels { workspace, .. } = order.unsigned().0 {
                let in_force = self.store.orders(workspace).await?;
                order = order.resolve(in_force, now);
            }
            self.channel_cache.apply_order(&order, now);
            let conversations = &self.channel_cache.conversations;
            let stored = self.store.order(order.clone(), now).await;
            // Even after an error, since the order may be stored nevertheless.
            if order.effects().changes_messages {
                conversations.drop_all_messages(order.workspace());
            }
            // Whether it is stored or not, the store knows what is in force.
            if stored.is_err() {
                let orders = self.store.orders(order.workspace()).await?;
                self.channel_cache.replace_orders(order.workspace(), &orders);
            }
            stored
        })
    }
}
