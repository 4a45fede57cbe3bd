//! What the judge is told about who is waiting and since when: on every store, in both languages.

use aizuchi_core::persona::Language;
use aizuchi_core::prompt::PromptVerb;

use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_store};

/// The judge's last prompt after these messages, each this many seconds after the previous one. The judge says no.
async fn judge_prompt(
    store: TestStore,
    language: Language,
    messages: &[(i64, &str, &str)],
) -> String {
    let options = HarnessOptions { language, ..HarnessOptions::default() };
    let harness = Harness::new(store).await.with_options(options);
    for (seconds, user, text) in messages {
        harness.pass(*seconds).await;
        harness.says(user, text).await;
    }
    harness.pass(1000).await;
    harness.mind.prompt_texts(PromptVerb::Judge).pop().unwrap()
}

#[tokio::test]
async fn a_question_has_a_readable_age_until_it_is_history() {
    for (language, questions, told) in [
        (
            Language::En,
            ["where is the key for the shed?", "does anyone have a spade?"],
            "“2027-01-15 08:00:00 ann”, 2 days ago (lines since: 1)",
        ),
        (
            Language::Ja,
            ["物置の鍵はどこですか？", "スコップを持っている人いませんか"],
            "「2027-01-15 08:00:00 ann」（約2日前、その後の発言は1件）",
        ),
    ] {
        let two_and_a_half_days = 216_000;
        let seven_years = 7 * 365 * 86_400;
        for (seconds, is_told) in [(two_and_a_half_days, true), (seven_years, false)] {
            on_every_store(async |store| {
                let messages = [(0, "ann", questions[0]), (seconds, "bob", questions[1])];
                let prompt = judge_prompt(store, language, &messages).await;
                assert!(prompt.contains("**2027-01-15 08:00:00** ann:"), "{prompt}");
                assert_eq!(prompt.contains(told), is_told, "{prompt}");
            })
            .await;
        }
    }
}

#[tokio::test]
async fn of_more_than_five_open_questions_the_oldest_are_counted() {
    for (language, questions, newest, older) in [
        (
            Language::En,
            [
                "where is the key for the shed?",
                "does anyone have a spade?",
                "when does the shop open?",
                "who took the ladder?",
                "is the water turned off?",
                "how old is the oak?",
                "what does the sign say?",
            ],
            "probably still open: “2027-01-15 08:01:00 carol”",
            "- Older ones that are probably open, too: 2.",
        ),
        (
            Language::Ja,
            [
                "物置の鍵はどこですか？",
                "誰かスコップを持っていませんか？",
                "お店は何時に開きますか？",
                "誰かこのバラの名前を知りませんか？",
                "どなたか明日の水やりをお願いできますか？",
                "誰か樫の木の樹齢を知りませんか？",
                "ゴミの日はいつですか？",
            ],
            "おそらくまだ誰も応じていないもの: 「2027-01-15 08:01:00 carol」",
            "- ほかに、もっと古く、おそらくまだ誰も応じていないもの: 2件。",
        ),
    ] {
        on_every_store(async |store| {
            let users = ["ann", "bob", "carol", "dan", "eve", "fay", "gus"];
            let asked = users.into_iter().zip(questions);
            let messages: Vec<_> = asked.map(|(user, question)| (20, user, question)).collect();
            let prompt = judge_prompt(store, language, &messages).await;
            assert!(prompt.contains(newest) && prompt.contains(older), "{prompt}");
        })
        .await;
    }
}

#[tokio::test]
async fn the_clock_has_a_weekday() {
    for (language, question, told) in [
        (Language::En, "does the shop open on Thursday?", "\nToday is Friday. "),
        (Language::Ja, "木曜日にお店は開いていますか？", "\n今日は金曜日です。"),
    ] {
        on_every_store(async |store| {
            let prompt = judge_prompt(store, language, &[(0, "ann", question)]).await;
            assert!(prompt.contains(told), "{prompt}");
        })
        .await;
    }
}
