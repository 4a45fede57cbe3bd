//! Why a gateway connection was lost, and how to open the next one.

use jiff::SignedDuration;
use twilight_model::gateway::CloseCode;

use crate::identity::DiscordConnectError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnect {
    pub reason: String,
    /// The minimum wait before the next connection.
    pub wait: SignedDuration,
    pub resume_mode: ResumeMode,
    pub cause: Cause,
}

/// Whether the same cause is likely to end the next connection, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Ordinary,
    /// This recurs with each new session, if the message describes a server.
    MessageTooLarge,
}

/// How the next connection opens its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeMode {
    Resume,
    /// Resume, but not at the session's own URL, which does not respond.
    ResumeAtDefaultUrl,
    NewSession,
}

/// Discord asks for one to five seconds after an invalid session.
const INVALID_SESSION_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// The wait after the gateway's send limit was exceeded.
const RATE_LIMIT_DELAY: SignedDuration = SignedDuration::from_secs(60);

impl Disconnect {
    pub fn from_reason(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            wait: SignedDuration::ZERO,
            resume_mode: ResumeMode::Resume,
            cause: Cause::Ordinary,
        }
    }

    pub fn connect_failed() -> Self {
        Self {
            resume_mode: ResumeMode::ResumeAtDefaultUrl,
            ..Self::from_reason("the connection could not be opened")
        }
    }

    /// A bug ended the connection. The session's URL may have caused it.
    pub fn after_defect() -> Self {
        Self {
            resume_mode: ResumeMode::ResumeAtDefaultUrl,
            ..Self::from_reason("a defect in the program")
        }
    }

    /// Discord sent its hello, but neither READY nor RESUMED.
    pub fn session_timed_out() -> Self {
        Self {
            resume_mode: ResumeMode::ResumeAtDefaultUrl,
            ..Self::from_reason("Discord did not start the session")
        }
    }

    /// Resuming would deliver the same message again, so its content is backfilled.
    pub fn message_too_large() -> Self {
        Self {
            resume_mode: ResumeMode::NewSession,
            cause: Cause::MessageTooLarge,
            ..Self::from_reason("a message is larger than the limit")
        }
    }

    /// A session ends with its token.
    pub fn token_refused() -> Self {
        let reason = "Discord refused the token";
        Self { resume_mode: ResumeMode::NewSession, ..Self::from_reason(reason) }
    }

    /// Discord does not know the session, or cannot resume it now.
    pub fn invalid_session(can_resume: bool) -> Self {
        let resume_mode = if can_resume { ResumeMode::Resume } else { ResumeMode::NewSession };
        let reason = "Discord rejected the session";
        Self { wait: INVALID_SESSION_DELAY, resume_mode, ..Self::from_reason(reason) }
    }

    /// Interprets Discord's close code. Fails if reconnecting would not help.
    pub fn from_close_code(code: Option<u16>) -> Result<Self, DiscordConnectError> {
        let Some(code) = code else { return Ok(Self::from_reason("the connection was closed")) };
        let disconnect = Self::from_reason(format!("Discord closed the connection with {code}"));
        let Ok(code) = CloseCode::try_from(code) else { return Ok(disconnect) };
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
                Ok(Self { resume_mode: ResumeMode::NewSession, ..disconnect })
            }
            CloseCode::RateLimited => Ok(Self { wait: RATE_LIMIT_DELAY, ..disconnect }),
            // Discord may add codes.
            _ => Ok(disconnect),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_codes_decide_how_to_reconnect() {
        for code in [4000, 4001, 4002, 4003, 4005, 1000, 1001, 1006, 4999] {
            let disconnect = Disconnect::from_close_code(Some(code)).unwrap();
            assert_eq!(
                (disconnect.resume_mode, disconnect.wait),
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
        for (code, text) in [
            (4004, "refuses discord.token"),
            (4010, "discord.shards"),
            (4011, "discord.shards"),
            (4012, "4012"),
            (4013, "4013"),
            (4014, "Message Content Intent"),
        ] {
            assert!(fatal(code).contains(text), "{code}: {}", fatal(code));
        }
    }
}
