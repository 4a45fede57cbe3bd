//! Nodding: an emoji on a line. Reacting twice is reacting once.

use reqwest::Method;
use serde_json::Value;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::json::non_empty_str;
use crate::post::{discord_channel, history_error, post_error};
use crate::text::emoji::GuildEmoji;
use aizuchi_core::chat::MessageId;
use aizuchi_core::event::{OutboxItem, PostedMessage};
use aizuchi_core::platform::PlatformError;

/// Discord's number for a line that is not where it is looked for.
const UNKNOWN_MESSAGE: u64 = 10_008;

impl DiscordPlatform {
    pub(super) async fn add_reaction(
        &self,
        piece: &OutboxItem,
        on: &MessageId,
    ) -> Result<PostedMessage, PlatformError> {
        let Some(emoji) = self.emoji_path_for(piece) else {
            return Err(PlatformError::Refused("Discord has no such emoji".to_owned()));
        };
        let path = format!("{on}/reactions/{emoji}/@me");
        let call = |path| ApiRequest::new(Method::PUT, path, None);
        self.call_on_message(piece, on, &path, call).await.map_err(post_error)?;
        Ok(self.reaction_posted(piece, on))
    }

    pub(super) async fn find_reaction(
        &self,
        piece: &OutboxItem,
        on: &MessageId,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let line = self
            .call_on_message(piece, on, on.as_str(), ApiRequest::get)
            .await
            .map_err(history_error)?;
        let emoji = self.emoji_path_for(piece);
        let is_ours =
            |reaction: &Value| reaction["me"] == true && emoji_path(&reaction["emoji"]) == emoji;
        let is_there =
            line["reactions"].as_array().is_some_and(|reactions| reactions.iter().any(is_ours));
        Ok(is_there.then(|| self.reaction_posted(piece, on)))
    }

    /// As it stands in an address: one of the server's own, whose name may be that of a character, too, or a
    /// character.
    fn emoji_path_for(&self, piece: &OutboxItem) -> Option<String> {
        let own = self.guild_emoji(piece, piece.text.trim().trim_matches(':'));
        let own = own.map(|own| format!("{}:{}", own.name, own.id));
        own.or_else(|| unicode_emoji(&piece.text).map(|character| percent_encoded(&character)))
    }

    /// One of the server's own, where that is the only one of its name.
    pub(super) fn guild_emoji(&self, piece: &OutboxItem, name: &str) -> Option<GuildEmoji> {
        self.cache.guild_emoji(self.guild_id(&piece.conversation.workspace)?, name)
    }

    /// A thread's first line mostly stands in the channel above it, and in a forum it does not.
    async fn call_on_message(
        &self,
        piece: &OutboxItem,
        on: &MessageId,
        path: &str,
        call: impl Fn(String) -> ApiRequest,
    ) -> Result<Value, DiscordApiError> {
        let at = |channel: &str| call(format!("/channels/{channel}/messages/{path}"));
        let conversation = &piece.conversation;
        let thread = conversation.thread.as_ref();
        if thread != Some(on) {
            return self.call(&at(discord_channel(conversation, thread))).await;
        }
        match self.call(&at(conversation.channel.as_str())).await {
            Err(error)
                if error.code().is_some_and(|code| code == UNKNOWN_MESSAGE || code == 50_001) =>
            {
                self.call(&at(on.as_str())).await
            }
            answered => answered,
        }
    }

    fn reaction_posted(&self, piece: &OutboxItem, on: &MessageId) -> PostedMessage {
        let thread = piece.conversation.thread.clone();
        PostedMessage { id: on.clone(), thread, at: self.now(), author: self.identity.user.clone() }
    }
}

/// Discord wants the character, whose name many know.
fn unicode_emoji(emoji: &str) -> Option<String> {
    let emoji = emoji.trim();
    let found = emojis::get(emoji).or_else(|| emojis::get_by_shortcode(emoji.trim_matches(':')));
    found.map(|found| found.as_str().to_owned())
}

/// What Discord tells of an emoji, as it stands in an address.
pub(super) fn emoji_path(told: &Value) -> Option<String> {
    let name = non_empty_str(&told["name"])?;
    Some(match non_empty_str(&told["id"]) {
        Some(id) => format!("{name}:{id}"),
        None => percent_encoded(name),
    })
}

fn percent_encoded(emoji: &str) -> String {
    emoji.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emoji_are_characters_in_an_address() {
        for (emoji, expected) in [
            ("👍", Some("%F0%9F%91%8D")),
            (":tada:", Some("%F0%9F%8E%89")),
            ("eyes", Some("%F0%9F%91%80")),
            ("party-parrot", None),
            ("../../@me", None),
        ] {
            let shown = unicode_emoji(emoji).map(|emoji| percent_encoded(&emoji));
            assert_eq!(shown.as_deref(), expected, "{emoji}");
        }
    }
}
