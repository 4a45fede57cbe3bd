//! Asks whoever looks after a channel, in a private chat with buttons, whether to say what the persona would say there
//! unasked, and whether a tool that may write is to be called. When somebody has decided, or the moment has passed, the
//! question is replaced by what became of it. Keepers who want that are told of each week, too.

pub mod edit;
mod matter;
pub mod week;
pub mod weekly_note;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::warn;

use crate::chat::{ChannelId, ConversationId, Cursor, MessageId, UserId, WorkspaceId};
use crate::decision::consent::{ConsentChoice, ConsentId, ConsentStep};
use crate::decision::proposal::{Proposal, ProposalChoice, ProposalId};
use crate::inbox::Inbox;
use crate::memory::asker;
use crate::persona::Language;
use crate::platform::PlatformError;
use crate::platform::keeper::edit::EditForm;
use crate::platform::keeper::matter::{Matter, MatterKind};
use crate::platform::keeper::weekly_note::SentWeeks;
use crate::store::archive::Archive;
use crate::store::order::Order;
use crate::store::query::ProposalQuery;
use crate::store::refusal_reason::RefusalReason;
use crate::store::{Cursors, StoreError};
use crate::texts;

/// A platform that can ask a user something in a private chat.
#[async_trait]
pub trait KeeperChat: Send + Sync {
    /// The workspaces that it serves now.
    fn workspaces(&self) -> Vec<WorkspaceId>;

    async fn ask(
        &self,
        keeper: &UserId,
        question: &KeeperQuestion,
    ) -> Result<QuestionPlace, PlatformError>;

    /// Replaces a question, and its buttons, by a text. Doing it again changes nothing.
    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError>;

    /// Tells a keeper something, in Markdown. The key travels with the message, of which nothing is kept.
    async fn tell(&self, keeper: &UserId, key: &str, text: &str) -> Result<(), PlatformError>;

    /// Whether a message with this key stands in the keeper's private chat.
    async fn is_told(&self, keeper: &UserId, key: &str) -> Result<bool, PlatformError>;

    /// How long after it was sent a message cannot appear any more.
    fn tell_settles_after(&self) -> SignedDuration;

    /// Whether what was missed of a conversation has been read.
    fn has_caught_up(&self, conversation: &ConversationId) -> bool;

    /// Where a message is read on the platform, if that is known. No call is made for it.
    fn link(&self, conversation: &ConversationId, message: &MessageId) -> Option<String>;
}

/// What a keeper is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeeperQuestion {
    pub workspace: WorkspaceId,
    pub subject: QuestionSubject,
    pub heading: String,
    /// What it would say or send, as models write: in Markdown.
    pub draft: String,
    /// Why, and where the rest is read if this is not all.
    pub note: String,
    /// Each with its words.
    pub buttons: Vec<(KeeperButton, &'static str)>,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionSubject {
    Proposal(ProposalId),
    Call(ConsentId),
}

impl QuestionSubject {
    /// Its name, by which the platform says which question was answered.
    pub fn key(self) -> String {
        match self {
            QuestionSubject::Proposal(id) => id.to_string(),
            QuestionSubject::Call(id) => format!("call-{id}"),
        }
    }

    pub fn parse(key: &str) -> Option<Self> {
        match key.strip_prefix("call-") {
            Some(id) => Some(QuestionSubject::Call(ConsentId(id.parse().ok()?))),
            None => Some(QuestionSubject::Proposal(ProposalId(key.parse().ok()?))),
        }
    }
}

/// Where a question stands: a message of a private chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionPlace {
    pub channel: ChannelId,
    pub message: MessageId,
}

/// A button below a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum KeeperButton {
    Say,
    /// Opens a form, in which somebody writes other words.
    Edit,
    NotNow,
    Never,
    AllowOnce,
    Refuse,
}

/// What a button wants.
enum ButtonChoice {
    Proposal(ProposalChoice),
    /// Decides nothing yet: what comes back from the form does.
    Form,
    Call(ConsentChoice),
}

impl KeeperButton {
    pub const ALL: [Self; 6] = [
        KeeperButton::Say,
        KeeperButton::Edit,
        KeeperButton::NotNow,
        KeeperButton::Never,
        KeeperButton::AllowOnce,
        KeeperButton::Refuse,
    ];

    /// Its name, by which the platform says which one was clicked.
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|button| button.name() == name)
    }

    fn words(self, language: Language) -> &'static str {
        match self {
            KeeperButton::Say => texts::console::say_it(language),
            KeeperButton::Edit => texts::keeper::edit(language),
            KeeperButton::NotNow => texts::console::not_now(language),
            KeeperButton::Never => texts::console::never_like_this(language),
            KeeperButton::AllowOnce => texts::consents::allow_once(language),
            KeeperButton::Refuse => texts::consents::refuse(language),
        }
    }

    fn choice(self) -> ButtonChoice {
        match self {
            KeeperButton::Say => ButtonChoice::Proposal(ProposalChoice::SayIt),
            KeeperButton::Edit => ButtonChoice::Form,
            KeeperButton::NotNow => ButtonChoice::Proposal(ProposalChoice::NotNow),
            KeeperButton::Never => ButtonChoice::Proposal(ProposalChoice::NeverLikeThis),
            KeeperButton::AllowOnce => ButtonChoice::Call(ConsentChoice::AllowOnce),
            KeeperButton::Refuse => ButtonChoice::Call(ConsentChoice::Refuse),
        }
    }
}

/// A button that somebody clicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    pub workspace: WorkspaceId,
    pub subject: QuestionSubject,
    pub user: UserId,
    pub button: KeeperButton,
}

/// What becomes of a click on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClickAnswer {
    /// The question is replaced, and says it.
    Settles,
    /// Whoever clicked is told this.
    Tell(&'static str),
    /// They get a form to fill in.
    Open(EditForm),
}

/// Asks the keepers of a platform, and takes their answers.
pub struct Keepers {
    pub inbox: Arc<Inbox>,
    pub archive: Arc<dyn Archive>,
    pub cursors: Arc<dyn Cursors>,
    pub language: Language,
    /// The users' time zone.
    pub zone: TimeZone,
    /// The currency of all prices.
    pub currency: Arc<str>,
    pub lengths: KeeperLengths,
}

/// How long texts may be on the platform, in UTF-16 code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeeperLengths {
    /// What a form may hold.
    pub form: usize,
    /// One post.
    pub post: usize,
}

/// How many of the newest proposals are looked at.
const PAGE: usize = 50;
/// How long changes are collected before they are looked at.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// How often it looks without a change: whether the time of a question is over, or the platform can be reached again.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// What has been asked in a workspace about matters of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct QuestionRecord {
    /// Up to this proposal, all have been asked about.
    newest: i64,
    /// The questions that are not settled yet.
    asked: Vec<AskedQuestion>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct AskedQuestion {
    /// The number of the proposal or the call.
    #[serde(rename = "proposal")]
    id: i64,
    /// The channel that it is about.
    about: ChannelId,
    /// `None`: the platform refuses to ask.
    place: Option<QuestionPlace>,
    /// The state that its text tells.
    told: String,
}

/// What has been asked in each workspace, and of which weeks keepers were told, as far as it was looked up.
#[derive(Debug, Default)]
pub struct QuestionRecords {
    questions: HashMap<(WorkspaceId, MatterKind), QuestionRecord>,
    weeks: SentWeeks,
}

impl Keepers {
    /// Asks about new proposals and settles the others. Ends with the store.
    pub async fn run(&self, chat: &dyn KeeperChat) {
        let clock = &self.inbox.clock;
        let mut revisions = self.inbox.store.revisions();
        let mut records = QuestionRecords::default();
        loop {
            revisions.mark_unchanged();
            let is_done = self.look(chat, &mut records).await;
            let has_questions = records.questions.values().any(|record| !record.asked.is_empty());
            if is_done && !has_questions && !self.has_keepers() {
                if revisions.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let wait = if records.weeks.has_more { PAUSE } else { CHECK_INTERVAL };
            let check_at = clock.now() + wait;
            tokio::select! {
                changed = revisions.changed() => match changed {
                    Ok(()) => clock.sleep_until(clock.now() + PAUSE).await,
                    Err(_) => return,
                },
                () = clock.sleep_until(check_at) => {}
            }
        }
    }

    /// Asks about what is new, and settles what is decided. Returns whether the store could be read and written.
    pub async fn look(&self, chat: &dyn KeeperChat, records: &mut QuestionRecords) -> bool {
        let mut is_done = true;
        for workspace in chat.workspaces() {
            for kind in MatterKind::ALL {
                if let Err(error) = self.look_at(chat, (&workspace, kind), records).await {
                    let platform = workspace.platform();
                    warn!(platform, %workspace, %error, "the keepers could not be asked; trying again");
                    is_done = false;
                }
            }
        }
        self.tell_of_weeks(chat, &mut records.weeks).await && is_done
    }

    /// Decides as somebody clicked, or has them write other words.
    pub async fn answer(&self, click: Click) -> ClickAnswer {
        let (workspace, subject) = (click.workspace.clone(), click.subject);
        match self.try_answer(click).await {
            Ok(answer) => answer,
            Err(error) => {
                let key = subject.key();
                let platform = workspace.platform();
                warn!(platform, %workspace, key, %error, "the answer of a keeper could not be stored");
                ClickAnswer::Tell(texts::commands::failed(self.language))
            }
        }
    }

    async fn try_answer(&self, click: Click) -> Result<ClickAnswer, StoreError> {
        let now = self.inbox.clock.now();
        let by: Arc<str> = asker::sign(&click.user, now).into();
        let Click { workspace, subject, user, button } = click;
        let (channel, order) = match (subject, button.choice()) {
            (QuestionSubject::Proposal(id), ButtonChoice::Form) => {
                return Ok(match self.kept_by(&workspace, id, &user).await? {
                    Ok(found) => self.edit_form(&found),
                    Err(told) => ClickAnswer::Tell(told),
                });
            }
            (QuestionSubject::Proposal(id), ButtonChoice::Proposal(choice)) => {
                let found = match self.kept_by(&workspace, id, &user).await? {
                    Ok(found) => found,
                    Err(told) => return Ok(ClickAnswer::Tell(told)),
                };
                let told = self.decide(&found, &user, choice).await?;
                return Ok(told.map_or(ClickAnswer::Settles, ClickAnswer::Tell));
            }
            (QuestionSubject::Call(id), ButtonChoice::Call(choice)) => {
                let Some(found) = self.archive.consent(Some(&workspace), id, now).await? else {
                    return Ok(ClickAnswer::Tell(self.too_late(subject)));
                };
                let step = ConsentStep::Decide(choice, by.clone());
                let order = Order::TakeConsentStep { workspace: workspace.clone(), id, step };
                (found.conversation.channel, order.signed(by))
            }
            (QuestionSubject::Proposal(_), ButtonChoice::Call(_))
            | (QuestionSubject::Call(_), ButtonChoice::Proposal(_) | ButtonChoice::Form) => {
                return Ok(ClickAnswer::Tell(self.too_late(subject)));
            }
        };
        if self.inbox.channel_cache.keeper(&workspace, &channel).as_ref() != Some(&user) {
            return Ok(ClickAnswer::Tell(texts::keeper::not_keeper(self.language)));
        }
        let told = self.apply(order, subject).await?;
        Ok(told.map_or(ClickAnswer::Settles, ClickAnswer::Tell))
    }

    /// A proposal that this user may decide, or else what to tell them.
    async fn kept_by(
        &self,
        workspace: &WorkspaceId,
        id: ProposalId,
        user: &UserId,
    ) -> Result<Result<Proposal, &'static str>, StoreError> {
        let before = Some(ProposalId(id.0.saturating_add(1)));
        let query =
            ProposalQuery { workspace: Some(workspace.clone()), decision: None, before, limit: 1 };
        let newest = self.archive.proposals(&query, self.inbox.clock.now()).await?.pop();
        let Some(found) = newest.filter(|proposal| proposal.id == id) else {
            return Ok(Err(texts::keeper::too_late(self.language)));
        };
        let keeper = self.inbox.channel_cache.keeper(workspace, &found.conversation.channel);
        if keeper.as_ref() != Some(user) {
            return Ok(Err(texts::keeper::not_keeper(self.language)));
        }
        Ok(Ok(found))
    }

    /// Decides, once: the first choice counts. Returns what to tell the user if theirs does not.
    async fn decide(
        &self,
        proposal: &Proposal,
        user: &UserId,
        choice: ProposalChoice,
    ) -> Result<Option<&'static str>, StoreError> {
        let by = asker::sign(user, self.inbox.clock.now()).into();
        let workspace = proposal.conversation.workspace.clone();
        let order = Order::DecideProposal { workspace, id: proposal.id, choice, by };
        self.apply(order, QuestionSubject::Proposal(proposal.id)).await
    }

    /// Gives the order of a keeper. Returns what to tell them if it does not count.
    async fn apply(
        &self,
        order: Order,
        subject: QuestionSubject,
    ) -> Result<Option<&'static str>, StoreError> {
        match self.inbox.apply_order(order).await {
            Ok(()) => Ok(None),
            Err(StoreError::Refused(
                RefusalReason::ProposalDecided | RefusalReason::ConsentDecided,
            )) => Ok(Some(texts::keeper::already_decided(self.language))),
            Err(StoreError::Refused(RefusalReason::ProposalBlocked)) => {
                Ok(Some(texts::keeper::busy(self.language)))
            }
            Err(StoreError::Refused(
                RefusalReason::ProposalLapsed
                | RefusalReason::ProposalGone
                | RefusalReason::ConsentLapsed
                | RefusalReason::ConsentGone,
            )) => Ok(Some(self.too_late(subject))),
            Err(error) => Err(error),
        }
    }

    fn too_late(&self, subject: QuestionSubject) -> &'static str {
        match subject {
            QuestionSubject::Proposal(_) => texts::keeper::too_late(self.language),
            QuestionSubject::Call(_) => texts::consents::too_late(self.language),
        }
    }

    fn has_keepers(&self) -> bool {
        self.inbox.channel_cache.rulebook().has_keeper()
    }

    async fn look_at(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, MatterKind),
        records: &mut QuestionRecords,
    ) -> Result<(), StoreError> {
        let place = (workspace, kind);
        let record = match records.questions.entry((workspace.clone(), kind)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(self.stored_record(place).await?),
        };
        if record.asked.is_empty() && !self.has_keepers() {
            return Ok(());
        }
        let matters = self.matters(place, &record.asked).await?;
        self.settle(chat, place, record, &matters).await?;
        self.ask(chat, place, record, &matters).await
    }

    /// Replaces the questions whose answer is known.
    async fn settle(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, MatterKind),
        record: &mut QuestionRecord,
        matters: &[Matter],
    ) -> Result<(), StoreError> {
        let platform = workspace.platform();
        let before = record.clone();
        record.asked.clear();
        for asked in &before.asked {
            let matter = matters.iter().find(|matter| matter.id == asked.id);
            let gone = kind.gone(self.language);
            let (state, what) = matter.map_or(gone, |matter| (matter.state, matter.what));
            if let (Some(place), true) = (&asked.place, *state != *asked.told) {
                let about = self.place_name(workspace, &asked.about);
                let text = texts::keeper::decided(self.language, &about, what);
                let channel = &asked.about;
                match chat.settle(place, &text).await {
                    Ok(()) => {}
                    Err(PlatformError::Refused(why)) => {
                        warn!(platform, %workspace, %channel, why, "what a keeper was asked cannot be replaced");
                    }
                    Err(error) => {
                        warn!(platform, %workspace, %channel, %error, "what a keeper was asked could not be replaced");
                        record.asked.push(asked.clone());
                        continue;
                    }
                }
            }
            if matter.is_some_and(|matter| matter.may_change) {
                record.asked.push(AskedQuestion { told: state.to_owned(), ..asked.clone() });
            }
        }
        if *record != before {
            self.put_record((workspace, kind), record).await?;
        }
        Ok(())
    }

    /// Asks about what is new. After a crash between a question and its record it is asked again.
    async fn ask(
        &self,
        chat: &dyn KeeperChat,
        (workspace, kind): (&WorkspaceId, MatterKind),
        record: &mut QuestionRecord,
        matters: &[Matter],
    ) -> Result<(), StoreError> {
        let platform = workspace.platform();
        let is_new = |matter: &&Matter| matter.is_new(kind, record);
        let new: Vec<&Matter> = matters.iter().filter(is_new).collect();
        for matter in new {
            if let Some(open) = &matter.open
                && let Some(keeper) = self.inbox.channel_cache.keeper(workspace, &matter.about)
            {
                let (about, question) = (&matter.about, self.question(workspace, open).await?);
                let place = match chat.ask(&keeper, &question).await {
                    Ok(place) => Some(place),
                    Err(PlatformError::Refused(why)) => {
                        warn!(platform, %workspace, channel = %about, why, "a keeper cannot be asked");
                        None
                    }
                    Err(error) => {
                        warn!(platform, %workspace, channel = %about, %error, "a keeper could not be asked");
                        return Ok(());
                    }
                };
                let told = matter.state.to_owned();
                let about = about.clone();
                record.asked.push(AskedQuestion { id: matter.id, about, place, told });
                record.newest = record.newest.max(matter.id);
                self.put_record((workspace, kind), record).await?;
            }
            record.newest = record.newest.max(matter.id);
        }
        Ok(())
    }

    fn place_name(&self, workspace: &WorkspaceId, channel: &ChannelId) -> String {
        let name = self.inbox.channel_cache.channel_name(workspace, channel);
        name.map_or_else(|| channel.to_string(), |name| format!("#{name}"))
    }

    async fn stored_record(
        &self,
        (workspace, kind): (&WorkspaceId, MatterKind),
    ) -> Result<QuestionRecord, StoreError> {
        let stored = self.cursors.cursors(workspace).await?;
        let record = stored.iter().find(|cursor| *cursor.stream == *kind.stream());
        // What cannot be read is of another version: it is asked again.
        let record = record.and_then(|cursor| serde_json::from_str(&cursor.value).ok());
        Ok(record.unwrap_or_default())
    }

    async fn put_record(
        &self,
        (workspace, kind): (&WorkspaceId, MatterKind),
        record: &QuestionRecord,
    ) -> Result<(), StoreError> {
        let value = json!(record).to_string().into();
        let (workspace, stream) = (workspace.clone(), kind.stream().into());
        let cursor = Cursor { workspace, stream, value };
        self.cursors.put_cursor(cursor).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_have_names_of_their_own() {
        for button in KeeperButton::ALL {
            assert_eq!(KeeperButton::parse(button.name()), Some(button));
        }
        assert_eq!(KeeperButton::parse("words"), None);
    }

    #[test]
    fn subjects_have_keys_of_their_own() {
        let (proposal, call) =
            (QuestionSubject::Proposal(ProposalId(7)), QuestionSubject::Call(ConsentId(7)));
        assert_eq!((proposal.key().as_str(), call.key().as_str()), ("7", "call-7"));
        for subject in [proposal, call] {
            assert_eq!(QuestionSubject::parse(&subject.key()), Some(subject));
        }
        for key in ["", "call-", "call-x", "seven", "call-7-8"] {
            assert_eq!(QuestionSubject::parse(key), None, "{key}");
        }
    }

    #[test]
    fn a_record_is_read_again() {
        let asked = AskedQuestion {
            id: 7,
            about: ChannelId::new("c1"),
            place: Some(QuestionPlace {
                channel: ChannelId::new("d1"),
                message: MessageId::new("m1"),
            }),
            told: "open".to_owned(),
        };
        let record = QuestionRecord { newest: 7, asked: vec![asked] };
        let stored = json!(record).to_string();
        let place = json!({ "channel": "d1", "message": "m1" });
        let expected = json!({ "newest": 7, "asked": [
            { "proposal": 7, "about": "c1", "place": place, "told": "open" },
        ] });
        assert_eq!(json!(record), expected, "earlier versions have written it so");
        assert_eq!(serde_json::from_str::<QuestionRecord>(&stored).unwrap(), record);
    }
}
