//! Why a connection to the gateway was lost, and what that means for the next one.

use jiff::SignedDuration;
use twilight_model::gateway::CloseCode;

use crate::JoinError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub why: String,
    /// The next one is not opened before.
    pub wait: SignedDuration,
    pub fate: Fate,
}

/// What becomes of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    GoesOn,
    /// Where it was to be gone on with, nobody is.
    GoesOnElsewhere,
    Over,
}

/// After a session was refused, Discord wants a pause of up to five seconds.
const AFTER_REFUSAL: SignedDuration = SignedDuration::from_secs(2);
/// After too much was sent.
const AFTER_LIMIT: SignedDuration = SignedDuration::from_secs(60);

impl Lost {
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), wait: SignedDuration::ZERO, fate: Fate::GoesOn }
    }

    pub fn unopened() -> Self {
        Self { fate: Fate::GoesOnElsewhere, ..Self::because("it could not be opened") }
    }

    /// Discord says hello, and nothing after it.
    pub fn unbegun() -> Self {
        Self { fate: Fate::GoesOnElsewhere, ..Self::because("Discord does not begin the session") }
    }

    /// Discord does not know the session, or does not go on with it now.
    pub fn refused(can_resume: bool) -> Self {
        let fate = if can_resume { Fate::GoesOn } else { Fate::Over };
        let why = "Discord does not go on with the session".to_owned();
        Self { why, wait: AFTER_REFUSAL, fate }
    }

    /// By the code that Discord closed it with. Some mean that no other one would do better.
    pub fn closed(code: Option<u16>) -> Result<Self, JoinError> {
        let Some(code) = code else { return Ok(Self::because("it was closed")) };
        let lost = Self::because(format!("Discord has closed it with {code}"));
        let Ok(code) = CloseCode::try_from(code) else { return Ok(lost) };
        match code {
            CloseCode::AuthenticationFailed => Err(JoinError::Token),
            CloseCode::DisallowedIntents => Err(JoinError::Intents),
            CloseCode::InvalidShard | CloseCode::ShardingRequired => Err(JoinError::Shards),
            CloseCode::InvalidApiVersion | CloseCode::InvalidIntents => {
                Err(JoinError::Outdated(code as u16))
            }
            CloseCode::InvalidSequence | CloseCode::SessionTimedOut => {
                Ok(Self { fate: Fate::Over, ..lost })
            }
            CloseCode::RateLimited => Ok(Self { wait: AFTER_LIMIT, ..lost }),
            // Discord may add others.
            _ => Ok(lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_means_what_discord_says() {
        for code in [4000, 4001, 4002, 4003, 4005, 1000, 1001, 1006, 4999] {
            let lost = Lost::closed(Some(code)).unwrap();
            assert_eq!((lost.fate, lost.wait), (Fate::GoesOn, SignedDuration::ZERO), "{code}");
        }
        for code in [4007, 4009] {
            assert_eq!(Lost::closed(Some(code)).unwrap().fate, Fate::Over, "{code}");
        }
        assert!(Lost::closed(Some(4008)).unwrap().wait > SignedDuration::ZERO);
        assert_eq!(Lost::closed(None).unwrap().fate, Fate::GoesOn);
        let fatal = |code| Lost::closed(Some(code)).unwrap_err().to_string();
        for (code, words) in [
            (4004, "refuses discord.token"),
            (4010, "discord.shards"),
            (4011, "discord.shards"),
            (4012, "4012"),
            (4013, "4013"),
            (4014, "Message Content Intent"),
        ] {
            assert!(fatal(code).contains(words), "{code}: {}", fatal(code));
        }
    }
}
