//! Writes what is known about one person, for that person to read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use aizuchi_llm::prompt::attachment_text::with_files;
use aizuchi_model::chat::{ChannelId, User, UserId, strip_control_characters};
use aizuchi_model::decision::Decision;
use aizuchi_model::memory::asker::signer;
use aizuchi_model::memory::{Memory, MessageRef};
use aizuchi_model::persona::Language;
use aizuchi_model::standing_order::StandingOrder;
use aizuchi_store::archive::Archive;
use aizuchi_store::pages::{DecisionPages, MessagePages};
use aizuchi_store::stored_message::StoredMessage;
use aizuchi_store::{Store, StoreError};

/// More threads than any channel has.
pub const MAX_THREADS: usize = i32::MAX as usize;

/// Returns a text about one person, for that person to read.
pub async fn describe_user(
    store: &dyn Store,
    archive: &dyn Archive,
    user: &User,
) -> Result<String, StoreError> {
    let (workspace, name) = (&user.workspace, &user.name);
    // Writing to a string never fails.
    let (user, mut text) = (&user.id, String::new());
    let output = &mut text;
    let shown = |text: &str| strip_control_characters(text);
    let _ = writeln!(
        output,
        "# {} ({}) in {}",
        shown(name),
        shown(user.as_str()),
        shown(workspace.as_str())
    );
    let orders = store.orders(workspace).await?;
    if orders.opted_out.contains(user) {
        let _ = writeln!(output, "\nOpted out: what they say is in no prompt and no memory.");
    }
    let names: BTreeMap<ChannelId, String> = archive
        .channels(workspace)
        .await?
        .into_iter()
        .map(|channel| (channel.id.clone(), channel.name.to_string()))
        .collect();
    let channel_name = |id: &ChannelId| {
        shown(names.get(id).map_or(id.as_str(), String::as_str).trim_start_matches('#')).to_string()
    };
    let mut theirs = BTreeSet::new();
    let mut reactions = Vec::new();
    let mut has_messages = false;
    let _ = writeln!(output, "\n## Messages\n");
    let mut pages = MessagePages { archive, workspace, revision: 0 };
    while let Some(page) = pages.next().await? {
        for stored in page {
            let message = &stored.message;
            reactions.extend(reactions_of(&stored, user).map(|emoji| {
                let at = message.at.strftime("%Y-%m-%d %H:%M:%S UTC");
                // The text of other users' messages is not this person's data.
                let channel = channel_name(&message.conversation.channel);
                format!("- {} to a message of {at} in #{channel}", shown(&emoji))
            }));
            if message.author.id != *user || stored.is_deleted && !stored.is_expired {
                continue;
            }
            let channel = &message.conversation.channel;
            theirs.insert(MessageRef(channel.clone(), message.id.clone()));
            // What is remembered of an expired message is kept.
            if stored.is_expired {
                continue;
            }
            has_messages = true;
            let at = message.at.strftime("%Y-%m-%d %H:%M:%S UTC");
            let message = with_files(message, Language::En);
            let text = indented(&message.text);
            let _ = writeln!(output, "- {at} #{}: {text}", channel_name(channel));
        }
    }
    if !has_messages {
        let _ = writeln!(output, "None.");
    }
    let _ = writeln!(output, "\n## Memories of what they said\n");
    let mut memories = store.memories(workspace).await?;
    for channel in names.keys() {
        memories.extend(archive.thread_memories(workspace, channel, MAX_THREADS).await?);
    }
    let entries: Vec<String> =
        memories.iter().flat_map(|memory| entries_from(memory, &theirs)).collect();
    for entry in &entries {
        let _ = writeln!(output, "- {}", indented(entry));
    }
    let mut memos = BTreeMap::new();
    for channel in names.keys() {
        memos.extend(store.memos(workspace, channel).await?);
    }
    let memos: Vec<_> = memos.values().filter(|memo| memo.said_by.as_ref() == Some(user)).collect();
    for memo in &memos {
        let _ = writeln!(output, "- Memo “{}”: {}", indented(&memo.name), indented(&memo.content));
    }
    if entries.is_empty() && memos.is_empty() {
        let _ = writeln!(output, "Nothing.");
    }
    let orders = archive.standing_orders(workspace).await?;
    let is_theirs = |order: &&StandingOrder| signer(&order.by) == Some(user.as_str());
    let mut orders = orders.iter().filter(is_theirs).peekable();
    if orders.peek().is_some() {
        let _ = writeln!(output, "\n## Standing orders that they gave\n");
    }
    for order in orders {
        let at = order.given.strftime("%Y-%m-%d %H:%M:%S UTC");
        let _ = writeln!(output, "- {at}: {}", indented(order.text.as_str()));
    }
    let mut plans = archive.plans(workspace).await?;
    plans.retain(|plan| plan.asker == *user);
    if !plans.is_empty() {
        let _ = writeln!(output, "\n## Reminders that they asked for\n");
    }
    for plan in plans {
        let at = plan.due.strftime("%Y-%m-%d %H:%M:%S UTC");
        let channel = channel_name(&plan.conversation.channel);
        let _ = writeln!(output, "- {at} #{channel}: {}", indented(&plan.what));
    }
    let _ = writeln!(output, "\n## Their reactions\n");
    for reaction in &reactions {
        let _ = writeln!(output, "{reaction}");
    }
    if reactions.is_empty() {
        let _ = writeln!(output, "None.");
    }
    let _ = writeln!(output, "\n## Decisions about their messages\n");
    let mut count = 0;
    let mut pages = DecisionPages { archive, workspace, revision: 0 };
    while let Some(page) = pages.next().await? {
        let is_about = |decision: &Decision| {
            let channel = &decision.conversation.channel;
            let mut messages = decision.messages.iter();
            messages.any(|id| theirs.contains(&MessageRef(channel.clone(), id.clone())))
        };
        for decision in page.iter().filter(|decision| is_about(decision)) {
            count += 1;
            let channel = channel_name(&decision.conversation.channel);
            let _ = writeln!(output, "{}", decision_text(decision, &channel));
        }
    }
    if count == 0 {
        let _ = writeln!(output, "Nothing.");
    }
    let _ = writeln!(output);
    Ok(text)
}

/// The emoji with which a user reacted to a message.
fn reactions_of(stored: &StoredMessage, user: &UserId) -> impl Iterator<Item = Arc<str>> {
    let groups = stored.reactions.iter();
    let theirs = groups.filter(|group| group.users.iter().any(|other| other.id == *user));
    theirs.map(|group| group.emoji.clone())
}

/// A decision with its reasons, as a bullet.
fn decision_text(decision: &Decision, channel: &str) -> String {
    let at = decision.opened.strftime("%Y-%m-%d %H:%M:%S UTC");
    let ended = decision.ended.map_or("open", |ended| ended.name()).replace('_', " ");
    let judged = decision.judgment.as_ref().map(|judgment| judgment.reason.as_str());
    let reasons = [decision.why.as_deref(), judged].into_iter().flatten();
    let reasons: Vec<&str> = reasons.filter(|reason| !reason.trim().is_empty()).collect();
    let because = if reasons.is_empty() { "" } else { ": " };
    format!("- {at} #{channel}: {ended}{because}{}", indented(&reasons.join(" / ")))
}

/// A text of several lines, indented under its bullet. Control characters are removed, so that it cannot control a
/// terminal.
fn indented(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(strip_control_characters).collect();
    lines.join("\n    ")
}

/// The entries of a memory that are based on one of these messages.
fn entries_from(memory: &Memory, theirs: &BTreeSet<MessageRef>) -> Vec<String> {
    let from_them = memory
        .entries
        .iter()
        .filter(|entry| entry.messages.iter().any(|message| theirs.contains(message)));
    from_them.map(|entry| entry.text.to_string()).collect()
}
