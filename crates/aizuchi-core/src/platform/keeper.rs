//! Asks whoever looks after a channel, in a private chat with buttons, whether to say what the persona would say there
//! unasked. When somebody has decided, or the moment has passed, the question is replaced by what became of it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::warn;

use crate::chat::{ChannelId, Cursor, MessageId, UserId, WorkspaceId};
use crate::decision::proposal::{Proposal, ProposalChoice, ProposalId, ProposalState};
use crate::inbox::Inbox;
use crate::memory::asker;
use crate::persona::Language;
use crate::platform::PlatformError;
use crate::store::refusal_reason::RefusalReason;
use crate::store::{Archive, Cursors, Order, ProposalQuery, StoreError};
use crate::texts;

/// A platform that can ask a user something in a private chat.
#[async_trait]
pub trait KeeperChat: Send + Sync {
    /// The workspaces that it serves now.
    fn workspaces(&self) -> Vec<WorkspaceId>;

    async fn ask(
        &self,
        keeper: &UserId,
        question: &Question,
    ) -> Result<QuestionPlace, PlatformError>;

    /// Replaces a question, and its buttons, by a text. Doing it again changes nothing.
    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError>;
}

/// What a keeper is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub workspace: WorkspaceId,
    pub proposal: ProposalId,
    pub heading: String,
    /// What it would say, as models write: in Markdown.
    pub draft: String,
    /// Why, and what the buttons cannot do.
    pub note: String,
    /// Each with its words.
    pub buttons: [(KeeperButton, &'static str); 3],
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
    NotNow,
    Never,
}

impl KeeperButton {
    pub const ALL: [Self; 3] = [KeeperButton::Say, KeeperButton::NotNow, KeeperButton::Never];

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
            KeeperButton::NotNow => texts::console::not_now(language),
            KeeperButton::Never => texts::console::never_like_this(language),
        }
    }

    fn choice(self) -> ProposalChoice {
        match self {
            KeeperButton::Say => ProposalChoice::SayIt,
            KeeperButton::NotNow => ProposalChoice::NotNow,
            KeeperButton::Never => ProposalChoice::NeverLikeThis,
        }
    }
}

/// A button that somebody clicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Click {
    pub workspace: WorkspaceId,
    pub proposal: ProposalId,
    pub user: UserId,
    pub button: KeeperButton,
}

/// Asks the keepers of a platform, and takes their answers.
pub struct Keepers {
    pub inbox: Arc<Inbox>,
    pub archive: Arc<dyn Archive>,
    pub cursors: Arc<dyn Cursors>,
    pub language: Language,
}

/// Where the questions of a workspace are kept, beside what the platform has been read.
const STREAM: &str = "proposals";
/// How many of the newest proposals are looked at.
const PAGE: usize = 50;
/// How much of a draft is shown, in characters.
const MAX_SHOWN: usize = 1_200;
/// How much of a reason is shown, in characters.
const MAX_REASON: usize = 300;
/// How long changes are collected before they are looked at.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// How often it looks without a change: whether the time of a question is over, or the platform can be reached again.
const CHECK_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// What has been asked in a workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct QuestionRecord {
    /// Up to this proposal, all have been asked about.
    newest: i64,
    /// The questions that are not settled yet.
    asked: Vec<AskedQuestion>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct AskedQuestion {
    proposal: ProposalId,
    /// The channel that it is about.
    about: ChannelId,
    place: QuestionPlace,
    /// What its text says of the proposal.
    told: ProposalState,
}

/// What has been asked in each workspace, as far as it was looked up.
#[derive(Debug, Default)]
pub struct QuestionRecords(HashMap<WorkspaceId, QuestionRecord>);

impl Keepers {
    /// Asks about new proposals and settles the others. Ends with the store.
    pub async fn run(&self, chat: &dyn KeeperChat) {
        let clock = &self.inbox.clock;
        let mut revisions = self.inbox.store.revisions();
        let mut records = QuestionRecords::default();
        loop {
            revisions.mark_unchanged();
            let is_done = self.look(chat, &mut records).await;
            let has_questions = records.0.values().any(|record| !record.asked.is_empty());
            if is_done && !has_questions && !self.has_keepers() {
                if revisions.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let check_at = clock.now() + CHECK_INTERVAL;
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
            if let Err(error) = self.look_at(chat, &workspace, records).await {
                warn!(%workspace, %error, "the keepers could not be asked; trying again");
                is_done = false;
            }
        }
        is_done
    }

    /// Decides as somebody clicked. Returns what to tell them, unless their question will.
    pub async fn answer(&self, click: Click) -> Option<&'static str> {
        let (workspace, proposal) = (click.workspace.clone(), click.proposal);
        match self.try_answer(click).await {
            Ok(told) => told,
            Err(error) => {
                warn!(%workspace, %proposal, %error, "the answer of a keeper could not be stored");
                Some(texts::commands::failed(self.language))
            }
        }
    }

    async fn try_answer(&self, click: Click) -> Result<Option<&'static str>, StoreError> {
        let Click { workspace, proposal: id, user, button } = click;
        let now = self.inbox.clock.now();
        let before = Some(ProposalId(id.0.saturating_add(1)));
        let query = ProposalQuery { workspace: Some(workspace.clone()), before, limit: 1 };
        let newest = self.archive.proposals(&query, now).await?.pop();
        let Some(found) = newest.filter(|proposal| proposal.id == id) else {
            return Ok(Some(texts::keeper::too_late(self.language)));
        };
        let channel = &found.conversation.channel;
        if self.inbox.channel_cache.keeper(&workspace, channel).as_ref() != Some(&user) {
            return Ok(Some(texts::keeper::not_keeper(self.language)));
        }
        let by = asker::sign(&user, now).into();
        let order = Order::DecideProposal { workspace, id, choice: button.choice(), by };
        match self.inbox.apply_order(order).await {
            Ok(()) => Ok(None),
            Err(StoreError::Refused(RefusalReason::ProposalDecided)) => {
                Ok(Some(texts::keeper::already_decided(self.language)))
            }
            Err(StoreError::Refused(RefusalReason::ProposalBlocked)) => {
                Ok(Some(texts::keeper::busy(self.language)))
            }
            Err(StoreError::Refused(
                RefusalReason::ProposalLapsed | RefusalReason::ProposalGone,
            )) => Ok(Some(texts::keeper::too_late(self.language))),
            Err(error) => Err(error),
        }
    }

    fn has_keepers(&self) -> bool {
        self.inbox.channel_cache.rulebook().has_keeper()
    }

    async fn look_at(
        &self,
        chat: &dyn KeeperChat,
        workspace: &WorkspaceId,
        records: &mut QuestionRecords,
    ) -> Result<(), StoreError> {
        let record = match records.0.entry(workspace.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(self.stored_record(workspace).await?),
        };
        if record.asked.is_empty() && !self.has_keepers() {
            return Ok(());
        }
        let query = ProposalQuery { workspace: Some(workspace.clone()), before: None, limit: PAGE };
        let mut proposals = self.archive.proposals(&query, self.inbox.clock.now()).await?;
        proposals.reverse();
        self.settle(chat, workspace, record, &proposals).await?;
        self.ask(chat, workspace, record, &proposals).await
    }

    /// Replaces the questions whose answer is known.
    async fn settle(
        &self,
        chat: &dyn KeeperChat,
        workspace: &WorkspaceId,
        record: &mut QuestionRecord,
        proposals: &[Proposal],
    ) -> Result<(), StoreError> {
        let now = self.inbox.clock.now();
        let before = record.clone();
        record.asked.clear();
        for asked in &before.asked {
            let proposal = proposals.iter().find(|proposal| proposal.id == asked.proposal);
            let state = proposal.map_or(ProposalState::Lapsed, |proposal| proposal.state);
            if state != asked.told {
                let what = texts::console::proposal_state(self.language, state);
                let place = self.place_name(workspace, &asked.about);
                let text = texts::keeper::decided(self.language, &place, what);
                match chat.settle(&asked.place, &text).await {
                    Ok(()) => {}
                    Err(PlatformError::Refused(why)) => {
                        warn!(%workspace, why, "what a keeper was asked cannot be replaced");
                    }
                    Err(error) => {
                        warn!(%workspace, %error, "what a keeper was asked could not be replaced");
                        record.asked.push(asked.clone());
                        continue;
                    }
                }
            }
            // What was approved may lapse before it is said.
            let may_change = state == ProposalState::Open
                || proposal.is_some_and(|it| it.state.is_approved() && now < it.expires);
            if may_change {
                record.asked.push(AskedQuestion { told: state, ..asked.clone() });
            }
        }
        if *record != before {
            self.put_record(workspace, record).await?;
        }
        Ok(())
    }

    /// Asks about what is new. After a crash between a question and its record it is asked again.
    async fn ask(
        &self,
        chat: &dyn KeeperChat,
        workspace: &WorkspaceId,
        record: &mut QuestionRecord,
        proposals: &[Proposal],
    ) -> Result<(), StoreError> {
        let newest = record.newest;
        for proposal in proposals.iter().filter(|proposal| proposal.id.0 > newest) {
            let about = &proposal.conversation.channel;
            if let Some(draft) = &proposal.text
                && let Some(keeper) = self.inbox.channel_cache.keeper(workspace, about)
            {
                let question = self.question(workspace, proposal, draft);
                match chat.ask(&keeper, &question).await {
                    Ok(place) => record.asked.push(AskedQuestion {
                        proposal: proposal.id,
                        about: about.clone(),
                        place,
                        told: ProposalState::Open,
                    }),
                    Err(PlatformError::Refused(why)) => {
                        warn!(%workspace, channel = %about, why, "a keeper cannot be asked");
                    }
                    Err(error) => {
                        warn!(%workspace, channel = %about, %error, "a keeper could not be asked");
                        return Ok(());
                    }
                }
                record.newest = proposal.id.0;
                self.put_record(workspace, record).await?;
            }
            record.newest = proposal.id.0;
        }
        Ok(())
    }

    fn question(&self, workspace: &WorkspaceId, proposal: &Proposal, draft: &str) -> Question {
        let language = self.language;
        let (shown, is_cut) = shorten(draft, MAX_SHOWN);
        let why = proposal.why.as_deref().map(|why| shorten(why, MAX_REASON).0);
        let notes = [
            why.map(|why| texts::keeper::why(language, &why)),
            is_cut.then(|| texts::keeper::cut(language).to_owned()),
            Some(texts::keeper::other_words(language).to_owned()),
        ];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let place = self.place_name(workspace, &proposal.conversation.channel);
        Question {
            workspace: workspace.clone(),
            proposal: proposal.id,
            heading: texts::keeper::would_say(language, &place),
            draft: shown,
            note: notes.join("\n"),
            buttons: KeeperButton::ALL.map(|button| (button, button.words(language))),
        }
    }

    fn place_name(&self, workspace: &WorkspaceId, channel: &ChannelId) -> String {
        let name = self.inbox.channel_cache.channel_name(workspace, channel);
        name.map_or_else(|| channel.to_string(), |name| format!("#{name}"))
    }

    async fn stored_record(&self, workspace: &WorkspaceId) -> Result<QuestionRecord, StoreError> {
        let stored = self.cursors.cursors(workspace).await?;
        let record = stored.iter().find(|cursor| *cursor.stream == *STREAM);
        // What cannot be read is of another version: it is asked again.
        let record = record.and_then(|cursor| serde_json::from_str(&cursor.value).ok());
        Ok(record.unwrap_or_default())
    }

    async fn put_record(
        &self,
        workspace: &WorkspaceId,
        record: &QuestionRecord,
    ) -> Result<(), StoreError> {
        let value = json!(record).to_string().into();
        let cursor = Cursor { workspace: workspace.clone(), stream: STREAM.into(), value };
        self.cursors.put_cursor(cursor).await
    }
}

/// The beginning of a text, and whether it is not all.
fn shorten(text: &str, longest: usize) -> (String, bool) {
    match text.char_indices().nth(longest) {
        Some((end, _)) => (format!("{}…", text[..end].trim_end()), true),
        None => (text.to_owned(), false),
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
        assert_eq!(KeeperButton::parse("edit"), None);
    }

    #[test]
    fn a_long_draft_is_cut_between_letters() {
        assert_eq!(shorten("roses", 5), ("roses".to_owned(), false));
        assert_eq!(shorten("ばらの花", 2), ("ばら…".to_owned(), true));
        assert_eq!(shorten("two words", 4), ("two…".to_owned(), true));
    }

    #[test]
    fn a_record_is_read_again() {
        let asked = AskedQuestion {
            proposal: ProposalId(7),
            about: ChannelId::new("c1"),
            place: QuestionPlace { channel: ChannelId::new("d1"), message: MessageId::new("m1") },
            told: ProposalState::Open,
        };
        let record = QuestionRecord { newest: 7, asked: vec![asked] };
        let stored = json!(record).to_string();
        assert_eq!(serde_json::from_str::<QuestionRecord>(&stored).unwrap(), record);
    }
}
