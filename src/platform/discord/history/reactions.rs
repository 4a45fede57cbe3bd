//! Reactions of a gap. A history shows how many there are, and not whose. So it is asked only about the persona's
//! own posts, the newest ones, and only where the numbers have changed: that is what people answer by nodding.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::chat::{MessageId, ReactionChange, UserId};
use crate::platform::discord::Discord;
use crate::platform::discord::api::ApiError;
use crate::platform::discord::from_discord::line::Line;
use crate::platform::discord::from_discord::{Reaction, emoji, list, person};
use crate::platform::discord::history::pass::Pass;
use crate::platform::discord::react::in_address;
use crate::platform::discord::take::TakeError;
use crate::store::Reacted;

/// So many of the newest posts of a room are compared.
const MOST_POSTS: usize = 20;
/// So often Discord is asked for each room who has reacted.
const MOST_ASKED: usize = 40;
/// As many people in a page as Discord gives. More are not asked for.
const PAGE: usize = 100;

/// One emoji below a post, as a history shows it.
struct Shown {
    emoji: Arc<str>,
    /// As it stands in an address.
    path: String,
    count: u64,
}

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
            let shown: Vec<Shown> = list(&post.whole, "reactions").filter_map(shown).collect();
            for gone in known.reactions.iter().filter(|it| !is_shown(it, &shown)) {
                self.hear_reactions_gone(&post.place, &post.id, Some(&gone.emoji)).await?;
            }
            for shown in shown {
                let before = known.reactions.iter().find(|it| it.emoji == shown.emoji);
                let before: HashSet<UserId> = before
                    .map(|it| it.users.iter().map(|user| user.id.clone()).collect())
                    .unwrap_or_default();
                if before.len() as u64 == shown.count || asked == MOST_ASKED {
                    continue;
                }
                asked += 1;
                self.hear_who_reacted(post, &shown, &before).await?;
            }
        }
        Ok(())
    }

    async fn hear_who_reacted(
        &self,
        post: &Line,
        shown: &Shown,
        before: &HashSet<UserId>,
    ) -> Result<(), TakeError> {
        let (channel, id) = (&post.place.channel, &post.id);
        let path =
            format!("/channels/{channel}/messages/{id}/reactions/{}?limit={PAGE}", shown.path);
        let page: Vec<Value> = match self.read(&path).await {
            // It has gone meanwhile, or may not be seen.
            Err(ApiError::Refused(_)) => return Ok(()),
            page => page?,
        };
        let now = page.iter().filter_map(|user| person(user, &Value::Null));
        let now: Vec<_> = now.map(|person| (person.id, Some(person.is_bot))).collect();
        let is_whole = page.len() < PAGE;
        let is_gone = |user: &&UserId| is_whole && now.iter().all(|(other, _)| other != *user);
        let gone = before.iter().filter(is_gone).map(|user| (user.clone(), None));
        let new = now.iter().filter(|(user, _)| !before.contains(user)).cloned();
        let new = new.map(|who| (who, ReactionChange::Added));
        let gone = gone.map(|who| (who, ReactionChange::Removed));
        for ((user, is_bot), change) in new.chain(gone) {
            let (place, message) = (post.place.clone(), MessageId::clone(id));
            let emoji = shown.emoji.clone();
            let reaction = Reaction { place, message, user, is_bot, emoji, change };
            self.hear_reaction(reaction, &mut None).await?;
        }
        Ok(())
    }
}

fn shown(reaction: &Value) -> Option<Shown> {
    let told = &reaction["emoji"];
    Some(Shown { emoji: emoji(told)?, path: in_address(told)?, count: reaction["count"].as_u64()? })
}

fn is_shown(reacted: &Reacted, shown: &[Shown]) -> bool {
    shown.iter().any(|shown| shown.emoji == reacted.emoji)
}
