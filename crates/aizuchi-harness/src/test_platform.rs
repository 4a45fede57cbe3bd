//! A platform that records posts, with faults that a test sets.

use std::collections::{HashMap, VecDeque};
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{ChannelId, ConversationId, Message, MessageId, UserId};
use aizuchi_model::clock::Clock;
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::{BackfillState, Platform, PlatformError};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::harness::PERSONA_USER_ID;
use crate::test_mind::Interruption;

/// How the platform treats the next post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    Busy,
    /// The platform sends other posts first.
    Queued,
    Refused,
    /// The message is posted, but the response is lost.
    LostAnswer,
    /// The request is lost, so the message is not posted.
    LostRequest,
}

/// An in-memory platform whose history can be searched for a post's key.
#[derive(Default)]
pub struct TestPlatform {
    pub posted: Mutex<Vec<(OutboxItem, PostedMessage)>>,
    pub faults: Mutex<VecDeque<Fault>>,
    pub calls: AtomicUsize,
    interruptions: Mutex<VecDeque<Interruption>>,
    pub clock: Mutex<Option<Clock>>,
    typing: Mutex<SignedDuration>,
    typings: AtomicUsize,
    backfill_state: Mutex<BackfillState>,
    longest_post: Mutex<Option<usize>>,
    post_interval: Mutex<SignedDuration>,
    /// When each channel takes its next post.
    next_posts: Mutex<HashMap<ChannelId, Timestamp>>,
    is_history_hidden: AtomicBool,
    /// Whether it can show a post to a single user.
    pub whispers: AtomicBool,
    /// The contents of files by id, and the ids of those that were fetched.
    pub files: Mutex<HashMap<String, Vec<u8>>>,
    pub fetched: Mutex<Vec<String>>,
}

impl TestPlatform {
    /// Sets whether recent messages may not have been heard yet.
    pub fn set_backfill_state(&self, state: BackfillState) {
        *self.backfill_state.lock().unwrap() = state;
    }

    /// Sets the maximum length of posts, in characters.
    pub fn set_longest_post(&self, characters: usize) {
        *self.longest_post.lock().unwrap() = Some(characters);
    }

    /// Sets how long a channel takes no other post after each one.
    pub fn set_post_interval_seconds(&self, seconds: i64) {
        *self.post_interval.lock().unwrap() = SignedDuration::from_secs(seconds);
    }

    /// Sets for how long the platform types before each post.
    pub fn set_typing_seconds(&self, seconds: i64) {
        *self.typing.lock().unwrap() = SignedDuration::from_secs(seconds);
    }

    /// Waits until typing has begun this many times.
    pub async fn until_typing(&self, times: usize) {
        while self.typings.load(Ordering::SeqCst) < times {
            tokio::task::yield_now().await;
        }
    }

    /// Runs `interruption` during the next call to post.
    pub fn meanwhile<F>(&self, interruption: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.interruptions.lock().unwrap().push_back(Box::new(move || Box::pin(interruption())));
    }

    /// Sets whether posts are hidden from searches of the history.
    pub fn set_history_hidden(&self, is_hidden: bool) {
        self.is_history_hidden.store(is_hidden, Ordering::SeqCst);
    }

    pub fn fails(&self, faults: &[Fault]) {
        self.faults.lock().unwrap().extend(faults);
    }

    pub fn posted_texts(&self) -> Vec<String> {
        self.posted.lock().unwrap().iter().map(|(item, _)| item.text.to_string()).collect()
    }

    pub fn posts_in(&self, conversation: &ConversationId) -> usize {
        let posted = self.posted.lock().unwrap();
        posted.iter().filter(|(item, _)| item.conversation == *conversation).count()
    }
}

/// The longest post of the test platform, in characters.
pub const LONGEST_POST: usize = 90;

/// How long after a call an item that is not in the history was certainly not posted.
pub const SETTLE: SignedDuration = SignedDuration::from_secs(30);

#[async_trait]
impl Platform for TestPlatform {
    async fn post(&self, item: &OutboxItem) -> Result<PostedMessage, PlatformError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let interruption = self.interruptions.lock().unwrap().pop_front();
        if let Some(interruption) = interruption {
            interruption().await;
        }
        let at = self.clock.lock().unwrap().as_ref().unwrap().now();
        let interval = *self.post_interval.lock().unwrap();
        if interval.is_positive() {
            let mut next_posts = self.next_posts.lock().unwrap();
            let next = next_posts.entry(item.conversation.channel.clone()).or_insert(at);
            if *next > at {
                return Err(PlatformError::Queued { wait: next.duration_since(at) });
            }
            *next = at + interval;
        }
        let fault = self.faults.lock().unwrap().pop_front();
        let mut history = self.posted.lock().unwrap();
        let id = MessageId::new(format!("p{:03}", history.len()));
        let posted = PostedMessage {
            id,
            thread: item.conversation.thread.clone(),
            at,
            author: UserId::new(PERSONA_USER_ID),
        };
        match fault {
            Some(Fault::Busy) => {
                return Err(PlatformError::Busy { why: "slow down".to_owned(), retry_after: None });
            }
            Some(Fault::Queued) => {
                return Err(PlatformError::Queued { wait: SignedDuration::from_secs(2) });
            }
            Some(Fault::Refused) => {
                return Err(PlatformError::Refused("the channel is closed".to_owned()));
            }
            Some(Fault::LostRequest) => {
                return Err(PlatformError::OutcomeUnknown("cut off".to_owned()));
            }
            Some(Fault::LostAnswer | Fault::None) | None => {
                history.push((item.clone(), posted.clone()))
            }
        }
        match fault {
            Some(Fault::LostAnswer) => Err(PlatformError::OutcomeUnknown("cut off".to_owned())),
            Some(_) | None => Ok(posted),
        }
    }

    fn can_whisper(&self) -> bool {
        self.whispers.load(Ordering::SeqCst)
    }

    async fn find_posted(&self, item: &OutboxItem) -> Result<Option<PostedMessage>, PlatformError> {
        if self.is_history_hidden.load(Ordering::SeqCst) {
            return Err(PlatformError::Busy { why: "later".to_owned(), retry_after: None });
        }
        let posted = self.posted.lock().unwrap();
        Ok(posted.iter().find(|(other, _)| other.key == item.key).map(|(_, post)| post.clone()))
    }

    fn post_interval(&self) -> SignedDuration {
        *self.post_interval.lock().unwrap()
    }

    async fn show_typing(&self, _item: &OutboxItem) -> SignedDuration {
        self.typings.fetch_add(1, Ordering::SeqCst);
        *self.typing.lock().unwrap()
    }

    fn in_flight_timeout(&self) -> SignedDuration {
        SETTLE
    }

    fn backfill_state(&self, _conversation: &ConversationId) -> BackfillState {
        *self.backfill_state.lock().unwrap()
    }

    async fn fetch_file(
        &self,
        _message: &Message,
        attachment: &Attachment,
        max_bytes: usize,
    ) -> Result<Vec<u8>, PlatformError> {
        self.fetched.lock().unwrap().push(attachment.id.to_string());
        let found = self.files.lock().unwrap().get(&*attachment.id).cloned();
        let found = found.filter(|bytes| bytes.len() <= max_bytes);
        found.ok_or_else(|| PlatformError::Refused("there is no such file".to_owned()))
    }

    fn own_user(&self) -> Option<UserId> {
        Some(UserId::new(PERSONA_USER_ID))
    }

    fn max_post_length(&self) -> usize {
        self.longest_post.lock().unwrap().unwrap_or(LONGEST_POST)
    }
}
