//! Whoever asks the persona something throws away nothing that others wait with: messages that wait to be judged are
//! judged when their own wait is over, whatever becomes of the mention or the command in between.

use aizuchi_harness::fixtures::{JOIN, at, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::LlmError;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::Role;
use aizuchi_model::rules::{ChannelRules, Mode};
use aizuchi_store::order::Order;
use insta::assert_snapshot;
use jiff::{SignedDuration, Timestamp};

use crate::deciding::every_message_is_accounted_for;

const TROUBLE: &str = "uploads fail with a 413 on the new box, has anybody seen that?";
const QUESTION: &str = "@Aizuchi what weekday is the 4th of December?";

#[tokio::test]
async fn a_question_is_judged_when_its_wait_is_over_though_another_user_is_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(JOIN));
        harness.mind.script.push(PromptVerb::Reply, Ok("A Friday."));
        harness.says("ann", TROUBLE).await;
        harness.pass(40).await;
        harness.says("ben", QUESTION).await;
        harness.pass(10_000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s ann: uploads fail with a 413 on the new box, has anybody seen that?
      40s ben: @Aizuchi what weekday is the 4th of December?
      40s (persona): A Friday.
      90s (persona): Here I am.
    [m001] spoke: ben asked me (reply kept)
    [m000] spoke: nobody answers (judge kept, reply kept)
    ");
}

/// A verdict that wants to answer `user`, who wrote at second `at` of the stories.
fn join_about(second: i64, user: &str) -> &'static str {
    let time = at(second).strftime("%Y-%m-%d %H:%M:%S");
    let verdict = format!(
        r#"{{"should_respond": true, "reason": "nobody answers {user}", "confidence": 0.9, "delay_seconds": 0, "about": "{time} {user}"}}"#
    );
    verdict.leak()
}

#[tokio::test]
async fn of_two_that_wait_the_second_is_judged_after_the_first_is_answered() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.push(PromptVerb::Judge, Ok(join_about(0, "ann")));
        harness.mind.script.push(PromptVerb::Judge, Ok(join_about(20, "ben")));
        harness.says("ann", TROUBLE).await;
        harness.pass(20).await;
        harness.says("ben", "who has the key for the bike shed").await;
        harness.pass(10_000).await;
        every_message_is_accounted_for(&harness).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s ann: uploads fail with a 413 on the new box, has anybody seen that?
      20s ben: who has the key for the bike shed
     110s (persona): Here I am.
     140s (persona): Here I am.
    [m000] spoke: nobody answers ann (judge kept, reply kept)
    [m001] spoke: nobody answers ben (judge kept, reply kept)
    ");
}

#[tokio::test]
async fn the_thanks_of_the_misled_withdraw_no_correction() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("cat", "the 45 lunches for the outing cost 30,600 yen in all").await;
        harness.pass(400).await;
        // What is unclear is looked at again, by a judge that reads the new lines.
        for _ in 0..2 {
            harness.mind.script.push(PromptVerb::Judge, Ok(join_about(410, "ben")));
        }
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, move || async move {
            there.says("dan", "the bike racks are closed today").await;
            there.says("ann", "will do!").await;
        });
        harness.says("ann", "how much do the 45 lunches cost in all").await;
        harness.pass(10).await;
        harness.says("ben", "27,200 yen").await;
        harness.pass(10).await;
        harness.says("ann", "thanks, I'll put 27,200 in the envelope").await;
        harness.pass(10_000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s cat: the 45 lunches for the outing cost 30,600 yen in all
     400s ann: how much do the 45 lunches cost in all
     410s ben: 27,200 yen
     420s ann: thanks, I'll put 27,200 in the envelope
     510s dan: the bike racks are closed today
     510s ann: will do!
     510s (persona): Here I am.
    [m000] chose_silence: they get along (judge kept)
    [m001 m002 m003 m004] spoke: nobody answers ben (judge looked_again, judge kept, reply kept)
    [m005] chose_silence: they get along (judge kept)
    ");
}

/// Only a reader can tell whether the grief was met, or what stands beside it.
#[tokio::test]
async fn what_is_told_is_looked_at_again_when_others_answer_what_stands_beside_it() {
    let transcript = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        for _ in 0..2 {
            harness.mind.script.push(PromptVerb::Judge, Ok(join_about(0, "ann")));
        }
        let there = harness.clone();
        harness.mind.meanwhile(PromptVerb::Judge, move || async move {
            there.says("ben", "I can take the till on Friday, Ann").await;
            there.says("cat", "and I'll take Saturday").await;
        });
        let told = "our old dog died this morning, so I can't take the till on Friday";
        harness.says("ann", told).await;
        harness.pass(10_000).await;
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s ann: our old dog died this morning, so I can't take the till on Friday
      90s ben: I can take the till on Friday, Ann
      90s cat: and I'll take Saturday
      90s (persona): Here I am.
    [m000 m001 m002] spoke: nobody answers ann (judge looked_again, judge kept, reply kept)
    ");
}

/// A told line of high appeal among small talk, which the next line passes by.
#[tokio::test]
async fn what_is_told_among_small_talk_is_judged_though_others_go_on() {
    let told = "vet rang. theyre keeping Biscuit in overnight, its his kidneys and she didnt sound hopeful. keep hearing his collar in the hall and its not him";
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        for (pause, user, text) in [
            (0, "ro", "film night at mine then 🍿"),
            (17, "wim", "last one was 3 hours. never again"),
            (22, "hanna", "under 100 mins pls. what do you reckon Aizuchi, funny but not totally stupid, and none of us have seen much from the 90s"),
            (191, "hanna", "how long do boiled eggs keep in the fridge? did way too many for the salad"),
            (20, "ro", "btw i've got the big bowl, its at my mums"),
            (19, "wim", "about a week if the shell's still on"),
            (21, "ro", "egg sandwiches till sunday it is"),
            (400, "ro", "rain again. my tomatoes have officially given up"),
            (22, "wim", "mine are all leaf no tomato"),
            (100, "hanna", told),
            (29, "wim", "ladders back in your shed ro"),
        ] {
            harness.pass(pause).await;
            harness.says(user, text).await;
        }
        harness.pass(330).await;
        let prompts = harness.mind.prompt_texts(PromptVerb::Judge);
        assert!(prompts.iter().any(|prompt| prompt.contains(told)), "{}", harness.transcript().await);
    })
    .await;
}

/// Grief beside everyday matters, distress that looks like a reply, and an answer that an announcement contradicts.
#[tokio::test]
async fn what_is_told_beside_something_else_is_judged_in_time() {
    let calm = "承知しました、確認しておきます";
    for (before, message, after, longest) in [
        (
            calm,
            "会費遅れてすまん。先月おふくろの葬式やら何やらでばたばたしとってん。まとめて払うわ",
            Some("会費は来月でええよ"),
            400,
        ),
        (
            "本日の来客、先週の1.4倍でした。皆さんお疲れさまです",
            "お疲れさまです。窓口でずっと怒鳴られて、お昼も喉を通らなくて…もう電話を取るのが怖いです",
            None,
            400,
        ),
        (
            "the till is closed until noon",
            "late with the fee, sorry all, my brother died last week and I've been at the registry office all day",
            Some("no rush with the fee"),
            400,
        ),
        (
            "集合は9時から8時40分に変更、場所は体育館の裏口です",
            "土曜って何時にどこ集合でしたっけ",
            Some("9時に正門に集合ですよ"),
            400,
        ),
    ] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            harness.says("ann", before).await;
            harness.pass(600).await;
            let judged = harness.mind.prompt_texts(PromptVerb::Judge).len();
            harness.pass(600).await;
            harness.says("ben", message).await;
            harness.pass(30).await;
            if let Some(after) = after {
                harness.says("cat", after).await;
                harness.pass(20).await;
                harness.says("ben", "thanks! ありがとう").await;
            }
            harness.pass(longest).await;
            let now = harness.mind.prompt_texts(PromptVerb::Judge).len();
            assert!(now > judged, "{message}");
        })
        .await;
    }
}

/// The number of judgments in a channel in which `ann` writes a message and then addresses the persona.
async fn judgments_before_a_mention(store: TestStore, before: &str, mention: &str) -> usize {
    let harness = Harness::new(store).await;
    harness.says("ann", before).await;
    harness.pass(8).await;
    harness.says("ann", mention).await;
    harness.pass(1000).await;
    every_message_is_accounted_for(&harness).await;
    harness.mind.prompt_texts(PromptVerb::Judge).len()
}

#[tokio::test]
async fn what_only_leads_up_to_a_mention_is_answered_with_it() {
    for (before, mention, expected) in [
        ("hey", "@Aizuchi when is the deploy?", 0),
        ("when is the deploy?", "@Aizuchi", 0),
        ("デプロイいつですか", "@Aizuchi 分かる？", 0),
        (TROUBLE, QUESTION, 1),
        ("充電器持ってる人いますか", "@Aizuchi デプロイいつですか", 1),
    ] {
        let judgments =
            on_every_store(async |store| judgments_before_a_mention(store, before, mention).await);
        assert_eq!(judgments.await, expected, "{before} / {mention}");
    }
}

#[tokio::test]
async fn what_is_added_to_a_mention_is_answered_with_it_unless_others_may_answer() {
    for (added, expected) in [("the staging one?", 0), (TROUBLE, 1)] {
        on_every_store(async |store| {
            let harness = Harness::new(store).await;
            let there = harness.clone();
            harness.mind.meanwhile(PromptVerb::Reply, move || async move {
                there.says("ann", added).await;
            });
            harness.says("ann", "@Aizuchi when is the deploy?").await;
            harness.pass(1000).await;
            every_message_is_accounted_for(&harness).await;
            assert_eq!(harness.mind.verbs().matches("judge").count(), expected, "{added}");
        })
        .await;
    }
}

/// What happens while a message waits.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    Mention,
    MentionOfItsAuthor,
    Command,
    MentionAfterCommand,
    DeletedMention,
    DeletedCommand,
    MentionEditedAway,
    FailedAnswer,
    RefusedPost,
    LostAnswer,
    SplitAnswer,
    Redraft,
    MuteThatEnds,
    MentionUnderMute,
    RestartAfterAnswer,
    RestartBeforeAnswer,
}

impl Between {
    const ALL: [Self; 17] = [
        Self::Nothing,
        Self::Mention,
        Self::MentionOfItsAuthor,
        Self::Command,
        Self::MentionAfterCommand,
        Self::DeletedMention,
        Self::DeletedCommand,
        Self::MentionEditedAway,
        Self::FailedAnswer,
        Self::RefusedPost,
        Self::LostAnswer,
        Self::SplitAnswer,
        Self::Redraft,
        Self::MuteThatEnds,
        Self::MentionUnderMute,
        Self::RestartAfterAnswer,
        Self::RestartBeforeAnswer,
    ];

    async fn happens(self, harness: Harness, mute_end: Timestamp) -> Harness {
        match self {
            Self::Nothing => {}
            Self::Mention => drop(harness.says("ben", QUESTION).await),
            Self::MentionOfItsAuthor => drop(harness.says("ann", QUESTION).await),
            Self::Command => drop(harness.says("ben", "@Aizuchi status").await),
            Self::MentionAfterCommand => {
                harness.says("ben", "@Aizuchi status").await;
                harness.says("ben", QUESTION).await;
            }
            Self::DeletedMention => {
                let mention = harness.says("ben", QUESTION).await;
                harness.deletes(&mention).await;
            }
            Self::DeletedCommand => {
                let command = harness.says("ben", "@Aizuchi status").await;
                harness.deletes(&command).await;
            }
            Self::MentionEditedAway => {
                let mention = harness.says("ben", QUESTION).await;
                harness.edits(&mention, "it is a Friday").await;
            }
            Self::FailedAnswer => {
                let error = LlmError::Refused("no".to_owned());
                harness.mind.script.push(PromptVerb::Reply, Err(error));
                harness.says("ben", QUESTION).await;
            }
            Self::RefusedPost => {
                harness.platform.fails(&[Fault::Refused]);
                harness.says("ben", QUESTION).await;
            }
            Self::LostAnswer => {
                harness.platform.fails(&[Fault::LostAnswer]);
                harness.says("ben", QUESTION).await;
            }
            Self::SplitAnswer => {
                harness.platform.set_longest_post(20);
                let answer = "It is a Friday. And it is cold.";
                harness.mind.script.push(PromptVerb::Reply, Ok(answer));
                harness.says("ben", QUESTION).await;
            }
            Self::Redraft => {
                let other = harness.clone();
                harness.mind.meanwhile(PromptVerb::Reply, || async move {
                    other.says("ben", "@Aizuchi of this year").await;
                });
                harness.says("ben", QUESTION).await;
            }
            Self::MuteThatEnds => harness.order(mute_until(mute_end)).await,
            Self::MentionUnderMute => {
                harness.order(mute_until(mute_end)).await;
                harness.says("ben", QUESTION).await;
            }
            Self::RestartAfterAnswer => {
                harness.says("ben", QUESTION).await;
                harness.pass(1).await;
                return harness.restart().await;
            }
            Self::RestartBeforeAnswer => {
                harness.says("ben", QUESTION).await;
                return harness.restart().await;
            }
        }
        harness
    }
}

fn mute_until(until: Timestamp) -> Order {
    let (workspace, channel) = (workspace(), Some(top_level("garden").channel));
    Order::Mute { workspace, channel, until, by: Role::Member }
}

/// When a question that was asked at 0 s is judged, if this happens after four ninths of its wait.
async fn judged_at(store: TestStore, options: HarnessOptions, wait: i64, between: Between) -> i64 {
    let harness = Harness::new(store).await.with_options(options);
    let question = harness.says("ann", TROUBLE).await;
    harness.pass(wait * 4 / 9).await;
    let mute_end = at(0) + SignedDuration::from_secs(wait * 2 / 3);
    let harness = between.happens(harness, mute_end).await;
    harness.pass(10_000).await;
    let transcript = harness.transcript().await;
    let rows = harness.decisions("garden").await;
    let row = rows.iter().find(|row| row.messages.contains(&question)).unwrap();
    let judgments = row.attempts.iter().filter(|attempt| &*attempt.verb == "judge");
    let judged: Vec<i64> = judgments.map(|it| it.at.duration_since(at(0)).as_secs()).collect();
    assert_eq!(judged.len(), 1, "{between:?}\n{transcript}");
    judged[0]
}

#[tokio::test]
async fn a_wait_is_neither_prolonged_nor_cut_short_by_a_mention() {
    let mut facilitator = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
    facilitator.facilitation.min_messages = 1;
    for (options, wait) in [
        (HarnessOptions::default(), 90),
        (HarnessOptions::fixed_wait(), 60),
        (HarnessOptions::from_rules(facilitator), 5),
    ] {
        for between in Between::ALL {
            let judged = on_every_store(async |store| {
                judged_at(store, options.clone(), wait, between).await
            });
            assert_eq!(judged.await, wait, "{between:?}");
        }
    }
}
