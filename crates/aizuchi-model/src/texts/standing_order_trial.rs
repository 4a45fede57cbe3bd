//! What an order would have changed, in the chat and on the console, and why that is unknown.

use crate::persona::Language;
use crate::standing_order::StandingOrderEffect;

texts! {
    on_console:
        "What it would have changed here, the console can tell: on the page of this channel, under its drafts."
        / "ここで何が変わっていたかは、コンソールのこのチャンネルのページにある下書きから確かめられます。";
    on_page(page: &str):
        "What it would have changed here, the console can tell, under the drafts of this channel: {page}"
        / "ここで何が変わっていたかは、コンソールのこのチャンネルのページ（ {page} ）にある下書きから確かめられます。";
    no_model:
        "The built-in rules judge here, and they read no orders, so it would have changed nothing."
        / "ここでは内蔵のルールが判断していて、指示を読みません。何も変わっていなかったはずです。";
    unpriced:
        "I didn’t try it, because the model’s price is not known; the config names it in `models.prices`."
        / "モデルの料金が不明なので、試していません。料金は設定ファイルの `models.prices` に書けます。";
    over_budget:
        "I didn’t try it: that would cost more than I may spend on it."
        / "使ってよい金額を超えるため、試していません。";
    unanswered: "I tried it, but the model didn’t answer." / "試しましたが、モデルが答えませんでした。";
    nothing_to_try(days: i64):
        "In the last {days} days I weighed nothing here, so there’s nothing to try it on."
        / "直近 {days} 日間、ここで話すかどうかを判断した場面がないため、試せません。";

    spoke_here(days: i64, spoke: &str, silent: usize):
        "Of {spoke} I spoke here unasked in the last {days} days, {silent} would have stayed silent."
        / "この指示があれば、直近 {days} 日間にここで自分から話した {spoke}のうち、{silent} 回は黙っていたはずです。";
    silent_here(silent: &str, spoken: usize):
        " Of {silent} I stayed silent, I would have spoken in {spoken}."
        / "黙っていた {silent}のうち、{spoken} 回は、指示があれば話していたはずです。";
    never_spoke_here(days: i64):
        "In the last {days} days I never spoke here unasked."
        / "直近 {days} 日間、ここで自分から話していません。";
    unclear_here(count: usize): " Unclear: {count}." / "不明：{count} 回。";
    untried_here(count: usize): " Not tried: {count}." / "未確認：{count} 回。";

    spoke(days: i64, spoke: &str, silent: usize):
        "Of {spoke} it spoke here unasked in the last {days} days, {silent} would have stayed silent."
        / "この指示があれば、直近 {days} 日間にここで自分から話した {spoke}のうち、{silent} 回は黙っていたはずです。";
    silent(silent: &str, spoken: usize):
        " Of {silent} it stayed silent, it would have spoken in {spoken}."
        / "黙っていた {silent}のうち、{spoken} 回は、指示があれば話していたはずです。";
    never_spoke(days: i64):
        "In the last {days} days it never spoke here unasked."
        / "直近 {days} 日間、ここで自分から話していません。";
    // The page for trying an order.
    title: "Try an order" / "指示を試す";
    explained(name: &str, days: i64, most: usize):
        "The judge’s model judges the newest moments of the last {days} days in #{name} again with the order in its prompt: at most {most} at which it "
        "spoke unasked, and as many at which its judge left it silent. Where it decides otherwise, it is asked once more without the order. Memories are "
        "left out. Nothing is posted, and nobody follows the order yet."
        / "#{name} の直近 {days} 日間の場面を、指示をプロンプトに入れて判断役のモデルがもう一度判断します。自分から話した場面と、判断役が見送った場面を、それぞれ"
          "新しいものから最大 {most} 件です。判断が変わった場面は、指示なしでもう一度確かめます。記憶は使いません。投稿はせず、指示にはまだ従いません。";
    order: "Order" / "指示";
    result: "What it would have changed" / "変わっていたこと";
    builtin:
        "The built-in rules judge here, and they read no orders: the order would have changed nothing. With a language model it can be tried."
        / "ここでは内蔵のルールが判断していて、指示を読みません。何も変わっていなかったはずです。言語モデルを選ぶと試せます。";
    no_moments(days: i64):
        "In the last {days} days no judge was asked here, so there is nothing to try it on."
        / "直近 {days} 日間、ここで判断役に尋ねた場面がないため、試せません。";
    newly_silent(count: usize): "Would have stayed silent: {count}" / "黙っていたはずの場面：{count} 件";
    newly_speaking(count: usize): "Would have spoken: {count}" / "話していたはずの場面：{count} 件";
    before: "Then" / "当時";
    with_order: "With the order" / "指示あり";
    save: "Save the order" / "この指示に従う";
    one_time: "1 time" / "1 回";
    times(count: usize): "{count} times" / "{count} 回";
}

/// The effect in the persona's words, in the chat.
pub fn effect_here(language: Language, effect: &StandingOrderEffect) -> String {
    let spoken = match (effect.spoke, effect.untried_spoke) {
        (0, 0) => never_spoke_here(language, effect.days),
        // Nothing is known about those moments.
        (0, _) => String::new(),
        (spoke, _) => {
            spoke_here(language, effect.days, &count(language, spoke), effect.newly_silent)
        }
    };
    let silences = match effect.silent {
        0 => String::new(),
        silent => silent_here(language, &count(language, silent), effect.newly_speaking),
    };
    let told = format!("{spoken}{silences}{}", unknown(language, effect));
    told.trim_start().to_owned()
}

/// The effect as shown on the console.
pub fn effect(language: Language, effect: &StandingOrderEffect) -> String {
    let spoken = match (effect.spoke, effect.untried_spoke) {
        (0, 0) => never_spoke(language, effect.days),
        (0, _) => String::new(),
        (spoken, _) => spoke(language, effect.days, &count(language, spoken), effect.newly_silent),
    };
    let silences = match effect.silent {
        0 => String::new(),
        left => silent(language, &count(language, left), effect.newly_speaking),
    };
    let told = format!("{spoken}{silences}{}", unknown(language, effect));
    told.trim_start().to_owned()
}

/// How many moments are unclear, and how many were not tried.
fn unknown(language: Language, effect: &StandingOrderEffect) -> String {
    let unclear = match effect.unclear {
        0 => String::new(),
        unclear => unclear_here(language, unclear),
    };
    let untried = match effect.untried_spoke + effect.untried_silent {
        0 => String::new(),
        untried => untried_here(language, untried),
    };
    unclear + &untried
}

fn count(language: Language, count: usize) -> String {
    match count {
        1 => one_time(language).to_owned(),
        count => times(language, count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_a_sentence() {
        let some = StandingOrderEffect {
            days: 7,
            spoke: 12,
            silent: 5,
            newly_silent: 3,
            newly_speaking: 1,
            untried_spoke: 0,
            untried_silent: 3,
            unclear: 2,
        };
        assert_eq!(
            effect(Language::En, &some),
            "Of 12 times it spoke here unasked in the last 7 days, 3 would have stayed silent. Of 5 times it stayed silent, it would have spoken in 1. Unclear: 2. Not tried: 3."
        );
        let untried = StandingOrderEffect {
            days: 7,
            silent: 2,
            untried_spoke: 4,
            ..StandingOrderEffect::default()
        };
        assert_eq!(
            effect_here(Language::En, &untried),
            "Of 2 times I stayed silent, I would have spoken in 0. Not tried: 4."
        );
        let none = StandingOrderEffect { days: 7, spoke: 1, ..StandingOrderEffect::default() };
        assert_eq!(
            effect_here(Language::En, &none),
            "Of 1 time I spoke here unasked in the last 7 days, 0 would have stayed silent."
        );
        assert_eq!(
            effect_here(
                Language::Ja,
                &StandingOrderEffect { days: 7, ..StandingOrderEffect::default() }
            ),
            "直近 7 日間、ここで自分から話していません。"
        );
    }
}
