//! What whoever looks after a channel is asked in a private chat, and what became of it.

texts! {
    would_say(channel: &str): "In {channel} I’d say:" / "{channel} で、こう話そうと思います。";
    why(reason: &str): "Why: {reason}" / "理由：{reason}";
    other_words:
        "To say it in other words, use the console."
        / "文を変えて話すには、コンソールを使ってください。";
    cut: "The whole text is on the console." / "全文はコンソールで読めます。";
    /// `what` is a word for it, as on the console.
    decided(channel: &str, what: &str): "In {channel}: {what}." / "{channel}：{what}。";

    already_decided:
        "Somebody has already decided about this."
        / "これについてはもう決まっています。";
    too_late:
        "It’s too late for this: the moment has passed."
        / "もう間に合いません。話すときを過ぎました。";
    busy:
        "I’m busy with something else in that conversation. Try again in a moment."
        / "その会話で別のことをしています。少し待ってからもう一度お試しください。";
    not_keeper: "You don’t look after that channel." / "そのチャンネルの担当ではありません。";
}
