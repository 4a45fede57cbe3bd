//! Whether a message still calls for a word, and whether one that answers may be wrong, as far as the structure tells.
//! `docs/internals/eval.md` has the figures behind the bounds.

use std::collections::BTreeSet;

use crate::context::message_structure::{LIKELY, MessageStructure};
use aizuchi_structure::calls::Since;
use aizuchi_structure::cues::Cues;

/// Below these log odds a message surely calls for no word (`docs/internals/eval.md` has the figures): one that names nobody
/// among few users, one that names nobody and has no reply, and any other.
const FEW_USERS_CALL: f32 = -1.8;
const UNANSWERED_CALL: f32 = -1.6;
const CALL: f32 = -0.5;
/// A question is surely answered below the first probability of being open, and surely calls for a word from the second
/// unless its talk with one user has the third.
const SURELY_ANSWERED: f32 = 0.15;
const POSSIBLY_OPEN: f32 = 0.4;
const SURELY_DIRECTED: f32 = 0.8;
const FEW_USERS: usize = 6;
/// A message may answer a question from this probability, and at most so many messages later.
const MAY_ANSWER: f32 = 0.3;
const MAX_ANSWER_DISTANCE: usize = 6;
/// What is told to everyone: a greeting, luck or trouble.
const TELLS: Cues = Cues::GREETING.union(Cues::GOOD_NEWS).union(Cues::TROUBLE);

impl MessageStructure {
    /// Returns the question of another user that a message may answer.
    pub fn answered_question(&self, index: usize) -> Option<usize> {
        let is_asked = |asked: &usize| {
            self.structure.asking(*asked) > 0.0
                && self.structure.link(index, *asked) >= MAY_ANSWER
                && self.author(*asked) != self.author(index)
        };
        (index.saturating_sub(MAX_ANSWER_DISTANCE)..index).rev().find(is_asked)
    }

    /// Whether a recent message answers a question with a number, which may be wrong: whether anything tells another one
    /// is looked up once the conversation rests.
    pub fn answers_with_number(&self, index: usize) -> bool {
        index + MAX_ANSWER_DISTANCE >= self.messages.len()
            && self.messages[index].has_digit
            && self.answered_question(index).is_some()
    }

    /// Whether a message may still call for a word from anybody, whatever its form: it asks, pleads or tells of trouble or
    /// of news, and nobody has surely taken it up.
    pub fn calls_for_a_word(&self, index: usize) -> bool {
        let message = &self.structure.utterances()[index];
        let since = Since::new(&self.structure, index);
        let names_nobody = message.addressee.is_none();
        // The persona's own posts may answer others: whether they answer this message is checked before.
        let is_last_word = names_nobody && self.is_followed_by_nobody(index);
        let asks = message.cues.contains(Cues::ASKS);
        let open = self.structure.uptake(index).open;
        if message.is_bot || asks && open < SURELY_ANSWERED && !is_last_word {
            return false;
        }
        // Among few users the next message seems to reply even where it goes on about something else, except to an offer.
        let least = if !names_nobody {
            CALL
        } else if self.has_few_users() && !message.cues.contains(Cues::OFFERS) {
            FEW_USERS_CALL
        } else if since.replied < LIKELY {
            UNANSWERED_CALL
        } else {
            CALL
        };
        let is_open = || {
            let is_open =
                open >= POSSIBLY_OPEN && self.structure.directed(index) <= SURELY_DIRECTED;
            asks && names_nobody && is_open
                || is_last_word
                    && message.cues.intersects(Cues::ASKS | Cues::QUESTION_WORD)
                    && self.has_few_users()
        };
        let tells_all = message.cues.intersects(TELLS) && self.structure.begins(index) >= LIKELY;
        self.structure.calls(index) >= least || is_open() || is_last_word && tells_all
    }

    fn is_followed_by_nobody(&self, index: usize) -> bool {
        let utterances = self.structure.utterances();
        let author = utterances[index].author;
        (index + 1..utterances.len()).all(|later| {
            let message = &utterances[later];
            message.author == author || message.is_bot || self.is_own(later)
        })
    }

    fn has_few_users(&self) -> bool {
        let utterances = self.structure.utterances();
        let humans = (0..utterances.len())
            .filter(|index| !utterances[*index].is_bot && !self.is_own(*index));
        humans.map(|index| utterances[index].author).collect::<BTreeSet<u32>>().len() <= FEW_USERS
    }
}
