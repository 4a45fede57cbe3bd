//! Reactions of a gap. A history shows how many there are, and not whose. So it is asked only about the persona's
//! own posts, the newest ones, and only where the numbers have changed: that is what people answer by nodding.

use std::collections::HashMap;
use std::sync::Arc;

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
use aizuchi_core::chat::{AuthorKind, ReactionChange, UserId};
use aizuchi_core::store::ReactionGroup;

/// So many of the newest posts of a room are compared.
const MAX_POSTS: usize = 20;
/// So often Discord is asked for each room who has reacted.
const MAX_REQUESTS: usize = 40;
/// As many people in a page as Discord gives. More are not asked for.
const PAGE_SIZE: usize = 100;

/// One emoji below a post, as a history shows it.
struct ReactionCount {
    emoji: Arc<str>,
    /// Where Discord tells who: each of several emoji of one name has its list, and so have super reactions.
    user_lists: Vec<String>,
    count: u64,
}

/// Who reacted with one emoji, and whether they are bots.
type Reactors = HashMap<UserId, bool>;

impl DiscordPlatform {
    /// Compares what a history shows below the persona's posts with what is stored.
    pub(super) async fn reconcile_reactions(
        &self,
        pass: &mut BackfillPass,
    ) -> Result<(), IngestError> {
        let mut posts = std::mem::take(&mut pass.own_messages);
        posts.sort_by_key(|post| std::cmp::Reverse(post.at));
        let mut asked = 0;
        for post in posts.iter().take(MAX_POSTS) {
            let place = self.locate(&post.channel_ref, None).await?.conversation;
            let known = self.archive.message(&place.workspace, &place.channel, &post.id).await?;
            let Some(known) = known.filter(|known| !known.is_deleted) else { continue };
            if is_unchanged(&known.reactions, &reaction_counts(&post.raw)) {
                continue;
            }
            // The page was read a while ago; what came since is known, and not shown in it.
            if let Some(now) = self.fetch_reaction_counts(post).await? {
                self.hear_reaction_changes(post, &known.reactions, &now, &mut asked).await?;
            }
        }
        Ok(())
    }

    async fn fetch_reaction_counts(
        &self,
        post: &DiscordMessage,
    ) -> Result<Option<Vec<ReactionCount>>, IngestError> {
        let path = format!("/channels/{}/messages/{}", post.channel_ref.channel, post.id);
        match self.read_with_retries::<Value>(&path).await {
            Ok(whole) => Ok(Some(reaction_counts(&whole))),
            // It has gone meanwhile.
            Err(DiscordApiError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn hear_reaction_changes(
        &self,
        post: &DiscordMessage,
        known: &[ReactionGroup],
        now: &[ReactionCount],
        asked: &mut usize,
    ) -> Result<(), IngestError> {
        for gone in known.iter().filter(|it| now.iter().all(|shown| shown.emoji != it.emoji)) {
            self.hear_each_reactor(
                post,
                &gone.emoji,
                stored_reactors(Some(gone)),
                ReactionChange::Removed,
            )
            .await?;
        }
        for shown in now {
            let before = stored_reactors(known.iter().find(|it| it.emoji == shown.emoji));
            if before.len() as u64 != shown.count && *asked < MAX_REQUESTS {
                *asked += shown.user_lists.len();
                self.hear_reactors(post, shown, before).await?;
            }
        }
        Ok(())
    }

    async fn hear_reactors(
        &self,
        post: &DiscordMessage,
        shown: &ReactionCount,
        before: Reactors,
    ) -> Result<(), IngestError> {
        let (mut now, mut is_whole) = (Reactors::new(), true);
        for list in &shown.user_lists {
            let page: Vec<Value> = match self.read_with_retries(&reactors_path(post, list)).await {
                // It has gone meanwhile, or may not be seen.
                Err(DiscordApiError::Refused(_)) => return Ok(()),
                page => page?,
            };
            is_whole &= page.len() < PAGE_SIZE;
            let people = page.iter().filter_map(|user| parse_user(user, &Value::Null));
            now.extend(people.map(|person| (person.id, person.is_bot)));
        }
        let mut gone = before.clone();
        gone.retain(|user, _| is_whole && !now.contains_key(user));
        now.retain(|user, _| !before.contains_key(user));
        self.hear_each_reactor(post, &shown.emoji, now, ReactionChange::Added).await?;
        self.hear_each_reactor(post, &shown.emoji, gone, ReactionChange::Removed).await
    }

    async fn hear_each_reactor(
        &self,
        post: &DiscordMessage,
        emoji: &Arc<str>,
        who: Reactors,
        change: ReactionChange,
    ) -> Result<(), IngestError> {
        for (user, is_bot) in who {
            let (place, message) = (post.channel_ref.clone(), post.id.clone());
            let (is_bot, emoji) = (Some(is_bot), emoji.clone());
            let reaction =
                DiscordReaction { channel_ref: place, message, user, is_bot, emoji, change };
            self.hear_reaction(reaction, &mut None).await?;
        }
        Ok(())
    }
}

fn reactors_path(post: &DiscordMessage, list: &str) -> String {
    let (channel, id) = (&post.channel_ref.channel, &post.id);
    format!("/channels/{channel}/messages/{id}/reactions/{list}&limit={PAGE_SIZE}")
}

/// What stands below a post, by the emoji as it is kept.
fn reaction_counts(post: &Value) -> Vec<ReactionCount> {
    let mut all: Vec<ReactionCount> = Vec::new();
    for one in array_at(post, "reactions").filter_map(parse_reaction_count) {
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

fn parse_reaction_count(reaction: &Value) -> Option<ReactionCount> {
    let told = &reaction["emoji"];
    let path = emoji_path(told)?;
    let is_super = reaction["count_details"]["burst"].as_u64().is_some_and(|burst| burst > 0);
    let kinds = if is_super { &[0, 1][..] } else { &[0] };
    let lists = kinds.iter().map(|kind| format!("{path}?type={kind}")).collect();
    Some(ReactionCount {
        emoji: emoji_name(told)?,
        user_lists: lists,
        count: reaction["count"].as_u64()?,
    })
}

fn stored_reactors(reacted: Option<&ReactionGroup>) -> Reactors {
    let users = reacted.into_iter().flat_map(|it| &it.users);
    users.map(|user| (user.id.clone(), user.kind == AuthorKind::Bot)).collect()
}

/// The same emoji, each as often.
fn is_unchanged(known: &[ReactionGroup], shown: &[ReactionCount]) -> bool {
    let count = |emoji: &str| known.iter().find(|it| *it.emoji == *emoji).map(|it| it.users.len());
    known.len() == shown.len()
        && shown.iter().all(|it| count(&it.emoji).is_some_and(|count| count as u64 == it.count))
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
        let shown =
            reaction_counts(&json!({"reactions": [parrot("7", 2, 1), tea, parrot("8", 1, 0)]}));
        let [parrots, tea] = &shown[..] else { panic!() };
        assert_eq!((&*parrots.emoji, parrots.count), (":parrot:", 3));
        assert_eq!(parrots.user_lists, ["parrot:7?type=0", "parrot:7?type=1", "parrot:8?type=0"]);
        assert_eq!(
            (&*tea.emoji, tea.count, &tea.user_lists[..]),
            ("t", 1, &["%74?type=0".to_owned()][..])
        );
    }
}
