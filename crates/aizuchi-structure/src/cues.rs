//! The cues in the form of one message, in English and Japanese: whether it asks, answers, thanks or greets. A fitted
//! model weighs the cues; hardly any of them decides alone.

use bitflags::bitflags;

bitflags! {
    /// The cues of a message.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Cues: u32 {
        /// It has the form of a question: a question mark, a phrase, or a Japanese ending.
        const ASKS = 1;
        /// It begins with a question word or an auxiliary verb, or holds a Japanese question word.
        const QUESTION_WORD = 1 << 1;
        /// It addresses everyone who reads it.
        const TO_ALL = 1 << 2;
        /// It reports trouble, or asks for help without a question.
        const TROUBLE = 1 << 3;
        const THANKS = 1 << 4;
        const GREETING = 1 << 5;
        const GOODBYE = 1 << 6;
        const YES = 1 << 7;
        const NO = 1 << 8;
        /// A short sign of understanding.
        const ACKNOWLEDGES = 1 << 9;
        /// It tells the reader what to do, or states how things are.
        const ADVICE = 1 << 10;
        const SECOND_PERSON = 1 << 11;
        const FIRST_PERSON = 1 << 12;
        const LAUGHS = 1 << 13;
        /// It begins in the middle of a sentence.
        const CONTINUES = 1 << 14;
        /// It corrects a word of a message before it: `*word`, `s/a/b/`.
        const CORRECTS = 1 << 15;
        const ADDRESS = 1 << 16;
        const CODE = 1 << 17;
        /// One or two words.
        const SHORT = 1 << 18;
        /// It seeks agreement rather than an answer: "…, right?", 「〜よね？」.
        const TAG = 1 << 19;
        /// Its author waits: thanks in advance.
        const IN_ADVANCE = 1 << 20;
        /// Its author's own matter is settled: "found it", 「解決しました」.
        const SOLVED = 1 << 21;
        const JAPANESE = 1 << 22;
        /// A message of the platform about the channel, such as that a user joined.
        const NOTICE = 1 << 23;
        /// It reports the same trouble, or does not know: "same here", "no idea", 「うちもです」.
        const JOINS = 1 << 24;
        /// Its author takes on a task: "on it", "count me in", 「確認します」.
        const OFFERS = 1 << 25;
        /// Its author still waits: "anyone?", "still the same", 「だめでした」.
        const AGAIN = 1 << 26;
        /// It contains a number.
        const NUMBER = 1 << 27;
        /// It contains no word at all.
        const WORDLESS = 1 << 28;
        /// It reports good news: "we won", 「合格しました」.
        const GOOD_NEWS = 1 << 29;
        /// It tells of death, grave illness, fear or despair.
        const GRIEVES = 1 << 30;
        /// It says that something was decided, or changed: "we decided", "postponed to", 「に決まりました」「延期」.
        const DECIDES = 1 << 31;
    }
}

impl Cues {
    /// The number of cues that the fitted models weigh. The ones after them are too rare in recorded chat.
    pub const WEIGHED: usize = 30;
}
