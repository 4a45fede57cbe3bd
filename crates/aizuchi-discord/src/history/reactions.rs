//! Reconciles reactions after a gap. A history shows their counts but not the users, who must be fetched for each
//! emoji. That is done only for the persona's newest posts, and only where the counts differ from the store.

use std::collections::HashMap;
use std::sync::Arc;

use aizuchi_model::chat::{AuthorKind, ReactionChange, UserId};
use aizuchi_store::stored_message::ReactionGroup;
use serde_json::Value;

use crate::DiscordPlatform;
use crate::api::DiscordApiError;
use crate::from_discord::message::DiscordMessage;
use crate::from_discord::user::parse_user;
use crate::from_discord::{DiscordReaction, emoji_name};
use crate::history::pass::BackfillPass;
use crate::ingest::IngestError;
use crate::json::array_at;
use crate::react::emoji_path;

/// How many of a channel's newest posts are compared.
const MAX_POSTS: usize = 20;
/// How many lists of users are fetched for each channel at most.
const MAX_REQUESTS: usize = 40;
/// Discord's maximum for a page of users. Only the first page is fetched.
const PAGE_SIZE: usize = 100;

/// One emoji of a post in the history.
struct EmojiCount {
    emoji: Arc<str>,
    /// The paths of the lists of users. Each of several emoji with the same name has its own list, and so do super
    /// reactions.
    user_lists: Vec<String>,
    count: u64,
}

/// The users who reacted with one emoji, and whether each is a bot.
type Reactors = HashMap<UserId, bool>;

impl DiscordPlatform {
    /// Compares the reactions to the persona's posts with the store.
    pub(super) async fn reconcile_reactions(
        &self,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let mut posts = std::mem::take(&mut pass.own_messages);
        posts.sort_by_key(|post| std::cmp::Reverse(post.at));
        let mut requests = 0;
        for post in posts.iter().take(MAX_POSTS) {
            let conversation = self.locate(&post.channel_ref, None).await?.conversation;
            let stored = self
                .archive
                .message(&conversation.workspace, &conversation.channel, &post.id)
                .await?;
            let Some(stored) = stored.filter(|stored| !stored.is_deleted) else { continue };
            if is_unchanged(&stored.reactions, &emoji_counts(&post.raw)) {
                continue;
            }
            // The page may be older than reactions that arrived live, so the post is fetched again.
            if let Some(current) = self.fetch_emoji_counts(post).await? {
                self.hear_reaction_changes(post, &stored.reactions, &current, &mut requests)
                    .await?;
            }
        }
        Ok(())
    }

    async fn fetch_emoji_counts(
        &self,
        post: &DiscordMessage,
    ) -> Result<Option<Vec<EmojiCount>>, IngestError> {
        let path = format!("/channels/{}/messages/{}", post.channel_ref.channel, post.id);
        match self.read_history_json::<Value>(&path).await {
            Ok(json) => Ok(Some(emoji_counts(&json))),
            // The post was deleted in the meantime.
            Err(DiscordApiError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn hear_reaction_changes(
        &self,
        post: &DiscordMessage,
        stored: &[ReactionGroup],
        current: &[EmojiCount],
        requests: &mut usize,
    ) -> Result<(), IngestError> {
        for removed in stored
            .iter()
            .filter(|it| current.iter().all(|current_emoji| current_emoji.emoji != it.emoji))
        {
            self.hear_each_reactor(
                post,
                &removed.emoji,
                stored_reactors(Some(removed)),
                ReactionChange::Removed,
            )
            .await?;
        }
        for current_emoji in current {
            let before = stored_reactors(stored.iter().find(|it| it.emoji == current_emoji.emoji));
            if before.len() as u64 != current_emoji.count && *requests < MAX_REQUESTS {
                *requests += current_emoji.user_lists.len();
                self.hear_reactors(post, current_emoji, before).await?;
            }
        }
        Ok(())
    }

    async fn hear_reactors(
        &self,
        post: &DiscordMessage,
        current_emoji: &EmojiCount,
        before: Reactors,
    ) -> Result<(), IngestError> {
        let (mut current, mut is_complete) = (Reactors::new(), true);
        for list in &current_emoji.user_lists {
            let page: Vec<Value> = match self.read_history_json(&reactors_path(post, list)).await {
                // The reaction was removed in the meantime, or the bot lacks access.
                Err(DiscordApiError::Refused(_)) => return Ok(()),
                page => page?,
            };
            is_complete &= page.len() < PAGE_SIZE;
            let users = page.iter().filter_map(|user| parse_user(user, &Value::Null));
            current.extend(users.map(|user| (user.id, user.is_bot)));
        }
        let mut removed = before.clone();
        // Only the first page is read, so a user who is missing from a longer list may still have reacted.
        removed.retain(|user, _| is_complete && !current.contains_key(user));
        current.retain(|user, _| !before.contains_key(user));
        let added = self.leave_out_forgotten(post, current).await?;
        self.hear_each_reactor(post, &current_emoji.emoji, added, ReactionChange::Added).await?;
        self.hear_each_reactor(post, &current_emoji.emoji, removed, ReactionChange::Removed).await
    }

    /// Leaves out those who were forgotten since. Discord does not say when they reacted, so the time of the post
    /// counts.
    async fn leave_out_forgotten(
        &self,
        post: &DiscordMessage,
        reactors: Reactors,
    ) -> Result<Reactors, IngestError> {
        let workspace = self.locate(&post.channel_ref, None).await?.conversation.workspace;
        let mut left = Reactors::new();
        for (user, is_bot) in reactors {
            if !self.archive.was_forgotten_after(&workspace, &user, post.at).await? {
                left.insert(user, is_bot);
            }
        }
        Ok(left)
    }

    async fn hear_each_reactor(
        &self,
        post: &DiscordMessage,
        emoji: &Arc<str>,
        reactors: Reactors,
        change: ReactionChange,
    ) -> Result<(), IngestError> {
        for (user, is_bot) in reactors {
            let (channel_ref, message) = (post.channel_ref.clone(), post.id.clone());
            let (is_bot, emoji) = (Some(is_bot), emoji.clone());
            let reaction = DiscordReaction { channel_ref, message, user, is_bot, emoji, change };
            self.hear_reaction(reaction, &mut None).await?;
        }
        Ok(())
    }
}

fn reactors_path(post: &DiscordMessage, list: &str) -> String {
    let (channel, id) = (&post.channel_ref.channel, &post.id);
    format!("/channels/{channel}/messages/{id}/reactions/{list}&limit={PAGE_SIZE}")
}

/// Returns a post's reactions, by the stored form of the emoji.
fn emoji_counts(post: &Value) -> Vec<EmojiCount> {
    let mut all: Vec<EmojiCount> = Vec::new();
    for one in array_at(post, "reactions").filter_map(parse_emoji_count) {
        match all.iter_mut().find(|other| other.emoji == one.emoji) {
            Some(other) => {
                other.user_lists.extend(one.user_lists);
                other.count += one.count;
            }
            None => all.push(one),
        }
    }
    all
}

fn parse_emoji_count(reaction: &Value) -> Option<EmojiCount> {
    let emoji = &reaction["emoji"];
    let path = emoji_path(emoji)?;
    let is_super = reaction["count_details"]["burst"].as_u64().is_some_and(|burst| burst > 0);
    let kinds = if is_super { &[0, 1][..] } else { &[0] };
    let lists = kinds.iter().map(|kind| format!("{path}?type={kind}")).collect();
    Some(EmojiCount {
        emoji: emoji_name(emoji)?,
        user_lists: lists,
        count: reaction["count"].as_u64()?,
    })
}

fn stored_reactors(reacted: Option<&ReactionGroup>) -> Reactors {
    let users = reacted.into_iter().flat_map(|it| &it.users);
    users.map(|user| (user.id.clone(), user.kind == AuthorKind::Bot)).collect()
}

/// Whether the emoji and their counts are the same.
fn is_unchanged(stored: &[ReactionGroup], current_emoji: &[EmojiCount]) -> bool {
    let count = |emoji: &str| stored.iter().find(|it| *it.emoji == *emoji).map(|it| it.users.len());
    stored.len() == current_emoji.len()
        && current_emoji
            .iter()
            .all(|it| count(&it.emoji).is_some_and(|count| count as u64 == it.count))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn emoji_of_one_name_and_super_reactions_are_counted_together() {
        let parrot = |id: &str, count: u64, burst: u64| {
            json!({"emoji": {"id": id, "name": "parrot"}, "count": count,
                "count_details": {"normal": count - burst, "burst": burst}})
        };
        let tea = json!({"emoji": {"id": null, "name": "t"}, "count": 1});
        let current_emoji =
            emoji_counts(&json!({"reactions": [parrot("7", 2, 1), tea, parrot("8", 1, 0)]}));
        let [parrots, tea] = &current_emoji[..] else { panic!() };
        assert_eq!((&*parrots.emoji, parrots.count), (":parrot:", 3));
        assert_eq!(parrots.user_lists, ["parrot:7?type=0", "parrot:7?type=1", "parrot:8?type=0"]);
        assert_eq!(
            (&*tea.emoji, tea.count, &tea.user_lists[..]),
            ("t", 1, &["%74?type=0".to_owned()][..])
        );
    }
}
