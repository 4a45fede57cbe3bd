//! Standing orders in Slack: an admin gives, lists, changes and drops them; they are in the prompts of the place where
//! they were given and nowhere else; a member is refused. In both languages.

use aizuchi_fakes::slack::ts::Ts;
use aizuchi_fakes::slack::user::NewUser;

use crate::program::Program;
use crate::slack::harness::{SlackHarness, SlackOptions};

/// The messages of the story, and their answers.
struct Words {
    give: (&'static str, &'static str),
    text: &'static str,
    in_thread: (&'static str, &'static str),
    thread_text: &'static str,
    rude: &'static str,
    refused: &'static str,
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
    rude: "in this channel: be rude",
    refused: "Only an admin can do that.",
    list: "orders",
    listed: ["1, for this channel: “never about salaries” (Olga)", "drop order 1` revokes one"],
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
    rude: "このチャンネルでは：失礼に答えて",
    refused: "このコマンドを使えるのは管理者だけです。",
    list: "指示一覧",
    listed: ["「給料の話はしない」（Olga）", "指示1を取り消して` で取り消し"],
    change: ("指示1：韻を踏んで答えて", "「韻を踏んで答えて」"),
    changed_text: "韻を踏んで答えて",
    drop: ("指示1を取り消して", "指示1は、いまここにはありません。"),
};

struct Story {
    harness: SlackHarness,
    program: Program,
    admin: String,
    /// The number of posts so far.
    posts: usize,
}

impl Story {
    async fn new(more: &'static str, wait: f64) -> Self {
        let harness =
            SlackHarness::with(SlackOptions { wait, more, ..SlackOptions::default() }).await;
        let olga = NewUser { name: "Olga".to_owned(), is_admin: true, ..NewUser::default() };
        let admin = harness.slack.add_user_with(olga);
        for channel in [&harness.tea, &harness.attic] {
            harness.slack.join_channel(channel, &admin).unwrap();
        }
        let program = harness.start().await;
        Self { harness, program, admin, posts: 0 }
    }

    fn says(&self, thread: Option<Ts>, user: &str, text: &str) {
        let SlackHarness { tea, .. } = &self.harness;
        match thread {
            Some(thread) => {
                let text = format!("<@{}> {text}", self.harness.bot);
                self.harness.post_in_thread(tea, thread, user, &text);
            }
            None => {
                self.harness.post_mention(tea, user, text);
            }
        }
    }

    /// Returns the public answer to an order of the admin, and its thread.
    async fn orders(&mut self, thread: Option<Ts>, text: &str) -> String {
        self.says(thread, &self.admin, text);
        self.posts += 1;
        let post = self.harness.wait_for_posts(self.posts).await.pop().unwrap();
        assert_eq!((&post.channel, post.thread), (&self.harness.tea, thread));
        post.text
    }

    /// Returns the prompt for the answer to a member's question in a channel.
    async fn prompt(&mut self, channel: &str, thread: Option<Ts>) -> String {
        self.harness.will_say(&["So it is."]);
        let (mio, question) = (self.harness.mio.clone(), "what do you know of the shed?");
        match thread {
            Some(_) => self.says(thread, &mio, question),
            None => {
                self.harness.post_mention(channel, &mio, question);
            }
        }
        self.posts += 1;
        let post = self.harness.wait_for_posts(self.posts).await.pop().unwrap();
        assert_eq!((post.channel.as_str(), post.text.as_str()), (channel, "So it is."));
        self.harness.prompt()
    }

    /// Returns the answer that only one user sees.
    async fn told(&self, count: usize) -> String {
        self.harness.wait_until(|slack| slack.calls("chat.postEphemeral").len() >= count).await;
        let calls = self.harness.slack.calls("chat.postEphemeral");
        calls[count - 1].arguments["text"].as_str().unwrap().to_owned()
    }
}

async fn orders_hold_where_they_were_given(more: &'static str, words: Words) {
    let mut story = Story::new(more, 1000.0).await;
    let (tea, attic) = (story.harness.tea.clone(), story.harness.attic.clone());
    let (mio, olga) = (story.harness.mio.clone(), story.admin.clone());

    let given = story.orders(None, words.give.0).await;
    assert!(given.contains(words.give.1), "{given}");
    assert!(story.prompt(&tea, None).await.contains(words.text));
    let elsewhere = story.prompt(&attic, None).await;
    assert!(!elsewhere.contains(words.text), "{elsewhere}");

    let thread = Some(story.harness.post_message(&tea, &mio, "the roses"));
    let given = story.orders(thread, words.in_thread.0).await;
    assert!(given.contains(words.in_thread.1), "{given}");
    let inside = story.prompt(&tea, thread).await;
    assert!(inside.contains(words.text) && inside.contains(words.thread_text), "{inside}");
    let beside = story.prompt(&tea, None).await;
    assert!(beside.contains(words.text) && !beside.contains(words.thread_text), "{beside}");

    story.says(None, &mio, words.rude);
    assert_eq!(story.told(1).await, words.refused);
    story.says(None, &olga, words.list);
    let listed = story.told(2).await;
    for expected in words.listed {
        assert!(listed.contains(expected), "{expected}: {listed}");
    }
    assert!(!listed.contains(words.thread_text), "{listed}");

    let changed = story.orders(None, words.change.0).await;
    assert!(changed.contains(words.change.1), "{changed}");
    let prompt = story.prompt(&tea, None).await;
    assert!(prompt.contains(words.changed_text) && !prompt.contains(words.text), "{prompt}");
    let dropped = story.orders(None, words.drop.0).await;
    assert!(dropped.contains(words.drop.1), "{dropped}");
    let prompt = story.prompt(&tea, None).await;
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
    let given = story.orders(None, ENGLISH.give.0).await;
    assert!(given.contains(ENGLISH.give.1), "{given}");
    let verdict = r#"{"should_respond": false, "reason": "it is about salaries", "confidence": 0.9, "delay_seconds": null, "order": 1}"#;
    story.harness.will_say(&[verdict]);
    let SlackHarness { tea, mio, .. } = &story.harness;
    story.harness.post_message(tea, mio, "does anybody know what Ren earns?");
    let kept = "SELECT count(*) FROM decisions WHERE ended = 'chose_silence' AND json_extract(judgment, '$.order') = 1";
    story.harness.until_kept(kept, 1).await;
    assert_eq!(story.program.stop(), Some(0));
}

/// Slack escapes the text of a slash command.
#[tokio::test]
async fn an_order_by_slash_command_is_kept_as_it_was_typed() {
    let Story { harness, program, admin, .. } = Story::new("", 1000.0).await;
    let text = format!(
        "in this channel: say &lt;5 words &amp; greet who comes from <#{}|tea>",
        harness.tea
    );
    harness.slack.run_command(&harness.tea, &admin, "/aizuchi", &text).unwrap();
    let kept = "SELECT count(*) FROM standing_orders WHERE text = 'say <5 words & greet who comes from #tea'";
    harness.until_kept(kept, 1).await;
    assert_eq!(program.stop(), Some(0));
}
