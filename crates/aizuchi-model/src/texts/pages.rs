//! The pages of a decision, of the token, and of what cannot be shown.

use crate::decision::DecisionResult;
use crate::persona::Language;
use crate::texts::pick;

texts! {
    // The page of a decision.
    decision: "Decision" / "判断";
    back: "Back to the room" / "ルームに戻る";
    about: "The message" / "きっかけの発言";
    did: "What happened" / "結果";
    why: "Why" / "理由";
    no_reason: "The reason is no longer kept." / "理由は残っていません。";
    nothing_next: "Nothing yet." / "まだ何もありません。";
    more: "More details: rules, numbers, prompts" / "さらに詳しく：ルール、数値、プロンプト";
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
    texts_withheld:
        "What was said on Slack and Discord is shown here only if http.token is set. The command aizuchi why shows it too."
        / "Slack や Discord での発言は、http.token を設定したときだけここに表示します。コマンド aizuchi why でも確認できます。";

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

/// What the persona did, as a sentence. A decision without a result is still pending.
pub fn outcome(language: Language, name: &str, result: Option<DecisionResult>) -> String {
    let did = match result {
        None => pick(language, " has not decided yet.", " はまだ決めていません。"),
        Some(DecisionResult::Spoke) => pick(language, " spoke.", " は発言しました。"),
        Some(DecisionResult::Reacted) => {
            pick(language, " reacted with an emoji.", " はリアクションを付けました。")
        }
        Some(DecisionResult::Proposed) => {
            pick(language, " asked whether to speak.", " は話してよいか確認しました。")
        }
        Some(DecisionResult::ChoseSilence) => {
            pick(language, " stayed silent.", " は黙っていることにしました。")
        }
        Some(DecisionResult::Dropped) => {
            pick(language, " decided not to speak after all.", " は話すのをやめました。")
        }
        Some(DecisionResult::Muted) => {
            pick(language, " stayed silent.", " はミュート中のため、黙っていました。")
        }
        Some(DecisionResult::OverBudget) => {
            pick(language, " gave no answer.", " は上限に達していたため、答えませんでした。")
        }
        Some(DecisionResult::Failed) => {
            pick(language, " could not answer.", " はうまく答えられませんでした。")
        }
    };
    format!("{name}{did}")
}
