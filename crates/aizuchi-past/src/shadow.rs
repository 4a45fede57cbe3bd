//! Asks a model about past moments: the judge once more, another persona beside the present one, or a standing order
//! that is not in force yet. Nothing is posted, and nothing is written to the ledger.

pub mod prompts;
pub mod moments;
pub mod judge_again;
pub mod persona_trial;
pub mod standing_order_trial;
pub mod recent_answers;
pub mod chat_trial;

use jiff::SignedDuration;

/// No call starts later than this after the first one, so that the page gets an answer in time.
pub const LONGEST_ASKING: SignedDuration = SignedDuration::from_secs(8);
/// The same limit for the chat, where no page waits for the answer. At five seconds per call, it suffices for all
/// moments of an order. Together with the longest call, it is less than
/// [`aizuchi_actions::standing_order_trial::LONGEST_TRIAL`].
pub const LONGEST_ASKING_IN_CHAT: SignedDuration = SignedDuration::from_secs(40);
/// The maximum duration of a call: as long as a page can wait for a call that starts last.
pub const LONGEST_CALL: SignedDuration = SignedDuration::from_secs(15);
