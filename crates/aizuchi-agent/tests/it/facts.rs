//! What the judge is told about who is waiting and since when: on every store, in both languages.

use std::sync::Arc;

use aizuchi_harness::fixtures::top_level;
use aizuchi_harness::harness::{Harness, HarnessOptions, prompts};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::prompt::builder::PromptOptions;
use aizuchi_model::persona::Language;

use crate::prompts::{persona, said, scene, talk};

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
async fn of_more_than_six_questions_the_newest_are_listed() {
    for (language, question, to_all, listed, left_out) in [
        (
            Language::En,
            "dan: where is the key for the shed?",
            "does anyone have a spade?",
            "- Put to “dan”: “2027-01-15 08:00:40 bob”",
            "2027-01-15 08:00:20 ann”",
        ),
        (
            Language::Ja,
            "dan、物置の鍵はどこですか？",
            "誰かスコップを持っていませんか？",
            "- 「dan」に尋ねたこと: 「2027-01-15 08:00:40 bob」",
            "2027-01-15 08:00:20 ann」",
        ),
    ] {
        on_every_store(async |store| {
            let users = ["dan", "ann", "bob", "carol", "eve", "fay", "gus"];
            let mut messages: Vec<_> = users.map(|user| (20, user, question)).into();
            messages[0] = (0, "dan", "so be it");
            messages.push((20, "hal", to_all));
            let prompt = judge_prompt(store, language, &messages).await;
            assert!(prompt.contains(listed) && !prompt.contains(left_out), "{prompt}");
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

#[test]
fn the_silence_is_told_in_seconds() {
    for (language, told) in [
        (Language::En, "\nNobody has written in the conversation to be judged for 90 s.\n"),
        (Language::Ja, "\n判定対象の最後の発言から90秒たっています。\n"),
    ] {
        let context = Arc::new(talk(None, vec![said(0, "ann", "who has the key?", None)]));
        let options = PromptOptions::new("2024-03-01T10:01:30Z".parse().unwrap());
        let prompt = prompts(language).judge(&persona(language), &context, &options);
        assert!(prompt.text.contains(told), "{}", prompt.text);
    }
}

/// Whoever answered is not named: it may have been somebody else. What is uncertain is not said at all.
#[test]
fn only_what_is_probably_right_is_said() {
    let facts = |messages: &[(&str, &str)]| {
        let messages = messages.iter().enumerate();
        let messages = messages.map(|(minute, (user, text))| said(minute as i64, user, text, None));
        let context = Arc::new(talk(None, messages.collect()));
        let prompt = prompts(Language::En).judge(&persona(Language::En), &context, &scene());
        let (_, facts) = prompt.text.split_once("\n---\n").unwrap();
        let facts = facts.lines().filter_map(|line| line.strip_prefix("- "));
        facts.map(|fact| fact.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let crowd = [("dan", "so be it"), ("eve", "the build is green"), ("fay", "nice")];
    let after_crowd = |messages: &[(&str, &str)]| facts(&[&crowd[..], messages].concat());
    assert_eq!(
        after_crowd(&[("ann", "does anyone know when the shop opens?")]),
        ["Put to the room and probably still open"]
    );
    assert_eq!(
        after_crowd(&[("ann", "where is the key?"), ("dan", "on the shelf"), ("ann", "thanks!")]),
        ["Probably answered or taken up by somebody"]
    );
    assert_eq!(after_crowd(&[("ann", "dan: where is the key?")]), ["Put to “dan”"]);
    // Nothing is said of those: they may be rhetorical, or meant for another user.
    assert!(after_crowd(&[("ann", "why do I do this to myself? I am hopeless")]).is_empty());
    assert!(after_crowd(&[("ann", "you want it in blue?")]).is_empty());
    assert!(after_crowd(&[("ann", "so that is it")]).is_empty());
    // Its own posts may have answered it, or be what it follows up on.
    let shop = ("ann", "does anyone know when the shop opens?");
    let own = ("(persona)", "The shop is closed on Sundays.");
    assert!(after_crowd(&[shop, own]).is_empty());
    assert!(after_crowd(&[own, shop]).is_empty());
}

#[tokio::test]
async fn old_lines_that_come_to_mind_share_the_subject() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok("The green shed has a hatch, too."));
        harness.says("alice", "@Aizuchi is the green shed the one with the hatch?").await;
        harness.pass(10).await;
        harness.says("bob", "the green tea is out").await;
        harness.says("carol", "the shed has its hatch behind the roses").await;
        harness.pass(300).await;
        let kitchen = top_level("kitchen");
        harness.says_in(kitchen, "dan", "@Aizuchi where has the green shed its hatch?").await;
        harness.pass(10).await;
        let asked = harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap();
        assert!(asked.contains("behind the roses"), "{asked}");
        assert!(!asked.contains("has a hatch, too"), "its own post: {asked}");
        assert!(!asked.contains("the green tea"), "only a common word: {asked}");
    })
    .await;
}
