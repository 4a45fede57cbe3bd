//! A channel's keeper is asked in a private chat, decides there, and sees the outcome there. On every store.

use std::sync::Mutex;

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_harness::fixtures::{JOIN, at, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, MessageId, UserId, WorkspaceId};
use aizuchi_model::decision::proposal::ProposalId;
use aizuchi_model::memory::asker;
use aizuchi_model::persona::Language;
use aizuchi_model::platform::PlatformError;
use aizuchi_model::rules::{ChannelRules, Mode, Rulebook};
use aizuchi_platform::keeper::{
    Click, ClickAnswer, KeeperChat, KeeperLengths, KeeperQuestion, Keepers, QuestionPlace,
    QuestionRecords,
};
use aizuchi_store::order::Order;
use aizuchi_store::query::ProposalQuery;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

/// A private chat and its contents.
#[derive(Default)]
pub struct TestChat {
    texts: Mutex<Vec<String>>,
    pub questions: Mutex<Vec<KeeperQuestion>>,
}

#[async_trait]
impl KeeperChat for TestChat {
    fn workspaces(&self) -> Vec<WorkspaceId> {
        vec![workspace()]
    }

    async fn ask(
        &self,
        keeper: &UserId,
        question: &KeeperQuestion,
    ) -> Result<QuestionPlace, PlatformError> {
        let mut texts = self.texts.lock().unwrap();
        texts.push(format!("{keeper}: {} {}", question.heading, question.draft));
        self.questions.lock().unwrap().push(question.clone());
        let message = MessageId::new((texts.len() - 1).to_string());
        Ok(QuestionPlace { channel: ChannelId::new("d1"), message })
    }

    async fn find_question(
        &self,
        _keeper: &UserId,
        _workspace: &WorkspaceId,
        _subject: QuestionSubject,
        _since: Timestamp,
    ) -> Result<Option<QuestionPlace>, PlatformError> {
        panic!("every question is known to be asked")
    }

    async fn settle(&self, place: &QuestionPlace, text: &str) -> Result<(), PlatformError> {
        let index: usize = place.message.as_str().parse().unwrap();
        text.clone_into(&mut self.texts.lock().unwrap()[index]);
        Ok(())
    }

    fn delivery_timeout(&self) -> SignedDuration {
        SignedDuration::ZERO
    }
}

impl TestChat {
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().clone()
    }

    /// Returns the proposal that was asked about first.
    fn first_proposal(&self) -> ProposalId {
        let subject = self.questions.lock().unwrap()[0].subject;
        let QuestionSubject::Proposal(id) = subject else { panic!("{subject:?}") };
        id
    }
}

/// A harness whose judge always wants to speak, and where ren is the keeper of all channels.
async fn kept(store: TestStore) -> (Harness, Keepers) {
    let default_rules = ChannelRules { mode: Mode::Propose, ..ChannelRules::default() };
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
    (harness, keepers)
}

/// Looks as after a start.
pub async fn look(keepers: &Keepers, chat: &TestChat) {
    assert!(keepers.look(chat, &mut QuestionRecords::default()).await);
}

/// Has the keeper asked about what would be said to a question. Returns the proposal.
async fn asked(harness: &Harness, keepers: &Keepers, chat: &TestChat) -> ProposalId {
    harness.says("alice", "when do I cut the roses?").await;
    harness.pass(400).await;
    look(keepers, chat).await;
    chat.first_proposal()
}

fn click(proposal: ProposalId, user: &str, button: Choice) -> Click {
    let subject = QuestionSubject::Proposal(proposal);
    Click { workspace: workspace(), subject, user: UserId::new(user), button }
}

#[tokio::test]
async fn a_keeper_is_asked_once_and_decides() {
    on_every_database(async |store| {
        let (harness, keepers) = kept(store).await;
        let chat = TestChat::default();
        look(&keepers, &chat).await;
        assert_eq!(chat.texts(), [""; 0]);
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        for _ in 0..2 {
            look(&keepers, &chat).await;
            let texts = chat.texts();
            assert_eq!(texts.len(), 1, "{texts:?}");
            assert!(texts[0].starts_with("ren: In ") && texts[0].ends_with("Here I am."));
        }
        let question = chat.questions.lock().unwrap()[0].clone();
        assert_eq!(question.note, "Why: nobody answers");
        let QuestionSubject::Proposal(id) = question.subject else { panic!("{question:?}") };
        let told = keepers.answer(click(id, "alice", Choice::Never)).await;
        assert_eq!(told, ClickAnswer::Tell("You don’t look after that channel."));
        let answer = keepers.answer(click(id, "ren", Choice::Say)).await;
        assert_eq!(answer, ClickAnswer::Settles);
        let told = keepers.answer(click(id, "ren", Choice::Say)).await;
        assert_eq!(told, ClickAnswer::Tell("Somebody has already decided about this."));
        harness.pass(1).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.len() == 1 && texts[0].ends_with(": approved."), "{texts:?}");
        let unknown = ProposalId(id.0 + 1000);
        let told = keepers.answer(click(unknown, "ren", Choice::Say)).await;
        let too_late = "It’s too late for this: the moment has passed.";
        assert_eq!(told, ClickAnswer::Tell(too_late));
    })
    .await;
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_settled_when_its_time_is_over() {
    on_every_database(async |store| {
        let (harness, keepers) = kept(store).await;
        let chat = TestChat::default();
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        look(&keepers, &chat).await;
        harness.pass(10_000).await;
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.len() == 1 && texts[0].ends_with(": lapsed."), "{texts:?}");
    })
    .await;
}

/// Has many proposals made in channels without a keeper.
async fn propose_elsewhere(harness: &Harness) {
    const COUNT: usize = 60;
    let open = async || harness.store.archive.open_proposals(harness.clock.now()).await.unwrap();
    let before = open().await.len();
    for number in 0..COUNT {
        let (channel, user) = (format!("cellar-{number}"), format!("bob{number}"));
        harness.says_in(top_level(&channel), &user, "does anyone have a ladder?").await;
    }
    harness.pass(400).await;
    assert_eq!(open().await.len(), before + COUNT);
}

#[tokio::test]
async fn a_keeper_is_asked_however_many_proposals_have_come_since() {
    on_every_database(async |store| {
        let (harness, keepers) = kept(store).await;
        let chat = TestChat::default();
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        propose_elsewhere(&harness).await;
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.len() == 1 && texts[0].starts_with("ren: In "), "{texts:?}");
    })
    .await;
}

#[tokio::test]
async fn a_question_stays_open_however_many_proposals_come_later() {
    on_every_database(async |store| {
        let (harness, keepers) = kept(store).await;
        let chat = TestChat::default();
        harness.says("alice", "when do I cut the roses?").await;
        harness.pass(400).await;
        look(&keepers, &chat).await;
        let asked = chat.texts();
        propose_elsewhere(&harness).await;
        look(&keepers, &chat).await;
        assert_eq!(chat.texts(), asked);
        let id = chat.first_proposal();
        let answer = keepers.answer(click(id, "ren", Choice::Say)).await;
        assert_eq!(answer, ClickAnswer::Settles);
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.len() == 1 && texts[0].ends_with(": approved."), "{texts:?}");
    })
    .await;
}

#[tokio::test]
async fn a_new_keeper_is_asked_what_the_earlier_one_has_not_decided() {
    on_every_database(async |store| {
        let (harness, keepers) = kept(store).await;
        let chat = TestChat::default();
        let id = asked(&harness, &keepers, &chat).await;
        let of_mia =
            |book: &Rulebook| Rulebook { keeper: Some(UserId::new("mia")), ..book.clone() };
        harness.options.settings.rulebook.update(of_mia);
        for _ in 0..2 {
            look(&keepers, &chat).await;
            let texts = chat.texts();
            assert_eq!(texts.len(), 2, "{texts:?}");
            assert!(texts[0].ends_with("and is asked instead."), "{texts:?}");
            assert!(texts[1].starts_with("mia: In "), "{texts:?}");
        }
        let told = keepers.answer(click(id, "ren", Choice::Say)).await;
        assert_eq!(told, ClickAnswer::Tell("You don’t look after that channel."));
        let answer = keepers.answer(click(id, "mia", Choice::Say)).await;
        assert_eq!(answer, ClickAnswer::Settles);
        look(&keepers, &chat).await;
        let texts = chat.texts();
        assert!(texts.len() == 2 && texts[1].ends_with(": approved."), "{texts:?}");
    })
    .await;
}

#[tokio::test]
async fn a_keeper_who_is_forgotten_is_not_named() {
    on_every_database(async |store| {
        let (harness, keepers) = kept(store).await;
        let chat = TestChat::default();
        let id = asked(&harness, &keepers, &chat).await;
        let answer = keepers.answer(click(id, "ren", Choice::NotNow)).await;
        assert_eq!(answer, ClickAnswer::Settles);
        let query =
            ProposalQuery { workspace: Some(workspace()), decision: None, before: None, limit: 1 };
        let by = async || {
            let now = harness.clock.now();
            let proposal = harness.store.archive.proposals(&query, now).await.unwrap().remove(0);
            let marks = harness.store.archive.marks_since(&workspace(), at(0)).await.unwrap();
            (proposal.decided.unwrap().0.to_string(), marks[0].by.to_string())
        };
        let (decided, marked) = by().await;
        assert_eq!((asker::signer(&decided), &marked), (Some("ren"), &decided));
        let (user, asked) = (UserId::new("ren"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        assert_eq!(by().await, ("forgotten".to_owned(), "forgotten".to_owned()));
    })
    .await;
}
