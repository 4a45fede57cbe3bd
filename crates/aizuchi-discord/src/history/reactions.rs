//! Reactions of a gap. A history shows how many there are, and not whose. So it is asked only about the persona's
//! own posts, the newest ones, and only where the numbers have changed: that is what people answer by nodding.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::Discord;
use crate::api::ApiError;
use crate::from_discord::line::Line;
use crate::from_discord::{Reaction, emoji, list, person};
use crate::history::pass::Pass;
use crate::react::in_address;
use crate::take::TakeError;
use aizuchi_core::chat::{AuthorKind, ReactionChange, UserId};
use aizuchi_core::store::Reacted;

/// So many of the newest posts of a room are compared.
const MOST_POSTS: usize = 20;
/// So often Discord is asked for each room who has reacted.
const MOST_ASKED: usize = 40;
/// As many people in a page as Discord gives. More are not asked for.
const PAGE: usize = 100;

/// One emoji below a post, as a history shows it.
struct Shown {
    emoji: Arc<str>,
    /// Where Discord tells who: each of several emoji of one name has its list, and so have super reactions.
    lists: Vec<String>,
    count: u64,
}

/// Who reacted with one emoji, and whether they are bots.
type Who = HashMap<UserId, bool>;

impl Discord {
    /// Compares what a history shows below the persona's posts with what is stored.
    pub(super) async fn hear_reactions_of(&self, pass: &mut Pass) -> Result<(), TakeError> {
        let mut posts = std::mem::take(&mut pass.own);
        posts.sort_by_key(|post| std::cmp::Reverse(post.at));
        let mut asked = 0;
        for post in posts.iter().take(MOST_POSTS) {
            let place = self.ground(&post.place, None).await?.conversation;
            let known = self.archive.line(&place.workspace, &place.channel, &post.id).await?;
            let Some(known) = known.filter(|known| !known.is_deleted) else { continue };
            if is_known(&known.reactions, &shown(&post.whole)) {
                continue;
            }
            // The page was read a while ago; what came since is known, and not shown in it.
            if let Some(now) = self.shown_now(post).await? {
                self.hear_changes(post, &known.reactions, &now, &mut asked).await?;
            }
        }
        Ok(())
    }

    async fn shown_now(&self, post: &Line) -> Result<Option<Vec<Shown>>, TakeError> {
        let path = format!("/channels/{}/messages/{}", post.place.channel, post.id);
        match self.read::<Value>(&path).await {
            Ok(whole) => Ok(Some(shown(&whole))),
            // It has gone meanwhile.
            Err(ApiError::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn hear_changes(
        &self,
        post: &Line,
        known: &[Reacted],
        now: &[Shown],
        asked: &mut usize,
    ) -> Result<(), TakeError> {
        for gone in known.iter().filter(|it| now.iter().all(|shown| shown.emoji != it.emoji)) {
            self.hear_each(post, &gone.emoji, before(Some(gone)), ReactionChange::Removed).await?;
        }
        for shown in now {
            let before = before(known.iter().find(|it| it.emoji == shown.emoji));
            if before.len() as u64 != shown.count && *asked < MOST_ASKED {
                *asked += shown.lists.len();
                self.hear_who_reacted(post, shown, before).await?;
            }
        }
        Ok(())
    }

    async fn hear_who_reacted(
        &self,
        post: &Line,
        shown: &Shown,
        before: Who,
    ) -> Result<(), TakeError> {
        let (mut now, mut is_whole) = (Who::new(), true);
        for list in &shown.lists {
            let page: Vec<Value> = match self.read(&who_path(post, list)).await {
                // It has gone meanwhile, or may not be seen.
                Err(ApiError::Refused(_)) => return Ok(()),
                page => page?,
            };
            is_whole &= page.len() < PAGE;
            let people = page.iter().filter_map(|user| person(user, &Value::Null));
            now.extend(people.map(|person| (person.id, person.is_bot)));
        }
        let mut gone = before.clone();
        gone.retain(|user, _| is_whole && !now.contains_key(user));
        now.retain(|user, _| !before.contains_key(user));
        self.hear_each(post, &shown.emoji, now, ReactionChange::Added).await?;
        self.hear_each(post, &shown.emoji, gone, ReactionChange::Removed).await
    }

    async fn hear_each(
        &self,
        post: &Line,
        emoji: &Arc<str>,
        who: Who,
        change: ReactionChange,
    ) -> Result<(), TakeError> {
        for (user, is_bot) in who {
            let (place, message) = (post.place.clone(), post.id.clone());
            let (is_bot, emoji) = (Some(is_bot), emoji.clone());
            let reaction = Reaction { place, message, user, is_bot, emoji, change };
            self.hear_reaction(reaction, &mut None).await?;
        }
        Ok(())
    }
}

fn who_path(post: &Line, list: &str) -> String {
    let (channel, id) = (&post.place.channel, &post.id);
    format!("/channels/{channel}/messages/{id}/reactions/{list}&limit={PAGE}")
}

/// What stands below a post, by the emoji as it is kept.
fn shown(post: &Value) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for one in list(post, "reactions").filter_map(shown_as) {
        match all.iter_mut().find(|other| other.emoji == one.emoji) {
            Some(other) => {
                other.lists.extend(one.lists);
                other.count += one.count;
            }
            None => all.push(one),
        }
    }
    all
}

fn shown_as(reaction: &Value) -> Option<Shown> {
    let told = &reaction["emoji"];
    let path = in_address(told)?;
    let is_super = reaction["count_details"]["burst"].as_u64().is_some_and(|burst| burst > 0);
    let kinds = if is_super { &[0, 1][..] } else { &[0] };
    let lists = kinds.iter().map(|kind| format!("{path}?type={kind}")).collect();
    Some(Shown { emoji: emoji(told)?, lists, count: reaction["count"].as_u64()? })
}

fn before(reacted: Option<&Reacted>) -> Who {
    let users = reacted.into_iter().flat_map(|it| &it.users);
    users.map(|user| (user.id.clone(), user.kind == AuthorKind::Bot)).collect()
}

/// The same emoji, each as often.
fn is_known(known: &[Reacted], shown: &[Shown]) -> bool {
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
        let shown = shown(&json!({"reactions": [parrot("7", 2, 1), tea, parrot("8", 1, 0)]}));
        let [parrots, tea] = &shown[..] else { panic!() };
        assert_eq!((&*parrots.emoji, parrots.count), (":parrot:", 3));
        assert_eq!(parrots.lists, ["parrot:7?type=0", "parrot:7?type=1", "parrot:8?type=0"]);
        assert_eq!(
            (&*tea.emoji, tea.count, &tea.lists[..]),
            ("t", 1, &["%74?type=0".to_owned()][..])
        );
    }
}
