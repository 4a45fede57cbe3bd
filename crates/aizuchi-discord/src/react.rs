//! Reactions to messages. Adding a reaction is idempotent.

use aizuchi_model::chat::{ConversationId, MessageId};
use aizuchi_model::flow::outbox::{OutboxItem, PostedMessage};
use aizuchi_model::platform::PlatformError;
use reqwest::Method;
use serde_json::Value;

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::json::non_empty_str;
use crate::post::{UNKNOWN_MESSAGE, discord_channel};
use crate::text::emoji::GuildEmoji;

impl DiscordPlatform {
    pub(super) async fn add_reaction(
        &self,
        item: &OutboxItem,
        message_id: &MessageId,
    ) -> Result<PostedMessage, PlatformError> {
        let Some(emoji) = self.emoji_path_for(item) else {
            return Err(PlatformError::Refused("Discord has no such emoji".to_owned()));
        };
        let path = format!("{message_id}/reactions/{emoji}/@me");
        let call = |path| ApiRequest::new(Method::PUT, path, None);
        let conversation = &item.conversation;
        self.call_on_message(conversation, message_id, &path, call)
            .await
            .map_err(DiscordApiError::of_post)?;
        Ok(self.reaction_posted(item, message_id))
    }

    pub(super) async fn find_reaction(
        &self,
        item: &OutboxItem,
        message_id: &MessageId,
    ) -> Result<Option<PostedMessage>, PlatformError> {
        let message = self
            .call_on_message(&item.conversation, message_id, message_id.as_str(), ApiRequest::get)
            .await
            .map_err(DiscordApiError::of_read)?;
        let emoji = self.emoji_path_for(item);
        let is_ours =
            |reaction: &Value| reaction["me"] == true && emoji_path(&reaction["emoji"]) == emoji;
        let is_present =
            message["reactions"].as_array().is_some_and(|reactions| reactions.iter().any(is_ours));
        Ok(is_present.then(|| self.reaction_posted(item, message_id)))
    }

    /// Returns the emoji as part of a URL: a custom emoji of the server (which may have the name of a character), or a
    /// character.
    fn emoji_path_for(&self, item: &OutboxItem) -> Option<String> {
        let custom = self.guild_emoji(item, item.text.trim().trim_matches(':'));
        let custom = custom.map(|custom| format!("{}:{}", custom.name, custom.id));
        custom.or_else(|| unicode_emoji(&item.text).map(|character| percent_encoded(&character)))
    }

    /// Returns the server's custom emoji of this name, if there is exactly one.
    pub(super) fn guild_emoji(&self, item: &OutboxItem, name: &str) -> Option<GuildEmoji> {
        self.cache.guild_emoji(self.guild_id(&item.conversation.workspace)?, name)
    }

    /// Calls a path on a message. A thread's starter is in the parent channel, except in a forum.
    pub(super) async fn call_on_message(
        &self,
        conversation: &ConversationId,
        message_id: &MessageId,
        path: &str,
        call: impl Fn(String) -> ApiRequest,
    ) -> Result<Value, DiscordApiError> {
        let at = |channel: &str| call(format!("/channels/{channel}/messages/{path}"));
        let thread = conversation.thread.as_ref();
        if thread != Some(message_id) {
            return self.call(&at(discord_channel(conversation, thread))).await;
        }
        match self.call(&at(conversation.channel.as_str())).await {
            Err(error)
                if error
                    .refusal()
                    .is_some_and(|it| it.code == UNKNOWN_MESSAGE || it.code == 50_001) =>
            {
                self.call(&at(message_id.as_str())).await
            }
            result => result,
        }
    }

    fn reaction_posted(&self, item: &OutboxItem, message_id: &MessageId) -> PostedMessage {
        let thread = item.conversation.thread.clone();
        PostedMessage {
            id: message_id.clone(),
            thread,
            at: self.now(),
            author: self.identity.user.clone(),
        }
    }
}

/// Returns the character of an emoji, given as the character or its shortcode.
fn unicode_emoji(emoji: &str) -> Option<String> {
    let emoji = emoji.trim();
    let found = emojis::get(emoji).or_else(|| emojis::get_by_shortcode(emoji.trim_matches(':')));
    found.map(|found| found.as_str().to_owned())
}

/// Returns an emoji from Discord's JSON, as part of a URL.
pub(super) fn emoji_path(json: &Value) -> Option<String> {
    let name = non_empty_str(&json["name"])?;
    Some(match non_empty_str(&json["id"]) {
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
    fn emoji_are_percent_encoded() {
        for (emoji, expected) in [
            ("👍", Some("%F0%9F%91%8D")),
            (":tada:", Some("%F0%9F%8E%89")),
            ("eyes", Some("%F0%9F%91%80")),
            ("party-parrot", None),
            ("../../@me", None),
        ] {
            let encoded = unicode_emoji(emoji).map(|emoji| percent_encoded(&emoji));
            assert_eq!(encoded.as_deref(), expected, "{emoji}");
        }
    }
}
