//! The figures of a period, which every store counts alike.

use std::sync::Arc;

use aizuchi_harness::fixtures::{JOIN, at, message, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::{
    AuthorKind, ChannelId, Heard, Message, Reaction, ReactionChange, UserId,
};
use aizuchi_model::decision::welcome::{
    RatedChoice, Rating, Reception, SpeakChoice, WelcomeReason,
};
use aizuchi_model::decision::{AttemptResult, DecisionResult, Price, Usage};
use aizuchi_model::flow::planned_call::UnclaimedCall;
use aizuchi_store::figures::{CallKind, CallSum, ChoiceAftermath, WorkspacePeriod};
use aizuchi_store::stored_message::StoredMessage;
use jiff::{SignedDuration, Timestamp};

#[tokio::test]
async fn the_newest_calls_tell_which_model_fails() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        let calls = harness.store.archive.recent_calls(5).await.unwrap();
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert_eq!((&*calls[0].verb, calls[0].result), ("reply", AttemptResult::Kept));
        assert!(calls[0].error.is_none());
        harness.store.archive.size_bytes().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_figures_of_a_period_are_the_same_on_every_database() {
    let figures = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        harness.says("bob", "thanks, alice").await;
        harness.pass(86_400).await;
        harness.says("alice", "@Aizuchi still there?").await;
        harness.pass(100).await;
        let archive = &harness.store.archive;
        let (all, late) = (period(0), period(50_000));
        let early = WorkspacePeriod { until: at(50_000), ..all.clone() };
        let messages = archive.messages_by_day(&all).await.unwrap();
        let days: Vec<i64> = messages.iter().map(|count| count.day.0).collect();
        let counts: Vec<_> = messages.iter().map(|count| (count.is_own, count.count)).collect();
        assert_eq!(counts, [(false, 2), (true, 1), (false, 1), (true, 1)], "{messages:?}");
        assert_eq!(days[2] - days[0], 1, "{messages:?}");
        assert_eq!(archive.messages_by_day(&late).await.unwrap(), messages[2..]);
        assert_eq!(archive.messages_by_day(&early).await.unwrap(), messages[..2]);
        let calls = archive.calls_by_day(&all).await.unwrap();
        assert!(calls.iter().all(|sum| sum.calls > 0), "{calls:?}");
        assert!(calls.iter().any(|sum| sum.kind == CallKind::Reply), "{calls:?}");
        let mut parts = archive.calls_by_day(&early).await.unwrap();
        parts.extend(archive.calls_by_day(&late).await.unwrap());
        assert_eq!(parts, calls);
        let outcomes = archive.outcomes_by_day(&all).await.unwrap();
        let spoke = outcomes.iter().filter(|it| it.ended == Some(DecisionResult::Spoke));
        assert_eq!(spoke.map(|it| it.count).sum::<u64>(), 2, "{outcomes:?}");
        let delays = archive.answer_delays(&all).await.unwrap();
        assert!(delays.len() == 2 && delays.iter().all(|it| it.is_addressed), "{delays:?}");
        assert_eq!(archive.answer_delays(&late).await.unwrap(), delays[1..]);
        format!("{messages:?} {calls:?} {outcomes:?} {delays:?}")
    });
    assert!(!figures.await.is_empty());
}

fn period(since: i64) -> WorkspacePeriod {
    let (since, until) = (at(since), Timestamp::MAX);
    WorkspacePeriod { workspace: workspace(), since, until, offset: SignedDuration::from_hours(9) }
}

#[tokio::test]
async fn what_every_call_costs_is_counted_once() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        let trial = |channel: Option<&str>, tokens, price: Option<u64>| UnclaimedCall {
            workspace: workspace(),
            channel: channel.map(ChannelId::new),
            model: "openai/test".into(),
            calls: 2,
            usage: Usage { input_tokens: tokens, output_tokens: 1, ..Usage::default() },
            price: price.map(|micros| Price { micros }),
            at: harness.clock.now(),
            reservation: None,
        };
        let store = &harness.store;
        for call in [trial(Some("garden"), 100, Some(7)), trial(None, 30, None)] {
            store.store.book(&call).await.unwrap();
        }
        let now = harness.clock.now();
        let spending = store.archive.spending(&workspace(), now).await.unwrap();
        let calls = store.archive.calls_by_day(&period(0)).await.unwrap();
        let trials: Vec<_> = calls.iter().filter(|sum| sum.kind == CallKind::Trial).collect();
        let found: Vec<_> = trials
            .iter()
            .map(|sum| (sum.channel.clone(), sum.calls, sum.price.micros, sum.unpriced_tokens))
            .collect();
        assert_eq!(found, [(None, 2, 0, 31), (Some(ChannelId::new("garden")), 2, 7, 0)]);
        let of = |channel: Option<&ChannelId>| {
            let of_channel = |sum: &&CallSum| channel.is_none() || sum.channel.as_ref() == channel;
            let sums = calls.iter().filter(of_channel);
            sums.fold((0, 0, 0), |(tokens, micros, unpriced), sum| {
                let used = sum.usage.input_tokens + sum.usage.output_tokens;
                (tokens + used, micros + sum.price.micros, unpriced + sum.unpriced_tokens)
            })
        };
        assert_eq!(spending.len(), 2, "{spending:?}");
        for booked in spending {
            let spent = booked.spent;
            let booked_here =
                (spent.tokens_in_day, spent.micros_in_day, booked.unpriced_tokens_in_day);
            assert_eq!(of(booked.channel.as_ref()), booked_here, "{:?}", booked.channel);
        }
    })
    .await;
}

/// Nobody could see the figures of a workspace in which a model had described a picture.
#[tokio::test]
async fn calls_about_files_are_counted_by_their_purpose() {
    on_every_database(async |store| {
        let senses = Arc::new(TestMind::default());
        senses.script.set_default(PromptVerb::Describe, "A boat.");
        senses.script.set_default(PromptVerb::Transcribe, "It leaves at nine.");
        let options = HarnessOptions {
            vision: Some(senses.clone()),
            transcription: Some(senses),
            ..HarnessOptions::default()
        };
        let harness = Harness::new(store).await.with_options(options);
        let recording = [&b"OggS\0\x04"[..], &144_000_u64.to_le_bytes(), b"sound"].concat();
        for (id, bytes) in [("F1", b"\x89PNG\r\n\x1a\nboat".to_vec()), ("V1", recording)] {
            harness.platform.files.lock().unwrap().insert(id.to_owned(), bytes);
        }
        let text = "@Aizuchi look and listen";
        let sent = message(top_level("garden"), "f1", harness.clock.now(), "alice", text);
        let attachments = vec![
            Attachment::new("F1", "boat.png", "image/png", 12),
            Attachment::new("V1", "voice-message.ogg", "audio/ogg", 19).with_seconds(Some(3.0)),
        ];
        harness.hear(Message { attachments, ..sent }).await;
        harness.pass(10).await;
        let sums = harness.store.archive.calls_by_day(&period(0)).await.unwrap();
        let calls = |verb: PromptVerb| {
            let kind = CallKind::of_verb(verb.name());
            let of_kind = sums.iter().filter(|sum| Some(sum.kind) == kind);
            of_kind.map(|sum| sum.calls).sum::<u64>()
        };
        let verbs = [PromptVerb::Describe, PromptVerb::Transcribe, PromptVerb::Reply];
        assert_eq!(verbs.map(calls), [1, 1, 1], "{sums:?}");
    })
    .await;
}

#[tokio::test]
async fn reactions_and_open_questions_are_counted_on_their_days() {
    let counted = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let asked = harness.says("alice", "@Aizuchi are you there?").await;
        harness.pass(100).await;
        let post = harness.messages("garden").await.pop().unwrap().message.id.clone();
        for (message, user) in [(&asked, "u-bob"), (&post, "u-bob"), (&post, "u-alice")] {
            let reaction = Reaction {
                workspace: workspace(),
                channel: ChannelId::new("garden"),
                message: message.clone(),
                user: UserId::new(user),
                kind: AuthorKind::Human,
                emoji: "🎉".into(),
                at: harness.clock.now(),
                change: ReactionChange::Added,
            };
            harness.inbox.hear(Heard::Reaction(reaction)).await.unwrap();
        }
        // The first question is owed an answer; the second is answered, the third in its thread, and the others get
        // no reply.
        harness.says("alice", "who has the spade?").await;
        harness.pass(60).await;
        harness.says("bob", "carol has it").await;
        harness.pass(7200).await;
        let third = harness.says("carol", "is it cold there?").await;
        harness.pass(7200).await;
        harness.says("bob", "when do we plant？").await;
        harness.pass(7200).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("carol", "does anybody know how deep?").await;
        harness.pass(7200).await;
        let archive = &harness.store.archive;
        let revision = *harness.store.store.revisions().borrow();
        assert_eq!(archive.changed_days(&period(0), revision).await.unwrap(), []);
        harness.says_in(thread("garden", third.as_str()), "alice", "it was").await;

        let reactions = archive.reactions_by_day(&period(0)).await.unwrap();
        assert_eq!(reactions.iter().map(|it| it.count).collect::<Vec<_>>(), [2], "{reactions:?}");
        let questions = archive.open_questions(&period(0)).await.unwrap();
        let found: Vec<_> = questions.iter().map(|it| (&*it.text, it.is_taken_up)).collect();
        let expected = [("when do we plant？", false), ("does anybody know how deep?", true)];
        assert_eq!(found, expected, "{questions:?}");
        // The thread belongs to a question from hours ago.
        let changed = archive.changed_days(&period(0), revision).await.unwrap();
        let answered = period(0).day_of(at(7400));
        assert!(changed.contains(&answered), "{changed:?} {answered:?}");
        format!("{reactions:?} {questions:?} {changed:?}")
    });
    assert!(!counted.await.is_empty());
}

#[tokio::test]
async fn what_happened_after_words_and_silences_is_found() {
    let told = on_every_database(async |store| {
        let harness = Harness::new(store).await;
        harness.says("alice", "does anybody have a ladder?").await;
        harness.pass(7200).await;
        harness.says("bob", "is the gate open?").await;
        harness.pass(1800).await;
        harness.says("carol", "it is").await;
        harness.pass(7200).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        harness.says("alice", "does anybody know how deep?").await;
        harness.pass(1800).await;
        let messages = harness.messages("garden").await;
        let is_post = |stored: &&StoredMessage| stored.message.author.kind == AuthorKind::Persona;
        let post = messages.iter().rfind(is_post).unwrap().message.id.clone();
        let reaction = Reaction {
            workspace: workspace(),
            channel: ChannelId::new("garden"),
            message: post.clone(),
            user: UserId::new("u-bob"),
            kind: AuthorKind::Human,
            emoji: "🎉".into(),
            at: harness.clock.now(),
            change: ReactionChange::Added,
        };
        harness.inbox.hear(Heard::Reaction(reaction)).await.unwrap();
        let archive = &harness.store.archive;
        let aftermaths = archive.aftermaths(&period(0)).await.unwrap();
        let rated: Vec<RatedChoice> = aftermaths.iter().map(ChoiceAftermath::rate).collect();
        let has = |choice: SpeakChoice, welcome: Reception, reason: WelcomeReason| {
            let rating = Rating { welcome, reasons: vec![reason] };
            rated.iter().any(|rated| rated.choice == choice && rated.rating == rating)
        };
        let unanswered =
            (SpeakChoice::Silence, Reception::Unwelcome, WelcomeReason::NobodyAnswered);
        let answered = (SpeakChoice::Silence, Reception::Welcome, WelcomeReason::PersonAnswered);
        let liked = (SpeakChoice::Post, Reception::Welcome, WelcomeReason::Liked);
        for (choice, welcome, reason) in [unanswered, answered, liked] {
            assert!(has(choice, welcome, reason), "{reason:?}: {rated:?}");
        }
        let words = rated.iter().filter(|rated| rated.choice == SpeakChoice::Post);
        assert!(words.clone().count() == 1 && words.clone().all(|it| it.confidence.is_some()));
        assert!(rated.is_sorted_by_key(|rated| rated.decision), "{rated:?}");
        assert_eq!(archive.aftermaths(&period(86_400)).await.unwrap(), []);
        format!("{aftermaths:?}")
    });
    assert!(!told.await.is_empty());
}
