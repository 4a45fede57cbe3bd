//! The pages of a decision, of the token, and of what cannot be shown.

texts! {
    // The page of a decision.
    decision: "Decision" / "判断";
    covers: "Messages it looked at" / "対象の発言";
    calls: "What the model was asked, and what failed" / "モデルへの問い合わせと、失敗したこと";
    no_calls:
        "No model was asked: a rule settled it."
        / "問い合わせはありません。ルールだけで決まりました。";
    no_calls_yet: "No model has been asked yet." / "まだ問い合わせていません。";
    prompt: "Prompt" / "プロンプト";
    answer: "Answer" / "回答";
    no_answer: "There is no answer." / "回答はありません。";
    exchange_dropped:
        "The text is no longer kept: it has expired, or a message in it was edited or deleted."
        / "内容は残っていません。保存期間が過ぎたか、含まれていた発言が編集または削除されました。";

    // The page for what cannot be shown.
    nothing_here: "There is nothing here." / "ここには何もありません。";
    not_shown: "This cannot be shown." / "表示できません。";
    not_done: "Not done." / "実行しませんでした。";
    go_back: "Back" / "戻る";
    others_compute:
        "Others are computing something. Try again in a moment."
        / "ほかの計算が動いています。少し待ってからもう一度お試しください。";
    computation_failed:
        "This could not be computed. The log says why."
        / "計算できませんでした。理由はログにあります。";
    computation_stopped: "This could not be computed. Try again." / "計算できませんでした。もう一度お試しください。";
    computation_too_long:
        "This takes too long to compute. Ask for fewer days."
        / "計算に時間がかかりすぎます。期間を短くしてください。";

    // The page that asks for the token.
    token_needed:
        "You need a token to enter this room."
        / "このルームに入るには、トークンが必要です。";
    token: "Token (http.token in the config)" / "トークン（設定ファイルの http.token）";
    enter: "Enter" / "入る";
    link_question:
        "This link signs you in once."
        / "このリンクで一度だけログインできます。";
    sign_out: "Sign out" / "ログアウト";
}
