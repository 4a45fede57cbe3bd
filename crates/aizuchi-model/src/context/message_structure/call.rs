//! Whether a message still calls for a word, and whether one that answers may be wrong, as far as the structure tells.
//! `docs/internals/eval.md` has the figures behind the bounds.

use std::collections::BTreeSet;

use aizuchi_structure::SOLVED_CONTENT;
use aizuchi_structure::calls::Since;
use aizuchi_structure::cues::Cues;
use jiff::SignedDuration;

use crate::context::message_structure::{LIKELY, MessageStructure};

/// Below these log odds, a message surely calls for no word. This one is for a message that names nobody, among at most
/// [`FEW_USERS`] users.
const FEW_USERS_CALL: f32 = -1.95;
/// For one that names nobody and has no reply.
const UNANSWERED_CALL: f32 = -1.7;
/// For any other.
const CALL: f32 = -0.5;
/// The bounds are this much higher in Japanese, which is weighed from less recorded talk, and costs more calls at the
/// same bounds.
const JAPANESE_RAISE: f32 = 0.25;
/// Words with this appeal call for a word by themselves, however the message seems to stand to the others.
const SURE_APPEAL: f32 = 4.0;
/// What is told in words with this appeal calls for a word whatever others have written since. In Japanese, technical talk
/// has it, too.
const TOLD_APPEAL: f32 = 2.5;
/// Below this probability of being open, a question is surely answered.
const SURELY_ANSWERED: f32 = 0.15;
/// From this one, it calls for a word unless it is surely directed at one user.
const POSSIBLY_OPEN: f32 = 0.4;
/// From this probability, a question is surely directed at one user.
const SURELY_DIRECTED: f32 = 0.8;
const FEW_USERS: usize = 6;
/// A message may answer a question from this probability, and at most so many messages later.
const MAY_ANSWER: f32 = 0.3;
const MAX_ANSWER_DISTANCE: usize = 6;
/// What is told to everyone: a greeting, luck or trouble.
const TELLS: Cues = Cues::GREETING.union(Cues::GOOD_NEWS).union(Cues::TROUBLE);

/// What is said right after the persona's words probably goes on from them for this long.
const FOLLOW_UP_TIMEOUT: SignedDuration = SignedDuration::from_hours(1);
/// What ends a talk between two.
const CLOSES: Cues =
    Cues::THANKS.union(Cues::SOLVED).union(Cues::GOODBYE).union(Cues::ACKNOWLEDGES);

impl MessageStructure {
    /// Whether a message may call for a word, so that its conversation is judged soon: it calls for one itself, goes on
    /// from the persona's words, or is an answer that may be wrong.
    pub fn may_call_for_a_word(&self, index: usize) -> bool {
        self.calls_for_a_word(index)
            || self.answers_with_number(index)
            || self.goes_on_from_persona(index)
    }

    /// Whether a message replies to the persona, or is the next one after the persona's, within an hour.
    pub fn goes_on_from_persona(&self, index: usize) -> bool {
        let before = index.checked_sub(1).filter(|before| self.is_own(*before));
        let is_next = before.is_some_and(|before| {
            let pause = self.messages[index].at.duration_since(self.messages[before].at);
            pause <= FOLLOW_UP_TIMEOUT
        });
        is_next || self.replied_to_persona(index, Cues::empty()) > LIKELY
    }

    /// Returns the question of another user that a message seems to answer.
    pub fn answered_question(&self, index: usize) -> Option<usize> {
        let is_answered = |asked: &usize| {
            self.is_asked_by_another(*asked, index)
                && self.structure.link(index, *asked) >= MAY_ANSWER
        };
        (index.saturating_sub(MAX_ANSWER_DISTANCE)..index).rev().find(is_answered)
    }

    /// Returns the question that a message answers if it answers any: the one that it seems to, or the one right before.
    pub fn question_before(&self, index: usize) -> Option<usize> {
        let before = index.checked_sub(1);
        self.answered_question(index)
            .or_else(|| before.filter(|before| self.is_asked_by_another(*before, index)))
    }

    fn is_asked_by_another(&self, asked: usize, index: usize) -> bool {
        self.structure.asking(asked) > 0.0 && self.author(asked) != self.author(index)
    }

    /// Whether a recent message answers a question with a number, which may be wrong: whether anything tells another one
    /// is looked up once the conversation rests.
    fn answers_with_number(&self, index: usize) -> bool {
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
        let uptake = self.structure.uptake(index);
        let open = uptake.open;
        let is_solved = uptake.content >= SOLVED_CONTENT;
        if message.is_bot || asks && open < SURELY_ANSWERED && (is_solved || !is_last_word) {
            return false;
        }
        // Whether grief was met is for a judge to say: an answer may be about something else in the same message.
        let is_told =
            !asks && !message.cues.contains(Cues::JAPANESE) && message.appeal >= TOLD_APPEAL
                || message.cues.contains(Cues::GRIEVES);
        if names_nobody && is_told || is_last_word && message.appeal >= SURE_APPEAL {
            return true;
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
        let answers_back =
            || is_last_word && !message.cues.intersects(CLOSES) && self.answers_back(index);
        let tells_all = message.cues.intersects(TELLS) && self.structure.begins(index) >= LIKELY;
        let raise = if message.cues.contains(Cues::JAPANESE) { JAPANESE_RAISE } else { 0.0 };
        self.structure.calls(index) >= least + raise
            || is_open()
            || is_last_word && tells_all
            || answers_back()
    }

    /// Whether the author of a question tells another user what that one asked back, and so waits again.
    fn answers_back(&self, index: usize) -> bool {
        self.question_before(index).is_some_and(|asked_back| {
            (asked_back.saturating_sub(MAX_ANSWER_DISTANCE)..asked_back).any(|question| {
                self.author(question) == self.author(index)
                    && self.structure.asking(question) > 0.0
                    && self.structure.link(asked_back, question) >= LIKELY
            })
        })
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
