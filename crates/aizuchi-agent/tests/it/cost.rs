//! What listening costs in facilitator mode, compared with kotonoha: model calls and input tokens before a reply, in
//! every branch of its pipeline. Its figures were measured on its own code, with 20 messages of 40 Japanese
//! characters each, as here, and count the judges' tokens only.

use std::fmt::Write as _;

use aizuchi_agent::inbox::WaitSettings;
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::decision::Usage;
use aizuchi_model::persona::Language;
use aizuchi_model::rhythm::WaitStrategy;
use aizuchi_model::rules::{ChannelRules, Mode};
use insta::assert_snapshot;
use jiff::SignedDuration;

/// Forty characters.
const TEXT: &str =
    "今年のバラは例年より早く咲いたので、剪定の時期をどうするか少し迷っているところです。";
const NEW_TALK: &str = r#", "same_conversation": false, "situation_changed": false"#;
const CHANGED: &str = r#", "same_conversation": true, "situation_changed": true"#;
const UNCHANGED: &str = r#", "same_conversation": true, "situation_changed": false"#;
const CONFLICT: &str = r#", "conversation_state": "conflict""#;
const ENDING: &str = r#", "conversation_state": "ending""#;

/// What happened before the messages to judge.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    /// The persona posted unasked this many minutes ago.
    Spoke(i64),
}

/// Who posts.
#[derive(Clone, Copy, PartialEq)]
enum Traffic {
    Bots,
    /// This many messages by users.
    Users(usize),
    /// This many messages by users, the last of which mentions the persona.
    Asks(usize),
}

struct Branch {
    name: &'static str,
    mode: Mode,
    before: Before,
    traffic: Traffic,
    /// The judge's verdict, and additional fields of its answer.
    verdict: (bool, &'static str),
    /// The answer to the state call, if it is a separate call.
    label: &'static str,
    /// Kotonoha's calls before a reply, and their input tokens.
    rival: (usize, u64),
}

/// Kotonoha's table, branch by branch.
fn branches() -> Vec<Branch> {
    use Before::{Nothing, Spoke};
    use Traffic::{Asks, Bots, Users};
    let branch = |name, before, traffic, verdict, label, rival| Branch {
        name,
        mode: Mode::Facilitator,
        before,
        traffic,
        verdict,
        label,
        rival,
    };
    let (yes, no) = (true, false);
    let off = branch("channel off", Nothing, Users(20), (no, ""), "ACTIVE", (0, 0));
    vec![
        branch("another bot", Nothing, Bots, (no, ""), "ACTIVE", (0, 0)),
        Branch { mode: Mode::Off, ..off },
        branch("fewer than 3 lines", Nothing, Users(2), (no, ""), "ACTIVE", (0, 0)),
        branch("ending", Nothing, Users(20), (yes, ENDING), "ENDING", (1, 2_543)),
        branch("new talk, no", Nothing, Users(20), (no, ""), "ACTIVE", (3, 9_028)),
        branch("conflict, no", Nothing, Users(20), (no, CONFLICT), "CONFLICT", (3, 9_028)),
        branch("new talk, yes", Nothing, Users(20), (yes, ""), "ACTIVE", (3, 9_028)),
        branch("within 10 minutes", Spoke(9), Users(5), (yes, ""), "ACTIVE", (1, 2_543)),
        branch("same, unchanged", Spoke(11), Users(5), (yes, UNCHANGED), "ACTIVE", (3, 5_587)),
        branch("same, changed, no", Spoke(11), Users(5), (no, CHANGED), "ACTIVE", (5, 12_272)),
        branch("same, changed, yes", Spoke(11), Users(5), (yes, CHANGED), "ACTIVE", (5, 12_272)),
        branch("different, no", Spoke(11), Users(5), (no, NEW_TALK), "ACTIVE", (4, 10_858)),
        branch("different, yes", Spoke(11), Users(5), (yes, NEW_TALK), "ACTIVE", (4, 10_858)),
        branch("an hour later, no", Spoke(61), Users(5), (no, CHANGED), "ACTIVE", (5, 12_272)),
        branch("mention", Nothing, Asks(1), (no, ""), "ACTIVE", (0, 0)),
        branch("mention after talk", Nothing, Asks(20), (no, ""), "ACTIVE", (3, 9_028)),
    ]
}

/// The cost of a branch before a reply, and the number of replies.
struct Cost {
    calls: usize,
    tokens: u64,
    replies: usize,
}

fn verdict(should_respond: bool, more: &str) -> String {
    format!(
        r#"{{"should_respond": {should_respond}, "reason": "判断", "confidence": 0.9, "delay_seconds": 0{more}}}"#
    )
}

async fn send(harness: &Harness, traffic: Traffic) {
    let (count, last) = match traffic {
        Traffic::Bots => {
            for _ in 0..20 {
                harness.says("buildbot", TEXT).await;
            }
            return;
        }
        Traffic::Users(count) => (count, TEXT.to_owned()),
        Traffic::Asks(count) => (count, format!("@Aizuchi {TEXT}")),
    };
    for number in 1..=count {
        let text = if number == count { &last } else { TEXT };
        harness.says(["花子", "太郎", "桜"][number % 3], text).await;
        harness.clock.advance_to(harness.clock.now() + SignedDuration::from_secs(1));
    }
}

async fn measure(branch: &Branch, separate: fn(HarnessOptions) -> HarnessOptions) -> Cost {
    let rules = ChannelRules { mode: branch.mode, ..ChannelRules::default() };
    let waiting = WaitSettings { wait: WaitStrategy::Fixed, ..WaitSettings::default() };
    let options = HarnessOptions {
        language: Language::Ja,
        wait_settings: waiting,
        ..HarnessOptions::from_rules(rules)
    };
    // Only on the volatile store: the model calls are the same on every store.
    let harness = Harness::new(TestStore::volatile()).await.with_options(separate(options));
    harness.mind.script.set_default(PromptVerb::State, branch.label);
    if let Before::Spoke(minutes) = branch.before {
        harness.mind.script.push(PromptVerb::State, Ok("ACTIVE"));
        harness.mind.script.push(PromptVerb::Judge, Ok(&verdict(true, "")));
        send(&harness, Traffic::Users(20)).await;
        harness.pass(10).await;
        let said = harness.platform.posted.lock().unwrap()[0].1.at;
        harness
            .clock
            .advance_to(said + SignedDuration::from_mins(minutes) - SignedDuration::from_secs(10));
        harness.mind.calls();
    }
    let (should_respond, more) = branch.verdict;
    harness.mind.script.set_default(PromptVerb::Judge, verdict(should_respond, more));
    send(&harness, branch.traffic).await;
    harness.pass(12).await;
    let calls = harness.mind.calls();
    let replies = calls.iter().filter(|prompt| prompt.verb == PromptVerb::Reply).count();
    let before = calls.iter().filter(|prompt| prompt.verb != PromptVerb::Reply);
    Cost { calls: calls.len() - replies, tokens: before.map(|prompt| prompt.tokens).sum(), replies }
}

#[tokio::test]
async fn listening_costs_at_most_one_call_where_kotonoha_makes_five() {
    let mut table = format!(
        "{:<20} {:>7} {:>8} {:>7} {:>8} {:>9} {:>8}  then\n",
        "", "rival", "tokens", "fused", "tokens", "separate", "tokens"
    );
    for branch in branches() {
        let fused = measure(&branch, |options| options).await;
        let separate = measure(&branch, HarnessOptions::with_separate_state).await;
        let name = branch.name;
        assert!(fused.calls <= 1, "{name}: {} calls", fused.calls);
        assert!(separate.calls <= 2, "{name}: {} calls", separate.calls);
        assert!(fused.calls <= branch.rival.0, "{name}: more calls than the rival");
        // One fused prompt is longer than one of kotonoha's, and shorter than two.
        let is_dearer = fused.tokens > branch.rival.1;
        assert!(!is_dearer || branch.rival.0 == 1, "{name}: {} tokens", fused.tokens);
        if branch.before == Before::Spoke(9) {
            assert_eq!((fused.calls, separate.calls), (0, 0), "{name}: inside the cooldown");
        }
        assert_eq!(fused.replies, separate.replies, "{name}");
        let (rival, tokens) = branch.rival;
        let then = if fused.replies == 0 { "" } else { "reply" };
        let line = format!(
            "{name:<20} {rival:>7} {tokens:>8} {:>7} {:>8} {:>9} {:>8}  {then}",
            fused.calls, fused.tokens, separate.calls, separate.tokens
        );
        let _ = writeln!(table, "{}", line.trim_end());
    }
    assert_snapshot!(table, @"
                           rival   tokens   fused   tokens  separate   tokens  then
    another bot                0        0       0        0         0        0
    channel off                0        0       0        0         0        0
    fewer than 3 lines         0        0       0        0         0        0
    ending                     1     2543       1     3487         1     1597
    new talk, no               3     9028       1     3487         2     4891
    conflict, no               3     9028       1     3487         2     4915
    new talk, yes              3     9028       1     3487         2     4891  reply
    within 10 minutes          1     2543       0        0         0        0
    same, unchanged            3     5587       1     3972         2     5340
    same, changed, no          5    12272       1     3972         2     5340
    same, changed, yes         5    12272       1     3972         2     5340  reply
    different, no              4    10858       1     3972         2     5340
    different, yes             4    10858       1     3972         2     5340  reply
    an hour later, no          5    12272       1     3972         2     5340
    mention                    0        0       0        0         0        0  reply
    mention after talk         3     9028       1     3454         2     4826  reply
    ");
}

#[tokio::test]
async fn few_calls_are_made_while_the_model_is_down() {
    let rules = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
    on_every_store(async |store| {
        let rules = rules.clone();
        let harness = Harness::new(store).await.with_options(HarnessOptions::from_rules(rules));
        for _ in 0..20 {
            let down = LlmError::Busy {
                why: "down".to_owned(),
                retry_after: None,
                usage: Usage::default(),
            };
            harness.mind.script.push(PromptVerb::Judge, Err(down));
        }
        send(&harness, Traffic::Users(20)).await;
        harness.pass(3600).await;
        // Kotonoha makes three to five calls, each with up to nine requests.
        assert_eq!(harness.mind.calls().len(), 3);
    })
    .await;
}
