//! Commands about standing orders: what they come to, and the answers. Whoever gives one reaches no further than where
//! they give it: an order for a channel is given in that channel, and one for all channels where everybody can read it.

use crate::chat::{ConversationId, Role, Visibility};
use crate::command::parse::standing_order::WrittenOrder;
use crate::command::reply::{CommandReplies, screen_stored};
use crate::command::{Command, CommandRequest, OrderTarget};
use crate::memory::asker::{sign, signer};
use crate::persona::Language;
use crate::standing_order::{
    MAX_LENGTH, MAX_PER_SCOPE, OrderScope, OrderText, OrderTextProblem, StandingOrder,
};
use crate::store::{Order, OrdersInForce, StoreError};
use crate::texts;

/// Why nothing comes of a command about standing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    NoText,
    TooLong,
    NotInThread,
    /// What is said there is for those who are there.
    NotPublic,
    TooMany,
    /// No order of this number holds here.
    NoSuchOrder(i64),
    /// It holds for all channels.
    ForAdmins,
    /// The command is about something else.
    NoOrder,
}

/// The order to store for a command about standing orders. `name` is the persona's.
pub fn to_order(
    request: &CommandRequest,
    orders: &OrdersInForce,
    name: &str,
) -> Result<Order, Unmet> {
    let workspace = request.conversation.workspace.clone();
    match request.command {
        Command::GiveStandingOrder(target) => {
            let text = written_text(request, name)?;
            let by = sign(&request.user, request.at).into();
            let scope = match target {
                OrderTarget::Order(number) => {
                    let changed = find(request, orders, number)?;
                    let is_public = request.visibility == Visibility::Public;
                    if changed.scope == OrderScope::Workspace && !is_public {
                        return Err(Unmet::NotPublic);
                    }
                    return Ok(Order::ChangeStandingOrder { workspace, number, text, by });
                }
                OrderTarget::Thread => thread_scope(&request.conversation)?,
                OrderTarget::Channel => OrderScope::Channel(request.conversation.channel.clone()),
                OrderTarget::Workspace if request.visibility == Visibility::Public => {
                    OrderScope::Workspace
                }
                OrderTarget::Workspace => return Err(Unmet::NotPublic),
            };
            match orders.standing.iter().filter(|order| order.scope == scope).count() {
                count if count >= MAX_PER_SCOPE => Err(Unmet::TooMany),
                _ => Ok(Order::GiveStandingOrder { workspace, scope, text, by }),
            }
        }
        Command::DropStandingOrder(number) => {
            find(request, orders, number)?;
            Ok(Order::DropStandingOrder { workspace, number })
        }
        Command::Why
        | Command::Status
        | Command::Memory
        | Command::Mute { .. }
        | Command::Unmute(_)
        | Command::Stop
        | Command::Mode(_)
        | Command::ListStandingOrders
        | Command::Reset
        | Command::ForgetThat
        | Command::ForgetMe
        | Command::ForgetMeForSure
        | Command::OptOut
        | Command::OptIn
        | Command::Help
        | Command::Usage(_) => Err(Unmet::NoOrder),
    }
}

fn written_text(request: &CommandRequest, name: &str) -> Result<OrderText, Unmet> {
    // A slash command has no name before it.
    let written = WrittenOrder::parse(&request.text, name);
    let written = written.or_else(|| WrittenOrder::parse(&request.text, ""));
    OrderText::parse(written.map_or("", |written| written.text)).map_err(|problem| match problem {
        OrderTextProblem::Empty => Unmet::NoText,
        OrderTextProblem::TooLong => Unmet::TooLong,
    })
}

fn thread_scope(
    ConversationId { channel, thread, .. }: &ConversationId,
) -> Result<OrderScope, Unmet> {
    let thread = thread.clone().ok_or(Unmet::NotInThread)?;
    Ok(OrderScope::Thread(channel.clone(), thread))
}

/// An order that holds here and that the user may change.
fn find<'a>(
    request: &CommandRequest,
    orders: &'a OrdersInForce,
    number: i64,
) -> Result<&'a StandingOrder, Unmet> {
    let mut here = orders.standing_in(&request.conversation);
    let found = here.find(|order| order.number == number).ok_or(Unmet::NoSuchOrder(number))?;
    match found.scope == OrderScope::Workspace && request.role != Role::Admin {
        true => Err(Unmet::ForAdmins),
        false => Ok(found),
    }
}

impl CommandReplies {
    /// What became of an order that was given, changed or dropped.
    pub(super) fn standing_order_text(
        &self,
        request: &CommandRequest,
        orders: &OrdersInForce,
        language: Language,
    ) -> String {
        let name = &self.persona.name;
        let by = sign(&request.user, request.at);
        let given = orders.standing.iter().find(|order| *order.by == *by);
        let text = match (given, to_order(request, orders, name)) {
            (Some(order), _) => {
                let scope = scope_text(language, &order.scope);
                let text = order.text.as_str();
                texts::commands::order_given(language, order.number, scope, text, name)
            }
            (None, Ok(_)) => texts::commands::failed(language).to_owned(),
            (None, Err(unmet)) => unmet_text(language, unmet, name),
        };
        screen_stored(&text, language)
    }

    /// The orders that hold in a conversation, each with who gave it.
    pub(super) async fn standing_orders_text(
        &self,
        request: &CommandRequest,
        orders: &OrdersInForce,
        language: Language,
    ) -> Result<String, StoreError> {
        let name = &self.persona.name;
        let here: Vec<&StandingOrder> = orders.standing_in(&request.conversation).collect();
        if here.is_empty() {
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
        let lines: Vec<String> = here.iter().map(line).collect();
        let text = texts::commands::orders_here(language, &lines.join("\n"), name);
        Ok(screen_stored(&text, language))
    }
}

fn scope_text(language: Language, scope: &OrderScope) -> &'static str {
    match scope {
        OrderScope::Workspace => texts::commands::for_all_channels(language),
        OrderScope::Channel(_) => texts::commands::for_this_channel(language),
        OrderScope::Thread(..) => texts::commands::for_this_thread(language),
    }
}

fn unmet_text(language: Language, unmet: Unmet, name: &str) -> String {
    match unmet {
        Unmet::NoText | Unmet::NoOrder => texts::commands::order_usage(language, name),
        Unmet::TooLong => texts::commands::order_too_long(language, MAX_LENGTH),
        Unmet::NotInThread => texts::commands::order_needs_thread(language).to_owned(),
        Unmet::NotPublic => texts::commands::order_needs_public_channel(language).to_owned(),
        Unmet::TooMany => texts::commands::too_many_orders(language, MAX_PER_SCOPE, name),
        Unmet::NoSuchOrder(number) => texts::commands::no_such_order(language, number),
        Unmet::ForAdmins => texts::commands::admins_only(language).to_owned(),
    }
}
