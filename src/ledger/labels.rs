//! Labels for the ledger's enums, in both languages.

use aizuchi_core::context::state::ConversationState;
use aizuchi_core::decision::gate::Gate;
use aizuchi_core::decision::{AttemptResult, DecisionResult};
use aizuchi_core::persona::Language;
use aizuchi_core::rules::Mode;

pub fn decision_result(result: Option<DecisionResult>, language: Language) -> &'static str {
    match result {
        None => language.pick("still open", "まだ決まっていません"),
        Some(DecisionResult::Spoke) => language.pick("spoke", "発言しました"),
        Some(DecisionResult::Reacted) => language.pick("reacted", "リアクションしました"),
        Some(DecisionResult::ChoseSilence) => {
            language.pick("chose silence", "黙っていることにしました")
        }
        Some(DecisionResult::Dropped) => language.pick("dropped it", "取りやめました"),
        Some(DecisionResult::Muted) => language.pick("was silenced", "話さないことになっています"),
        Some(DecisionResult::OverBudget) => {
            language.pick("had used up its budget", "使える分を使い切っていました")
        }
        Some(DecisionResult::Failed) => language.pick("failed", "失敗しました"),
    }
}

pub fn gate(gate: Gate, language: Language) -> &'static str {
    match gate {
        Gate::OwnLine => language.pick("own line", "自分の発言"),
        Gate::OptedOut => language.pick("opted out", "聞かない人"),
        Gate::OtherBot => language.pick("other bot", "ほかのボット"),
        Gate::CaughtUp => language.pick("caught up", "不在中の発言"),
        Gate::ChannelMode => language.pick("channel mode", "チャンネルのモード"),
        Gate::Command => language.pick("command", "コマンド"),
        Gate::Muted => language.pick("muted", "ミュート"),
        Gate::QuietHours => language.pick("quiet hours", "静かにする時間帯"),
        Gate::Loop => language.pick("own turns", "続けて話した回数"),
        Gate::TooFew => language.pick("too few lines", "発言の少なさ"),
        Gate::Directed => language.pick("directed at somebody else", "ほかの人あて"),
        Gate::SpokeLast => language.pick("spoke last", "最後の発言者"),
        Gate::Unchanged => language.pick("unchanged", "変化の有無"),
        Gate::NothingOpen => language.pick("nothing open", "待たれている返事"),
        Gate::Cooldown => language.pick("cooldown", "発言の間隔"),
        Gate::Share => language.pick("share of the talk", "発言の割合"),
        Gate::Budget => language.pick("budget", "使ってよい量"),
    }
}

pub fn mode(mode: Mode, language: Language) -> &'static str {
    match mode {
        Mode::Companion => language.pick("companion", "一員"),
        Mode::Facilitator => language.pick("facilitator", "進行役"),
        Mode::MentionOnly => language.pick("only when mentioned", "呼ばれたときだけ"),
        Mode::Observe => language.pick("only looking on", "見守るだけ"),
        Mode::Off => language.pick("off", "オフ"),
    }
}

pub fn state(state: ConversationState, language: Language) -> &'static str {
    match state {
        ConversationState::Ending => language.pick("is coming to its end", "終わろうとしている"),
        ConversationState::Misunderstanding => {
            language.pick("people misunderstand each other", "すれ違いがある")
        }
        ConversationState::Conflict => {
            language.pick("people stand against each other", "対立がある")
        }
        ConversationState::Active => language.pick("goes on", "続いている"),
    }
}

/// What a model call was for.
pub fn verb(verb: &str, language: Language) -> &'static str {
    match verb {
        "judge" => language.pick("Judge", "判断"),
        "reply" => language.pick("Reply", "返答"),
        "state" => language.pick("State of the talk", "会話の状態"),
        _ => language.pick("Call", "呼び出し"),
    }
}

pub fn attempt_result(result: AttemptResult, language: Language) -> &'static str {
    match result {
        AttemptResult::Kept => language.pick("used", "採用"),
        AttemptResult::Superseded => {
            language.pick("discarded: people moved on", "破棄（会話が進んだため）")
        }
        AttemptResult::Failed => language.pick("failed", "失敗"),
    }
}

/// A section of a prompt.
pub fn section(section: &str, language: Language) -> &str {
    match section {
        "workspace_memory" => language.pick("workspace memory", "ワークスペースの記憶"),
        "channel_memories" => language.pick("channel memories", "チャンネルの記憶"),
        "thread_memories" => language.pick("thread memories", "スレッドの記憶"),
        "memos" => language.pick("memos", "メモ"),
        "recalled" => language.pick("old lines", "過去の発言"),
        "other_talk" => language.pick("other talk", "ほかの会話"),
        "target" => language.pick("lines of the conversation", "対象の会話"),
        "long_lines" => language.pick("parts of long lines", "長い発言の一部"),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_decision_result_has_its_own_label() {
        let all = [
            DecisionResult::Spoke,
            DecisionResult::Reacted,
            DecisionResult::ChoseSilence,
            DecisionResult::Dropped,
            DecisionResult::Muted,
            DecisionResult::OverBudget,
            DecisionResult::Failed,
        ];
        let all = || all.map(Some).into_iter().chain([None]);
        for language in [Language::En, Language::Ja] {
            let labels: BTreeSet<&str> = all().map(|one| decision_result(one, language)).collect();
            assert_eq!(labels.len(), all().count(), "{labels:?}");
            let is_japanese =
                |label: &str| label.chars().any(|character| ('ぁ'..='ん').contains(&character));
            assert!(labels.iter().all(|label| is_japanese(label) == (language == Language::Ja)));
        }
    }
}
