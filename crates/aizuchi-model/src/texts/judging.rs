//! Why the persona stayed silent: the gate that settled the decision, or the judge's verdict. The English reasons
//! are clauses that can follow "because".

use crate::chat::AuthorKind;
use crate::decision::gate::Gate;
use crate::decision::limit::Limit;
use crate::persona::Language;
use crate::texts::pick;

texts! {
    conversation_ending: "the conversation was winding down" / "会話が終わろうとしていました";
    message_deleted: "the message was deleted" / "発言が削除されました";
    low_confidence(confidence: f64, least: f64):
        "I wasn’t sure enough ({confidence:.2}; I need {least:.2})"
        / "確信度が足りませんでした（{confidence:.2}。話すには {least:.2} が必要）";
    /// `why` is [`low_confidence`], and `source` says where the required confidence comes from.
    low_confidence_ordered(why: &str, source: &str):
        "{why}: {source}"
        / "{why}。必要な確信度は{source}によるものです";
    often_unwelcome(confidence: f64, least: f64, percent: f64):
        "I held it back ({confidence:.2}): here, words under {least:.2} were unwelcome more often than {percent:.1} %"
        / "確信度は {confidence:.2} でした。ここでは、確信度 {least:.2} 未満で話すと歓迎されない割合が {percent:.1} % を超えていました";
    situation_unchanged:
        "I had already spoken about this, and nothing had changed since"
        / "この話にはもう加わっていて、状況も変わっていませんでした";
    reason_with_limit(reason: &str, limit: &str): "{reason} ({limit})" / "{reason}（設定：{limit}）";
    observe_mode:
        "I would have spoken, but I only listen here"
        / "話したいことはありましたが、ここでは聞くだけにしています";
}

/// Why a limit settled a decision. The limit is named as in the settings.
pub fn limit_reason(language: Language, limit: Limit) -> String {
    let reason = gate_reason(language, Gate::from_limit(limit));
    reason_with_limit(language, reason, limit.name())
}

/// Why a gate settled a decision.
pub fn gate_reason(language: Language, gate: Gate) -> &'static str {
    match gate {
        Gate::Directed => pick(
            language,
            "the new messages were for someone else",
            "新しい発言はどれも、ほかの人に向けたものでした",
        ),
        Gate::Unchanged => pick(
            language,
            "nothing had changed since I last looked",
            "前回判断したときから何も変わっていませんでした",
        ),
        Gate::NothingOpen => pick(
            language,
            "nobody seemed to be waiting for an answer",
            "返事を待っている人はいないようでした",
        ),
        Gate::Cooldown => pick(
            language,
            "I had spoken only a short while before",
            "少し前に自分から話したばかりでした",
        ),
        Gate::Share => {
            pick(language, "I had already said a lot lately", "最近の発言の多くが私のものでした")
        }
        Gate::OwnMessage => pick(language, "it was my own message", "私の発言でした"),
        Gate::OtherBot => pick(language, "another bot wrote it", "ほかのボットの発言でした"),
        Gate::Backfilled => pick(language, "it was said while I was away", "不在の間の発言でした"),
        Gate::Command => pick(language, "it was a command for me", "私へのコマンドでした"),
        Gate::OptedOut => {
            pick(language, "its author asked me not to listen", "オプトアウトした人の発言でした")
        }
        Gate::ChannelMode => pick(
            language,
            "the mode of this channel didn’t let me speak",
            "このチャンネルのモードでは、話せない場面でした",
        ),
        Gate::Muted => pick(language, "I was muted", "ミュートされていました"),
        Gate::QuietHours => pick(language, "it was during quiet hours", "静かにする時間帯でした"),
        Gate::Loop => pick(
            language,
            "I had spoken several times in a row, or other companions and I, and nobody else had written since",
            "私やほかの会話ボットの発言が続いていて、その後に人の発言がありませんでした",
        ),
        Gate::OtherCompanion => pick(
            language,
            "another companion had already spoken",
            "ほかの会話ボットがすでに話していました",
        ),
        Gate::TooFew => pick(language, "too little had been said yet", "まだ発言が少なすぎました"),
        Gate::Budget => pick(language, "my budget was used up", "利用上限に達していました"),
        Gate::JudgeCalls => pick(
            language,
            "I had reached my limit for this person’s messages",
            "同じ人の発言について判断する回数の上限に達していました",
        ),
        Gate::DecisionCalls => pick(
            language,
            "I had reached my limit for thinking about this",
            "この件について判断する回数の上限に達していました",
        ),
    }
}

/// Why a gate settled a message when it was heard.
pub fn gate_reason_when_heard(language: Language, gate: Gate, author: AuthorKind) -> &'static str {
    match (gate, author) {
        // `off` is the only mode in which messages are not heard.
        (Gate::ChannelMode, _) => pick(
            language,
            "I was turned off in this channel",
            "このチャンネルではオフになっていました",
        ),
        (Gate::Command, AuthorKind::Persona) => {
            pick(language, "it was my reply to a command", "コマンドへの私の返事でした")
        }
        (gate, _) => gate_reason(language, gate),
    }
}
