//! Why the judge lets the persona stay silent, where no gate says it.

texts! {
    conversation_ending: "the talk is coming to its end" / "会話が終わろうとしています";
    message_deleted: "what was said was deleted" / "発言が削除されました";
    low_confidence(confidence: f64, least: f64):
        "I was not sure enough ({confidence:.2} of at least {least:.2})"
        / "確信が足りませんでした（{confidence:.2} < {least:.2}）";
    situation_unchanged:
        "I have spoken about this, and nothing has changed since"
        / "この話にはもう加わっており、状況も変わっていません";
    observe_mode:
        "I would have spoken, but I only look on here"
        / "話したいことはありましたが、ここでは見守るだけです";
}
