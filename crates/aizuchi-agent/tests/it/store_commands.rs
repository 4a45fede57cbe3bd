//! Helpers to hear, claim, complete and order, and outcomes to complete with, for the tests of the stores.

use aizuchi_harness::fixtures::{at, top_level, workspace};
use aizuchi_model::chat::Visibility::Public;
use aizuchi_model::chat::{ChannelId, Deletion, Edit, Heard, Message, MessageId, Visibility};
use aizuchi_model::clock::duration_from_seconds;
use aizuchi_model::decision::{
    Attempt, AttemptResult, DecisionResult, Judgment, Price, PromptOmission, Usage,
};
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::flow::{Claim, DecisionClosing, Disposition, Outcome, StepResult};
use aizuchi_model::memo::Memo;
use aizuchi_model::memory::{MemoryEntry, MemoryKey, MemoryScope, MemoryTerm};
use aizuchi_store::HearReceipt;
use aizuchi_store::order::Order;

/// Test helpers for a store.
pub trait PromisesExt {
    async fn hear(&self, message: Message, follows: Disposition) -> HearReceipt;
    async fn hear_human(&self, id: &str, second: i64, text: &str) -> HearReceipt;
    async fn hear_mention(&self, id: &str, second: i64) -> HearReceipt;
    async fn claim(&self, second: i64) -> Vec<Claim>;
    async fn complete(&self, claim: &Claim, outcome: Outcome, second: i64);
    async fn advance_to_reply(&self, second: i64) -> Claim;
    async fn draft(&self, claim: &Claim, texts: &[&str], owed: Vec<&str>, second: i64);
    fn item(&self, claim: &Claim) -> OutboxItem;
    async fn texts(&self) -> Vec<String>;
    async fn owed(&self) -> Vec<String>;
    async fn steps(&self) -> usize;
    async fn decisions(&self) -> Vec<aizuchi_model::decision::Decision>;
    async fn ledger(&self) -> Vec<(Option<DecisionResult>, String)>;
}

pub fn silent(why: &str) -> Outcome {
    Outcome::new(StepResult::Silent(DecisionClosing::new(DecisionResult::ChoseSilence, why)))
}

pub fn join(second: i64) -> Outcome {
    let judgment = Judgment {
        should_respond: true,
        reason: "asked".to_owned(),
        confidence: 0.5,
        delay_seconds: Some(0),
        about: Some(MessageId::new("1")),
        ..Judgment::default()
    };
    let end =
        StepResult::Join { judgment, state: aizuchi_model::context::StateHash(7), due: at(second) };
    Outcome::new(end)
}

pub fn said(id: &str, second: i64) -> Outcome {
    let author = aizuchi_model::chat::UserId::new("u-persona");
    let posted = PostedMessage { id: MessageId::new(id), thread: None, at: at(second), author };
    Outcome::new(StepResult::Posted(posted))
}

pub fn import_memory(channel: &str, text: &str) -> Order {
    let scope = MemoryScope::Channel(ChannelId::new(channel));
    let key = MemoryKey { workspace: workspace(), scope, term: MemoryTerm::LongTerm };
    let entry = MemoryEntry {
        date: jiff::civil::date(2027, 1, 5),
        text: text.into(),
        visibility: Public,
        messages: Vec::new(),
        pinned: false,
    };
    Order::ImportMemory { key, entries: vec![entry], newest: at(0) }
}

pub fn import_memo(channel: &str, visibility: Visibility, content: &str) -> Order {
    let memo = Memo {
        name: "tea".to_owned(),
        content: content.to_owned(),
        priority: 5,
        tags: Vec::new(),
        detail: None,
        created: at(0),
        updated: at(0),
        channel: ChannelId::new(channel),
        visibility,
        said_by: None,
    };
    Order::ImportMemo { workspace: workspace(), memo: Box::new(memo), messages: Vec::new() }
}

pub fn attempt() -> Attempt {
    Attempt {
        verb: "judge".into(),
        at: at(60),
        model: "scripted".into(),
        prompt_hash: "0123456789abcdef".into(),
        prompt_bytes: 100,
        usage: Usage {
            input_tokens: 25,
            cached_tokens: 4,
            cache_write_tokens: 3,
            output_tokens: 5,
            is_estimated: true,
        },
        price: Some(Price { micros: 42 }),
        latency: duration_from_seconds(1.5),
        result: AttemptResult::Kept,
        judgment: None,
        error: None,
        omissions: vec![PromptOmission { section: "other_talk".into(), count: 3, tokens: 120 }],
        exchange: None,
    }
}

pub fn judgment(reason: &str) -> Judgment {
    Judgment {
        should_respond: false,
        reason: reason.to_owned(),
        confidence: 0.5,
        delay_seconds: None,
        about: None,
        ..Judgment::default()
    }
}

pub fn edit(id: &str, second: i64) -> Heard {
    Heard::Edit(Edit {
        conversation: top_level("garden"),
        message: MessageId::new(id),
        at: at(second),
        made_at: at(second),
        text: "other words".into(),
        mentions: Vec::new(),
        attachments: None,
    })
}

pub fn deletion(id: &str, second: i64) -> Heard {
    let message = MessageId::new(id);
    Heard::Deletion(Deletion { conversation: top_level("garden"), message, at: at(second) })
}
