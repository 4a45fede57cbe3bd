//! Reactions in the room: what people send is checked.

use std::sync::Arc;

use crate::chat::{
    AuthorKind, ChannelId, Heard, MessageId, Reaction, ReactionChange, UserId, is_invisible,
    to_single_line,
};
use crate::platform::local::error::LocalRoomError;
use crate::platform::local::{LocalRoom, workspace_id};

/// The longest emoji that is taken, in characters. Some are a family of four, or a name.
pub const MAX_EMOJI_LENGTH: usize = 32;

/// How somebody wants to react to a line.
#[derive(Clone, Debug)]
pub struct ReactionRequest {
    pub channel: ChannelId,
    pub message: MessageId,
    pub user: String,
    pub emoji: String,
    pub change: ReactionChange,
}

impl LocalRoom {
    /// Takes a person's reaction, or takes it away. Doing so again changes nothing.
    pub async fn change_reaction(&self, reacting: ReactionRequest) -> Result<(), LocalRoomError> {
        let name = self.parse_name(&reacting.user)?;
        let emoji = parse_emoji(&reacting.emoji)?;
        self.require_channel(&reacting.channel).await?;
        let line =
            self.archive.message(&workspace_id(), &reacting.channel, &reacting.message).await?;
        if line.is_none_or(|line| line.is_deleted) {
            return Err(LocalRoomError::UnknownMessage(reacting.message.to_string()));
        }
        let user = UserId::new(name.clone());
        match reacting.change {
            ReactionChange::Added => self.ensure_user(&user, name).await?,
            ReactionChange::Removed => false,
        };
        let reaction = Reaction {
            workspace: workspace_id(),
            channel: reacting.channel,
            message: reacting.message,
            user,
            kind: AuthorKind::Human,
            emoji,
            at: self.clock.now(),
            change: reacting.change,
        };
        self.inbox.hear(Heard::Reaction(reaction)).await?;
        Ok(())
    }
}

fn parse_emoji(emoji: &str) -> Result<Arc<str>, LocalRoomError> {
    let emoji = emoji.trim();
    // The flags of parts of a country are spelled in letters that nobody sees.
    let spells = |letter: &char| matches!(letter, '\u{e0020}'..='\u{e007f}');
    let seen: String = emoji.chars().filter(|letter| !spells(letter)).collect();
    let is_bad = seen.chars().all(is_invisible)
        || seen.contains(char::is_control)
        || to_single_line(&seen) != seen
        || emoji.chars().count() > MAX_EMOJI_LENGTH;
    if is_bad { Err(LocalRoomError::InvalidEmoji) } else { Ok(emoji.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_short_and_can_be_seen() {
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
