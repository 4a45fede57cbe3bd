//! Nodding: an emoji on a line. Reacting twice is reacting once.

use reqwest::Method;
use serde_json::Value;

use crate::chat::MessageId;
use crate::event::{Piece, Posted};
use crate::platform::PlatformError;
use crate::platform::discord::Discord;
use crate::platform::discord::api::{ApiError, Call};
use crate::platform::discord::post::{place, unread, unsaid};

/// Discord's number for a line that is not where it is looked for.
const NO_LINE: u64 = 10_008;

impl Discord {
    pub(super) async fn react(
        &self,
        piece: &Piece,
        on: &MessageId,
    ) -> Result<Posted, PlatformError> {
        let Some(emoji) = character(&piece.text) else {
            return Err(PlatformError::Refused("Discord has no such emoji".to_owned()));
        };
        let path = format!("{on}/reactions/{}/@me", encoded(&emoji));
        let call = |path| Call::of(Method::PUT, path, None);
        self.at_line(piece, on, &path, call).await.map_err(unsaid)?;
        Ok(self.reacted(piece, on))
    }

    pub(super) async fn find_reaction(
        &self,
        piece: &Piece,
        on: &MessageId,
    ) -> Result<Option<Posted>, PlatformError> {
        let line = self.at_line(piece, on, on.as_str(), Call::get).await.map_err(unread)?;
        let emoji = character(&piece.text);
        let is_ours = |reaction: &Value| {
            reaction["me"] == true && reaction["emoji"]["name"].as_str() == emoji.as_deref()
        };
        let is_there =
            line["reactions"].as_array().is_some_and(|reactions| reactions.iter().any(is_ours));
        Ok(is_there.then(|| self.reacted(piece, on)))
    }

    /// A thread's first line mostly stands in the channel above it, and in a forum it does not.
    async fn at_line(
        &self,
        piece: &Piece,
        on: &MessageId,
        path: &str,
        call: impl Fn(String) -> Call,
    ) -> Result<Value, ApiError> {
        let at = |channel: &str| call(format!("/channels/{channel}/messages/{path}"));
        let conversation = &piece.conversation;
        let thread = conversation.thread.as_ref();
        if thread != Some(on) {
            return self.call(&at(place(conversation, thread))).await;
        }
        match self.call(&at(conversation.channel.as_str())).await {
            Err(error) if error.code().is_some_and(|code| code == NO_LINE || code == 50_001) => {
                self.call(&at(on.as_str())).await
            }
            answered => answered,
        }
    }

    fn reacted(&self, piece: &Piece, on: &MessageId) -> Posted {
        let thread = piece.conversation.thread.clone();
        Posted { id: on.clone(), thread, at: self.now(), author: self.who.user.clone() }
    }
}

/// Discord wants the character, whose name many know.
fn character(emoji: &str) -> Option<String> {
    let emoji = emoji.trim();
    let found = emojis::get(emoji).or_else(|| emojis::get_by_shortcode(emoji.trim_matches(':')));
    found.map(|found| found.as_str().to_owned())
}

pub(super) fn encoded(emoji: &str) -> String {
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
            let shown = character(emoji).map(|emoji| encoded(&emoji));
            assert_eq!(shown.as_deref(), expected, "{emoji}");
        }
    }
}
