//! Unsolicited quotes of the built-in rules: no quote twice a day in a channel, and no answer to an old question. On
//! every store, also after a restart.

use std::sync::Arc;

use aizuchi_agent::inbox::WaitSettings;
use aizuchi_harness::fixtures::top_level;
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_model::persona::Language;
use aizuchi_model::rhythm::WaitStrategy;
use jiff::SignedDuration;

/// Long enough for a question to be considered unanswered.
const REST: i64 = 900;
const HOUR: i64 = 3600;

/// A known fact, and the question that it answers.
const ENGLISH: (&str, &str) =
    ("The attic window opens with the long hook.", "Does anyone know how the attic window opens?");
const JAPANESE: (&str, &str) =
    ("屋根裏の窓は長い棒で開きます。", "屋根裏の窓はどうやって開けるか、誰か知っていますか？");

fn options(language: Language) -> HarnessOptions {
    HarnessOptions { llm: Some(Arc::new(BuiltinMind)), language, ..HarnessOptions::default() }
}

/// Whether any decision so far was silent for this reason.
async fn has_reason(harness: &Harness, reason: &str) -> bool {
    let decisions = harness.decisions("garden").await;
    decisions.iter().any(|decision| decision.why.as_deref() == Some(reason))
}

#[tokio::test]
async fn a_quote_notifies_nobody() {
    for (language, (known, question), name) in
        [(Language::En, ENGLISH, "@Rico "), (Language::Ja, JAPANESE, "@花子さん、")]
    {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options(language));
            harness.says("Tom", &format!("{name}{known}")).await;
            harness.pass(REST).await;
            harness.says("Mia", question).await;
            harness.pass(REST).await;
            let posted = harness.platform.posted_texts();
            assert_eq!(posted.len(), 1, "{question}");
            assert!(posted[0].contains(name.trim_start_matches('@').trim_end()), "{posted:?}");
            assert!(!posted[0].contains('@'), "{posted:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn the_same_is_not_quoted_twice_a_day() {
    for (language, (known, question), reason) in [
        (
            Language::En,
            ENGLISH,
            "I’d already quoted what might have helped here within the last day",
        ),
        (Language::Ja, JAPANESE, "参考になりそうな発言は、24 時間以内にここで引用したばかりでした"),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await.with_options(options(language));
            harness.says("Tom", known).await;
            harness.pass(REST).await;
            harness.says("Mia", question).await;
            harness.pass(REST).await;
            assert_eq!(harness.platform.posted_texts().len(), 1, "{question}");
            assert!(!has_reason(&harness, reason).await);
            // Posts are stored: a restart forgets none of them.
            let harness = harness.restart().await;
            harness.pass(HOUR).await;
            harness.says("Ken", question).await;
            harness.pass(REST).await;
            assert_eq!(harness.platform.posted_texts().len(), 1, "{question}");
            assert!(has_reason(&harness, reason).await, "{question}");
            // A user who asks the persona directly is told.
            harness.says("Ken", &format!("@Aizuchi {question}")).await;
            harness.pass(REST).await;
            assert_eq!(harness.platform.posted_texts().len(), 2, "{question}");
            // A day later, so is a user who asks the others.
            harness.pass(24 * HOUR).await;
            harness.says("Ida", question).await;
            harness.pass(REST).await;
            let posted = harness.platform.posted_texts();
            // The platform splits texts that are longer than its limit.
            assert!(posted.len() > 2, "{posted:#?}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_question_is_helped_with_once_though_something_stands_between() {
    on_every_store(async |store| {
        let (known, question) = ENGLISH;
        let harness = Harness::new(store).await.with_options(options(Language::En));
        harness.says("Tom", known).await;
        harness.pass(REST).await;
        harness.says("Mia", question).await;
        harness.pass(40).await;
        harness.says("Mia", "it is hot up there").await;
        harness.pass(360).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
        harness.says("Mia", "still nobody?").await;
        harness.pass(400).await;
        harness.says("Ken", "good morning").await;
        harness.pass(REST).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
    })
    .await;
}

/// A client may split a text into two messages within one second.
#[tokio::test]
async fn a_link_that_comes_with_a_question_is_not_taken_for_it() {
    on_every_store(async |store| {
        let (known, question) = ENGLISH;
        let harness = Harness::new(store).await.with_options(options(Language::En));
        harness.says("Tom", known).await;
        harness.pass(REST).await;
        harness.says("Mia", question).await;
        harness.says("Mia", "https://a.example/attic/window").await;
        harness.pass(REST).await;
        let posted = harness.platform.posted_texts();
        let [post] = &posted[..] else { panic!("{posted:?}") };
        assert!(post.contains("long hook"), "{post}");
    })
    .await;
}

/// Questions in another channel are unrelated.
#[tokio::test]
async fn another_channel_is_told_the_same() {
    on_every_store(async |store| {
        let (known, question) = ENGLISH;
        let harness = Harness::new(store).await.with_options(options(Language::En));
        for channel in ["garden", "kitchen"] {
            harness.says_in(top_level(channel), "Tom", known).await;
            harness.pass(REST).await;
            harness.says_in(top_level(channel), "Mia", question).await;
            harness.pass(REST).await;
        }
        assert_eq!(harness.platform.posted_texts().len(), 2);
    })
    .await;
}

/// The process is down for a while, right after a question.
#[tokio::test]
async fn a_question_of_long_ago_is_left_alone() {
    for (language, (known, question), reason) in [
        (Language::En, ENGLISH, "the question was asked too long ago"),
        (Language::Ja, JAPANESE, "質問から時間が経ちすぎていました"),
    ] {
        for (minutes, posts) in [(20, 1), (180, 0)] {
            on_every_store(async |store| {
                let harness = Harness::new(store).await.with_options(options(language));
                harness.says("Tom", known).await;
                harness.pass(REST).await;
                harness.says("Mia", question).await;
                let back = harness.clock.now() + SignedDuration::from_mins(minutes);
                harness.clock.advance_to(back);
                let harness = harness.restart().await;
                harness.pass(REST).await;
                assert_eq!(harness.platform.posted_texts().len(), posts, "{minutes} {question}");
                assert_eq!(has_reason(&harness, reason).await, posts == 0, "{minutes} {question}");
            })
            .await;
        }
    }
}

/// A wait of two hours does not make every question too old.
#[tokio::test]
async fn a_long_wait_makes_no_question_old() {
    on_every_store(async |store| {
        let (known, question) = ENGLISH;
        let wait_settings = WaitSettings {
            wait: WaitStrategy::Fixed,
            min_wait_seconds: 7200.0,
            max_wait_seconds: 7200.0,
            ..WaitSettings::default()
        };
        let options = HarnessOptions { wait_settings, ..options(Language::En) };
        let harness = Harness::new(store).await.with_options(options);
        harness.says("Tom", known).await;
        harness.pass(4 * HOUR).await;
        harness.says("Mia", question).await;
        harness.pass(4 * HOUR).await;
        assert_eq!(harness.platform.posted_texts().len(), 1);
    })
    .await;
}
