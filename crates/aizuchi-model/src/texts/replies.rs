//! What the persona says if a model has no answer, and why it replied or did not.

use crate::texts::Name;

texts! {
    over_budget:
        "I’ve used up my budget for now. Please ask me again later."
        / "いまは利用上限に達しています。しばらくしてからまた声をかけてください。";
    /// For a user who has reached the hourly limit of answers per user.
    over_answers(most: u64):
        "I’ve answered you a lot within this hour; {most} answers are as many as I give one person. Please ask me again a "
        "little later; commands still work."
        / "この 1 時間にたくさんお答えしました。おひとりへの回答は 1 時間に {most} 回までです。少し時間をおいて、また声をかけてください。コマンドはいまも使えます。";
    apology:
        "Sorry, I can’t think of an answer right now. Please try again later."
        / "すみません、いまはうまく答えられません。あとでもう一度声をかけてください。";

    asked_by(name: Name<'_>): "{name} asked me" / "{name:#}に聞かれました";
    /// For a message that is not a question.
    mentioned_by(name: Name<'_>): "{name} mentioned me" / "{name:#}にメンションされました";
    /// For a message without a mention: in a direct message, by the name, or in answer to the persona.
    spoken_to_by(name: Name<'_>): "{name} spoke to me" / "{name:#}に話しかけられました";
    joined: "I just joined" / "参加したばかりです";
    no_answer_found: "I couldn’t think of an answer" / "答えが思いつきませんでした";
    something_went_wrong: "something went wrong" / "問題が起きました";
    answered_or_changed:
        "it was answered or changed in the meantime"
        / "その間に誰かが答えたか、発言が変更されました";
    /// A user has already responded to the message. The probability is between 0 and 1.
    taken_up_by(name: Name<'_>, probability: f32):
        "{name} responded to it in the meantime ({probability:.2})"
        / "その間に {name:#}が応じたようです（確率 {probability:.2}）";
    /// The user who waited for the reply is satisfied.
    asker_is_content: "the person who asked is satisfied" / "質問した人は納得したようです";
    /// Users write in the thread under the message, where it is judged.
    goes_on_in_thread:
        "the conversation moved to the message’s thread" / "スレッドで話が続きました";
    /// Another companion has spoken, so the persona does not.
    companion_spoke(name: Name<'_>):
        "another companion, {name}, spoke in the meantime"
        / "その間に、ほかの会話ボットの {name} が話しました";
    probably_taken_up:
        "the conversation moved on, and nobody seems to be waiting for an answer any more"
        / "会話が進み、答えを待っている人はもういないようです";
    /// As [`probably_taken_up`], of a quarrel or a misunderstanding.
    probably_stepped_in:
        "somebody else seemed to have stepped in" / "ほかの人が間に入ったようでした";
    question_withdrawn: "the question was withdrawn" / "質問が取り下げられました";
    /// Answered by a process whose records are lost.
    answered_in_history:
        "the chat’s history shows that I had answered it already"
        / "チャットの履歴を見ると、もう答えていました";
    /// A message that the draft was made from has changed.
    source_changed: "a message it was based on has changed" / "元になった発言が変わりました";
    users_went_on: "the conversation moved on in the meantime" / "その間に会話が進みました";
    /// The message that the reply is about.
    message_deleted: "the message was deleted" / "対象の発言が削除されました";
    /// Replaces a key or a token.
    secret_removed: "[secret removed]" / "[秘密情報を削除]";
    too_late: "the moment had passed" / "話すタイミングを逃しました";
}
