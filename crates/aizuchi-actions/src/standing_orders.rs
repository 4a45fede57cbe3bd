//! Commands about standing orders: their effects and the answers. A user can only give orders where they are: an order
//! for a channel is given in that channel, and one for all channels where everyone can read it.

use std::sync::Arc;

use aizuchi_model::chat::{ConversationId, Role, Visibility};
use aizuchi_model::memory::asker::{sign, signer};
use aizuchi_model::persona::Language;
use aizuchi_model::standing_order::{
    DraftTarget, MAX_LENGTH, MAX_PER_SCOPE, StandingOrder, StandingOrderScope, StandingOrderText,
    StandingOrderTextProblem,
};
use aizuchi_model::texts;
use aizuchi_store::StoreError;
use aizuchi_store::order::{Order, OrdersInForce};
use aizuchi_store::order_journal::{GivenOrder, OrderKind};

use crate::command::{Command, CommandRequest, StandingOrderCommand, StandingOrderTarget};
use crate::command_replies::{CommandReplies, screen_stored};
use crate::parse::standing_order::WrittenStandingOrder;
use crate::standing_order_trial::{StandingOrderTrialOutcome, StepTrial};

/// Why a command about standing orders has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingOrderRefusal {
    NoText,
    TooLong,
    NotInThread,
    /// An order for all channels is only given where everyone can read it.
    NotPublic,
    TooMany,
    /// No order of this number applies here.
    NoSuchOrder(i64),
    /// No draft here has this number.
    NoSuchDraft(i64),
    /// It applies to all channels, so only admins may change it.
    ForAdmins,
    /// The command is about something else.
    NoOrder,
}

/// Returns the order to store for a command about standing orders. `name` is the persona's.
pub fn to_order(
    request: &CommandRequest,
    orders: &OrdersInForce,
    name: &str,
) -> Result<Order, StandingOrderRefusal> {
    let workspace = request.conversation.workspace.clone();
    let Command::StandingOrder(command) = request.command else {
        return Err(StandingOrderRefusal::NoOrder);
    };
    match command {
        StandingOrderCommand::Give(target) => {
            let (text, by) = words(request, name)?;
            Ok(match find_target(request, orders, target)? {
                DraftTarget::New(scope) => Order::GiveStandingOrder { workspace, scope, text, by },
                DraftTarget::Change(number) => {
                    Order::ChangeStandingOrder { workspace, number, text, by }
                }
            })
        }
        StandingOrderCommand::Draft(target) => {
            let (text, by) = words(request, name)?;
            let target = find_target(request, orders, target)?;
            if let DraftTarget::New(scope) = &target
                && is_full(&orders.drafts, scope)
            {
                return Err(StandingOrderRefusal::TooMany);
            }
            Ok(Order::DraftStandingOrder { workspace, target, text, by })
        }
        StandingOrderCommand::Drop(number) => {
            let found = find(request, orders.standing_in(&request.conversation), number);
            if let (Err(unmet), Err(_)) = (found, find_draft(request, orders, number)) {
                return Err(unmet);
            }
            Ok(Order::DropStandingOrder { workspace, number })
        }
        StandingOrderCommand::Keep(number) => {
            let draft = find_draft(request, orders, number)?;
            if draft.version == 1 && is_full(&orders.standing, &draft.scope) {
                return Err(StandingOrderRefusal::TooMany);
            }
            Ok(Order::KeepStandingOrder { workspace, number })
        }
        StandingOrderCommand::DropDraft(number) => {
            find_draft(request, orders, number)?;
            Ok(Order::DropOrderDraft { workspace, number })
        }
    }
}

/// Returns the text of an order, and who gives it.
fn words(
    request: &CommandRequest,
    name: &str,
) -> Result<(StandingOrderText, Arc<str>), StandingOrderRefusal> {
    let by = sign(&request.user, request.at).into();
    Ok((written_text(request, name)?, by))
}

/// Returns the scope of an order, or the order that it changes.
fn find_target(
    request: &CommandRequest,
    orders: &OrdersInForce,
    target: StandingOrderTarget,
) -> Result<DraftTarget, StandingOrderRefusal> {
    let is_public = request.visibility == Visibility::Public;
    let scope = match target {
        StandingOrderTarget::Order(number) => {
            let changed = find(request, orders.standing_in(&request.conversation), number)?;
            return match changed.scope == StandingOrderScope::Workspace && !is_public {
                true => Err(StandingOrderRefusal::NotPublic),
                false => Ok(DraftTarget::Change(number)),
            };
        }
        StandingOrderTarget::Thread => thread_scope(&request.conversation)?,
        StandingOrderTarget::Channel => {
            StandingOrderScope::Channel(request.conversation.channel.clone())
        }
        StandingOrderTarget::Workspace if is_public => StandingOrderScope::Workspace,
        StandingOrderTarget::Workspace => return Err(StandingOrderRefusal::NotPublic),
    };
    match is_full(&orders.standing, &scope) {
        true => Err(StandingOrderRefusal::TooMany),
        false => Ok(DraftTarget::New(scope)),
    }
}

/// Whether a scope has the maximum number of these orders or drafts.
fn is_full(orders: &[StandingOrder], scope: &StandingOrderScope) -> bool {
    orders.iter().filter(|order| order.scope == *scope).count() >= MAX_PER_SCOPE
}

fn written_text(
    request: &CommandRequest,
    name: &str,
) -> Result<StandingOrderText, StandingOrderRefusal> {
    // A slash command does not begin with the persona's name.
    let written = WrittenStandingOrder::parse(&request.text, name);
    let written = written.or_else(|| WrittenStandingOrder::parse(&request.text, ""));
    StandingOrderText::parse(written.map_or("", |written| written.text)).map_err(|problem| {
        match problem {
            StandingOrderTextProblem::Empty => StandingOrderRefusal::NoText,
            StandingOrderTextProblem::TooLong => StandingOrderRefusal::TooLong,
        }
    })
}

fn thread_scope(
    ConversationId { channel, thread, .. }: &ConversationId,
) -> Result<StandingOrderScope, StandingOrderRefusal> {
    let thread = thread.clone().ok_or(StandingOrderRefusal::NotInThread)?;
    Ok(StandingOrderScope::Thread(channel.clone(), thread))
}

/// Finds an order that applies here, or a draft of one, which the user may change.
fn find<'a>(
    request: &CommandRequest,
    mut here: impl Iterator<Item = &'a StandingOrder>,
    number: i64,
) -> Result<&'a StandingOrder, StandingOrderRefusal> {
    let found = here
        .find(|order| order.number == number)
        .ok_or(StandingOrderRefusal::NoSuchOrder(number))?;
    match found.scope == StandingOrderScope::Workspace && request.role != Role::Admin {
        true => Err(StandingOrderRefusal::ForAdmins),
        false => Ok(found),
    }
}

fn find_draft<'a>(
    request: &CommandRequest,
    orders: &'a OrdersInForce,
    number: i64,
) -> Result<&'a StandingOrder, StandingOrderRefusal> {
    let found = find(request, orders.drafts_in(&request.conversation), number);
    found.map_err(|unmet| match unmet {
        StandingOrderRefusal::NoSuchOrder(number) => StandingOrderRefusal::NoSuchDraft(number),
        unmet => unmet,
    })
}

impl CommandReplies {
    /// Describes the effect of giving, drafting, keeping, changing or dropping an order. A draft is tried, if a trial
    /// is available.
    pub(super) async fn standing_order_text(
        &self,
        request: &CommandRequest,
        orders: &OrdersInForce,
        language: Language,
        trial: Option<&StepTrial<'_>>,
    ) -> Result<String, StoreError> {
        let name = &self.persona.name;
        let command = request.command.under(&self.rulebook.read());
        let request = &CommandRequest { command, ..request.clone() };
        let by = sign(&request.user, request.at);
        let drafted = orders.drafts.iter().find(|draft| *draft.by == *by);
        if let Some(draft) = drafted {
            let told = self.trial_text(request, draft, language, trial).await?;
            let scope = scope_text(language, &draft.scope);
            // The rest is not the user's text, and may contain the URL of a page.
            let text = screen_stored(draft.text.as_str(), language);
            return Ok(texts::commands::order_drafted(
                language, draft.number, scope, &text, &told, name,
            ));
        }
        if let Command::StandingOrder(StandingOrderCommand::DropDraft(number)) = request.command
            && self.has_dropped_draft(request, number).await?
        {
            return Ok(texts::commands::draft_dropped(language, number));
        }
        let given = orders.standing.iter().find(|order| *order.by == *by);
        let kept = orders.standing_in(&request.conversation).find(|order| {
            request.command == Command::StandingOrder(StandingOrderCommand::Keep(order.number))
        });
        let text = match (given.or(kept), to_order(request, orders, name)) {
            (Some(order), _) => {
                let scope = scope_text(language, &order.scope);
                let text = order.text.as_str();
                texts::commands::order_given(language, order.number, scope, text, name)
            }
            (None, Ok(_)) => texts::commands::not_carried_out(language).to_owned(),
            (None, Err(unmet)) => unmet_text(language, unmet, name),
        };
        Ok(screen_stored(&text, language))
    }

    /// Whether this command has discarded a draft. A discarded draft is not kept, but the journal records who discarded
    /// it.
    async fn has_dropped_draft(
        &self,
        request: &CommandRequest,
        number: i64,
    ) -> Result<bool, StoreError> {
        let number = number.to_string();
        let is_this = |given: &GivenOrder| {
            given.record.kind == OrderKind::DropOrderDraft
                && given.record.value.as_deref() == Some(number.as_str())
        };
        Ok(self.orders_of(request).await?.iter().any(is_this))
    }

    /// Describes what a draft would have changed here, or where users can find out.
    async fn trial_text(
        &self,
        request: &CommandRequest,
        draft: &StandingOrder,
        language: Language,
        trial: Option<&StepTrial<'_>>,
    ) -> Result<String, StoreError> {
        let Some(trial) = trial else {
            return Ok(texts::standing_order_trial::on_console(language).to_owned());
        };
        Ok(match trial.try_draft(&request.conversation, draft).await? {
            StandingOrderTrialOutcome::Tried(effect) => {
                texts::standing_order_trial::effect_here(language, &effect)
            }
            StandingOrderTrialOutcome::NotAllowed => match trial.page(&request.conversation) {
                Some(page) => texts::standing_order_trial::on_page(language, &page),
                None => texts::standing_order_trial::on_console(language).to_owned(),
            },
            StandingOrderTrialOutcome::NoModel => {
                texts::standing_order_trial::no_model(language).to_owned()
            }
            StandingOrderTrialOutcome::Unpriced => {
                texts::standing_order_trial::unpriced(language).to_owned()
            }
            StandingOrderTrialOutcome::OverBudget => {
                texts::standing_order_trial::over_budget(language).to_owned()
            }
            StandingOrderTrialOutcome::Unanswered => {
                texts::standing_order_trial::unanswered(language).to_owned()
            }
            StandingOrderTrialOutcome::NothingToTry(days) => {
                texts::standing_order_trial::nothing_to_try(language, days)
            }
        })
    }

    /// Lists the orders that apply in a conversation, each with the user who gave it.
    pub(super) async fn standing_orders_text(
        &self,
        request: &CommandRequest,
        orders: &OrdersInForce,
        language: Language,
    ) -> Result<String, StoreError> {
        let name = &self.persona.name;
        let here: Vec<&StandingOrder> = orders.standing_in(&request.conversation).collect();
        let drafts: Vec<&StandingOrder> = orders.drafts_in(&request.conversation).collect();
        if here.is_empty() && drafts.is_empty() {
            return Ok(texts::commands::no_orders(language, name));
        }
        let users = self.archive.users(&request.conversation.workspace).await?;
        let giver = |order: &StandingOrder| match signer(&order.by) {
            Some(id) => {
                let known = users.iter().find(|user| user.id.as_str() == id);
                known.map_or(id.to_owned(), |user| user.name.to_string())
            }
            None if order.by.is_empty() => texts::commands::this_machine(language).to_owned(),
            None => order.by.to_string(),
        };
        let line = |order: &&StandingOrder| {
            let scope = scope_text(language, &order.scope);
            let text = order.text.as_str();
            texts::commands::order_line(language, order.number, scope, text, &giver(order))
        };
        let lines = |orders: &[&StandingOrder]| -> String {
            orders.iter().map(line).collect::<Vec<_>>().join("\n")
        };
        let mut parts = Vec::new();
        if let Some(newest) = here.last() {
            parts.push(texts::commands::orders_here(language, &lines(&here), newest.number, name));
        }
        if let Some(newest) = drafts.last() {
            let number = newest.number;
            parts.push(texts::commands::drafts_here(language, &lines(&drafts), number, name));
        }
        Ok(screen_stored(&parts.join("\n"), language))
    }
}

fn scope_text(language: Language, scope: &StandingOrderScope) -> &'static str {
    match scope {
        StandingOrderScope::Workspace => texts::commands::for_all_channels(language),
        StandingOrderScope::Channel(_) => texts::commands::for_this_channel(language),
        StandingOrderScope::Thread(..) => texts::commands::for_this_thread(language),
    }
}

fn unmet_text(language: Language, unmet: StandingOrderRefusal, name: &str) -> String {
    match unmet {
        StandingOrderRefusal::NoText | StandingOrderRefusal::NoOrder => {
            texts::commands::order_usage(language, name)
        }
        StandingOrderRefusal::TooLong => texts::commands::order_too_long(language, MAX_LENGTH),
        StandingOrderRefusal::NotInThread => {
            texts::commands::order_needs_thread(language).to_owned()
        }
        StandingOrderRefusal::NotPublic => {
            texts::commands::order_needs_public_channel(language).to_owned()
        }
        StandingOrderRefusal::TooMany => {
            texts::commands::too_many_orders(language, MAX_PER_SCOPE, name)
        }
        StandingOrderRefusal::NoSuchOrder(number) => {
            texts::commands::no_such_order(language, number)
        }
        StandingOrderRefusal::NoSuchDraft(number) => {
            texts::commands::no_such_draft(language, number)
        }
        StandingOrderRefusal::ForAdmins => texts::commands::admins_only(language).to_owned(),
    }
}
