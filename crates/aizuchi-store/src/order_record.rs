//! What the journal records of an order.

use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_model::decision::consent::{ConsentChoice, ConsentStep};
use aizuchi_model::decision::trust::TrustChoice;
use aizuchi_model::rules::Mode;
use aizuchi_model::rules::setting_override::SettingChange;
use aizuchi_model::standing_order::DraftTarget;

use crate::order::Order;
use crate::order_journal::{OrderKind, OrderRecord};

impl Order {
    /// Wraps the order so that it is recorded in the journal under this name. See [`GivenOrder::by`].
    pub fn signed(self, by: impl Into<Arc<str>>) -> Self {
        Order::Signed { order: Box::new(self), by: by.into() }
    }

    /// The order itself, and the signer if it is signed.
    pub fn unsigned(&self) -> (&Self, Option<&str>) {
        let (mut order, mut signer) = (self, None);
        while let Order::Signed { order: inner, by } = order {
            order = inner;
            signer = Some(&**by);
        }
        (order, signer)
    }

    /// The order's record in the journal, without the dead letter that it is about. `None` if it is not recorded.
    pub fn to_record(&self) -> Option<OrderRecord> {
        let channel = |kind, channel: &Option<ChannelId>| OrderRecord {
            channel: channel.clone(),
            ..OrderRecord::new(kind)
        };
        let user = |kind, user: &UserId| OrderRecord {
            user: Some(user.clone()),
            ..OrderRecord::new(kind)
        };
        let numbered = |kind, number: i64| OrderRecord {
            value: Some(number.to_string().into()),
            ..OrderRecord::new(kind)
        };
        Some(match self {
            Order::Mute { channel: muted, until, .. } => {
                OrderRecord { until: Some(*until), ..channel(OrderKind::Mute, muted) }
            }
            Order::NoteStop { channel: muted, until, .. } => OrderRecord {
                until: Some(*until),
                ..channel(OrderKind::Mute, &Some(muted.clone()))
            },
            Order::Unmute { channel: muted, .. } => channel(OrderKind::Unmute, muted),
            Order::Mode { channel: ordered, mode, .. } => OrderRecord {
                value: mode.map(|mode| mode.name().into()),
                ..channel(OrderKind::Mode, &Some(ordered.clone()))
            },
            Order::AnswerTrust { channel: trusted, choice: TrustChoice::ByItself, .. } => {
                OrderRecord {
                    value: Some(Mode::Companion.name().into()),
                    ..channel(OrderKind::Mode, &Some(trusted.clone()))
                }
            }
            Order::OptOut { user: whom, .. } => user(OrderKind::OptOut, whom),
            Order::OptIn { user: whom, .. } => user(OrderKind::OptIn, whom),
            Order::Reset { conversation, .. } => {
                channel(OrderKind::Reset, &Some(conversation.channel.clone()))
            }
            Order::RetryDeadLetter { .. } => OrderRecord::new(OrderKind::RetryDeadLetter),
            Order::DropDeadLetter { .. } => OrderRecord::new(OrderKind::DropDeadLetter),
            Order::ForgetMoments { .. } => OrderRecord::new(OrderKind::ForgetMoments),
            Order::Note { record, .. } => record.clone(),
            Order::GiveStandingOrder { scope, .. } => {
                channel(OrderKind::GiveStandingOrder, &scope.channel().cloned())
            }
            Order::ChangeStandingOrder { number, .. } => {
                numbered(OrderKind::ChangeStandingOrder, *number)
            }
            Order::DropStandingOrder { number, .. } => {
                numbered(OrderKind::DropStandingOrder, *number)
            }
            Order::TakeConsentStep { step: ConsentStep::Decide(choice, _), .. } => {
                OrderRecord::new(match choice {
                    ConsentChoice::AllowOnce => OrderKind::AllowCall,
                    ConsentChoice::Refuse => OrderKind::RefuseCall,
                })
            }
            Order::DraftStandingOrder { target: DraftTarget::New(scope), .. } => {
                channel(OrderKind::DraftStandingOrder, &scope.channel().cloned())
            }
            Order::DraftStandingOrder { target: DraftTarget::Change(number), .. } => {
                numbered(OrderKind::DraftStandingOrder, *number)
            }
            Order::KeepStandingOrder { number, .. } => {
                numbered(OrderKind::KeepStandingOrder, *number)
            }
            Order::DropOrderDraft { number, .. } => numbered(OrderKind::DropOrderDraft, *number),
            Order::ChangeSetting { scope, change, .. } => OrderRecord {
                value: match change {
                    SettingChange::Set(setting) => {
                        Some(format!("{} {setting}", setting.kind().name()).into())
                    }
                    SettingChange::Clear(kind) => Some(kind.name().into()),
                    SettingChange::ClearAll => None,
                },
                ..channel(OrderKind::ChangeSetting, &scope.channel().cloned())
            },
            Order::InChannels { record, .. } => OrderRecord {
                value: serde_json::to_string(record).ok().map(Into::into),
                ..OrderRecord::new(OrderKind::ChangeChannels)
            },
            Order::Signed { order, .. } => return order.to_record(),
            // Recorded when the forgetting begins, without a name, and only if it does begin.
            Order::Forget { .. } | Order::ForgetUser { .. } => return None,
            // Orders of the program itself, and orders with a record of their own.
            Order::Redact { .. }
            | Order::MakePlan(_)
            | Order::ChangePlan { .. }
            | Order::ImportMemory { .. }
            | Order::ImportMemo { .. }
            | Order::MarkDecision { .. }
            | Order::DecideProposal { .. }
            | Order::AnswerTrust { choice: TrustChoice::NotYet, .. }
            | Order::TakeConsentStep { .. }
            | Order::ChangeMemory { .. }
            | Order::ChangeMemo { .. }
            | Order::RevertMemo { .. }
            | Order::NotePrivateRead(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use aizuchi_model::chat::WorkspaceId;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_is_signed_is_recorded_with_what_it_says() {
        let (workspace, channel) = (WorkspaceId::new("w"), ChannelId::new("garden"));
        let mode =
            |mode| Order::Mode { workspace: workspace.clone(), channel: channel.clone(), mode };
        let signed = mode(Some(Mode::Observe)).signed("olga");
        assert_eq!(signed.unsigned(), (&mode(Some(Mode::Observe)), Some("olga")));
        assert_eq!(mode(None).unsigned(), (&mode(None), None));
        assert_eq!(signed.workspace(), &workspace);
        let record = |value: Option<&str>| OrderRecord {
            channel: Some(channel.clone()),
            value: value.map(Arc::from),
            ..OrderRecord::new(OrderKind::Mode)
        };
        assert_eq!(signed.to_record(), Some(record(Some("observe"))));
        assert_eq!(mode(None).to_record(), Some(record(None)));
        let (user, asked) = (UserId::new("u-mia"), Timestamp::UNIX_EPOCH);
        let opt_out = Order::OptOut { workspace: workspace.clone(), user: user.clone() };
        let opt_out = opt_out.signed("olga");
        let about_mia =
            OrderRecord { user: Some(user.clone()), ..OrderRecord::new(OrderKind::OptOut) };
        assert_eq!(opt_out.to_record(), Some(about_mia));
        assert!(opt_out.effects().changes_messages && !signed.effects().changes_messages);
        assert_eq!(Order::Forget { workspace, user, asked }.signed("olga").to_record(), None);
    }
}
