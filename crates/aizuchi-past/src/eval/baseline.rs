//! Baselines for conversation states: a constant answer, and a keyword list. The bot does not use the list; it only
//! measures what such a list is worth.

use aizuchi_model::context::state::ConversationState;

use crate::eval::StateAnswer;
use crate::eval::case::Case;

/// The number of newest messages that are searched for keywords.
const NEWEST: usize = 3;

/// In order of priority. A keyword that contains another keyword of the same state is left out.
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
            "誤解", "勘違い", "違う", "そうではない", "間違い", "理解していない", "分かっていない",
            "misunderst", "mistake", "wrong", "not what i", "confus", "don't understand",
        ],
    ),
    (
        ConversationState::Conflict,
        &[
            "ふざけ", "いい加減", "うるさい", "馬鹿", "バカ", "最悪", "許せない", "ridiculous",
            "stupid", "shut up", "your fault", "hate", "fight", "blame",
        ],
    ),
];

pub fn always_active(cases: &[Case]) -> Vec<StateAnswer> {
    vec![StateAnswer::Known(ConversationState::Active); cases.len()]
}

pub fn keywords(cases: &[Case]) -> Vec<StateAnswer> {
    cases.iter().map(|case| StateAnswer::Known(by_keywords(case))).collect()
}

fn by_keywords(case: &Case) -> ConversationState {
    let newest = case.messages.iter().rev().take(NEWEST);
    let texts: Vec<String> =
        newest.map(|message| message.text.to_lowercase().replace('’', "'")).collect();
    let has = |keywords: &[&str]| {
        keywords.iter().any(|word| texts.iter().any(|text| text.contains(word)))
    };
    let found = KEYWORDS.into_iter().find(|(_, keywords)| has(keywords));
    found.map_or(ConversationState::Active, |(state, _)| state)
}
