//! Why the persona stayed silent: the gate that settled it, or what the judge found.

use crate::decision::gate::Gate;
use crate::decision::limit::Limit;
use crate::persona::Language;
use crate::texts::pick;

texts! {
    conversation_ending: "the talk is coming to its end" / "会話が終わろうとしています";
    message_deleted: "what was said was deleted" / "発言が削除されました";
    low_confidence(confidence: f64, least: f64):
        "I was not sure enough ({confidence:.2} of at least {least:.2})"
        / "確信が足りませんでした（{confidence:.2} < {least:.2}）";
    situation_unchanged:
        "I have spoken about this, and nothing has changed since"
        / "この話にはもう加わっており、状況も変わっていません";
    reason_with_limit(reason: &str, limit: &str): "{reason} ({limit})" / "{reason}（{limit}）";
    observe_mode:
        "I would have spoken, but I only look on here"
        / "話したいことはありましたが、ここでは見守るだけです";
}

/// Why a limit settled a decision. It is shown by the name of its setting.
pub fn limit_reason(language: Language, limit: Limit) -> String {
    let reason = gate_reason(language, Gate::from_limit(limit));
    reason_with_limit(language, reason, limit.name())
}

/// Why a gate settled a decision.
pub fn gate_reason(language: Language, gate: Gate) -> &'static str {
    match gate {
        Gate::Directed => pick(
            language,
            "everything new was said to somebody else",
            "新しい発言はどれも、ほかの人に向けたものです",
        ),
        Gate::SpokeLast => pick(
            language,
            "I spoke last, and nobody has answered since",
            "最後に話したのは私で、まだ返事がありません",
        ),
        Gate::Unchanged => pick(
            language,
            "nothing has changed since I last looked",
            "前回判断したときから何も変わっていません",
        ),
        Gate::NothingOpen => {
            pick(language, "nobody waits for an answer", "返事を待っている人はいません")
        }
        Gate::Cooldown => {
            pick(language, "I spoke unasked not long ago", "少し前に自分から話したばかりです")
        }
        Gate::Share => pick(
            language,
            "much of what was said lately was said by me",
            "最近の発言の多くが私のものです",
        ),
        Gate::OwnMessage => pick(language, "it is my own line", "自分の発言です"),
        Gate::OtherBot => pick(language, "it is another bot's line", "ほかのボットの発言です"),
        Gate::Backfilled => pick(language, "it was said while I was away", "不在の間の発言です"),
        Gate::Command => pick(language, "it was said to steer me", "私への指示でした"),
        Gate::OptedOut => pick(
            language,
            "its author does not want me to listen",
            "この人の発言は聞かないことになっています",
        ),
        Gate::ChannelMode => pick(
            language,
            "I do not speak unasked in this channel",
            "このチャンネルでは自分から話しません",
        ),
        Gate::Muted => pick(language, "I am muted here", "ここではミュートされています"),
        Gate::QuietHours => pick(language, "these are quiet hours", "静かにする時間帯です"),
        Gate::Loop => pick(
            language,
            "I have had my turns, and no person has said anything since",
            "すでに続けて話しており、その後に人の発言がありません",
        ),
        Gate::TooFew => pick(language, "too little has been said yet", "まだ発言が少なすぎます"),
        Gate::Budget => pick(language, "my budget is used up", "使ってよい量に達しています"),
        Gate::JudgeCalls => pick(
            language,
            "I have thought often enough about what this person says",
            "この人の発言については、もう十分に考えました",
        ),
        Gate::DecisionCalls => pick(
            language,
            "I have thought about this as often as I may",
            "このことについては、考えてよい回数に達しています",
        ),
    }
}

/// Why a gate settled a message when it was heard.
pub fn gate_reason_when_heard(language: Language, gate: Gate) -> &'static str {
    match gate {
        // `off` is the only mode in which messages are not heard.
        Gate::ChannelMode => pick(
            language,
            "I am turned off in this channel",
            "このチャンネルではオフになっています",
        ),
        gate => gate_reason(language, gate),
    }
}
