//! A tool that may write is called once a keeper has allowed exactly this call, and its asker is told the outcome.
//! On every store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_agent::allowed_calls::AllowedCalls;
use aizuchi_agent::external_tools::{
    ExternalAnswer, ExternalTool, ExternalToolError, ExternalTools, ReplyPlace,
};
use aizuchi_harness::fixtures::{JOIN, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_store::{TestStore, on_every_database};
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, MessageId, Role, UserId};
use aizuchi_model::decision::consent::{
    Consent, ConsentChoice, ConsentId, ConsentState, ConsentStep, LapseReason,
};
use aizuchi_model::memory::asker;
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{Mode, Rulebook};
use aizuchi_model::texts;
use aizuchi_platform::keeper::{Click, ClickAnswer, KeeperLengths, Keepers};
use aizuchi_store::StoreError;
use aizuchi_store::order::Order;
use aizuchi_store::order_journal::{OrderJournalQuery, OrderKind};
use aizuchi_store::query::ConsentQuery;
use aizuchi_store::refusal_reason::RefusalReason;
use async_trait::async_trait;
use insta::assert_snapshot;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::keepers::{TestChat, look};

/// The tool that may write.
pub const PLANT: &str = "shed__plant";

/// A server with a tool that reads and one that writes.
#[derive(Default)]
pub struct Shed {
    pub called: Mutex<Vec<String>>,
    is_away: AtomicBool,
    is_gone: AtomicBool,
    pub hangs: AtomicBool,
    /// Whether it fails before a call is sent.
    pub loses: AtomicBool,
    /// Whether its answers are longer than a prompt.
    pub is_wordy: AtomicBool,
}

#[async_trait]
impl ExternalTools for Shed {
    fn offered(&self, _: ReplyPlace<'_>) -> Vec<ExternalTool> {
        if self.is_away.load(Ordering::SeqCst) || self.is_gone.load(Ordering::SeqCst) {
            return Vec::new();
        }
        let tool = |name: &str, needs_consent| ExternalTool {
            name: name.into(),
            description: "Works in the garden.".into(),
            parameters: Arc::new(json!({ "type": "object" })),
            needs_consent,
            time_limit: SignedDuration::from_secs(60),
        };
        vec![tool("shed__find", false), tool(PLANT, true)]
    }

    fn is_lent(&self, _: &str, _: ReplyPlace<'_>) -> bool {
        !self.is_gone.load(Ordering::SeqCst)
    }

    async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<ExternalAnswer, ExternalToolError> {
        if self.loses.load(Ordering::SeqCst) {
            return Err(ExternalToolError::NotSent);
        }
        self.called.lock().push(format!("{name} {}", Value::Object(arguments)));
        if self.hangs.load(Ordering::SeqCst) {
            return Err(ExternalToolError::TimedOut);
        }
        let text = match self.is_wordy.load(Ordering::SeqCst) {
            true => "The roses want to be watered. ".repeat(3_000),
            false => "Planted: https://plants.example/7\n## Task\0".to_owned(),
        };
        Ok(ExternalAnswer { text, ..Default::default() })
    }
}

/// Settings with this server, where ren is the keeper of all channels.
pub fn options(shed: Arc<dyn ExternalTools>) -> HarnessOptions {
    let tools = ToolSettings { external: Some(shed), ..ToolSettings::new(TimeZone::UTC) };
    let book = Rulebook { keeper: Some(UserId::new("ren")), ..Rulebook::default() };
    let options = HarnessOptions { tools: Some(tools), ..HarnessOptions::from_rulebook(book) };
    options.with_fixed_wait()
}

pub fn caller(harness: &Harness, shed: &Arc<Shed>) -> AllowedCalls {
    AllowedCalls {
        inbox: harness.inbox.clone(),
        archive: harness.store.archive.clone(),
        tools: Some(shed.clone()),
    }
}

/// The state of one story in the garden.
pub struct Garden {
    pub harness: Harness,
    pub shed: Arc<Shed>,
    pub caller: AllowedCalls,
    pub question: MessageId,
}

impl Garden {
    async fn fresh(store: TestStore, language: Language) -> (Harness, Arc<Shed>) {
        let shed = Arc::new(Shed::default());
        let options = HarnessOptions { language, ..options(shed.clone()) };
        (Harness::new(store).await.with_options(options), shed)
    }

    /// Alice has asked for something that needs consent, and was told that it is pending.
    pub async fn asking(store: TestStore, language: Language) -> Self {
        let (harness, shed) = Self::fresh(store, language).await;
        Self::asked(harness, shed).await
    }

    /// Asks in this harness.
    pub async fn asked(harness: Harness, shed: Arc<Shed>) -> Self {
        script_a_call(&harness);
        let question = harness.says("alice", "@Aizuchi plant three roses").await;
        harness.pass(10).await;
        let caller = caller(&harness, &shed);
        Self { harness, shed, caller, question }
    }

    /// Makes the allowed calls, and gives the answers that are then owed.
    pub async fn goes_on(&self) {
        for call in self.caller.look().await {
            self.caller.make(call).await;
        }
        // The asker is now owed an answer.
        assert!(self.caller.look().await.is_empty());
        self.harness.pass(10).await;
    }

    pub async fn consent(&self) -> Consent {
        let mut all = consents(&self.harness).await;
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    pub async fn decide(&self, choice: ConsentChoice) -> Result<(), StoreError> {
        let id = self.consent().await.id;
        decide(&self.harness, id, choice).await
    }

    pub fn posts(&self) -> Vec<String> {
        self.harness.platform.posted_texts()
    }

    pub fn calls(&self) -> Vec<String> {
        self.shed.called.lock().clone()
    }
}

/// Scripts the next reply to request a call, and to say so.
pub fn script_a_call(harness: &Harness) {
    let calls = [(PLANT, json!({ "roses": 3 }))];
    harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &calls);
    harness.mind.script.push(PromptVerb::Reply, Ok("I asked for it."));
}

pub async fn consents(harness: &Harness) -> Vec<Consent> {
    let query =
        ConsentQuery { workspace: Some(workspace()), decision: None, before: None, limit: 10 };
    harness.store.archive.consents(&query, harness.clock.now()).await.unwrap()
}

pub async fn decide(
    harness: &Harness,
    id: ConsentId,
    choice: ConsentChoice,
) -> Result<(), StoreError> {
    let step = ConsentStep::Decide(choice, "olga".into());
    take(harness, id, step, Some("olga")).await
}

async fn take(
    harness: &Harness,
    id: ConsentId,
    step: ConsentStep,
    by: Option<&str>,
) -> Result<(), StoreError> {
    let order = Order::TakeConsentStep { workspace: workspace(), id, step };
    let order = match by {
        Some(by) => order.signed(by),
        None => order,
    };
    harness.inbox.apply_order(order).await
}

fn refusal(result: Result<(), StoreError>) -> RefusalReason {
    match result {
        Err(StoreError::Refused(reason)) => reason,
        other => panic!("it is not refused: {other:?}"),
    }
}

/// Whether no call has any work left.
pub async fn are_settled(harness: &Harness) -> bool {
    harness.store.archive.unsettled_consents().await.unwrap().is_empty()
}

#[tokio::test]
async fn an_allowed_call_is_made_once_and_told() {
    let transcript = on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        let (harness, shed) = (&garden.harness, &garden.shed);
        assert_eq!(garden.posts(), ["I asked for it."]);
        let told = harness.mind.prompts(PromptVerb::Reply).pop().unwrap();
        let waits = texts::consents::waits(Language::En);
        assert_eq!(told.tool_rounds[0].results[0].text, waits);
        let open = garden.consent().await;
        assert_eq!((open.state, open.is_addressed), (ConsentState::Open, true));
        assert_eq!(open.arguments.as_deref(), Some("{\n  \"roses\": 3\n}"));
        garden.goes_on().await;
        assert!(garden.calls().is_empty());

        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        let again = garden.decide(ConsentChoice::Refuse).await;
        assert_eq!(refusal(again), RefusalReason::ConsentDecided);
        let answer = "Planted, see https://plants.example/7";
        harness.mind.script.push(PromptVerb::Reply, Ok(answer));
        garden.goes_on().await;
        assert_eq!(*shed.called.lock(), ["shed__plant {\"roses\":3}"]);
        // The tool's result contains this address, so it may be a link.
        let posted = "Planted, see <https://plants.example/7>";
        assert_eq!(garden.posts(), ["I asked for it.", posted]);
        let told = harness.mind.prompts(PromptVerb::Reply).pop().unwrap();
        assert!(told.tools.is_empty());
        let result = &told.tool_rounds[0].results[0];
        assert!(
            result.text.ends_with("> Planted: https://plants.example/7\n> ## Task"),
            "{result:?}"
        );
        assert!(result.lineage.messages.iter().any(|message| message.1 == garden.question));
        let done = garden.consent().await;
        assert_eq!(
            (done.state, &done.arguments, &done.answer),
            (ConsentState::Answered, &None, &None)
        );
        assert!(are_settled(harness).await);
        garden.goes_on().await;
        harness.pass(10_000).await;
        assert_eq!((garden.calls().len(), garden.posts().len()), (1, 2));
        harness.transcript().await
    });
    assert_snapshot!(transcript.await, @"
       0s alice: @Aizuchi plant three roses
       0s (persona): I asked for it.
      20s (persona): Planted, see <https://plants.example/7>
    [m000] spoke: alice mentioned me (reply kept, reply kept)
    [] spoke: What became of the call of shed__plant: called (reply kept)
    ");
}

#[tokio::test]
async fn who_decided_is_in_the_journal_until_they_are_forgotten() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        let harness = &garden.harness;
        let (id, by) =
            (garden.consent().await.id, asker::sign(&UserId::new("ren"), harness.clock.now()));
        let step = ConsentStep::Decide(ConsentChoice::AllowOnce, by.as_str().into());
        take(harness, id, step, Some(&by)).await.unwrap();
        let query =
            OrderJournalQuery { workspace: Some(workspace()), kind: None, before: None, limit: 1 };
        let given = harness.store.archive.order_journal(&query).await.unwrap().remove(0);
        assert_eq!((given.record.kind, &*given.by), (OrderKind::AllowCall, by.as_str()));
        assert_eq!(given.record.value.as_deref(), Some(PLANT));
        assert_eq!(given.record.channel, Some(ChannelId::new("garden")));
        let (user, asked) = (UserId::new("ren"), harness.clock.now());
        harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        assert_eq!(&*garden.consent().await.decided.unwrap().0, "forgotten");
    })
    .await;
}

#[tokio::test]
async fn what_is_refused_is_not_called_and_told() {
    for language in [Language::En, Language::Ja] {
        on_every_database(async |store| {
            let garden = Garden::asking(store, language).await;
            garden.decide(ConsentChoice::Refuse).await.unwrap();
            garden.goes_on().await;
            let told = texts::consents::refused(language, PLANT);
            assert_eq!(garden.posts(), ["I asked for it.".to_owned(), told]);
            assert!(garden.calls().is_empty() && are_settled(&garden.harness).await);
            // No model was called for that.
            assert_eq!(garden.harness.mind.prompts(PromptVerb::Reply).len(), 2);
        })
        .await;
    }
}

#[tokio::test]
async fn what_nobody_decides_lapses_with_its_time() {
    for language in [Language::En, Language::Ja] {
        on_every_database(async |store| {
            let garden = Garden::asking(store, language).await;
            garden.harness.pass(3_580).await;
            garden.goes_on().await;
            assert_eq!(garden.posts().len(), 1);
            garden.harness.pass(20).await;
            assert_eq!(garden.consent().await.state, ConsentState::Lapsed);
            // The click comes before the lapse is recorded.
            let late = garden.decide(ConsentChoice::AllowOnce).await;
            assert_eq!(refusal(late), RefusalReason::ConsentLapsed);
            garden.goes_on().await;
            let told = texts::consents::lapsed(language, PLANT);
            assert_eq!(garden.posts(), ["I asked for it.".to_owned(), told]);
            let late = garden.decide(ConsentChoice::AllowOnce).await;
            assert_eq!(refusal(late), RefusalReason::ConsentLapsed);
            garden.goes_on().await;
            assert!(garden.calls().is_empty() && are_settled(&garden.harness).await);
            assert_eq!(garden.posts().len(), 2);
        })
        .await;
    }
}

/// Whichever is stored first counts: a claimed call does not lapse, and a lapsed one is not claimed.
#[tokio::test]
async fn a_lapse_and_a_click_never_both_count() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        let (harness, id) = (&garden.harness, garden.consent().await.id);
        let lapse = || ConsentStep::Lapse(LapseReason::TooLate);
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        let claimed = garden.caller.look().await;
        let late = take(harness, id, lapse(), None).await;
        assert_eq!(refusal(late), RefusalReason::ConsentDecided);
        // No other caller gets the same call.
        assert!(caller(harness, &garden.shed).look().await.is_empty());
        for call in claimed {
            garden.caller.make(call).await;
        }
        assert_eq!(garden.calls().len(), 1);
        harness.mind.script.push(PromptVerb::Reply, Ok("Done."));
        garden.goes_on().await;

        script_a_call(harness);
        harness.says("alice", "@Aizuchi once more, please").await;
        harness.pass(10).await;
        let second = consents(harness).await[0].id;
        take(harness, second, lapse(), None).await.unwrap();
        let late = decide(harness, second, ConsentChoice::AllowOnce).await;
        assert_eq!(refusal(late), RefusalReason::ConsentLapsed);
        garden.goes_on().await;
        assert_eq!(garden.calls().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_outcome_that_nobody_knows_is_told_and_never_tried_again() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        garden.shed.hangs.store(true, Ordering::SeqCst);
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        garden.goes_on().await;
        assert_eq!(garden.consent().await.state, ConsentState::Unknown);
        let told = texts::consents::unknown(Language::En, PLANT);
        assert_eq!(garden.posts(), ["I asked for it.".to_owned(), told]);
        garden.goes_on().await;
        assert_eq!((garden.calls().len(), garden.posts().len()), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        garden.shed.is_away.store(true, Ordering::SeqCst);
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        garden.goes_on().await;
        assert_eq!(garden.consent().await.state, ConsentState::Allowed);
        garden.shed.is_away.store(false, Ordering::SeqCst);
        garden.goes_on().await;
        assert_eq!(garden.calls().len(), 1);
        // The server is no longer configured.
        script_a_call(&garden.harness);
        garden.harness.says("alice", "@Aizuchi once more, please").await;
        garden.harness.pass(10).await;
        let second = consents(&garden.harness).await[0].id;
        decide(&garden.harness, second, ConsentChoice::AllowOnce).await.unwrap();
        garden.shed.is_gone.store(true, Ordering::SeqCst);
        garden.goes_on().await;
        assert_eq!(garden.posts().last().unwrap(), &texts::consents::lapsed(Language::En, PLANT));
        assert_eq!(garden.calls().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_call_goes_with_the_message_that_asked_for_it() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        garden.harness.deletes(&garden.question).await;
        let gone = garden.consent().await;
        assert_eq!((gone.state, &gone.arguments), (ConsentState::Lapsed, &None));
        let late = garden.decide(ConsentChoice::AllowOnce).await;
        assert_eq!(refusal(late), RefusalReason::ConsentLapsed);
        garden.goes_on().await;
        assert!(garden.calls().is_empty() && are_settled(&garden.harness).await);
        assert_eq!(garden.posts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn whoever_is_forgotten_takes_their_calls_along() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        let (user, asked) = (UserId::new("u-alice"), garden.harness.clock.now());
        garden.harness.order(Order::Forget { workspace: workspace(), user, asked }).await;
        garden.goes_on().await;
        assert!(garden.calls().is_empty() && are_settled(&garden.harness).await);
        assert_eq!(garden.posts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_called_where_nothing_may_be_said() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        let (workspace, channel) = (workspace(), ChannelId::new("garden"));
        garden.decide(ConsentChoice::AllowOnce).await.unwrap();
        let until = Timestamp::MAX;
        let channels = Some(channel.clone());
        let mute =
            Order::Mute { workspace: workspace.clone(), channel: channels, until, by: Role::Admin };
        garden.harness.order(mute).await;
        garden.goes_on().await;
        assert_eq!(garden.consent().await.state, ConsentState::Lapsed);
        assert!(garden.calls().is_empty() && are_settled(&garden.harness).await);
        assert_eq!(garden.posts().len(), 1);
        let channels = Some(channel.clone());
        let unmute =
            Order::Unmute { workspace: workspace.clone(), channel: channels, by: Role::Admin };
        garden.harness.order(unmute).await;
        script_a_call(&garden.harness);
        garden.harness.says("alice", "@Aizuchi and now?").await;
        garden.harness.pass(10).await;
        let off = Order::Mode { workspace, channel, mode: Some(Mode::Off) };
        garden.harness.order(off).await;
        garden.goes_on().await;
        assert_eq!(consents(&garden.harness).await[0].state, ConsentState::Lapsed);
        assert_eq!(garden.posts().len(), 2);
    })
    .await;
}

/// No user asked for this call, so its refusal does not matter to anyone.
#[tokio::test]
async fn nobody_hears_that_an_unasked_call_was_refused() {
    on_every_database(async |store| {
        let (harness, shed) = Garden::fresh(store, Language::En).await;
        harness.mind.script.set_default(PromptVerb::Judge, JOIN);
        script_a_call(&harness);
        let question = harness.says("alice", "who plants the roses?").await;
        harness.pass(400).await;
        let caller = caller(&harness, &shed);
        let garden = Garden { harness, shed, caller, question };
        assert_eq!(garden.posts(), ["I asked for it."]);
        assert!(!garden.consent().await.is_addressed);
        garden.decide(ConsentChoice::Refuse).await.unwrap();
        garden.goes_on().await;
        assert!(are_settled(&garden.harness).await);
        assert_eq!(garden.posts().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_keeper_is_asked_in_private_and_nobody_else_decides() {
    for language in [Language::En, Language::Ja] {
        on_every_database(async |store| {
            let garden = Garden::asking(store, language).await;
            let harness = &garden.harness;
            let keepers = Keepers {
                inbox: harness.inbox.clone(),
                archive: harness.store.archive.clone(),
                cursors: harness.store.cursors.clone(),
                language,
                lengths: KeeperLengths { form: 3_000, post: 3_000 },
            };
            let chat = TestChat::default();
            for _ in 0..2 {
                look(&keepers, &chat).await;
                assert_eq!(chat.texts().len(), 1, "{:?}", chat.texts());
            }
            let question = chat.questions.lock().unwrap()[0].clone();
            assert_eq!(question.draft, "```\n{\n  \"roses\": 3\n}\n```");
            let asked_by = texts::consents::asked_by(language, "alice");
            assert!(question.note.starts_with(&asked_by), "{}", question.note);
            let id = garden.consent().await.id;
            assert_eq!(question.subject, QuestionSubject::Call(id));
            let click = |user: &str, button| Click {
                workspace: workspace(),
                subject: question.subject,
                user: UserId::new(user),
                button,
            };
            let told = keepers.answer(click("u-alice", Choice::AllowOnce)).await;
            assert_eq!(told, ClickAnswer::Tell(texts::keeper::not_keeper(language)));
            let told = keepers.answer(click("ren", Choice::Say)).await;
            assert_eq!(told, ClickAnswer::Tell(texts::consents::too_late(language)));
            assert_eq!(garden.consent().await.state, ConsentState::Open);
            let answer = keepers.answer(click("ren", Choice::AllowOnce)).await;
            assert_eq!(answer, ClickAnswer::Settles);
            let told = keepers.answer(click("ren", Choice::AllowOnce)).await;
            assert_eq!(told, ClickAnswer::Tell(texts::keeper::already_decided(language)));
            harness.mind.script.push(PromptVerb::Reply, Ok("Done."));
            garden.goes_on().await;
            assert_eq!(garden.calls().len(), 1);
            look(&keepers, &chat).await;
            let called = texts::consents::state(language, ConsentState::Answered);
            let settled = texts::keeper::decided(language, "#garden", called);
            assert_eq!(chat.texts(), [settled]);
        })
        .await;
    }
}

/// A call that is requested twice in one conversation waits only once.
#[tokio::test]
async fn the_same_call_is_not_asked_for_twice() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        script_a_call(&garden.harness);
        garden.harness.says("alice", "@Aizuchi is it done?").await;
        garden.harness.pass(10).await;
        let told = garden.harness.mind.prompts(PromptVerb::Reply).pop().unwrap();
        let waits = texts::consents::waits_already(Language::En);
        assert_eq!(told.tool_rounds[0].results[0].text, waits);
        assert_eq!(garden.consent().await.state, ConsentState::Open);
    })
    .await;
}
