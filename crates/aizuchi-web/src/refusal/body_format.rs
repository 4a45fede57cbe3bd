//! The formats of request bodies, which are described to clients that sent another one.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    Message,
    Edit,
    Reaction,
    Name,
    Mute,
    Unmute,
    Stop,
    Mode,
    OptOut,
    StandingOrder,
    /// A setting of a workspace, a channel or a thread.
    Setting,
    MemoryOrder,
    Memo,
    Revert,
    Mark,
    Proposal,
    /// The answer to an offer to speak without approval.
    Trust,
    /// The decision on a call of a tool that may write.
    Call,
    Judge,
    /// The choice of a model.
    Choice,
}

impl BodyFormat {
    pub fn describe(self, language: Language) -> &'static str {
        match self {
            BodyFormat::Message => texts::refusals::format_of_message(language),
            BodyFormat::Edit => texts::refusals::format_of_edit(language),
            BodyFormat::Reaction => texts::refusals::format_of_reaction(language),
            BodyFormat::Name => texts::refusals::format_of_name(language),
            BodyFormat::Mute => texts::refusals::format_of_mute(language),
            BodyFormat::Unmute => texts::refusals::format_of_unmute(language),
            BodyFormat::Stop => texts::refusals::format_of_stop(language),
            BodyFormat::Mode => texts::refusals::format_of_mode(language),
            BodyFormat::OptOut => texts::refusals::format_of_opt_out(language),
            BodyFormat::StandingOrder => texts::refusals::format_of_standing_order(language),
            BodyFormat::Setting => texts::refusals::format_of_setting(language),
            BodyFormat::MemoryOrder => texts::refusals::format_of_memory_order(language),
            BodyFormat::Memo => texts::refusals::format_of_memo(language),
            BodyFormat::Revert => texts::refusals::format_of_revert(language),
            BodyFormat::Mark => texts::refusals::format_of_mark(language),
            BodyFormat::Proposal => texts::refusals::format_of_proposal(language),
            BodyFormat::Trust => texts::refusals::format_of_trust(language),
            BodyFormat::Call => texts::refusals::format_of_call(language),
            BodyFormat::Judge => texts::refusals::format_of_judge(language),
            BodyFormat::Choice => texts::refusals::format_of_choice(language),
        }
    }

    /// Whether it contains the text of a message.
    pub fn is_message(self) -> bool {
        matches!(self, BodyFormat::Message | BodyFormat::Edit)
    }
}
