//! Post: the only act on the world. The claim has committed the piece as being sent; whatever the
//! platform answers, it is said once or not at all (invariant 6).

use crate::agent::{Agent, Trouble};
use crate::context::{Context, MESSAGE_LIMIT};
use crate::decision::Ended;
use crate::event::{Claim, Closing, End, Piece};
use crate::platform::PlatformError;

/// How often a piece whose fate is not known is looked for.
const LOOKS: u32 = 5;

impl Agent {
    pub(super) async fn post(&self, claim: &Claim, piece: &Piece) -> Result<End, Trouble> {
        if piece.is_sending() {
            return self.reconcile(claim, piece).await;
        }
        let context = self.store.context(&piece.conversation, MESSAGE_LIMIT).await;
        let context = match context {
            Ok(context) => context,
            // Nothing has been sent yet, so the piece is a draft again.
            Err(_) if claim.attempt < super::OWED_ATTEMPTS => {
                return Ok(End::NotSaid { due: self.now() + self.backoff(claim) });
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(end) = self.no_longer_wanted(claim, piece, &context) {
            return Ok(end);
        }
        let platform = self.platforms.of(&piece.conversation.workspace)?;
        match self.clock.timeout(self.settings.post_timeout, platform.post(piece)).await {
            Ok(Ok(posted)) => Ok(End::Said(posted)),
            Ok(Err(PlatformError::Busy { retry_after, .. }))
                if claim.attempt < super::OWED_ATTEMPTS =>
            {
                let wait = retry_after.unwrap_or_default().max(self.backoff(claim));
                Ok(End::NotSaid { due: self.now() + wait })
            }
            Ok(Err(PlatformError::Unknown(_))) | Err(_) => {
                Ok(End::Again { due: self.now() + platform.settle() })
            }
            Ok(Err(error @ (PlatformError::Busy { .. } | PlatformError::Refused(_)))) => {
                Err(Trouble::Lasting { error: error.to_string() })
            }
        }
    }

    /// An earlier call may have said it: look, and say it again only if it surely was not said.
    async fn reconcile(&self, claim: &Claim, piece: &Piece) -> Result<End, Trouble> {
        let platform = self.platforms.of(&piece.conversation.workspace)?;
        let settled =
            piece.dispatched.map_or(self.now(), |dispatched| dispatched + platform.settle());
        match self.clock.timeout(self.settings.post_timeout, platform.find(piece)).await {
            Ok(Ok(Some(posted))) => Ok(End::Said(posted)),
            Ok(Ok(None)) if self.now() >= settled => Ok(End::NotSaid { due: self.now() }),
            Ok(Ok(None)) => Ok(End::Again { due: settled }),
            Ok(Err(PlatformError::Refused(why))) => Err(Trouble::Lasting { error: why }),
            Ok(Err(_)) | Err(_) if claim.attempt < LOOKS => {
                Ok(End::Again { due: settled.max(self.now() + self.backoff(claim)) })
            }
            Ok(Err(error)) => Err(Trouble::Lasting { error: error.to_string() }),
            Err(_timed_out) => {
                Err(Trouble::Lasting { error: "the history could not be read".to_owned() })
            }
        }
    }

    /// The last check before the act: does anyone still wait for this?
    fn no_longer_wanted(&self, claim: &Claim, piece: &Piece, context: &Context) -> Option<End> {
        let notes = &piece.draft;
        if claim.is_owed {
            let is_open = notes.owed.iter().any(|id| context.owed.contains(id));
            return (!is_open).then(|| self.withdrawn());
        }
        let about = notes.about.as_ref()?;
        if context.message(about).is_some() {
            return None;
        }
        let why =
            self.persona.language.pick("the line was taken back", "対象の発言が取り消されました");
        Some(End::Silent(Closing::new(Ended::Dropped, why)))
    }
}
