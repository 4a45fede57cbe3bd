//! Reactions in the room: what people send is checked.

use std::sync::Arc;

use crate::chat::{
    AuthorKind, ChannelId, Heard, MessageId, Reaction, ReactionChange, UserId, is_unseen, one_line,
};
use crate::platform::local::refusal::SayError;
use crate::platform::local::{LocalRoom, workspace};

/// The longest emoji that is taken, in characters. Some are a family of four, or a name.
pub const LONGEST_EMOJI: usize = 32;

/// How somebody wants to react to a line.
#[derive(Clone, Debug)]
pub struct Reacting {
    pub channel: ChannelId,
    pub message: MessageId,
    pub user: String,
    pub emoji: String,
    pub change: ReactionChange,
}

impl LocalRoom {
    /// Takes a person's reaction, or takes it away. Doing so again changes nothing.
    pub async fn take_reaction(&self, reacting: Reacting) -> Result<(), SayError> {
        let name = self.name(&reacting.user)?;
        let emoji = emoji(&reacting.emoji)?;
        self.known_channel(&reacting.channel).await?;
        let line = self.archive.line(&workspace(), &reacting.channel, &reacting.message).await?;
        if line.is_none_or(|line| line.is_deleted) {
            return Err(SayError::UnknownLine(reacting.message.to_string()));
        }
        let user = UserId::new(name.clone());
        match reacting.change {
            ReactionChange::Added => self.meet(&user, name).await?,
            ReactionChange::Removed => false,
        };
        let reaction = Reaction {
            workspace: workspace(),
            channel: reacting.channel,
            message: reacting.message,
            user,
            kind: AuthorKind::Human,
            emoji,
            at: self.clock.now(),
            change: reacting.change,
        };
        self.ears.hear(Heard::Reaction(reaction)).await?;
        Ok(())
    }
}

fn emoji(emoji: &str) -> Result<Arc<str>, SayError> {
    let emoji = emoji.trim();
    // The flags of parts of a country are spelled in letters that nobody sees.
    let spells = |letter: &char| matches!(letter, '\u{e0020}'..='\u{e007f}');
    let seen: String = emoji.chars().filter(|letter| !spells(letter)).collect();
    let is_bad = seen.chars().all(is_unseen)
        || seen.contains(char::is_control)
        || one_line(&seen) != seen
        || emoji.chars().count() > LONGEST_EMOJI;
    if is_bad { Err(SayError::BadEmoji) } else { Ok(emoji.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_short_and_can_be_seen() {
        let longest = "x".repeat(LONGEST_EMOJI);
        let too_long = "x".repeat(LONGEST_EMOJI + 1);
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
            assert_eq!(emoji(text).ok().as_deref(), expected, "{text:?}");
        }
    }
}
