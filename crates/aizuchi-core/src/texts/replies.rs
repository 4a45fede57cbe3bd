//! What the persona says where a model has no answer, and why it replied or let it be.

use crate::texts::Name;

texts! {
    over_budget:
        "I have used up what I may use for now. Please ask me again later."
        / "いま使える分を使い切ってしまいました。しばらくしてからまた声をかけてください。";
    apology:
        "Sorry, I cannot think of an answer right now. Please try again later."
        / "すみません、いまはうまく答えられません。あとでもう一度声をかけてください。";

    asked_by(name: Name<'_>): "{name} asked me" / "{name:#}に聞かれました";
    joined: "I have joined" / "参加したばかりです";
    no_answer_found: "I could not think of an answer" / "答えを考えられませんでした";
    something_went_wrong: "something went wrong" / "問題が起きました";
    answered_or_changed:
        "it has been answered, or is no longer what it was"
        / "すでに答えがあったか、内容が変わりました";
    /// A user has answered what the reply would have answered. The probability is between 0 and 1.
    taken_up_by(name: Name<'_>, probability: f32):
        "it was taken up by {name} meanwhile ({probability:.2})"
        / "その間に {name:#}が応じました（{probability:.2}）";
    /// The user who waited for the reply is content.
    asker_is_content: "the one who asked is content" / "待っていた人は納得したようです";
    /// Users write in the thread under the message, where it is judged.
    goes_on_in_thread:
        "it went on in its thread" / "スレッドで話が続きました";
    probably_taken_up:
        "people went on, and probably nobody waits for it any more"
        / "会話が進み、待っている人はおそらくもういません";
    question_withdrawn: "the question was withdrawn" / "質問が取り下げられました";
    /// A message that the draft was made from.
    source_changed: "a line that it was made from has changed" / "元になった発言が変わりました";
    people_went_on: "people went on meanwhile" / "その間に会話が進みました";
    /// The message that the reply is about.
    line_deleted: "the line was deleted" / "対象の発言が削除されました";
    /// Stands in the place of a key or a token.
    secret_removed: "[secret removed]" / "[秘密情報を削除]";
    too_late: "it came too late" / "時機を逃しました";
}
