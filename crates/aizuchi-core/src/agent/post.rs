//! Post: the only act on the world. The claim has committed the piece as being sent; whatever the
//! platform answers, it is said once or not at all (invariant 6).

use jiff::{SignedDuration, Timestamp};

use crate::agent::{Agent, Notes, Trouble, patience};
use crate::chat::MessageId;
use crate::context::Context;
use crate::decision::Ended;
use crate::decision::gate::Gate;
use crate::event::{Claim, Closing, Course, End, Piece};
use crate::platform::PlatformError;
use crate::store::StoreError;

/// How often a piece is offered to a busy platform when somebody waits for it, and when nobody does.
const OWED_TRIES: u32 = 10;
const UNSOLICITED_TRIES: u32 = 6;
/// What was said although its answer was lost mostly is there already.
const LOOK_SOON: SignedDuration = SignedDuration::from_secs(2);
/// Between the claim of a piece and its call pass moments. After a sleep as long as this, the process may not be
/// the active one any more.
const AWAKE: SignedDuration = SignedDuration::from_secs(10);
/// After this many attempts a piece whose fate stays unknown is given up. They are many, since a
/// process that is killed while it posts leaves such a piece behind each time.
const OWED_LOOKS: u32 = 90;
const UNSOLICITED_LOOKS: u32 = 30;

impl Agent {
    pub(super) async fn post(
        &self,
        claim: &Claim,
        piece: &Piece,
        notes: &mut Notes,
    ) -> Result<End, Trouble> {
        if piece.is_sending() {
            return self.reconcile(claim, piece).await;
        }
        let typed = match piece.draft.only_for {
            None => self.type_out(piece).await,
            Some(_) => self.now(),
        };
        let tries = if claim.is_owed { OWED_TRIES } else { UNSOLICITED_TRIES };
        let changed = match self.has_changed_since(piece).await {
            // Words that were forgotten meanwhile are no words.
            Ok(changed) => (changed && !piece.is_out()) || piece.text.is_empty(),
            Err(_) if claim.attempt < tries => {
                return Ok(End::NotSaid { due: self.now() + self.backoff(claim) });
            }
            Err(error) => return Err(error.into()),
        };
        let context = match self.context(&piece.conversation).await {
            Ok(context) => context,
            // Nothing has been sent yet, so the piece is a draft again.
            Err(_) if claim.attempt < tries => {
                return Ok(End::NotSaid { due: self.now() + self.backoff(claim) });
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(end) = self.no_longer_wanted(claim, piece, &context) {
            if claim.is_owed && matches!(end, End::Silent(_)) {
                // Whoever has asked since the words were found is silenced with them.
                notes.considered = Some(context.revision);
            }
            return Ok(end);
        }
        if changed {
            let why = self
                .persona
                .language
                .pick("a line that it was made from has changed", "元になった発言が変わりました");
            // Whoever is owed an answer gets one that was made anew.
            return Ok(End::Withdrawn { why: why.to_owned() });
        }
        let platform = self.platforms.of(&piece.conversation.workspace)?;
        if self.now() > typed + AWAKE {
            // It has slept, and another process may have said it since.
            return Ok(End::Again { due: self.now() });
        }
        match self.clock.timeout(self.settings.post_timeout, platform.post(piece)).await {
            Ok(Ok(posted)) => Ok(End::Said(posted)),
            Ok(Err(PlatformError::Busy { retry_after, .. })) if claim.attempt < tries => {
                let wait = patience(retry_after).max(self.backoff(claim));
                Ok(End::NotSaid { due: self.now() + wait })
            }
            Ok(Err(PlatformError::Queued { wait })) => Ok(End::Wait { due: self.now() + wait }),
            // Whatever came before, it is looked for before it is given up.
            Ok(Err(PlatformError::Unknown(_))) | Err(_) => {
                Ok(End::Again { due: self.now() + platform.settle().min(LOOK_SOON) })
            }
            Ok(Err(error @ (PlatformError::Busy { .. } | PlatformError::Refused(_)))) => {
                Err(Trouble::Lasting { error: error.to_string() })
            }
        }
    }

    /// People see it typing. This comes before the last look, which sees what they do meanwhile.
    /// Gives when it was to be done with that.
    async fn type_out(&self, piece: &Piece) -> Timestamp {
        let Ok(platform) = self.platforms.of(&piece.conversation.workspace) else {
            return self.now();
        };
        let limit = self.settings.post_timeout;
        let typing = self.clock.timeout(limit, platform.show_typing(piece)).await;
        // A step is reckoned to ask models for longer than this, and a post asks none.
        let typing = typing.unwrap_or_default().min(self.settings.model_timeout);
        let typed = self.now() + typing.max(SignedDuration::ZERO);
        if typing.is_positive() {
            self.clock.sleep_until(typed).await;
        }
        typed
    }

    /// An earlier call may have said it: look, and say it again only if it surely was not said.
    async fn reconcile(&self, claim: &Claim, piece: &Piece) -> Result<End, Trouble> {
        let platform = self.platforms.of(&piece.conversation.workspace)?;
        let settled =
            piece.dispatched.map_or(self.now(), |dispatched| dispatched + platform.settle());
        let looks = if claim.is_owed { OWED_LOOKS } else { UNSOLICITED_LOOKS };
        match self.clock.timeout(self.settings.post_timeout, platform.find(piece)).await {
            Ok(Ok(Some(posted))) => Ok(End::Said(posted)),
            Ok(Ok(None)) if self.now() < settled => Ok(End::Again { due: settled }),
            Ok(Ok(None)) if claim.attempt < looks => Ok(End::NotSaid { due: self.now() }),
            Ok(Ok(None)) => {
                Err(Trouble::Lasting { error: "the platform took it at no attempt".to_owned() })
            }
            Ok(Err(PlatformError::Refused(why))) => Err(Trouble::Lasting { error: why }),
            Ok(Err(PlatformError::Busy { retry_after, .. })) if claim.attempt < looks => {
                let wait = patience(retry_after).max(self.backoff(claim));
                Ok(End::Again { due: settled.max(self.now() + wait) })
            }
            Ok(Err(PlatformError::Queued { wait })) => Ok(End::Wait { due: self.now() + wait }),
            Ok(Err(_)) | Err(_) if claim.attempt < looks => {
                Ok(End::Again { due: settled.max(self.now() + self.backoff(claim)) })
            }
            Ok(Err(error)) => Err(Trouble::Lasting { error: error.to_string() }),
            Err(_timed_out) => {
                Err(Trouble::Lasting { error: "the history could not be read".to_owned() })
            }
        }
    }

    /// Words that were made from a line which was edited or deleted since may repeat it.
    async fn has_changed_since(&self, piece: &Piece) -> Result<bool, StoreError> {
        let notes = &piece.draft;
        let home = &piece.conversation;
        self.store.has_changed_since(home, notes.considered, &notes.made_from).await
    }

    /// The last check before the act: may it still speak, does anyone still wait for this, and is what
    /// it is about still open? Once a part of it was said, the rest is owed to the room.
    fn no_longer_wanted(&self, claim: &Claim, piece: &Piece, context: &Context) -> Option<End> {
        let facts = self.facts(context);
        let notes = &piece.draft;
        if notes.only_for.is_some() {
            let is_open = piece.is_out() || notes.owed.iter().any(|id| context.owed.contains(id));
            return (!is_open).then(|| self.withdrawn());
        }
        if claim.is_owed || piece.is_out() {
            let silenced = facts.before_answering().settled.filter(|gate| *gate != Gate::Budget);
            if let Some(gate) = silenced {
                // Of what was said in parts, the rest is not; that it spoke stays true.
                let has_spoken = piece.id != piece.first;
                let ended = if has_spoken { Ended::Spoke } else { Ended::Muted };
                return Some(self.not_answered(gate, ended, context));
            }
            let is_open = piece.is_out() || notes.owed.iter().any(|id| context.owed.contains(id));
            return (!is_open).then(|| self.withdrawn());
        }
        if let Some(gate) = facts.before_speaking() {
            return Some(End::Silent(self.settled(gate)));
        }
        let has_moved_on = context.newest_heard > notes.considered;
        let course = Course::of(facts.mode(), self.settings.wait);
        if has_moved_on && course == Course::Restarts {
            let why =
                self.persona.language.pick("people went on meanwhile", "その間に会話が進みました");
            return Some(End::Withdrawn { why: why.to_owned() });
        }
        let about = notes.about.as_ref()?;
        if !self.is_still_there(context, about) {
            let why =
                self.persona.language.pick("the line was deleted", "対象の発言が削除されました");
            return Some(End::Silent(Closing::new(Ended::Dropped, why)));
        }
        if piece.on.is_some() {
            return None;
        }
        if context.message(about).is_some() && !context.is_open(about) {
            return Some(self.moved_on());
        }
        let is_first = claim.redrafts == 0;
        (has_moved_on && is_first).then(|| End::Redraft { due: self.now() })
    }

    /// In a full window a line may only have scrolled away.
    pub(super) fn is_still_there(&self, context: &Context, line: &MessageId) -> bool {
        let is_full = context.target().len() >= self.settings.limits.channel_messages;
        is_full || context.message(line).is_some()
    }
}
