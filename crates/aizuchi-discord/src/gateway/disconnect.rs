//! Why a connection to the gateway was lost, and what that means for the next one.

use jiff::SignedDuration;
use twilight_model::gateway::CloseCode;

use crate::identity::DiscordConnectError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnect {
    pub reason: String,
    /// The next one is not opened before.
    pub wait: SignedDuration,
    pub resume_mode: ResumeMode,
}

/// What becomes of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeMode {
    Resume,
    /// Where it was to be gone on with, nobody is.
    ResumeAtDefaultUrl,
    NewSession,
}

/// After a session was refused, Discord wants a pause of up to five seconds.
const INVALID_SESSION_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// After too much was sent.
const RATE_LIMIT_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl Disconnect {
    pub fn from_reason(why: impl Into<String>) -> Self {
        Self { reason: why.into(), wait: SignedDuration::ZERO, resume_mode: ResumeMode::Resume }
    }

    pub fn connect_failed() -> Self {
        Self {
            resume_mode: ResumeMode::ResumeAtDefaultUrl,
            ..Self::from_reason("it could not be opened")
        }
    }

    /// Discord says hello, and nothing after it.
    pub fn session_timed_out() -> Self {
        Self {
            resume_mode: ResumeMode::ResumeAtDefaultUrl,
            ..Self::from_reason("Discord does not begin the session")
        }
    }

    /// Discord does not know the session, or does not go on with it now.
    pub fn invalid_session(can_resume: bool) -> Self {
        let fate = if can_resume { ResumeMode::Resume } else { ResumeMode::NewSession };
        let why = "Discord does not go on with the session".to_owned();
        Self { reason: why, wait: INVALID_SESSION_DELAY, resume_mode: fate }
    }

    /// By the code that Discord closed it with. Some mean that no other one would do better.
    pub fn from_close_code(code: Option<u16>) -> Result<Self, DiscordConnectError> {
        let Some(code) = code else { return Ok(Self::from_reason("it was closed")) };
        let lost = Self::from_reason(format!("Discord has closed it with {code}"));
        let Ok(code) = CloseCode::try_from(code) else { return Ok(lost) };
        match code {
            CloseCode::AuthenticationFailed => Err(DiscordConnectError::TokenRefused),
            CloseCode::DisallowedIntents => Err(DiscordConnectError::DisallowedIntents),
            CloseCode::InvalidShard | CloseCode::ShardingRequired => {
                Err(DiscordConnectError::InvalidShards)
            }
            CloseCode::InvalidApiVersion | CloseCode::InvalidIntents => {
                Err(DiscordConnectError::UnsupportedVersion(code as u16))
            }
            CloseCode::InvalidSequence | CloseCode::SessionTimedOut => {
                Ok(Self { resume_mode: ResumeMode::NewSession, ..lost })
            }
            CloseCode::RateLimited => Ok(Self { wait: RATE_LIMIT_DELAY, ..lost }),
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
            let lost = Disconnect::from_close_code(Some(code)).unwrap();
            assert_eq!(
                (lost.resume_mode, lost.wait),
                (ResumeMode::Resume, SignedDuration::ZERO),
                "{code}"
            );
        }
        for code in [4007, 4009] {
            assert_eq!(
                Disconnect::from_close_code(Some(code)).unwrap().resume_mode,
                ResumeMode::NewSession,
                "{code}"
            );
        }
        assert!(Disconnect::from_close_code(Some(4008)).unwrap().wait > SignedDuration::ZERO);
        assert_eq!(Disconnect::from_close_code(None).unwrap().resume_mode, ResumeMode::Resume);
        let fatal = |code| Disconnect::from_close_code(Some(code)).unwrap_err().to_string();
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
