//! How welcome posts and silences were, as shown on pages.

use crate::decision::welcome::{Reception, SpeakChoice, WelcomeReason};
use crate::persona::Language;

texts! {
    details(channel: &str): "How it comes about: {channel}" / "内訳：{channel}";
    posts: "What it said unasked" / "自分から話した発言";
    silences: "What it left" / "見送った場面";
    declined: "Proposals that a person declined" / "人が断った案";
    median_answer: "A person answered after (median)" / "人が答えるまで（中央値）";
    never_answered: "Never answered" / "答えがないまま";
    steps: "What the confidence it demands rests on" / "必要な確信度の根拠";
    step_up_to: "Confidence up to" / "確信度（以下）";
    step_welcome: "Welcome" / "歓迎された割合";
    step_labels: "Words and marks" / "件数";
    moves_to(now: &str, settles: &str): "{now}, moves to {settles}" / "{now}（{settles} へ移行中）";
    learn_anew: "Learn anew" / "学び直す";
    learn_anew_explained:
        "Forgets how welcome words were in this workspace so far. The confidence it demands begins again at what is configured, within five minutes."
        / "このワークスペースでこれまでの発言が歓迎されたかを忘れます。話すのに必要な確信度は、5 分以内に設定どおりの値からやり直します。";
    rated(welcome: &str, reasons: &str): "Rated: {welcome} ({reasons})" / "評価：{welcome}（{reasons}）";
    separator: ", " / "、";
    is_welcome: "welcome" / "歓迎された";
    is_unwelcome: "unwelcome" / "歓迎されなかった";
    is_unclear: "unclear" / "不明";
    silence_was_right: "it was right to stay silent" / "黙っていて正解";
    silence_was_wrong: "something should have been said" / "話すべきだった";

    marked: "marked by somebody" / "人が評価した";
    deleted: "deleted" / "削除された";
    told_to_stop: "told to stop" / "やめるように言われた";
    disliked: "disliked" / "否定的なリアクション";
    thanked: "thanked" / "お礼";
    answered: "answered" / "返信";
    liked: "liked" / "好意的なリアクション";
    noticed: "noticed" / "そのほかのリアクション";
    went_on: "people wrote on" / "別の話が続いた";
    died: "nobody wrote" / "誰も書かなかった";
    person_answered: "a person answered" / "人が答えた";
    person_answered_late: "a person answered late" / "人が遅れて答えた";
    nobody_answered: "nobody answered" / "誰も答えなかった";
    nothing_asked: "nothing was asked" / "質問ではなかった";
    was_declined: "declined" / "断られた";
}

pub fn reason(language: Language, reason: WelcomeReason) -> &'static str {
    match reason {
        WelcomeReason::Marked => marked(language),
        WelcomeReason::Deleted => deleted(language),
        WelcomeReason::ToldToStop => told_to_stop(language),
        WelcomeReason::Disliked => disliked(language),
        WelcomeReason::Thanked => thanked(language),
        WelcomeReason::Answered => answered(language),
        WelcomeReason::Liked => liked(language),
        WelcomeReason::Noticed => noticed(language),
        WelcomeReason::WentOn => went_on(language),
        WelcomeReason::Died => died(language),
        WelcomeReason::PersonAnswered => person_answered(language),
        WelcomeReason::PersonAnsweredLate => person_answered_late(language),
        WelcomeReason::NobodyAnswered => nobody_answered(language),
        WelcomeReason::NothingAsked => nothing_asked(language),
        WelcomeReason::Declined => was_declined(language),
    }
}

/// The rating of a choice.
pub fn rating(language: Language, choice: SpeakChoice, welcome: Reception) -> &'static str {
    match (choice, welcome) {
        (SpeakChoice::Silence, Reception::Welcome) => silence_was_right(language),
        (SpeakChoice::Silence, Reception::Unwelcome) => silence_was_wrong(language),
        (SpeakChoice::Post | SpeakChoice::Declined, Reception::Welcome) => is_welcome(language),
        (SpeakChoice::Post | SpeakChoice::Declined, Reception::Unwelcome) => is_unwelcome(language),
        (_, Reception::Unclear) => is_unclear(language),
    }
}
