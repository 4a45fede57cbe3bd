//! Conversations of the built-in mind with ordinary users: fifty exchanges in each language, on the default
//! settings, as transcripts. The files in `builtin_conversations/` contain the users' messages; a line `+3600` lets an hour pass.

use std::fmt::Write as _;
use std::sync::Arc;

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::effort::cases;
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_database, on_every_store};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_model::chat::AuthorKind;
use aizuchi_model::decision::Decision;
use aizuchi_model::persona::Language;
use insta::assert_snapshot;

/// The seconds between messages.
const PAUSE: i64 = 20;
/// Long enough for a question to be considered unanswered.
const REST: i64 = 900;

fn options(language: Language) -> HarnessOptions {
    HarnessOptions {
        llm: Some(Arc::new(BuiltinMind)),
        tools: Some(ToolSettings::new(jiff::tz::TimeZone::UTC)),
        language,
        ..HarnessOptions::default()
    }
}

/// The transcripts of all exchanges, one after the other.
async fn transcripts(script: &str, language: Language) -> String {
    let mut text = String::new();
    for exchange in script.split("\n\n").filter(|exchange| !exchange.trim().is_empty()) {
        let (title, messages) = exchange.trim().split_once('\n').expect("an exchange has a title");
        let harness = Harness::new(TestStore::sqlite().await).await.with_options(options(language));
        // As on the platforms, where posts are hardly ever split.
        harness.platform.set_longest_post(2000);
        play(&harness, messages).await;
        let _ = writeln!(text, "{title}\n{}", shown(&harness).await);
    }
    text
}

/// The transcripts with the outcome of each message in the ledger. A new store for each exchange takes long, so an
/// ordinary run plays only every fifth one on every store.
async fn accounts(script: &str, language: Language) -> String {
    let mut text = String::new();
    let exchanges = script.split("\n\n").filter(|exchange| !exchange.trim().is_empty());
    for (number, exchange) in exchanges.enumerate() {
        let (title, messages) = exchange.trim().split_once('\n').expect("an exchange has a title");
        let account = match number.is_multiple_of(cases(5, 1)) {
            true => on_every_store(async |store| account(store, messages, language).await).await,
            false => account(TestStore::sqlite().await, messages, language).await,
        };
        let _ = writeln!(text, "{title}\n{account}");
    }
    text
}

async fn account(store: TestStore, messages: &str, language: Language) -> String {
    // The volatile store does not keep memos.
    let tools = options(language).tools.filter(|_| store.database.is_some());
    let options = HarnessOptions { tools, ..options(language) };
    let harness = Harness::new(store).await.with_options(options);
    harness.platform.set_longest_post(2000);
    play(&harness, messages).await;
    format!("{}{}", shown(&harness).await, reasons(&harness).await)
}

async fn play(harness: &Harness, messages: &str) {
    for line in messages.lines() {
        if let Some(seconds) = line.strip_prefix('+') {
            harness.pass(seconds.parse().expect("a number of seconds")).await;
            continue;
        }
        let (name, said) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
        harness.says(name, said).await;
        harness.pass(PAUSE).await;
    }
    harness.pass(REST).await;
}

/// What users saw, including reactions.
async fn shown(harness: &Harness) -> String {
    let mut text = String::new();
    for stored in harness.messages("garden").await {
        let is_own = stored.message.author.kind == AuthorKind::Persona;
        let name = if is_own { "Aizuchi" } else { &*stored.author_name };
        let said = stored.message.text.replace('\n', "\n    ");
        let reactions: Vec<&str> =
            stored.reactions.iter().map(|reaction| &*reaction.emoji).collect();
        let reactions = match reactions.is_empty() {
            true => String::new(),
            false => format!("   [{}]", reactions.join(" ")),
        };
        let indent = if is_own { "  → " } else { "" };
        let _ = writeln!(text, "{indent}{name}: {said}{reactions}");
    }
    text
}

#[tokio::test]
async fn fifty_exchanges_in_english() {
    assert_snapshot!(transcripts(include_str!("builtin_conversations/en.txt"), Language::En).await);
}

#[tokio::test]
async fn fifty_exchanges_in_japanese() {
    assert_snapshot!(transcripts(include_str!("builtin_conversations/ja.txt"), Language::Ja).await);
}

/// What users tried in their first minutes.
#[tokio::test]
async fn what_newcomers_try_in_english() {
    assert_snapshot!(
        accounts(include_str!("builtin_conversations/newcomers_en.txt"), Language::En).await
    );
}

#[tokio::test]
async fn what_newcomers_try_in_japanese() {
    assert_snapshot!(
        accounts(include_str!("builtin_conversations/newcomers_ja.txt"), Language::Ja).await
    );
}

/// More of what a curious newcomer types in the first ten minutes.
#[tokio::test]
async fn the_first_minutes_in_english() {
    assert_snapshot!(
        transcripts(include_str!("builtin_conversations/first_minutes_en.txt"), Language::En).await
    );
}

#[tokio::test]
async fn the_first_minutes_in_japanese() {
    assert_snapshot!(
        transcripts(include_str!("builtin_conversations/first_minutes_ja.txt"), Language::Ja).await
    );
}

/// What two more newcomers typed.
#[tokio::test]
async fn what_newcomers_try_later_in_english() {
    assert_snapshot!(
        transcripts(include_str!("builtin_conversations/later_en.txt"), Language::En).await
    );
}

#[tokio::test]
async fn what_newcomers_try_later_in_japanese() {
    assert_snapshot!(
        transcripts(include_str!("builtin_conversations/later_ja.txt"), Language::Ja).await
    );
}

/// A kept text is found even after it has long left the newest messages. The volatile store has no memos.
#[tokio::test]
async fn what_it_was_asked_to_keep_is_found_much_later() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(options(Language::En));
        harness.says("Ken", "@Aizuchi remember that the deploy is on Friday").await;
        harness.pass(REST).await;
        for number in 0..80 {
            harness.says("Mia", &format!("step {number} of the harvest is finished")).await;
            harness.pass(PAUSE).await;
        }
        let harness = harness.restart().await;
        harness.pass(86_400).await;
        harness.says("Mia", "@Aizuchi when is the deploy?").await;
        harness.pass(REST).await;
        let text = shown(&harness).await;
        text.lines().last().unwrap_or_default().to_owned()
    })
    .await;
}

/// Messages of others stay when a user is forgotten, even if the persona only reacted to them.
#[tokio::test]
async fn what_it_nodded_at_is_not_forgotten_with_somebody_else() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await.with_options(options(Language::En));
        for (name, text) in [
            ("Bob", "@Aizuchi hello"),
            ("Ann", "@Aizuchi haha"),
            ("Ann", "thanks Aizuchi!"),
            ("Bob", "@Aizuchi forget me, yes"),
        ] {
            harness.says(name, text).await;
            harness.pass(PAUSE).await;
        }
        harness.pass(REST).await;
        let text = shown(&harness).await;
        assert!(text.contains("Ann: @Aizuchi haha   [😄]"), "{text}");
        assert!(text.contains("Ann: thanks Aizuchi!   ["), "{text}");
        assert!(!text.contains("hello"), "{text}");
        text
    })
    .await;
}

/// The reaction does not wait for the channel to rest, and its reason names what happened.
#[tokio::test]
async fn thanks_by_name_get_a_nod_at_once() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options(Language::En));
        harness.says("Mia", "The spare key hangs behind the bar.").await;
        harness.pass(PAUSE).await;
        harness.says("Ken", "@Aizuchi where is the spare key?").await;
        harness.pass(5).await;
        harness.says("Ken", "thanks Aizuchi").await;
        harness.pass(5).await;
        harness.says("Ken", "@Aizuchi good night").await;
        harness.pass(5).await;
        format!("{}{}", shown(&harness).await, reasons(&harness).await)
    });
    assert_snapshot!(transcript.await, @r#"
    Mia: The spare key hangs behind the bar.
    Ken: @Aizuchi where is the spare key?
      → Aizuchi: Mia said at 08:00: “The spare key hangs behind the bar.”
    Ken: thanks Aizuchi   [👍]
    Ken: @Aizuchi good night   [👍]
    Some(Spoke): Some("Ken asked me")
    Some(Reacted): Some("Ken spoke to me")
    Some(Reacted): Some("Ken mentioned me")
    None: None
    "#);
}

/// The bot may lack the permission to react.
#[tokio::test]
async fn a_nod_that_the_platform_refuses_becomes_a_message() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await.with_options(options(Language::En));
        harness.platform.fails(&[Fault::Refused]);
        harness.says("Ken", "@Aizuchi thanks a lot!").await;
        harness.pass(5).await;
        assert!(harness.store.archive.dead_letters(&Default::default()).await.unwrap().is_empty());
        format!("{}{}", shown(&harness).await, reasons(&harness).await)
    });
    assert_snapshot!(transcript.await, @r#"
    Ken: @Aizuchi thanks a lot!
      → Aizuchi: 👍
    Some(Spoke): Some("Ken mentioned me")
    "#);
}

async fn reasons(harness: &Harness) -> String {
    let decisions = harness.decisions("garden").await.into_iter();
    let reason = |decision: Decision| format!("{:?}: {:?}\n", decision.ended, decision.why);
    decisions.map(reason).collect()
}
