//! The sessions of signed-in browsers. A session is a random id in a cookie; it ends with a sign-out, after some time,
//! with the tokens that were valid at the sign-in, or with the process.

use aizuchi_actions::access::SignedInUser;
use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::sign_in_link::random_hex;

#[derive(Default)]
pub struct Sessions(Mutex<HashMap<SessionKey, Session>>);

/// The digest of an id. A lookup by digest reveals nothing about the id by its timing.
type SessionKey = [u8; 32];

#[derive(Clone, Debug)]
pub struct Session {
    key: SessionKey,
    /// Who signed in.
    pub holder: SignedInUser,
    pub expires: Timestamp,
    /// Cancelled at the end, so that open event streams end as well.
    pub ended: CancellationToken,
}

/// How long a browser stays signed in.
pub const SESSION_AGE: SignedDuration = SignedDuration::from_hours(30 * 24);
const MAX_SESSIONS: usize = 1000;

impl Sessions {
    /// Opens a session and returns its id. The session ends when `tokens_ended` is cancelled; if it already is, the
    /// session is never found. Fails if the system has no random bytes.
    pub fn open(
        &self,
        holder: SignedInUser,
        tokens_ended: &CancellationToken,
        now: Timestamp,
    ) -> Result<String, getrandom::Error> {
        let id = random_hex()?;
        let session = Session {
            key: Sha256::digest(&id).into(),
            holder,
            expires: now + SESSION_AGE,
            ended: tokens_ended.child_token(),
        };
        let mut sessions = self.0.lock();
        // Sessions that are over are removed only here, because `find` ignores them.
        sessions.retain(|_, session| session.is_open(now));
        if sessions.len() >= MAX_SESSIONS {
            let oldest = sessions.values().min_by_key(|session| session.expires).cloned();
            oldest.iter().for_each(|oldest| close(&mut sessions, oldest));
        }
        sessions.insert(session.key, session);
        Ok(id)
    }

    pub fn find(&self, id: &str, now: Timestamp) -> Option<Session> {
        let key: SessionKey = Sha256::digest(id).into();
        self.0.lock().get(&key).filter(|session| session.is_open(now)).cloned()
    }

    pub fn end(&self, session: &Session) {
        close(&mut self.0.lock(), session);
    }
}

impl Session {
    fn is_open(&self, now: Timestamp) -> bool {
        self.expires > now && !self.ended.is_cancelled()
    }
}

fn close(sessions: &mut HashMap<SessionKey, Session>, session: &Session) {
    sessions.remove(&session.key);
    session.ended.cancel();
}

#[cfg(test)]
mod tests {
    use aizuchi_model::access_role::AccessRole;

    use super::*;

    fn open(sessions: &Sessions, now: Timestamp) -> String {
        let holder = SignedInUser::new("mia", AccessRole::Admin);
        sessions.open(holder, &CancellationToken::new(), now).unwrap()
    }

    #[test]
    fn a_session_ends_by_itself_or_by_order() {
        let sessions = Sessions::default();
        let now = Timestamp::UNIX_EPOCH;
        let (one, two) = (open(&sessions, now), open(&sessions, now));
        assert!(one.len() == 32 && one != two, "{one} {two}");
        let session = sessions.find(&one, now).unwrap();
        sessions.end(&session);
        assert!(session.ended.is_cancelled());
        assert!(sessions.find(&one, now).is_none());
        assert!(sessions.find(&two, now).is_some());
        assert!(sessions.find(&two, now + SESSION_AGE).is_none());
        assert!(sessions.find("", now).is_none());
    }

    #[test]
    fn the_oldest_session_makes_room() {
        let sessions = Sessions::default();
        let now = Timestamp::UNIX_EPOCH;
        let first = open(&sessions, now);
        let later = now + SignedDuration::from_secs(1);
        (0..MAX_SESSIONS).for_each(|_| drop(open(&sessions, later)));
        assert!(sessions.find(&first, later).is_none());
        assert_eq!(sessions.0.lock().len(), MAX_SESSIONS);
    }
}
