//! A gate learned from the ledger: a judge that always declines certain moments is no longer asked about them.

use std::sync::Arc;

use aizuchi_agent::learner::Learner;
use aizuchi_harness::fixtures::{JOIN, SILENCE, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{StoreKind, TestStore, on_every_database};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_llm::{Llm, LlmError};
use aizuchi_model::chat::ChannelId;
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::decision::learned::{LearnedGates, MAX_MOMENTS, MIN_VERDICTS};
use aizuchi_model::decision::tolerance::{ChannelLabels, Label, MIN_LABELS};
use aizuchi_model::decision::{Decision, DecisionResult};
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use aizuchi_store::order::Order;

const SHORT: &str = "is anyone there?";
const LONG: &str =
    "does anyone know where the ladder went that stood behind the shed, next to the apple tree?";
/// The judge wants a second look, if no one writes until then.
const LATER: &str = r#"{"should_respond": false, "reason": "not yet", "confidence": 0.8, "delay_seconds": null, "look_again_seconds": 120}"#;
/// Long enough that no other gate applies.
const PAUSE: i64 = 4000;

struct Story {
    harness: Harness,
    gates: Arc<LearnedGates>,
}

impl Story {
    async fn new(store: TestStore) -> Self {
        Self::from_rules(store, ChannelRules::default()).await
    }

    async fn from_rules(store: TestStore, rules: ChannelRules) -> Self {
        let gates = Arc::new(LearnedGates::default());
        let options =
            HarnessOptions { learned_gates: gates.clone(), ..HarnessOptions::from_rules(rules) };
        let harness = Harness::new(store).await.with_options(options);
        Self { harness, gates }
    }

    fn learner(&self) -> Learner {
        Learner {
            archive: self.harness.store.archive.clone(),
            cursors: self.harness.store.cursors.clone(),
            clock: self.harness.clock.clone(),
            miss: Some(0.1),
            rulebook: Rulebook::default().into(),
            gates: self.gates.clone(),
        }
    }

    async fn learn(&self) {
        self.learner().step().await.unwrap();
    }

    /// Says a text. The judge takes up long ones, and declines short ones.
    async fn says(&self, text: &str) {
        let answer = if text == LONG { JOIN } else { SILENCE };
        self.harness.mind.script.set_default(PromptVerb::Judge, answer);
        self.harness.says("alice", text).await;
        self.harness.pass(PAUSE).await;
    }

    /// Collects as many verdicts as the gate needs; some are a yes.
    async fn live(&self) {
        for number in 0..MIN_VERDICTS {
            // No other feature predicts the verdict: the time since the last message varies.
            let is_long = number * number % 11 < 4;
            self.says(if is_long { LONG } else { SHORT }).await;
        }
    }

    async fn newest(&self) -> Decision {
        self.harness.decisions("garden").await.pop().unwrap()
    }

    /// Says this many short texts. Returns how many were judged, and how many skipped.
    async fn judged_and_skipped(&self, count: usize) -> (usize, usize) {
        let (mut judged, mut skipped) = (0, 0);
        for _ in 0..count {
            self.says(SHORT).await;
            let newest = self.newest().await;
            judged += usize::from(!newest.attempts.is_empty());
            skipped += usize::from(newest.gate == Some(Gate::Learned));
        }
        (judged, skipped)
    }
}

/// A single story, because collecting the verdicts takes most of its time: the gate starts to skip, learns the same
/// after a restart, and stops skipping after a reset.
#[tokio::test]
async fn what_the_judge_always_declines_is_asked_no_more_until_a_reset() {
    let told = on_every_database(async |store| {
        let mut story = Story::new(store).await;
        story.live().await;
        assert_eq!(story.judged_and_skipped(2).await, (2, 0), "nothing was learned yet");
        story.learn().await;
        story.says(SHORT).await;
        let skipped = story.newest().await;
        assert_eq!(skipped.gate, Some(Gate::Learned));
        assert_eq!(skipped.ended, Some(DecisionResult::ChoseSilence));
        assert!(skipped.attempts.is_empty());
        let moment = skipped.evaluation.unwrap().moment.unwrap();
        assert!(moment.propensity < 1.0 && moment.rate.is_some());

        let learned = story.gates.read(&workspace()).unwrap();
        assert!(learned.skipping.is_some());
        story.harness = story.harness.restart().await;
        let other = Story { gates: Arc::default(), ..story };
        other.learn().await;
        assert_eq!(other.gates.read(&workspace()).unwrap(), learned);

        // The story's gates kept what they had learned over the restart. A long question is judged, and answered.
        other.says(LONG).await;
        let asked = other.newest().await;
        assert_eq!(asked.ended, Some(DecisionResult::Spoke));
        assert!(asked.evaluation.unwrap().passed_gates.ends_with(&[Gate::Learned]));

        other.harness.order(Order::ForgetMoments { workspace: workspace() }).await;
        other.learn().await;
        let forgotten = other.gates.read(&workspace()).unwrap();
        assert_eq!((forgotten.training.verdicts, &forgotten.skipping), (0, &None));
        // Another process reads the ledger.
        let kept =
            HarnessOptions { learned_gates: other.gates.clone(), ..HarnessOptions::default() };
        let again = Story { harness: other.harness.with_options(kept), gates: other.gates };
        assert_eq!(again.judged_and_skipped(3).await, (3, 0));
        skipped.why.unwrap()
    })
    .await;
    assert!(told.contains("I didn’t look closely"), "{told}");
}

#[tokio::test]
async fn some_of_it_is_judged_all_the_same() {
    let story = Story::new(TestStore::sqlite().await).await;
    story.live().await;
    story.learn().await;
    let (judged, skipped) = story.judged_and_skipped(80).await;
    let gate = story.gates.read(&workspace()).unwrap();
    let expected = 80.0 * gate.skipping.as_ref().unwrap().threshold.exploration;
    let range = (expected * 0.4) as usize..(expected * 1.7) as usize;
    assert!(range.contains(&judged), "{judged} of 80 are judged, {expected} expected");
    assert_eq!(judged + skipped, 80);
}

#[tokio::test]
async fn words_that_are_often_unwelcome_are_held_back() {
    let told = on_every_database(async |store| {
        let rules = ChannelRules { tolerance: Some(0.05), ..ChannelRules::default() };
        let story = Story::from_rules(store, rules.clone()).await;
        // The judge's confidence when it joins in.
        let known = async |is_welcome: bool, count: usize| {
            let labels = vec![Label { confidence: 0.9, is_welcome }; count];
            let channels = ChannelLabels::from([(ChannelId::new("garden"), labels)]);
            story.gates.labels.replace(workspace(), channels.into());
            story.says(LONG).await;
            story.newest().await
        };
        let too_few = known(false, MIN_LABELS - 1).await;
        assert_eq!(too_few.ended, Some(DecisionResult::Spoke));
        let welcome = known(true, 200).await;
        assert_eq!(welcome.ended, Some(DecisionResult::Spoke));
        let held_back = known(false, 200).await;
        assert_eq!(held_back.ended, Some(DecisionResult::ChoseSilence));
        assert!(held_back.judgment.unwrap().should_respond);
        // A mention is still answered.
        story.says("@Aizuchi are you there?").await;
        assert_eq!(story.newest().await.ended, Some(DecisionResult::Spoke));

        // The ratings in the ledger replace them: three posts without any feedback.
        let rulebook = Rulebook { default_rules: rules, ..Rulebook::default() };
        let learner = Learner { miss: None, rulebook: rulebook.into(), ..story.learner() };
        learner.step().await.unwrap();
        assert_eq!(story.gates.labels.read(&workspace()).unwrap().labels, ChannelLabels::new());
        story.says(LONG).await;
        assert_eq!(story.newest().await.ended, Some(DecisionResult::Spoke));
        held_back.why.unwrap()
    })
    .await;
    let expected = "here, words under 1.00 were unwelcome more often than 5.0 %";
    assert!(told.contains(expected), "{told}");
}

#[tokio::test]
async fn a_mention_is_always_answered() {
    let story = Story::new(TestStore::sqlite().await).await;
    story.live().await;
    story.learn().await;
    assert!(story.gates.read(&workspace()).unwrap().skipping.is_some());
    for text in ["@Aizuchi I am so tired of this", "@Aizuchi hm"] {
        let before = story.harness.platform.posted_texts().len();
        story.says(text).await;
        assert_eq!(story.harness.platform.posted_texts().len(), before + 1, "{text}");
    }
    // Even if the mention comes while a short question waits to be judged.
    story.harness.says("alice", SHORT).await;
    let before = story.harness.platform.posted_texts().len();
    story.says("@Aizuchi are you there").await;
    assert_eq!(story.harness.platform.posted_texts().len(), before + 1);
}

#[tokio::test]
async fn a_judge_that_changes_its_mind_is_asked_again() {
    let story = Story::new(TestStore::sqlite().await).await;
    story.live().await;
    story.learn().await;
    assert!(story.gates.read(&workspace()).unwrap().skipping.is_some());
    // From now on the judge wants to answer short questions as well, which shows where it is still asked.
    story.harness.mind.script.set_default(PromptVerb::Judge, JOIN);
    for _ in 0..500 {
        story.harness.says("alice", SHORT).await;
        story.harness.pass(PAUSE).await;
        story.learn().await;
        if story.gates.read(&workspace()).unwrap().skipping.is_none() {
            let archive = &story.harness.store.archive;
            let moments = archive.judged_moments(&workspace(), MAX_MOMENTS).await.unwrap();
            let mut explored = moments.iter().filter(|judged| judged.moment.propensity < 1.0);
            assert!(explored.any(|judged| judged.is_yes), "{moments:?}");
            return;
        }
    }
    panic!("it still skips what the judge would take up");
}

#[tokio::test]
async fn a_verdict_is_that_of_the_model_that_gave_it() {
    for kind in StoreKind::DATABASES {
        let mut story = Story::new(kind.open().await).await;
        let fallback: Option<Arc<dyn Llm>> = Some(Arc::new(BuiltinMind));
        let options = HarnessOptions { fallback, ..story.harness.options.clone() };
        story.harness = story.harness.with_options(options);
        story.says(SHORT).await;
        let refusal = || Err(LlmError::Refused("not today".to_owned()));
        story.harness.mind.script.push(PromptVerb::Judge, refusal());
        story.says(SHORT).await;
        story.says(SHORT).await;
        // Also if a different question asked for the second look.
        story.harness.mind.script.push(PromptVerb::Judge, Ok(LATER));
        story.harness.mind.script.push(PromptVerb::Judge, refusal());
        story.says(SHORT).await;
        let moments = story.harness.store.archive.judged_moments(&workspace(), 10).await.unwrap();
        let judges: Vec<&str> = moments.iter().map(|judged| &*judged.moment.judge).collect();
        assert_eq!(judges, ["scripted", "builtin", "scripted", "builtin"]);
    }
}

#[tokio::test]
async fn facilitators_are_judged_without_it() {
    let mut rules = ChannelRules { mode: Mode::Facilitator, ..ChannelRules::default() };
    rules.facilitation.min_messages = 0;
    let story = Story::from_rules(TestStore::volatile(), rules).await;
    story.says(SHORT).await;
    let evaluation = story.newest().await.evaluation.unwrap();
    assert_eq!((evaluation.mode, evaluation.moment), (Mode::Facilitator, None));
    assert!(story.harness.step_of(&top_level("garden")).await.is_none());
}

/// A week of listening serves this, too: the gate learns when it may speak.
#[tokio::test]
async fn where_it_only_observes_it_learns_and_skips_nothing() {
    let rules = ChannelRules { mode: Mode::Observe, ..ChannelRules::default() };
    let story = Story::from_rules(TestStore::sqlite().await, rules).await;
    story.live().await;
    story.learn().await;
    let learned = story.gates.read(&workspace()).unwrap();
    assert!(learned.skipping.is_some(), "{:?}", learned.training);
    assert_eq!(story.judged_and_skipped(30).await, (30, 0));
    let evaluation = story.newest().await.evaluation.unwrap();
    assert!(!evaluation.passed_gates.contains(&Gate::Learned));
    let moment = evaluation.moment.unwrap();
    assert_eq!((evaluation.mode, moment.propensity, moment.rate), (Mode::Observe, 1.0, None));
    assert!(story.harness.platform.posted_texts().is_empty());

    let options = HarnessOptions {
        learned_gates: story.gates.clone(),
        ..HarnessOptions::from_rules(ChannelRules::default())
    };
    let allowed = Story { harness: story.harness.with_options(options), gates: story.gates };
    let (_, skipped) = allowed.judged_and_skipped(10).await;
    assert!(skipped > 0, "what was learned by listening is of use");
}
