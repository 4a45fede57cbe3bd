//! A keeper rewords a proposal in a form of the chat: it is posted once, stored next to the original text, and
//! refused like any other click that is late or by another user. On every store.

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_harness::fixtures::{JOIN, at, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::UserId;
use aizuchi_model::decision::mark::Mark;
use aizuchi_model::decision::proposal::{Proposal, ProposalId, ProposalState};
use aizuchi_model::memory::asker;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{ChannelRules, LanguageRule, Mode, Rulebook};
use aizuchi_platform::keeper::edit::{EditForm, FilledForm};
use aizuchi_platform::keeper::{Click, ClickAnswer, KeeperLengths, Keepers};
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use jiff::SignedDuration;

/// A pending proposal in a channel whose keeper is ren.
struct Story {
    harness: Harness,
    keepers: Keepers,
    id: ProposalId,
}

impl Story {
    async fn new(store: TestStore, language: Language) -> Self {
        let language_rule = LanguageRule::Fixed(language);
        let default_rules = ChannelRules {
            mode: Mode::Propose,
            language: language_rule,
            ..ChannelRules::default()
        };
        let keeper = Some(UserId::new("ren"));
        let book = Rulebook { default_rules, keeper, ..Rulebook::default() };
        let harness = Harness::new(store).await.with_options(HarnessOptions::from_rulebook(book));
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        let keepers = Keepers {
            inbox: harness.inbox.clone(),
            archive: harness.store.archive.clone(),
            cursors: harness.store.cursors.clone(),
            language,
            lengths: KeeperLengths { form: 40, post: 20 },
        };
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        let mut story = Self { harness, keepers, id: ProposalId(0) };
        story.id = story.proposal().await.id;
        story
    }

    async fn proposal(&self) -> Proposal {
        let query =
            ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
        let now = self.harness.clock.now();
        self.harness.store.archive.proposals(&query, now).await.unwrap().remove(0)
    }

    async fn click(&self, user: &str, button: Choice) -> ClickAnswer {
        let (user, subject) = (UserId::new(user), QuestionSubject::Proposal(self.id));
        self.keepers.answer(Click { workspace: workspace(), subject, user, button }).await
    }

    async fn submit(&self, user: &str, text: &str) -> Option<&'static str> {
        let (user, proposal, text) = (UserId::new(user), self.id, text.to_owned());
        self.keepers.submit(FilledForm { workspace: workspace(), proposal, user, text }).await
    }

    fn posts(&self) -> Vec<String> {
        self.harness.platform.posted_texts()
    }
}

#[tokio::test]
async fn a_keeper_says_it_in_other_words() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        let answer = story.click("ren", Choice::Edit).await;
        let expected = EditForm {
            workspace: workspace(),
            language: Language::En,
            proposal: story.id,
            title: "Say it in other words",
            label: "What is posted",
            submit: "Say this instead",
            cancel: "Cancel",
            draft: "Here I am.".into(),
            max_length: 40,
        };
        assert_eq!(answer, ClickAnswer::Open(expected));
        assert_eq!(story.proposal().await.state, ProposalState::Open, "opening it decides nothing");
        // A keeper's link stays, and a text that is too long for one post is split in two.
        assert_eq!(story.submit("ren", " In March.\n\nhttps://rose.example ").await, None);
        let again = story.submit("ren", "In April.").await;
        assert_eq!(again, Some("Somebody has already decided about this."));
        story.harness.pass(1).await;
        assert_eq!(story.posts(), ["In March.", "https://rose.example"]);
        let said = story.proposal().await;
        assert_eq!((said.state, said.text), (ProposalState::Edited, None));
        assert_eq!(said.original.as_deref(), Some("Here I am."));
        let (by, _) = said.decided.unwrap();
        assert_eq!(asker::signer(&by), Some("ren"));
        let archive = &story.harness.store.archive;
        let labels = archive.proposal_labels(&workspace(), 10).await.unwrap();
        assert!(labels.len() == 1 && labels[0].1.is_approved, "{labels:?}");
        let marks = archive.marks_since(&workspace(), at(0)).await.unwrap();
        assert_eq!((marks[0].mark, &marks[0].by), (Mark::Right, &by));
        let decided = ClickAnswer::Tell("Somebody has already decided about this.");
        assert_eq!(story.click("ren", Choice::Edit).await, decided);
        story.harness.pass(10_000).await;
        assert_eq!(story.posts().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn who_keeps_nothing_edits_nothing() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::Ja).await;
        let refused = "あなたは、そのチャンネルの担当の人ではありません。";
        assert_eq!(story.click("alice", Choice::Edit).await, ClickAnswer::Tell(refused));
        // Even if they obtain the form.
        assert_eq!(story.submit("alice", "私です。").await, Some(refused));
        assert_eq!(story.submit("ren", " \n ").await, Some("投稿する文がありません。"));
        let long = story.submit("ren", &"あ".repeat(41)).await;
        assert_eq!(long, Some("ここで書き直すには長すぎます。コンソールを使ってください。"));
        assert_eq!(story.proposal().await.state, ProposalState::Open);
        assert_eq!(story.submit("ren", "三月です。").await, None);
        story.harness.pass(1).await;
        assert_eq!(story.posts(), ["三月です。"]);
    })
    .await;
}

#[tokio::test]
async fn a_form_that_comes_too_late_says_so() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        assert!(matches!(story.click("ren", Choice::Edit).await, ClickAnswer::Open(_)));
        story.harness.pass(4000).await;
        let too_late = "It’s too late for this: the moment has passed.";
        assert_eq!(story.submit("ren", "In March.").await, Some(too_late));
        assert_eq!(story.click("ren", Choice::Edit).await, ClickAnswer::Tell(too_late));
        story.harness.pass(1000).await;
        assert_eq!(story.posts(), [""; 0]);
        assert_eq!(story.proposal().await.state, ProposalState::Lapsed);
    })
    .await;
}

#[tokio::test]
async fn of_a_form_and_a_lapse_one_wins() {
    for (offset, is_in_time) in [(-1, true), (0, false), (1, false)] {
        on_every_database(async |store| {
            let story = Story::new(store, Language::En).await;
            let expires = story.proposal().await.expires;
            story.harness.clock.advance_to(expires + SignedDuration::from_secs(offset));
            let told = story.submit("ren", "In March.").await;
            assert_eq!(told.is_none(), is_in_time, "{offset}: {told:?}");
            story.harness.pass(1000).await;
            // What was submitted in time is posted, even if the proposal has expired by then.
            let (state, posts) = match is_in_time {
                true => (ProposalState::Edited, 1),
                false => (ProposalState::Lapsed, 0),
            };
            assert_eq!((story.proposal().await.state, story.posts().len()), (state, posts));
        })
        .await;
    }
}

#[tokio::test]
async fn of_a_form_and_a_click_the_first_counts() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        let say = story.click("ren", Choice::Say);
        let (clicked, told) = tokio::join!(say, story.submit("ren", "In March."));
        story.harness.pass(1).await;
        let decided = "Somebody has already decided about this.";
        let expected = match (&clicked, told) {
            (ClickAnswer::Settles, Some(told)) if told == decided => "Here I am.",
            (ClickAnswer::Tell(told), None) if *told == decided => "In March.",
            other => panic!("both or neither: {other:?}"),
        };
        assert_eq!(story.posts(), [expected]);
    })
    .await;
}

#[tokio::test]
async fn a_draft_that_no_form_holds_is_edited_on_the_console() {
    on_every_database(async |store| {
        let mut story = Story::new(store, Language::En).await;
        story.keepers.lengths.form = 5;
        let told = "That’s too long to be edited here. Use the console.";
        assert_eq!(story.click("ren", Choice::Edit).await, ClickAnswer::Tell(told));
    })
    .await;
}

/// The ways in which a proposal's text is forgotten.
#[derive(Clone, Copy, Debug)]
enum Erasure {
    Deletion,
    Forgetting,
    Retention,
}

#[tokio::test]
async fn what_was_proposed_is_kept_no_longer_than_what_it_rests_on() {
    for erasure in [Erasure::Deletion, Erasure::Forgetting, Erasure::Retention] {
        on_every_database(async |store| {
            let story = Story::new(store, Language::En).await;
            assert_eq!(story.submit("ren", "In March.").await, None);
            let harness = &story.harness;
            harness.pass(1).await;
            let about = story.proposal().await;
            assert!(about.original.is_some());
            match erasure {
                Erasure::Deletion => harness.deletes(&about.about.unwrap()).await,
                Erasure::Forgetting => {
                    let (user, asked) = (UserId::new("u-alice"), harness.clock.now());
                    harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
                }
                Erasure::Retention => {
                    harness.pass(10).await;
                    let before = harness.clock.now();
                    harness.store.store.drop_exchanges(before, u64::MAX).await.unwrap();
                }
            }
            let after = story.proposal().await;
            assert_eq!((after.state, after.original), (ProposalState::Edited, None), "{erasure:?}");
        })
        .await;
    }
}
