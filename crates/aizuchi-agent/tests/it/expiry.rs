//! Message retention: messages older than the limit disappear from every place, newer ones stay as they are, and the
//! figures stay the same.

use std::collections::HashSet;
use std::sync::Arc;

use aizuchi_agent::forgetter::Forgetter;
use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{at, message, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::random::Random;
use aizuchi_harness::test_platform::Fault;
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_database, on_every_store};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{
    AuthorKind, ConversationId, Heard, MessageId, Reaction, ReactionChange, UserId,
};
use aizuchi_model::context::ContextLimits;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::decision::{Decision, DecisionId};
use aizuchi_model::memory::MessageRef;
use aizuchi_model::recall::RecallQuery;
use aizuchi_store::database::DatabaseStore;
use aizuchi_store::database::forget::scrub::ScrubJob;
use aizuchi_store::expiry::{Expiry, ExpiryProgress};
use aizuchi_store::figures::WorkspacePeriod;
use aizuchi_store::order::Order;
use aizuchi_store::stored_message::StoredMessage;
use jiff::{SignedDuration, Timestamp};

use crate::forgetting::{HearText, dump};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Erases all messages written before a time. Returns their number.
async fn expire(store: &TestStore, before: Timestamp, now: Timestamp) -> usize {
    let mut count = 0;
    while let ExpiryProgress::Working(erased) =
        store.store.expire_next(Expiry { before, now }).await.unwrap()
    {
        count += erased.count;
    }
    count
}

/// Removes leftovers outside the tables. A snapshot that was read before may still be closing, and blocks the last
/// step.
async fn scrub(database: &DatabaseStore) {
    let mut job = ScrubJob::default();
    while database.scrub_due_since().await.unwrap().is_some() {
        job.step(database).await.unwrap();
    }
}

/// A message by a user or the persona.
struct SentMessage {
    message: MessageId,
    word: String,
}

/// Some days of talk, where each message, its reason and its answer contain a unique word.
struct Scenario {
    harness: Harness,
    sent: Vec<SentMessage>,
}

impl Scenario {
    async fn new(random: &mut Random, store: TestStore) -> Self {
        let harness = Harness::new(store).await;
        let mut sent = Vec::new();
        let mut parents = Vec::new();
        for _ in 0..30 + random.below(30) {
            harness.pass(random.between(60, 6 * HOUR)).await;
            let (word, answer) = (random.word(), random.word());
            let judgment = format!(
                r#"{{"should_respond": {}, "reason": "of {word}", "confidence": 0.9, "delay_seconds": 0}}"#,
                random.chance(0.3)
            );
            harness.mind.script.set_default(PromptVerb::Judge, judgment);
            harness.mind.script.set_default(PromptVerb::Reply, format!("Well, {answer}."));
            let place = match parents.is_empty() || random.chance(0.7) {
                true => top_level(random.pick::<&str>(&["garden", "kitchen"])),
                false => random.pick::<ConversationId>(&parents).clone(),
            };
            let call = if random.chance(0.3) { "@Aizuchi " } else { "" };
            let text = format!("{call}what about {word}?");
            let name = *random.pick(&["alice", "bob", "carol"]);
            let posted = harness.platform.posted_texts().len();
            let id = harness.says_in(place.clone(), name, &text).await;
            if place.thread.is_none() && random.chance(0.3) {
                parents.push(thread(place.channel.as_str(), id.as_str()));
            }
            if random.chance(0.3) {
                harness.inbox.hear(reaction(&place, &id, harness.clock.now())).await.unwrap();
            }
            harness.pass(600).await;
            sent.push(SentMessage { message: id, word });
            if harness.platform.posted_texts().len() > posted {
                let own = all_messages(&harness).await.into_iter();
                let own = own.filter(|own| own.message.text.contains(&answer)).collect::<Vec<_>>();
                let own = own.into_iter().map(|own| own.message.id.clone());
                sent.extend(own.map(|message| SentMessage { message, word: answer.clone() }));
            }
        }
        Self { harness, sent }
    }
}

fn reaction(place: &ConversationId, message: &MessageId, at: Timestamp) -> Heard {
    Heard::Reaction(Reaction {
        workspace: workspace(),
        channel: place.channel.clone(),
        message: message.clone(),
        user: UserId::new("u-bob"),
        kind: AuthorKind::Human,
        emoji: "👀".into(),
        at,
        change: ReactionChange::Added,
    })
}

async fn all_messages(harness: &Harness) -> Vec<StoredMessage> {
    let mut all = harness.messages("garden").await;
    all.extend(harness.messages("kitchen").await);
    all
}

async fn all_decisions(harness: &Harness) -> Vec<Decision> {
    let mut all = harness.decisions("garden").await;
    all.extend(harness.decisions("kitchen").await);
    all
}

/// The figures on the pages.
async fn figures(store: &TestStore, now: Timestamp) -> String {
    let archive = &store.archive;
    if store.database.is_none() {
        return format!("{:#?}", archive.spending(&workspace(), now).await.unwrap());
    }
    let (since, until) = (at(0), Timestamp::MAX);
    let period =
        WorkspacePeriod { workspace: workspace(), since, until, offset: SignedDuration::ZERO };
    format!(
        "{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}",
        archive.decision_counts(&workspace(), at(0)).await.unwrap(),
        archive.messages_by_day(&period).await.unwrap(),
        archive.outcomes_by_day(&period).await.unwrap(),
        archive.calls_by_day(&period).await.unwrap(),
        archive.answer_delays(&period).await.unwrap(),
        archive.spending(&workspace(), now).await.unwrap(),
        archive.mark_counts().await.unwrap(),
    )
}

/// A decision without the parts that expiry may remove: its reasons, and the reactions to what was posted.
fn outcome(decision: &Decision) -> Decision {
    let mut decision = decision.clone();
    decision.why = None;
    decision.is_expired = false;
    decision.revision = 0;
    decision.follow_up.reactions = 0;
    let attempts = decision.attempts.iter_mut().filter_map(|attempt| attempt.judgment.as_mut());
    attempts.chain(&mut decision.judgment).for_each(|judgment| judgment.reason.clear());
    decision
}

fn without_revision(message: &StoredMessage) -> StoredMessage {
    StoredMessage { revision: 0, ..message.clone() }
}

#[tokio::test]
async fn what_is_older_goes_and_what_is_younger_stays_on_sqlite() {
    for seed in 0..cases(16, 80) {
        expire_talk(seed, StoreKind::Sqlite).await;
    }
}

#[tokio::test]
async fn what_is_older_goes_and_what_is_younger_stays_on_postgres() {
    for seed in 0..cases(3, 15) {
        expire_talk(seed, StoreKind::Postgres).await;
    }
}

/// Erases a part of a random talk. Databases are restarted between some of the steps.
async fn expire_talk(seed: u64, kind: StoreKind) {
    let random = &mut Random::new(seed, "expiry");
    let Scenario { mut harness, sent } = Scenario::new(random, kind.open().await).await;
    let now = harness.clock.now();
    let before = at(random.between(0, now.as_second() - at(0).as_second()));
    let (messages, decisions) = (all_messages(&harness).await, all_decisions(&harness).await);
    let counted = figures(&harness.store, now).await;
    let expiry = Expiry { before, now };
    while harness.store.store.expire_next(expiry).await.unwrap() != ExpiryProgress::Idle {
        if random.chance(0.1) {
            harness = harness.restart().await;
        }
    }
    assert_eq!(figures(&harness.store, now).await, counted, "{seed}");

    let is_old = |id: &MessageId| {
        messages.iter().any(|known| known.message.id == *id && known.message.at < before)
    };
    for (now, then) in all_messages(&harness).await.iter().zip(&messages) {
        match is_old(&then.message.id) {
            true => {
                assert_eq!((&*now.message.text, now.message.mentions.len()), ("", 0), "{seed}");
                assert!(now.is_expired && now.is_deleted && now.reactions.is_empty(), "{seed}");
                assert_eq!(now.message.author, then.message.author);
            }
            false => assert_eq!(without_revision(now), without_revision(then), "{seed}"),
        }
    }
    let after = all_decisions(&harness).await;
    assert_eq!(
        after.iter().map(outcome).collect::<Vec<_>>(),
        decisions.iter().map(outcome).collect::<Vec<_>>(),
        "{seed}"
    );
    for (now, then) in after.iter().zip(&decisions) {
        let is_about_old = then.messages.iter().any(is_old);
        assert!(now.is_expired || !is_about_old, "{seed}: {now:?}");
        if now.is_expired {
            let is_fixed = now.gate.is_some() && now.why == then.why;
            assert!(now.why.is_none() || is_fixed, "{seed}: {now:?}");
        } else {
            assert_eq!((&now.why, &now.judgment), (&then.why, &then.judgment), "{seed}");
        }
        for exchange in harness.store.archive.exchanges(now.id).await.unwrap().iter().flatten() {
            let holds_old = exchange.lineage.messages.iter().any(|MessageRef(_, id)| is_old(id));
            assert!(!holds_old, "{seed}: {exchange:?}");
        }
    }
    let window = ContextLimits::default().window(now);
    let mut shown = format!("{after:?}");
    for channel in ["garden", "kitchen"] {
        let context = harness.store.store.context(&top_level(channel), &window).await.unwrap();
        shown += &format!("{context:?}");
    }
    for SentMessage { message, word } in &sent {
        let query = RecallQuery {
            workspace: workspace(),
            visible_from: None,
            channel: None,
            text: word.clone(),
            before: None,
            limit: 5,
        };
        let found = harness.store.store.recall(&query).await.unwrap().len();
        assert_eq!(found, usize::from(!is_old(message)), "{seed}: {word}");
        assert!(!is_old(message) || !shown.contains(word), "{seed}: {word} in {shown}");
    }
    if let Some(database) = &harness.store.database_store {
        scrub(database).await;
        let dump = dump(&harness.store).await;
        for SentMessage { message, word } in &sent {
            assert_eq!(dump.contains(word), !is_old(message), "{seed}: {word}");
        }
    }
    let later = now + SignedDuration::from_secs(1);
    assert_eq!(expire(&harness.store, before, later).await, 0, "{seed}: it is done once");
}

#[tokio::test]
async fn what_comes_again_stays_erased_and_what_comes_late_goes_next_time() {
    on_every_database(async |store| {
        store.hear_text("1", 0, "alice", "one").await;
        store.hear_text("2", 10 * DAY, "alice", "two").await;
        let (before, now) = (at(5 * DAY), at(11 * DAY));
        assert_eq!(expire(&store, before, now).await, 1);
        // As a backfill does.
        store.hear_text("1", 0, "alice", "one").await;
        assert_eq!(expire(&store, before, now).await, 0);
        // As an import does.
        store.hear_text("0", -DAY, "alice", "zero").await;
        assert_eq!(expire(&store, before, now).await, 1);
        let stored = store.archive.messages_since(&workspace(), 0, 10).await.unwrap();
        let mut texts: Vec<_> =
            stored.iter().map(|it| (it.message.id.to_string(), it.message.text.clone())).collect();
        texts.sort();
        texts.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    })
    .await;
}

#[tokio::test]
async fn replies_stay_when_the_message_above_them_has_expired() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let parent = harness.says("alice", "who waters the tomatoes?").await;
        harness.pass(3 * DAY).await;
        let below = thread("garden", parent.as_str());
        harness.says_in(below.clone(), "bob", "I did, all week").await;
        harness.pass(60).await;
        assert_eq!(expire(&harness.store, at(DAY), harness.clock.now()).await, 1);
        harness.says_in(below.clone(), "alice", "@Aizuchi what did bob say?").await;
        harness.pass(600).await;
        assert_eq!(harness.platform.posts_in(&below), 1);
        let prompts = harness.mind.prompt_texts(PromptVerb::Reply).join("\n");
        assert!(prompts.contains("all week") && !prompts.contains("tomatoes"), "{prompts}");
    })
    .await;
}

#[tokio::test]
async fn what_is_owed_for_longer_than_messages_are_kept_is_owed_no_more() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi what about tomatoes?").await;
        harness.says("bob", "and about beans").await;
        harness.clock.advance_to(at(3 * DAY));
        assert_eq!(expire(&harness.store, at(2 * DAY), harness.clock.now()).await, 2);
        harness.pass(HOUR).await;
        assert_eq!(harness.platform.posted_texts(), Vec::<String>::new());
        let verbs = harness.mind.prompt_texts(PromptVerb::Reply).join("\n");
        assert!(!verbs.contains("tomatoes"), "{verbs}");
        // The persona still listens.
        harness.says("alice", "@Aizuchi hello?").await;
        harness.pass(HOUR).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
    })
    .await;
}

#[tokio::test]
async fn a_draft_made_of_what_has_expired_is_not_posted() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.mind.script.set_default(PromptVerb::Reply, "Tomatoes need water.");
        harness.says("alice", "@Aizuchi what about tomatoes?").await;
        while harness.step_of(&top_level("garden")).await.unwrap().work.verb() != "post" {
            let next = harness.store.store.next_ready().await.unwrap().unwrap();
            harness.clock.advance_to(next.max(harness.clock.now()));
            harness.runner.step().await.unwrap();
        }
        harness.clock.advance_to(at(3 * DAY));
        expire(&harness.store, at(2 * DAY), harness.clock.now()).await;
        let step = harness.step_of(&top_level("garden")).await;
        assert!(!format!("{step:?}").contains("Tomatoes"), "{step:?}");
        harness.pass(HOUR).await;
        assert_eq!(harness.platform.posted_texts(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_keeps_no_text_of_what_has_expired() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.platform.fails(&[Fault::Refused]);
        harness.mind.script.set_default(PromptVerb::Reply, "Tomatoes need water.");
        harness.says("alice", "@Aizuchi what about tomatoes?").await;
        harness.pass(DAY).await;
        let letters = async || harness.store.archive.dead_letters(&Default::default()).await;
        assert!(letters().await.unwrap()[0].text.is_some());
        let later = at(3 * DAY);
        expire(&harness.store, at(2 * DAY), later).await;
        assert_eq!(letters().await.unwrap()[0].text, None);
        // Its subject can no longer be answered.
        assert!(!format!("{:?}", all_decisions(&harness).await).contains("omatoes"));
    })
    .await;
}

#[tokio::test]
async fn a_prompt_under_way_is_not_kept_with_what_has_expired_meanwhile() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "what about tomatoes?").await;
        harness.clock.advance_to(at(3 * DAY));
        let (store, now) = (harness.store.clone(), harness.clock.now());
        harness.mind.meanwhile(PromptVerb::Judge, move || async move {
            expire(&store, at(2 * DAY), now).await;
        });
        harness.mind.script.set_default(
            PromptVerb::Judge,
            r#"{"should_respond": false, "reason": "tomatoes", "confidence": 0.9}"#,
        );
        harness.pass(HOUR).await;
        let decisions = all_decisions(&harness).await;
        assert!(!format!("{decisions:?}").contains("tomatoes"), "{decisions:?}");
        let exchanges = harness.store.archive.exchanges(decisions[0].id).await.unwrap();
        assert!(exchanges.iter().all(Option::is_none), "{exchanges:?}");
    })
    .await;
}

#[tokio::test]
async fn what_people_marked_stays_marked() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "what about tomatoes?").await;
        harness.pass(HOUR).await;
        let id = all_decisions(&harness).await[0].id;
        let (workspace, by) = (workspace(), Arc::from("mia"));
        harness.order(Order::MarkDecision { workspace, id, mark: Some(Mark::Right), by }).await;
        expire(&harness.store, at(2 * DAY), at(3 * DAY)).await;
        assert_eq!(harness.store.archive.mark_counts().await.unwrap(), [(Mark::Right, 1)]);
    })
    .await;
}

#[tokio::test]
async fn a_reason_that_only_the_age_of_its_decision_leads_to_goes_too() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "what about tomatoes?").await;
        harness.pass(HOUR).await;
        let id = all_decisions(&harness).await[0].id;
        // The lineage of a prompt is dropped before its messages expire, and the messages have got another decision.
        let mut connection = harness.store.database.as_ref().unwrap().connect().await;
        for statement in ["DELETE FROM exchange_lines", "UPDATE messages SET decision = NULL"] {
            let change = aizuchi_store::database::connection::query(statement);
            change.execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
        expire(&harness.store, at(2 * DAY), at(3 * DAY)).await;
        let decision = decision(&harness, id).await;
        assert!(decision.is_expired && decision.why.is_none(), "{decision:?}");
    })
    .await;
}

async fn decision(harness: &Harness, id: DecisionId) -> Decision {
    all_decisions(harness).await.into_iter().find(|decision| decision.id == id).unwrap()
}

#[tokio::test]
async fn memories_of_what_has_expired_stay_and_go_on() {
    on_every_database(async |store| {
        let options =
            HarnessOptions { memory: Some(Arc::new(BuiltinMind)), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        harness.says("alice", "The tomatoes are watered on Mondays.").await;
        harness.pass(DAY).await;
        let memories = async || harness.store.store.memories(&workspace()).await.unwrap();
        let before = memories().await;
        assert!(format!("{before:?}").contains("tomatoes"), "{before:?}");
        harness.clock.advance_to(at(4 * DAY));
        assert_eq!(expire(&harness.store, at(2 * DAY), harness.clock.now()).await, 1);
        assert_eq!(memories().await, before);
        harness.says("alice", "The beans are watered on Fridays.").await;
        harness.pass(2 * DAY).await;
        let after = format!("{:?}", memories().await);
        assert!(after.contains("tomatoes") && after.contains("beans"), "{after}");
    })
    .await;
}

/// A withdrawn message is withdrawn from everywhere, even after the message itself has expired.
#[tokio::test]
async fn deleting_what_has_expired_takes_back_what_is_remembered_of_it() {
    on_every_database(async |store| {
        let options =
            HarnessOptions { memory: Some(Arc::new(BuiltinMind)), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        let message = harness.says("alice", "The tomatoes are watered on Mondays.").await;
        harness.pass(DAY).await;
        harness.says("bob", "The beans are watered on Fridays.").await;
        harness.pass(DAY).await;
        harness.clock.advance_to(at(4 * DAY));
        assert_eq!(expire(&harness.store, at(3 * DAY), harness.clock.now()).await, 2);
        let memories =
            async || format!("{:?}", harness.store.store.memories(&workspace()).await.unwrap());
        assert!(memories().await.contains("tomatoes"));
        let store = &harness.store.store;
        let told = || [*store.erasures().borrow(), *store.revisions().borrow()];
        let before = told();
        harness.deletes(&message).await;
        assert!(!memories().await.contains("tomatoes"));
        // No copy of its content stays visible.
        assert_eq!(told(), before.map(|count| count + 1));
        harness.deletes(&message).await;
        assert_eq!(told(), before.map(|count| count + 1), "nothing is left to be taken back");
    })
    .await;
}

#[tokio::test]
async fn the_forgetter_erases_what_has_expired_and_scrubs_it() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for number in 0..80 {
            let text = format!("the shed number {number} leaks xyzzy{number}x");
            harness.store.hear_text(&format!("a{number}"), number * HOUR, "alice", &text).await;
        }
        let database = harness.store.database_store.clone().unwrap();
        let cache = harness.inbox.channel_cache.clone();
        let max_age = Some(SignedDuration::from_hours(24));
        harness.clock.advance_to(at(80 * HOUR));
        let mut forgetter = Forgetter::new(database.clone(), cache, harness.clock.clone(), max_age);
        while forgetter.step().await.unwrap() || database.scrub_due_since().await.unwrap().is_some()
        {
        }
        let shown = harness.messages("garden").await.into_iter();
        let kept = shown.filter(|stored| !stored.is_expired);
        let kept: HashSet<String> = kept.map(|it| it.message.text.to_string()).collect();
        let now = harness.clock.now();
        // At most a day longer than the limit.
        assert!((24..=48).contains(&kept.len()), "{}", kept.len());
        assert_eq!(database.scrub_due_since().await.unwrap(), None);
        let dump = dump(&harness.store).await;
        for number in 0..80 {
            let text = format!("the shed number {number} leaks xyzzy{number}x");
            let word = format!("xyzzy{number}x");
            assert_eq!(dump.contains(&word), kept.contains(&text), "{word} at {now}");
        }
        assert!(!forgetter.step().await.unwrap(), "nothing is left to be done on this day");
        harness.clock.advance_to(now + SignedDuration::from_hours(24));
        let mut steps = 0;
        while forgetter.step().await.unwrap() {
            steps += 1;
        }
        assert!(steps > 0);
        // Without a limit, nothing is erased.
        let cache = harness.inbox.channel_cache.clone();
        let clock = harness.clock.clone();
        clock.advance_to(at(1000 * DAY));
        let mut forgetter = Forgetter::new(database, cache, clock, None);
        assert!(!forgetter.step().await.unwrap());
    })
    .await;
}

/// Hearing needs the writer between two pages, so a page must be small.
#[tokio::test]
async fn a_step_erases_a_bounded_number_of_messages() {
    on_every_database(async |store| {
        for number in 0..60 {
            let heard =
                message(top_level("garden"), &format!("a{number}"), at(number), "alice", "hi");
            store.hear_text(heard.id.as_str(), number, "alice", &heard.text).await;
        }
        store.hear_text("long", 60, "alice", &"long ".repeat(1_000)).await;
        store.hear_text("last", 61, "alice", "the end").await;
        let mut counts = Vec::new();
        let expiry = Expiry { before: at(DAY), now: at(2 * DAY) };
        while let ExpiryProgress::Working(erased) = store.store.expire_next(expiry).await.unwrap() {
            counts.push(erased.count);
        }
        assert_eq!(counts, [25, 25, 10, 1, 1]);
    })
    .await;
}
