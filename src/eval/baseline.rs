//! What a mind is measured against: whoever says the same whatever is asked, and a list of keywords,
//! which is what seed 004 did away with. The list is here to show what it is worth; nothing decides
//! by it.

use crate::eval::StateAnswer;
use crate::eval::case::Case;
use aizuchi_core::context::state::ConversationState;

/// The words are looked for in so many of the newest lines.
const NEWEST: usize = 3;

/// In the order of priority. The Japanese words for the first two are those of the seed (S08), without
/// those that contain another one.
const KEYWORDS: [(ConversationState, &[&str]); 3] = [
    (
        ConversationState::Ending,
        &[
            "以上",
            "申し上げることはありません",
            "終了",
            "おわり",
            "締めくくり",
            "that's all",
            "thanks",
            "thank you",
            "bye",
            "good night",
            "see you",
            "the end",
            "done",
        ],
    ),
    (
        ConversationState::Misunderstanding,
        &[
            "誤解",
            "勘違い",
            "違う",
            "そうではない",
            "間違い",
            "理解していない",
            "分かっていない",
            "misunderst",
            "mistake",
            "wrong",
            "not what i",
            "confus",
            "don't understand",
        ],
    ),
    (
        ConversationState::Conflict,
        &[
            "ふざけ",
            "いい加減",
            "うるさい",
            "馬鹿",
            "バカ",
            "最悪",
            "許せない",
            "ridiculous",
            "stupid",
            "shut up",
            "your fault",
            "hate",
            "fight",
            "blame",
        ],
    ),
];

pub fn always_active(cases: &[Case]) -> Vec<StateAnswer> {
    vec![StateAnswer::State(ConversationState::Active); cases.len()]
}

pub fn keywords(cases: &[Case]) -> Vec<StateAnswer> {
    cases.iter().map(|case| StateAnswer::State(by_keywords(case))).collect()
}

fn by_keywords(case: &Case) -> ConversationState {
    let newest = case.messages.iter().rev().take(NEWEST);
    let texts: Vec<String> =
        newest.map(|line| line.text.to_lowercase().replace('’', "'")).collect();
    let has =
        |words: &[&str]| words.iter().any(|word| texts.iter().any(|text| text.contains(word)));
    let found = KEYWORDS.into_iter().find(|(_, words)| has(words));
    found.map_or(ConversationState::Active, |(state, _)| state)
}
