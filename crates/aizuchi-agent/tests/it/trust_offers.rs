//! After enough clicks the persona asks once whether it may speak without asking from some confidence on. A yes
//! orders the mode and the confidence; “not yet” holds until as many clicks have followed. On every store.

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_harness::fixtures::{JOIN, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_model::decision::proposal::ProposalId;
use aizuchi_model::decision::trust::{TrustChoice, TrustOffer, TrustOfferId, TrustState};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{ChannelRules, LanguageRule, Mode, Rulebook};
use aizuchi_platform::keeper::{Click, ClickAnswer, KeeperLengths, Keepers};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::{OrderJournalQuery, OrderKind};
use aizuchi_store::query::ProposalQuery;
use aizuchi_store::refusal_reason::RefusalReason;

use crate::keepers::{TestChat, look};

/// Below the confidence from which nearly all proposals were approved, and above the configured one.
const LESS_SURE: &str = r#"{"should_respond": true, "reason": "nobody answers", "confidence": 0.8, "delay_seconds": 0}"#;

/// The garden, whose keeper is ren.
struct Story {
    harness: Harness,
    keepers: Keepers,
    chat: TestChat,
}

impl Story {
    async fn new(store: TestStore, language: Language) -> Self {
        let default_rules = ChannelRules {
            mode: Mode::Propose,
            language: LanguageRule::Fixed(language),
            max_share: 1.0,
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
            language: Language::En,
            lengths: KeeperLengths { form: 3_000, post: 3_000 },
        };
        Self { harness, keepers, chat: TestChat::default() }
    }

    async fn asks(&self, number: usize) {
        self.harness
            .says("alice", &format!("does anyone know where spade number {number} is?"))
            .await;
        self.harness.pass(400).await;
    }

    /// Makes a proposal, and ren clicks.
    async fn clicks(&self, number: usize, button: Choice) {
        self.asks(number).await;
        let subject = QuestionSubject::Proposal(self.newest_proposal().await);
        assert_eq!(self.answer(subject, "ren", button).await, ClickAnswer::Settles, "{number}");
        self.harness.pass(4_000).await;
    }

    async fn clicks_often(&self, count: usize, button: Choice) {
        for number in 0..count {
            self.clicks(number, button).await;
        }
    }

    async fn newest_proposal(&self) -> ProposalId {
        let query =
            ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
        let now = self.harness.clock.now();
        self.harness.store.archive.proposals(&query, now).await.unwrap().remove(0).id
    }

    async fn answer(&self, subject: QuestionSubject, user: &str, button: Choice) -> ClickAnswer {
        let user = UserId::new(user);
        self.keepers.answer(Click { workspace: workspace(), subject, user, button }).await
    }

    /// The questions about speaking without asking.
    async fn offers(&self) -> Vec<(QuestionSubject, String)> {
        for _ in 0..2 {
            look(&self.keepers, &self.chat).await;
        }
        let questions = self.chat.questions.lock().unwrap();
        let offers = questions.iter().filter(|it| matches!(it.subject, QuestionSubject::Trust(_)));
        offers.map(|it| (it.subject, it.heading.clone())).collect()
    }

    async fn stored(&self) -> TrustOffer {
        let mut offers = self.harness.store.archive.trust_offers(&workspace()).await.unwrap();
        assert_eq!(offers.len(), 1, "{offers:?}");
        offers.remove(0)
    }

    fn posts(&self) -> usize {
        self.harness.platform.posted_texts().len()
    }

    fn mode(&self) -> Mode {
        self.harness.inbox.channel_cache.mode(&workspace(), &garden())
    }
}

fn garden() -> ChannelId {
    ChannelId::new("garden")
}

#[tokio::test]
async fn a_keeper_is_asked_once_and_a_yes_orders_mode_and_confidence() {
    for (language, expected, done) in [
        (
            Language::En,
            "With confidence over 0.90 you would have let 97 % pass; shall I speak by myself in #garden?",
            "In #garden: I speak by myself.",
        ),
        (
            Language::Ja,
            "これまで、確信度 0.90 以上の案の 97 % が承認されました。#garden では、確認せずに自分から話してもいいですか？",
            "#garden の件は「自分から話す」となりました。",
        ),
    ] {
        on_every_database(async |store| {
            let story = Story::new(store, language).await;
            story.clicks_often(28, Choice::Say).await;
            story.clicks(28, Choice::NotNow).await;
            assert!(story.offers().await.is_empty(), "29 clicks say too little");
            story.clicks(29, Choice::Say).await;
            let offers = story.offers().await;
            assert_eq!(offers.len(), 1, "{offers:?}");
            assert_eq!(offers[0].1, expected);
            // Further clicks change nothing.
            story.clicks_often(2, Choice::Say).await;
            assert_eq!(story.offers().await, offers);
            let subject = offers[0].0;
            let refused = story.answer(subject, "alice", Choice::ByItself).await;
            assert!(matches!(refused, ClickAnswer::Tell(_)));
            // A button of another kind of question is ignored.
            let refused = story.answer(subject, "ren", Choice::Say).await;
            assert!(matches!(refused, ClickAnswer::Tell(_)));
            assert_eq!(story.mode(), Mode::Propose);
            let answer = story.answer(subject, "ren", Choice::ByItself).await;
            assert_eq!(answer, ClickAnswer::Settles);
            assert!(matches!(
                story.answer(subject, "ren", Choice::NotYet).await,
                ClickAnswer::Tell(_)
            ));
            assert_eq!(story.mode(), Mode::Companion);
            story.offers().await;
            assert!(story.chat.texts().contains(&done.to_owned()), "{:?}", story.chat.texts());
            let orders = story.harness.store.store.orders(&workspace()).await.unwrap();
            assert_eq!(orders.modes, [(garden(), Mode::Companion)]);
            let least = orders.trusted_confidence(&garden()).unwrap();
            assert_eq!(least.share(), 0.9);
            let query = OrderJournalQuery { workspace: None, kind: None, before: None, limit: 1 };
            let journal = story.harness.store.archive.order_journal(&query).await.unwrap();
            let record = &journal[0].record;
            assert_eq!(
                (record.kind, record.value.as_deref()),
                (OrderKind::Mode, Some("companion"))
            );
            // The configured confidence would let this pass, but the agreed one does not, and no member can lift it.
            story.harness.says("alice", "@Aizuchi reset settings").await;
            story.harness.pass(5).await;
            let posts = story.posts();
            story.harness.mind.script.set_default(PromptVerb::Judge, LESS_SURE);
            story.asks(100).await;
            story.harness.pass(4_000).await;
            assert_eq!(story.posts(), posts);
            story.harness.mind.script.set_default(PromptVerb::Judge, JOIN);
            story.asks(101).await;
            story.harness.pass(4_000).await;
            assert_eq!(story.posts(), posts + 1, "nobody is asked");
            // Another mode removes the confidence.
            let (workspace, channel) = (workspace(), garden());
            let mode = Some(Mode::Companion);
            story.harness.order(Order::Mode { workspace, channel, mode }).await;
            story.harness.mind.script.set_default(PromptVerb::Judge, LESS_SURE);
            story.asks(102).await;
            story.harness.pass(4_000).await;
            assert_eq!(story.posts(), posts + 2);
        })
        .await;
    }
}

#[tokio::test]
async fn not_yet_is_heard_until_as_many_clicks_have_followed() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        story.clicks_often(30, Choice::Say).await;
        let offers = story.offers().await;
        let answer = story.answer(offers[0].0, "ren", Choice::NotYet).await;
        assert_eq!(answer, ClickAnswer::Settles);
        assert_eq!(story.mode(), Mode::Propose);
        assert_eq!(story.offers().await.len(), 1);
        assert!(story.chat.texts().contains(&"In #garden: not yet.".to_owned()));
        story.clicks_often(29, Choice::Say).await;
        assert_eq!(story.offers().await.len(), 1);
        story.clicks(30, Choice::Say).await;
        assert_eq!(story.offers().await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn an_offer_is_withdrawn_where_it_does_not_hold_any_more() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        story.clicks_often(30, Choice::Say).await;
        let offers = story.offers().await;
        story.clicks_often(4, Choice::Never).await;
        assert_eq!(story.stored().await.state, TrustState::Withdrawn);
        assert_eq!(story.offers().await.len(), 1);
        let texts = story.chat.texts();
        assert!(texts.contains(&"In #garden: no longer asked.".to_owned()), "{texts:?}");
        let late = story.answer(offers[0].0, "ren", Choice::ByItself).await;
        let told = "This is settled already, or what was decided since says otherwise.";
        assert_eq!((late, story.mode()), (ClickAnswer::Tell(told), Mode::Propose));
    })
    .await;
}

/// Choosing another mode in the meantime also answers the question.
#[tokio::test]
async fn an_offer_holds_where_words_are_proposed() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        story.clicks_often(30, Choice::Say).await;
        let offers = story.offers().await;
        let order = |mode| Order::Mode { workspace: workspace(), channel: garden(), mode };
        story.harness.order(order(Some(Mode::Observe))).await;
        let late = story.answer(offers[0].0, "ren", Choice::ByItself).await;
        assert!(matches!(late, ClickAnswer::Tell(_)));
        assert_eq!(story.mode(), Mode::Observe);
        story.offers().await;
        assert!(story.chat.texts().contains(&"In #garden: no longer asked.".to_owned()));
    })
    .await;
}

/// Back in the old mode, the question is not repeated until as many clicks have followed.
#[tokio::test]
async fn a_mode_that_was_chosen_and_left_again_repeats_no_offer() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        story.clicks_often(30, Choice::Say).await;
        assert_eq!(story.offers().await.len(), 1);
        let order = |mode| Order::Mode { workspace: workspace(), channel: garden(), mode };
        // It is already in this mode.
        story.harness.order(order(None)).await;
        assert_eq!(story.stored().await.state, TrustState::Open);
        for mode in [Some(Mode::Observe), None, Some(Mode::MentionOnly), Some(Mode::Propose)] {
            story.harness.order(order(mode)).await;
            assert_eq!(story.offers().await.len(), 1, "{mode:?}");
            assert_eq!(story.stored().await.state, TrustState::Withdrawn);
        }
        assert_eq!(story.mode(), Mode::Propose);
        story.clicks_often(29, Choice::Say).await;
        assert_eq!(story.offers().await.len(), 1);
        story.clicks(30, Choice::Say).await;
        assert_eq!(story.offers().await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn the_first_answer_counts_and_names_nobody_who_is_forgotten() {
    on_every_database(async |store| {
        let story = Story::new(store, Language::En).await;
        story.clicks_often(30, Choice::Say).await;
        let TrustOffer { id, trusted, .. } = story.stored().await;
        let by: std::sync::Arc<str> = "ren 1".into();
        let order = |id, choice| Order::AnswerTrust {
            workspace: workspace(),
            channel: garden(),
            id,
            least: trusted.least,
            choice,
            by: by.clone(),
        };
        let gone = |result: Result<(), StoreError>| {
            matches!(result, Err(StoreError::Refused(RefusalReason::TrustOfferGone)))
        };
        let inbox = &story.harness.inbox;
        let other = order(TrustOfferId(id.0 + 1), TrustChoice::ByItself);
        assert!(gone(inbox.apply_order(other).await));
        assert_eq!(story.mode(), Mode::Propose, "a refused order leaves no trace");
        let (first, second) = tokio::join!(
            inbox.apply_order(order(id, TrustChoice::NotYet)),
            inbox.apply_order(order(id, TrustChoice::ByItself)),
        );
        assert_ne!(first.is_ok(), second.is_ok());
        assert!(gone(first) || gone(second));
        let (user, asked) = (UserId::new("ren"), story.harness.clock.now());
        story.harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        assert_eq!(&*story.stored().await.decided.unwrap().0, "forgotten");
    })
    .await;
}
