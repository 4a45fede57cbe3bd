//! What a channel's keeper is asked in a private chat, and the outcome.

texts! {
    would_say(channel: &str): "In {channel} I’d say:" / "{channel} で、こう話そうと思います。";
    why(reason: &str): "Why: {reason}" / "理由：{reason}";
    cut: "The whole text is on the console." / "全文はコンソールで読めます。";
    /// `what` is a word for the decision, as on the console.
    decided(channel: &str, what: &str): "In {channel}: {what}." / "{channel} の件は「{what}」となりました。";

    /// In place of the question, once the channel has another keeper.
    handed_over(channel: &str):
        "In {channel}: somebody else looks after it now, and is asked instead."
        / "{channel}：担当が替わったので、この件は新しい担当の人に尋ねます。";

    already_decided:
        "Somebody has already decided about this."
        / "これについてはもう決まっています。";
    too_late:
        "It’s too late for this: the moment has passed."
        / "もう間に合いません。話すタイミングを過ぎました。";
    busy:
        "I’m busy with something else in that conversation. Try again in a moment."
        / "その会話で別のことをしています。少し待ってからもう一度お試しください。";
    /// On the button that opens a form.
    edit: "Edit" / "文を変える";
    /// The title of the form; at most 24 letters.
    edit_title: "Say it in other words" / "文を変えて話す";
    /// The label of the text field in the form.
    edit_label: "What is posted" / "投稿する文";
    edit_cancel: "Cancel" / "やめる";
    no_text: "There are no words to post." / "投稿する文がありません。";
    too_long:
        "That’s too long to be edited here. Use the console."
        / "ここで書き直すには長すぎます。コンソールを使ってください。";
    no_form:
        "I couldn’t open the form. Click again."
        / "フォームを開けませんでした。もう一度ボタンを押してください。";
    not_keeper: "You don’t look after that channel." / "あなたは、そのチャンネルの担当の人ではありません。";
}
