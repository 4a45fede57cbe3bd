//! Reactions in the local room, with validation.

use std::sync::Arc;

use aizuchi_model::chat::local::workspace_id;
use aizuchi_model::chat::{
    AuthorKind, ChannelId, Heard, MessageId, Reaction, ReactionChange, UserId, is_invisible,
    to_single_line,
};

use crate::local::LocalRoom;
use crate::local::error::LocalRoomError;
use crate::local::limits::MAX_EMOJI_LENGTH;

/// A user's request to add or remove a reaction.
#[derive(Clone, Debug)]
pub struct ReactionRequest {
    pub channel: ChannelId,
    pub message: MessageId,
    pub user: String,
    pub emoji: String,
    pub change: ReactionChange,
}

impl LocalRoom {
    /// Adds or removes a user's reaction. Idempotent.
    pub async fn change_reaction(&self, request: ReactionRequest) -> Result<(), LocalRoomError> {
        let name = self.parse_name(&request.user)?;
        let emoji = parse_emoji(&request.emoji)?;
        self.require_channel(&request.channel).await?;
        let message =
            self.archive.message(&workspace_id(), &request.channel, &request.message).await?;
        if message.is_none_or(|message| message.is_deleted) {
            return Err(LocalRoomError::UnknownMessage(request.message.to_string()));
        }
        let user = UserId::new(name.clone());
        match request.change {
            ReactionChange::Added => self.ensure_user(&user, name).await?,
            ReactionChange::Removed => false,
        };
        let reaction = Reaction {
            workspace: workspace_id(),
            channel: request.channel,
            message: request.message,
            user,
            kind: AuthorKind::Human,
            emoji,
            at: self.clock.now(),
            change: request.change,
        };
        self.inbox.hear(Heard::Reaction(reaction)).await?;
        Ok(())
    }
}

fn parse_emoji(emoji: &str) -> Result<Arc<str>, LocalRoomError> {
    let emoji = emoji.trim();
    // Region flags are encoded with invisible tag characters.
    let is_tag_character = |character: &char| matches!(character, '\u{e0020}'..='\u{e007f}');
    let visible: String = emoji.chars().filter(|character| !is_tag_character(character)).collect();
    let is_bad = visible.chars().all(is_invisible)
        || visible.contains(char::is_control)
        || to_single_line(&visible) != visible
        || emoji.chars().count() > MAX_EMOJI_LENGTH;
    if is_bad { Err(LocalRoomError::InvalidEmoji) } else { Ok(emoji.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_short_and_visible() {
        let longest = "x".repeat(MAX_EMOJI_LENGTH);
        let too_long = "x".repeat(MAX_EMOJI_LENGTH + 1);
        let scotland = "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";
        for (text, expected) in [
            ("👍", Some("👍")),
            (" 🎉\n", Some("🎉")),
            ("❤\u{fe0f}", Some("❤\u{fe0f}")),
            ("👩\u{200d}👩\u{200d}👧\u{200d}👦", Some("👩\u{200d}👩\u{200d}👧\u{200d}👦")),
            (scotland, Some(scotland)),
            ("party_parrot", Some("party_parrot")),
            (&longest, Some(&longest)),
            (&too_long, None),
            ("", None),
            (" ", None),
            ("\u{200d}", None),
            ("\u{e0067}", None),
            ("👍\n👍", None),
            ("👍\t", Some("👍")),
            ("👍\t👍", None),
            ("\u{202e}👍", None),
            ("👍\u{0}", None),
        ] {
            assert_eq!(parse_emoji(text).ok().as_deref(), expected, "{text:?}");
        }
    }
}
