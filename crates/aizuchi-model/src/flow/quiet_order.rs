//! What a user ordered by asking the persona for quiet in words that only a model understood. It is stored together with
//! the answer.

use jiff::Timestamp;

use crate::chat::{Role, UserId};
use crate::rules::setting_override::{Confidence, SettingRole};

#[derive(Clone, Debug, PartialEq)]
pub struct QuietOrder {
    pub user: UserId,
    /// When the user wrote it.
    pub at: Timestamp,
    pub quiet: OrderedQuiet,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OrderedQuiet {
    /// To say nothing in the channel until then.
    Until(Timestamp, Role),
    /// To speak unasked there only from this confidence on.
    From(Confidence, SettingRole),
}
