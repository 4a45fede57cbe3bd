//! The words for a decision: its labels, and the names of the ledger's enums.

use crate::context::state::ConversationState;
use crate::decision::gate::Gate;
use crate::decision::{AttemptResult, DecisionResult};
use crate::persona::Language;
use crate::rules::Mode;
use crate::texts::{Name, pick};

texts! {
    // The decision.
    opened: "Opened" / "開始";
    closed: "Closed" / "終了";
    settled_by_gate: "Settled by a rule" / "適用されたルール";
    about: "About" / "判断の対象";
    reacted_with: "Reacted with" / "付けたリアクション";
    mode_heading: "Mode" / "モード";
    passed_gates: "Rules that did not apply" / "該当しなかったルール";
    state_heading: "Conversation" / "会話の状態";
    list_separator: ", " / "、";
    deleted: "(deleted)" / "（削除されました）";
    /// A message that was erased because its retention period is over.
    expired: "(expired: no longer kept)" / "（保存期間が過ぎたため、残っていません）";
    reason_expired:
        "no longer kept: the messages behind it have expired"
        / "残っていません。元の発言の保存期間が過ぎました";

    // The judgment.
    verdict: "Verdict" / "判断の内容";
    speak: "speak" / "発言する";
    stay_silent: "stay silent" / "黙っている";
    reason: "Reason" / "理由";
    confidence: "Confidence" / "確信度";
    confidence_of(confidence: f64, needed: f64):
        "{confidence:.2} ({needed:.2} was needed to speak)"
        / "{confidence:.2}（話すには {needed:.2} が必要でした）";
    delay: "Delay" / "待ち時間";
    rests_on_order: "Because of standing order" / "根拠の指示";
    proposed_reaction: "Proposed reaction" / "提案されたリアクション";

    // A model call.
    call_title(verb: &str, result: &str): "{verb}: {result}" / "{verb}：{result}";
    model: "Model" / "モデル";
    tool: "Tool" / "ツール";
    builtin_rules: "none, the built-in rules" / "なし（内蔵のルール）";
    called_at: "At" / "時刻";
    took: "Took" / "所要時間";
    tokens: "Tokens (input, cached, output)" / "トークン（入力・うちキャッシュ・出力）";
    price: "Price" / "費用";
    omissions: "Left out (no room)" / "入りきらずに省いたもの";
    omission(section: &str, count: usize, tokens: u64):
        "{section}: {count} ({tokens} tokens)"
        / "{section}：{count} 件（{tokens} トークン）";
    error: "What went wrong" / "エラー";
    reading: "How the answer was read" / "回答の読み取り";

    // What happened after the decision was closed.
    aftermath: "What happened next" / "その後";
    aftermath_separator: "; " / "、";
    replied_after(name: Name<'_>, after: &str):
        "{name} wrote {after} later"
        / "{after}後に {name:#}が発言";
    /// If the author of the reply is no longer known.
    someone_replied_after(after: &str): "someone wrote {after} later" / "{after}後に誰かが発言";
    one_reaction: "1 reaction to what I said" / "私の発言にリアクション 1 件";
    reactions(count: u64): "{count} reactions to what I said" / "私の発言にリアクション {count} 件";

    // Units of time.
    seconds: "s" / "秒";
    minutes: "min" / "分";
    hours: "h" / "時間";
    days: "days" / "日";
}

pub fn decision_result(language: Language, result: Option<DecisionResult>) -> &'static str {
    match result {
        None => pick(language, "still open", "まだ決まっていません"),
        Some(DecisionResult::Spoke) => pick(language, "spoke", "発言しました"),
        Some(DecisionResult::Reacted) => pick(language, "reacted", "リアクションしました"),
        Some(DecisionResult::Proposed) => {
            pick(language, "asked whether to speak", "話してよいか確認しました")
        }
        Some(DecisionResult::ChoseSilence) => {
            pick(language, "stayed silent", "黙っていることにしました")
        }
        Some(DecisionResult::Dropped) => {
            pick(language, "decided not to speak after all", "話すのをやめました")
        }
        Some(DecisionResult::Muted) => pick(language, "was muted", "ミュートされていました"),
        Some(DecisionResult::OverBudget) => {
            pick(language, "was over budget", "利用上限に達していました")
        }
        Some(DecisionResult::Failed) => pick(language, "failed", "失敗しました"),
    }
}

pub fn gate(language: Language, gate: Gate) -> &'static str {
    match gate {
        Gate::OwnMessage => pick(language, "own message", "自分の発言"),
        Gate::OptedOut => pick(language, "opted out", "オプトアウト"),
        Gate::OtherBot => pick(language, "other bot", "ほかのボット"),
        Gate::Backfilled => pick(language, "said while away", "不在中の発言"),
        Gate::ChannelMode => pick(language, "channel mode", "チャンネルのモード"),
        Gate::Command => pick(language, "command", "コマンド"),
        Gate::Muted => pick(language, "muted", "ミュート"),
        Gate::QuietHours => pick(language, "quiet hours", "静かにする時間帯"),
        Gate::Loop => pick(language, "several turns in a row", "続けて話した回数"),
        Gate::TooFew => pick(language, "too few messages", "発言数の不足"),
        Gate::Directed => pick(language, "for someone else", "ほかの人宛て"),
        Gate::OtherCompanion => pick(language, "another companion", "ほかの会話ボット"),
        Gate::Unchanged => pick(language, "nothing new", "変化なし"),
        Gate::NothingOpen => pick(language, "nobody waiting", "返事を待つ人なし"),
        Gate::Cooldown => pick(language, "cooldown", "発言の間隔"),
        Gate::Share => pick(language, "share of the conversation", "発言の割合"),
        Gate::Budget => pick(language, "budget", "利用上限"),
        Gate::JudgeCalls => pick(language, "limit for one person", "一人あたりの上限"),
        Gate::DecisionCalls => pick(language, "limit for one decision", "判断一回の上限"),
    }
}

pub fn mode(language: Language, mode: Mode) -> &'static str {
    match mode {
        Mode::Companion => pick(language, "joins in at pauses", "会話の合間に話す"),
        Mode::Facilitator => pick(language, "helps discussions", "話し合いを手伝う"),
        Mode::MentionOnly => pick(language, "only when mentioned", "メンションのみ"),
        Mode::Propose => pick(language, "asks before it speaks", "確認してから話す"),
        Mode::Observe => pick(language, "only listens", "聞くだけ"),
        Mode::Off => pick(language, "off", "オフ"),
    }
}

pub fn state(language: Language, state: ConversationState) -> &'static str {
    match state {
        ConversationState::Ending => pick(language, "winding down", "終わろうとしている"),
        ConversationState::Misunderstanding => {
            pick(language, "people misunderstand each other", "すれ違いがある")
        }
        ConversationState::Conflict => pick(language, "people disagree", "対立がある"),
        ConversationState::Active => pick(language, "ongoing", "続いている"),
    }
}

/// The purpose of a model call.
pub fn verb(language: Language, verb: &str) -> &'static str {
    match verb {
        "judge" => pick(language, "Judge", "判断"),
        "reply" => pick(language, "Reply", "返答"),
        "state" => pick(language, "State of the conversation", "会話の状態"),
        "describe" => pick(language, "Description of a picture", "画像の説明"),
        "transcribe" => pick(language, "Transcript of a recording", "音声の文字起こし"),
        "look_up" => pick(language, "Look-up", "調べもの"),
        "post" => pick(language, "Post", "投稿"),
        "model" => pick(language, "Model call", "モデルの呼び出し"),
        "backfill" => pick(language, "Missed messages", "不在中の発言"),
        _ => pick(language, "Call", "呼び出し"),
    }
}

pub fn attempt_result(language: Language, result: AttemptResult) -> &'static str {
    match result {
        AttemptResult::Kept => pick(language, "used", "採用"),
        AttemptResult::Superseded => {
            pick(language, "discarded: people moved on", "破棄（会話が進んだため）")
        }
        AttemptResult::LookedAgain => pick(language, "judged again", "改めて判断"),
        AttemptResult::Failed => pick(language, "failed", "失敗"),
    }
}

/// A section of a prompt.
pub fn section(language: Language, section: &str) -> &str {
    match section {
        "workspace_memory" => pick(language, "workspace memory", "ワークスペースの記憶"),
        "channel_memories" => pick(language, "channel memories", "チャンネルの記憶"),
        "thread_memories" => pick(language, "thread memories", "スレッドの記憶"),
        "memos" => pick(language, "memos", "メモ"),
        "recalled" => pick(language, "old messages", "過去の発言"),
        "orders" => pick(language, "standing orders", "指示"),
        "other_talk" => pick(language, "other conversations", "ほかの会話"),
        "target" => pick(language, "messages of the conversation", "対象の会話"),
        "long_lines" => pick(language, "parts of long messages", "長い発言の一部"),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nobody_is_called_by_an_honorific_whose_name_is_not_known() {
        assert_eq!(someone_replied_after(Language::Ja, "5 秒"), "5 秒後に誰かが発言");
        let by = |name| replied_after(Language::Ja, Name(name), "5 秒");
        assert_eq!(by("Ken"), "5 秒後に Ken さんが発言");
        assert_eq!(by("健"), "5 秒後に健さんが発言");
    }

    #[test]
    fn each_decision_result_has_its_own_label() {
        let all = [
            DecisionResult::Spoke,
            DecisionResult::Reacted,
            DecisionResult::Proposed,
            DecisionResult::ChoseSilence,
            DecisionResult::Dropped,
            DecisionResult::Muted,
            DecisionResult::OverBudget,
            DecisionResult::Failed,
        ];
        let all = || all.map(Some).into_iter().chain([None]);
        for language in [Language::En, Language::Ja] {
            let labels: BTreeSet<&str> = all().map(|one| decision_result(language, one)).collect();
            assert_eq!(labels.len(), all().count(), "{labels:?}");
            let is_japanese =
                |label: &str| label.chars().any(|character| ('ぁ'..='ん').contains(&character));
            assert!(labels.iter().all(|label| is_japanese(label) == (language == Language::Ja)));
        }
    }
}
