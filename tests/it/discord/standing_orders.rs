//! Standing orders on Discord: an admin gives, lists, changes and drops them; they are in the prompts of the place
//! where they were given and nowhere else; a member is refused. In both languages.

use aizuchi_fakes::discord::id::{ChannelId, UserId};

use crate::discord::harness::{DiscordHarness, Setting};
use crate::program::Program;

/// The messages of the story, and their answers.
struct Words {
    give: (&'static str, &'static str),
    text: &'static str,
    in_thread: (&'static str, &'static str),
    thread_text: &'static str,
    rude: (&'static str, &'static str),
    list: &'static str,
    listed: [&'static str; 2],
    change: (&'static str, &'static str),
    changed_text: &'static str,
    drop: (&'static str, &'static str),
}

const ENGLISH: Words = Words {
    give: (
        "in this channel: never about salaries",
        "Noted as order 1, for this channel: “never about salaries”.",
    ),
    text: "never about salaries",
    in_thread: ("in this thread: be brief", "Noted as order 2, for this thread: “be brief”."),
    thread_text: "be brief",
    rude: ("in this channel: be rude", "Only an admin can do that."),
    list: "orders",
    listed: ["1, for this channel: “never about salaries” (Mio)", "drop order 1` revokes one"],
    change: (
        "order 1: answer in rhymes",
        "Noted as order 1, for this channel: “answer in rhymes”.",
    ),
    changed_text: "answer in rhymes",
    drop: ("drop order 1", "Order 1 doesn’t hold here."),
};

const JAPANESE: Words = Words {
    give: ("このチャンネルでは：給料の話はしない", "「給料の話はしない」"),
    text: "給料の話はしない",
    in_thread: ("このスレッドでは：短く答えて", "「短く答えて」"),
    thread_text: "短く答えて",
    rude: ("このチャンネルでは：失礼に答えて", "このコマンドを使えるのは管理者だけです。"),
    list: "指示一覧",
    listed: ["「給料の話はしない」（Mio）", "指示1を取り消して` で取り消し"],
    change: ("指示1：韻を踏んで答えて", "「韻を踏んで答えて」"),
    changed_text: "韻を踏んで答えて",
    drop: ("指示1を取り消して", "指示1は、いまここにはありません。"),
};

struct Story {
    harness: DiscordHarness,
    program: Program,
    /// The number of posts so far.
    posts: usize,
}

impl Story {
    async fn new(more: &'static str, wait: f64) -> Self {
        let harness = DiscordHarness::with(Setting { wait, more, ..Setting::default() }).await;
        let program = harness.start().await;
        Self { harness, program, posts: 0 }
    }

    /// Returns the persona's answer to a message that mentions it.
    async fn answer(&mut self, place: ChannelId, user: UserId, text: &str) -> String {
        self.harness.asks(place, user, text);
        self.posts += 1;
        let post = self.harness.posts(self.posts).await.pop().unwrap();
        assert_eq!(post.channel, place);
        post.text
    }

    /// Returns the prompt for the answer to a member's question.
    async fn prompt(&mut self, place: ChannelId) -> String {
        self.harness.will_say(&["So it is."]);
        let ren = self.harness.ren;
        let answer = self.answer(place, ren, "what do you know of the shed?").await;
        assert_eq!(answer, "So it is.");
        self.harness.prompt()
    }
}

async fn orders_hold_where_they_were_given(more: &'static str, words: Words) {
    let mut story = Story::new(more, 1000.0).await;
    let (tea, attic) = (story.harness.tea, story.harness.attic);
    // The owner of the server.
    let (mio, ren) = (story.harness.mio, story.harness.ren);

    let given = story.answer(tea, mio, words.give.0).await;
    assert!(given.contains(words.give.1), "{given}");
    assert!(story.prompt(tea).await.contains(words.text));
    let elsewhere = story.prompt(attic).await;
    assert!(!elsewhere.contains(words.text), "{elsewhere}");

    let parent = story.harness.says(tea, ren, "the roses");
    let thread = story.harness.opens_thread(tea, parent);
    let given = story.answer(thread, mio, words.in_thread.0).await;
    assert!(given.contains(words.in_thread.1), "{given}");
    let inside = story.prompt(thread).await;
    assert!(inside.contains(words.text) && inside.contains(words.thread_text), "{inside}");
    let beside = story.prompt(tea).await;
    assert!(beside.contains(words.text) && !beside.contains(words.thread_text), "{beside}");

    assert_eq!(story.answer(tea, ren, words.rude.0).await, words.rude.1);
    let listed = story.answer(tea, ren, words.list).await;
    for expected in words.listed {
        assert!(listed.contains(expected), "{expected}: {listed}");
    }
    assert!(!listed.contains(words.thread_text), "{listed}");

    let changed = story.answer(tea, mio, words.change.0).await;
    assert!(changed.contains(words.change.1), "{changed}");
    let prompt = story.prompt(tea).await;
    assert!(prompt.contains(words.changed_text) && !prompt.contains(words.text), "{prompt}");
    let dropped = story.answer(tea, mio, words.drop.0).await;
    assert!(dropped.contains(words.drop.1), "{dropped}");
    let prompt = story.prompt(tea).await;
    assert!(!prompt.contains(words.changed_text), "{prompt}");
    assert_eq!(story.program.stop(), Some(0));
}

#[tokio::test]
async fn orders_hold_where_they_were_given_in_english() {
    orders_hold_where_they_were_given("", ENGLISH).await;
}

#[tokio::test]
async fn orders_hold_where_they_were_given_in_japanese() {
    orders_hold_where_they_were_given("language: ja\n", JAPANESE).await;
}

#[tokio::test]
async fn the_ledger_names_the_order_that_a_verdict_rests_on() {
    let mut story = Story::new("", 0.2).await;
    let (tea, mio, ren) = (story.harness.tea, story.harness.mio, story.harness.ren);
    let given = story.answer(tea, mio, ENGLISH.give.0).await;
    assert!(given.contains(ENGLISH.give.1), "{given}");
    let verdict = r#"{"should_respond": false, "reason": "it is about salaries", "confidence": 0.9, "delay_seconds": null, "order": 1}"#;
    story.harness.will_say(&[verdict]);
    story.harness.says(tea, ren, "does anybody know what Mio earns?");
    let kept = "SELECT count(*) FROM decisions WHERE ended = 'chose_silence' AND json_extract(judgment, '$.order') = 1";
    story.harness.until_kept(kept, 1).await;
    assert_eq!(story.program.stop(), Some(0));
}
