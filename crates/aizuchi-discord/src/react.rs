//! Nodding: an emoji on a line. Reacting twice is reacting once.

use reqwest::Method;
use serde_json::Value;

use crate::Discord;
use crate::api::{ApiError, Call};
use crate::from_discord::text;
use crate::post::{place, unread, unsaid};
use crate::text::emoji::Emoji;
use aizuchi_core::chat::MessageId;
use aizuchi_core::event::{Piece, Posted};
use aizuchi_core::platform::PlatformError;

/// Discord's number for a line that is not where it is looked for.
const NO_LINE: u64 = 10_008;

impl Discord {
    pub(super) async fn react(
        &self,
        piece: &Piece,
        on: &MessageId,
    ) -> Result<Posted, PlatformError> {
        let Some(emoji) = self.emoji(piece) else {
            return Err(PlatformError::Refused("Discord has no such emoji".to_owned()));
        };
        let path = format!("{on}/reactions/{emoji}/@me");
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
        let emoji = self.emoji(piece);
        let is_ours =
            |reaction: &Value| reaction["me"] == true && in_address(&reaction["emoji"]) == emoji;
        let is_there =
            line["reactions"].as_array().is_some_and(|reactions| reactions.iter().any(is_ours));
        Ok(is_there.then(|| self.reacted(piece, on)))
    }

    /// As it stands in an address: one of the server's own, whose name may be that of a character, too, or a
    /// character.
    fn emoji(&self, piece: &Piece) -> Option<String> {
        let own = self.own_emoji(piece, piece.text.trim().trim_matches(':'));
        let own = own.map(|own| format!("{}:{}", own.name, own.id));
        own.or_else(|| character(&piece.text).map(|character| encoded(&character)))
    }

    /// One of the server's own, where that is the only one of its name.
    pub(super) fn own_emoji(&self, piece: &Piece, name: &str) -> Option<Emoji> {
        self.roster.emoji(self.guild_of(&piece.conversation.workspace)?, name)
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

/// What Discord tells of an emoji, as it stands in an address.
pub(super) fn in_address(told: &Value) -> Option<String> {
    let name = text(&told["name"])?;
    Some(match text(&told["id"]) {
        Some(id) => format!("{name}:{id}"),
        None => encoded(name),
    })
}

fn encoded(emoji: &str) -> String {
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
