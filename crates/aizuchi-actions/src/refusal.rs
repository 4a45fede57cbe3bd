//! Why an action is refused.

use aizuchi_model::chat::WorkspaceId;
use aizuchi_model::memo::MemoError;
use aizuchi_model::refusal::RefusalKind;
use aizuchi_model::texts::refusals;
use aizuchi_store::StoreError;
use aizuchi_store::refusal_reason::RefusalReason;

aizuchi_model::refusals! {
    /// Why an action is refused.
    ActionRefusal: RefusalKind |language|
    NoOrders [Forbidden "no_orders"] refusals::no_orders(language);
    SignInToRead [Forbidden "sign_in_to_read"] refusals::sign_in_to_read(language);
    ChannelWithheld [Forbidden "channel_withheld"] refusals::channel_withheld(language);
    /// A user of a chat is not the channel's keeper.
    NotKeeper [Forbidden "not_keeper"] aizuchi_model::texts::keeper::not_keeper(language);
    OnlyAdminChoosesModels [Forbidden "only_admin_chooses_models"]
        refusals::only_admin_chooses_models(language);
    OnlyAdminRegenerates [Forbidden "only_admin_regenerates"]
        refusals::only_admin_regenerates(language);
    OnlyAdminForgets [Forbidden "only_admin_forgets"] refusals::only_admin_forgets(language);
    OnlyAdminReverts [Forbidden "only_admin_reverts"] refusals::only_admin_reverts(language);
    UnknownChannel { id: String, workspace: WorkspaceId } [Unknown "unknown_channel"]
        refusals::unknown_channel(language, id, workspace.as_str());
    UnknownUser { id: String, workspace: WorkspaceId } [Unknown "unknown_user"]
        refusals::unknown_user(language, id, workspace.as_str());
    PersonaStays [Invalid "persona_stays"] refusals::persona_stays(language);
    NoDecision [Unknown "unknown_decision"] refusals::no_decision(language);
    NoDeadLetter [Unknown "unknown_dead_letter"] refusals::no_dead_letter(language);
    NoProposal [Unknown "unknown_proposal"] refusals::no_proposal(language);
    NoMemory [Unknown "unknown_memory"] refusals::no_memory(language);
    NoMemo [Unknown "unknown_memo"] refusals::no_memo(language);
    EntryLength { most: usize } [Invalid "entry_length"] refusals::entry_length(language, *most);
    DetailLength { most: usize } [Invalid "detail_length"] refusals::detail_length(language, *most);
    StandingOrderLength { most: usize } [Invalid "standing_order_length"]
        refusals::standing_order_length(language, *most);
    Memo(error: MemoError) [Invalid (memo_id(*error))] refusals::memo(language, *error);
    OfferAnswered [Conflict "trust_offer_gone"] refusals::trust_offer_gone(language);
    EntryChanged [Conflict "entry_changed"] refusals::entry_changed(language);
    /// The store refuses it.
    Order(why: RefusalReason) [= why.kind()] why.describe(language);
}

/// Why an action has no order.
#[derive(Debug)]
pub enum ActionError {
    Refused(ActionRefusal),
    Store(StoreError),
}

impl From<ActionRefusal> for ActionError {
    fn from(refusal: ActionRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<RefusalReason> for ActionError {
    fn from(why: RefusalReason) -> Self {
        Self::Refused(ActionRefusal::Order(why))
    }
}

impl From<StoreError> for ActionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(why) => why.into(),
            error @ (StoreError::Busy(_) | StoreError::Broken(_)) => Self::Store(error),
        }
    }
}

fn memo_id(error: MemoError) -> &'static str {
    match error {
        MemoError::EmptyName => "memo_name_empty",
        MemoError::NameTooLong => "memo_name_too_long",
        MemoError::InvalidName => "memo_name_invalid",
        MemoError::InvalidPriority => "memo_priority_invalid",
        MemoError::EmptyContent => "memo_content_empty",
        MemoError::ContentTooLong => "memo_content_too_long",
        MemoError::DetailTooLong => "memo_detail_too_long",
        MemoError::TagTooLong => "memo_tag_too_long",
        MemoError::TooMany => "too_many_memos",
        MemoError::TooManyTags => "too_many_tags",
        MemoError::NothingToChange => "nothing_to_change",
        MemoError::ReadOnlyHere => "memo_read_only",
    }
}
