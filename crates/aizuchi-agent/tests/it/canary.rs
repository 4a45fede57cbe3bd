//! Privacy: every private channel contains a canary word. It appears in no prompt, memory, memo or search of any
//! other channel, whatever is asked and when (invariant 9: private channels stay private).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aizuchi_agent::agent::tools::ToolSettings;
use aizuchi_harness::effort::cases;
use aizuchi_harness::fixtures::{JOIN, message, thread, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions, build_parts_with, prompts};
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::builder::{PromptBuilder, PromptOptions};
use aizuchi_llm::prompt::{Prompt, PromptVerb};
use aizuchi_llm::{Llm, LlmError, LlmResponse};
use aizuchi_model::chat::{
    Arrival, Channel, ChannelId, ConversationId, Deletion, Edit, Heard, MessageId, Visibility,
};
use aizuchi_model::context::{Context, ContextLimits};
use aizuchi_model::decision::Decision;
use aizuchi_model::memory::{Lineage, MemoryScope, MessageRef};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::recall::{RecallQuery, RecalledMessage};
use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
/// A private channel, a direct message, a channel that becomes private, one that becomes public, and one about which
/// the platform has sent nothing.
const PRIVATE: [&str; 5] = ["attic", "direct", "cellar", "loft", "ghost"];
/// The private channels, two public ones, and one that does not exist.
const CHANNELS: [&str; 8] =
    ["garden", "kitchen", "nowhere", "attic", "direct", "cellar", "loft", "ghost"];
const CELLAR_CLOSES: i64 = 1;
const LOFT_OPENS: i64 = 2;
const LAST_DAY: i64 = 5;
/// Queries that a model might search for. Each of them finds messages in every channel.
const QUERIES: [&str; 4] =
    ["the ledger says", "what is the plan of the thread?", "kanri", "帳簿の鍵はどこ？"];

/// Whether a text contains a canary of a channel other than `home`.
fn leaks(text: &str, home: &str) -> bool {
    let mut canaries = text.match_indices("kanri").map(|(at, word)| &text[at + word.len()..]);
    canaries.any(|rest| PRIVATE.iter().any(|channel| *channel != home && rest.starts_with(channel)))
}

fn plan(channel: &str) -> String {
    format!("plan of {channel}")
}

/// Records each prompt with its channel. Prompts without a channel are about the workspace.
pub struct PromptRecorder {
    pub llm: Arc<dyn Llm>,
    pub heard: Arc<Mutex<Vec<(String, String)>>>,
}

#[async_trait]
impl Llm for PromptRecorder {
    fn model(&self) -> &str {
        self.llm.model()
    }

    async fn ask(&self, prompt: &Prompt) -> Result<LlmResponse, LlmError> {
        let home = match &prompt.memory_input {
            Some(material) => material.key.channel().map(ChannelId::to_string),
            None => Some(prompt.context.conversation.channel.to_string()),
        };
        let asked = (home.unwrap_or_default(), prompt.full_text().into_owned());
        self.heard.lock().unwrap().push(asked);
        self.llm.ask(prompt).await
    }
}

/// A harness that records every prompt.
struct PrivacyHarness {
    harness: Harness,
    heard: Arc<Mutex<Vec<(String, String)>>>,
    /// The first message of the day in each channel.
    parents: Vec<(String, MessageId)>,
    prompts: [(Arc<PromptBuilder>, Arc<Persona>); 2],
    rendered: usize,
}

impl PrivacyHarness {
    async fn new(store: TestStore) -> Self {
        let harness = Harness::new(store).await;
        let heard = Arc::default();
        let recorded =
            |llm| -> Arc<dyn Llm> { Arc::new(PromptRecorder { llm, heard: Arc::clone(&heard) }) };
        let options = HarnessOptions {
            tools: Some(ToolSettings::new(TimeZone::UTC)),
            memory: Some(recorded(Arc::new(BuiltinMind))),
            ..HarnessOptions::default()
        };
        let (store, clock) = (harness.store.store.clone(), harness.clock.clone());
        let mind = recorded(harness.mind.clone());
        let (inbox, runner) =
            build_parts_with(store, clock, mind, harness.platform.clone(), options);
        let harness = Harness { inbox, runner: Arc::new(runner), ..harness };
        let prompts = [Language::En, Language::Ja].map(|language| {
            let persona = Persona {
                name: "Aizuchi".to_owned(),
                system_prompt: "You are kind.".to_owned(),
                language,
            };
            (prompts(language), Arc::new(persona))
        });
        let privacy = Self { harness, heard, parents: Vec::new(), prompts, rendered: 0 };
        privacy.update_channel("attic", "kanriatticname", Visibility::Private).await;
        privacy.update_channel("direct", "kanridirectname", Visibility::Direct).await;
        privacy.update_channel("cellar", "cellar", Visibility::Public).await;
        privacy.update_channel("loft", "kanriloftname", Visibility::Private).await;
        privacy
    }

    async fn update_channel(&self, channel: &str, name: &str, visibility: Visibility) {
        let channel = Channel {
            workspace: workspace(),
            id: ChannelId::new(channel),
            name: name.into(),
            visibility,
            topic: None,
        };
        self.harness.inbox.hear(Heard::Channel(channel)).await.unwrap();
    }

    /// Posts a day of messages in every channel and its threads.
    async fn post_day(&mut self, day: i64) {
        let harness = &self.harness;
        for channel in ["garden", "kitchen"] {
            let text = format!("the ledger says that the {channel} is in order, day {day}");
            let parent = harness.says_in(top_level(channel), "alice", &text).await;
            let there = thread(channel, parent.as_str());
            harness.says_in(there, "bob", "帳簿の鍵は棚の上、 the thread of the plan").await;
            self.parents.push((channel.to_owned(), parent));
        }
        let is_open = |channel: &str| channel == "loft" && day > LOFT_OPENS;
        for channel in PRIVATE.into_iter().filter(|channel| !is_open(channel)) {
            let user = format!("kanri{channel}mia");
            let text = format!("the ledger says kanri{channel}line, day {day}");
            let parent = harness.says_in(top_level(channel), &user, &text).await;
            let text = format!("帳簿の鍵は kanri{channel}thread の中、 the plan of day {day}");
            harness.says_in(thread(channel, parent.as_str()), &user, &text).await;
            let late = format!("late-{channel}-{day}");
            let text = format!("the ledger says kanri{channel}late, which was read later");
            let late = message(top_level(channel), &late, harness.clock.now(), &user, &text);
            harness.inbox.hear(Heard::Message(late, Arrival::Backfilled)).await.unwrap();
            self.parents.push((channel.to_owned(), parent));
        }
        if is_open("loft") {
            harness.says_in(top_level("loft"), "dave", "the ladder of the new loft is steep").await;
        }
    }

    /// Has the persona make a memo in every private channel.
    async fn add_memos(&self) {
        for channel in PRIVATE {
            let memo = json!({
                "name": plan(channel),
                "content": format!("noted:kanri{channel}memo"),
                "priority": 5,
                "tags": [format!("kanri{channel}tag")],
            });
            self.harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &[("add_memo", memo)]);
            self.harness
                .mind
                .script
                .push(PromptVerb::Reply, Ok(&*format!("kanri{channel}own words")));
            let asked = "@Aizuchi note down what the ledger says";
            self.harness.says_in(top_level(channel), &format!("kanri{channel}mia"), asked).await;
            self.harness.pass(10).await;
        }
    }

    /// Has a user in every channel make the persona search for everything it can find.
    async fn search_everywhere(&self) {
        for channel in CHANNELS.into_iter().filter(|channel| *channel != "nowhere") {
            let search = json!({ "query": "the ledger says 帳簿 thread", "limit": 20 });
            let mut calls = vec![("list_memo", json!({})), ("list_memo_tags", json!({}))];
            calls.push(("search_messages", search));
            calls
                .extend(PRIVATE.map(|channel| ("get_memo", json!({ "memo_name": plan(channel) }))));
            self.harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &calls);
            self.harness.says_in(top_level(channel), "alice", "@Aizuchi what do you know?").await;
            self.harness.pass(10).await;
            let (home, asked) = self.heard.lock().unwrap().last().unwrap().clone();
            assert_eq!(home, channel);
            let memo = format!("> - content: noted:kanri{channel}memo");
            assert_eq!(asked.contains(&memo), PRIVATE.contains(&channel), "{asked}");
        }
    }

    /// Checks that no recorded prompt leaks, and discards them.
    fn check_no_leaks(&self) {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        // Guards against a vacuous check: there were many calls, and searches with results.
        assert!(heard.len() > 50, "{}", heard.len());
        assert!(heard.iter().any(|(_, asked)| asked.contains("\n> > the ledger says")));
        for (home, asked) in heard {
            assert!(!leaks(&asked, &home), "asked for {home:?}:\n{asked}");
        }
    }

    fn conversations(&self) -> Vec<ConversationId> {
        let mut all: Vec<ConversationId> = CHANNELS.map(top_level).to_vec();
        for channel in CHANNELS {
            let own = self.parents.iter().filter(|(conversation, _)| conversation == channel);
            let own: Vec<&MessageId> = own.map(|(_, parent)| parent).collect();
            // The first and the last thread, and a thread id from another channel.
            let others = self
                .parents
                .iter()
                .find(|(conversation, _)| conversation != channel && *conversation == "attic");
            let threads = own.first().into_iter().chain(own.last()).copied();
            let threads = threads.chain(others.map(|(_, parent)| parent));
            all.extend(threads.map(|parent| thread(channel, parent.as_str())));
        }
        all
    }

    /// Renders every prompt that could be asked at these moments, in seconds.
    async fn render_all_prompts(&mut self, moments: &[i64]) {
        let store = self.harness.store.store.clone();
        let mut found = BTreeMap::new();
        for (home, query) in
            CHANNELS.iter().flat_map(|channel| QUERIES.map(|query| (*channel, query)))
        {
            found.insert((home, query), self.recalled(home, query).await);
        }
        for later in moments {
            let now = self.harness.clock.now() + SignedDuration::from_secs(*later);
            for conversation in self.conversations() {
                let home = conversation.channel.as_str();
                let window = ContextLimits::default().window(now);
                let context = store.context(&conversation, &window).await.unwrap();
                let all = format!("{context:?}");
                assert!(!leaks(&all, home), "{conversation}: {all}");
                let contexts = QUERIES.map(|query| {
                    let recalled = found[&(home, query)].clone();
                    Arc::new(Context { recalled_messages: recalled, ..context.clone() })
                });
                let scene = PromptOptions::new(now);
                for (prompts, persona) in &self.prompts {
                    let [first, ..] = &contexts;
                    let judged = prompts.judge(persona, first, &scene);
                    let state = prompts.state(persona, first, &scene);
                    let replies =
                        contexts.iter().map(|context| prompts.reply(persona, context, &scene));
                    for prompt in replies.chain([judged, state]) {
                        self.rendered += 1;
                        assert!(!leaks(&prompt.text, home), "{conversation}: {}", prompt.text);
                    }
                }
            }
        }
    }

    /// What can be recalled from a channel.
    async fn recalled(&self, home: &str, query: &str) -> Vec<RecalledMessage> {
        let query = RecallQuery {
            workspace: workspace(),
            visible_from: Some(ChannelId::new(home)),
            channel: None,
            text: query.to_owned(),
            before: None,
            limit: 8,
        };
        let found = self.harness.store.store.recall(&query).await.unwrap();
        let all = format!("{found:?}");
        assert!(!leaks(&all, home), "found from {home}: {all}");
        found
    }

    /// Checks that each canary is known in its own channel, so that there was something to leak.
    async fn check_known_in_own_channel(&self) {
        let now = self.harness.clock.now();
        for channel in PRIVATE {
            let context = self.context_of(channel, now).await;
            let (prompts, persona) = &self.prompts[0];
            let text = prompts.reply(persona, &Arc::new(context), &PromptOptions::new(now)).text;
            for what in ["line", "thread", "late", "memo", "mia", "own"] {
                assert!(text.contains(&format!("kanri{channel}{what}")), "{what}: {text}");
            }
            assert!(!text.contains("gone"), "{text}");
            // The platform has sent nothing about the ghost, so it is in no list of channels.
            if channel != "ghost" {
                let is_remembered = |what: &str| {
                    let canary = format!("kanri{channel}{what}");
                    text.lines().any(|message| {
                        message.starts_with("- 2027-01-") && message.contains(&canary)
                    })
                };
                assert!(is_remembered("line") && is_remembered("thread"), "{text}");
            }
            let found = format!("{:?}", self.recalled(channel, "ledger").await);
            assert!(found.contains(&format!("kanri{channel}line")), "{found}");
        }
        for channel in ["attic", "direct", "cellar"] {
            let name = self.context_of(channel, now).await.conversation_history.channel_name;
            assert_eq!(*name, *format!("kanri{channel}name"));
        }
    }

    async fn context_of(&self, channel: &str, now: Timestamp) -> Context {
        let window = ContextLimits::default().window(now);
        self.harness.store.store.context(&top_level(channel), &window).await.unwrap()
    }

    async fn edits(&self, channel: &str, message: &MessageId, text: &str) {
        let edit = Edit {
            conversation: top_level(channel),
            message: message.clone(),
            at: self.harness.clock.now(),
            made_at: self.harness.clock.now(),
            text: text.into(),
            mentions: Vec::new(),
            attachments: None,
        };
        self.harness.inbox.hear(Heard::Edit(edit)).await.unwrap();
    }

    async fn deletes(&self, channel: &str, message: &MessageId) {
        let (message, at) = (message.clone(), self.harness.clock.now());
        let deletion = Deletion { conversation: top_level(channel), message, at };
        self.harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
    }

    fn first_parent(&self, channel: &str) -> MessageId {
        self.parents.iter().find(|(conversation, _)| conversation == channel).unwrap().1.clone()
    }
}

/// Simulates days of messages, with everything that can happen to a channel. Returns how many prompts were rendered.
async fn simulate_days(store: TestStore, moments: &[i64]) -> usize {
    let mut privacy = PrivacyHarness::new(store).await;
    let mut gone = Vec::new();
    for day in 0..=LAST_DAY {
        privacy.post_day(day).await;
        if day == 0 {
            privacy.add_memos().await;
            for channel in PRIVATE {
                let user = format!("kanri{channel}mia");
                let text = format!("the ledger says kanri{channel}gone");
                gone.push((
                    channel,
                    privacy.harness.says_in(top_level(channel), &user, &text).await,
                ));
            }
        }
        if day == CELLAR_CLOSES {
            // The cellar has been public until now.
            privacy.heard.lock().unwrap().clear();
            privacy.update_channel("cellar", "kanricellarname", Visibility::Private).await;
        }
        if day == LOFT_OPENS {
            privacy.update_channel("loft", "loft", Visibility::Public).await;
            for channel in ["attic", "loft"] {
                let first = privacy.first_parent(channel);
                let text = format!("the ledger says kanri{channel}line, which is corrected");
                privacy.edits(channel, &first, &text).await;
            }
            let first = privacy.first_parent("garden");
            privacy.edits("garden", &first, "the ledger says that the garden is lost").await;
            for (channel, message) in &gone {
                privacy.deletes(channel, message).await;
            }
        }
        if day >= CELLAR_CLOSES {
            privacy.render_all_prompts(moments).await;
        }
        privacy.harness.pass(2 * HOUR).await;
        if day >= CELLAR_CLOSES {
            privacy.render_all_prompts(moments).await;
            privacy.search_everywhere().await;
        }
        privacy.harness.pass(DAY - 3 * HOUR).await;
    }
    privacy.check_no_leaks();
    privacy.check_known_in_own_channel().await;
    for memory in privacy.harness.store.store.memories(&workspace()).await.unwrap() {
        let home = memory.key.channel().map(ChannelId::to_string).unwrap_or_default();
        let all = format!("{memory:?}");
        assert!(!leaks(&all, &home), "{all}");
        assert_eq!(memory.key.scope == MemoryScope::Workspace, home.is_empty());
    }
    // What is said after the loft became public is public.
    let kitchen = privacy.context_of("kitchen", privacy.harness.clock.now()).await;
    assert!(format!("{kitchen:?}").contains("the ladder of the new loft is steep"), "{kitchen:?}");
    privacy.rendered
}

#[tokio::test]
async fn none_of_thousands_of_prompts_leaks_private_messages() {
    let later = cases(&[0][..], &[0, 7 * HOUR, 26 * HOUR]);
    let rendered = simulate_days(TestStore::sqlite().await, later).await;
    assert!(rendered >= cases(3_000, 10_000), "{rendered}");
}

/// The same on PostgreSQL.
#[tokio::test]
async fn none_of_three_thousand_prompts_leaks_private_messages_on_postgres() {
    let rendered = simulate_days(TestStore::postgres().await, &[0]).await;
    assert!(rendered >= 3_000, "{rendered}");
}

/// Whether a text contains what was said in the garden before it became private.
fn holds_locker_code(text: &str) -> bool {
    text.contains("4711")
}

/// A harness whose judge always joins in, with a message in the garden that a reply in the kitchen recalls.
async fn garden_message(store: TestStore) -> Harness {
    let harness = Harness::new(store).await;
    harness.mind.script.set_default(PromptVerb::Judge, JOIN);
    harness.says("mia", "my locker code is 4711, the key hangs behind the shed").await;
    harness.pass(300).await;
    harness
}

async fn make_private(harness: &Harness, channel: &str) {
    let channel = Channel {
        workspace: workspace(),
        id: ChannelId::new(channel),
        name: channel.into(),
        visibility: Visibility::Private,
        topic: None,
    };
    harness.inbox.hear(Heard::Channel(channel)).await.unwrap();
}

/// The stored prompts of a channel's newest decision; `None` for deleted ones.
async fn stored_prompts(harness: &Harness, channel: &str) -> Vec<Option<String>> {
    let decision = harness.decisions(channel).await.pop().unwrap().id;
    let store = harness.store.archive.exchanges(decision).await.unwrap();
    store.into_iter().map(|store| Some(store?.prompt.to_string())).collect()
}

#[tokio::test]
async fn prompts_elsewhere_are_deleted_when_a_channel_becomes_private() {
    on_every_store(async |store| {
        let harness = garden_message(store).await;
        harness.says_in(top_level("kitchen"), "bob", "does anybody know the locker code?").await;
        harness.pass(91).await;
        let told = stored_prompts(&harness, "kitchen").await;
        assert!(
            matches!(&told[..], [Some(_), Some(reply)] if holds_locker_code(reply)),
            "{told:?}"
        );
        let reason = |decision: Decision| decision.judgment.unwrap().reason;
        assert_ne!(reason(harness.decisions("kitchen").await.pop().unwrap()), "");
        let own = stored_prompts(&harness, "garden").await;
        let considered = *harness.store.store.revisions().borrow();
        let message = MessageRef(ChannelId::new("garden"), MessageId::new("m000"));
        let made_from = Lineage { messages: vec![message], ..Lineage::default() };
        let (here, there, store) =
            (top_level("kitchen"), top_level("garden"), &harness.store.store);
        let has_changed = |home| store.has_changed_since(home, considered, &made_from);
        assert!(!has_changed(&here).await.unwrap());
        make_private(&harness, "garden").await;
        assert!(has_changed(&here).await.unwrap());
        // In its own channel, nothing has changed.
        assert!(!has_changed(&there).await.unwrap());
        // Prompts without the message stay, and so do those of the message's own channel.
        let left = stored_prompts(&harness, "kitchen").await;
        assert_eq!(left, [told[0].clone(), None]);
        let decision = harness.decisions("kitchen").await.pop().unwrap();
        assert_eq!((decision.judgment.unwrap().reason.as_str(), decision.why), ("", None));
        let verdicts = decision.attempts.iter().filter_map(|attempt| attempt.judgment.as_ref());
        assert_eq!(verdicts.map(|verdict| &*verdict.reason).collect::<Vec<_>>(), [""]);
        assert_eq!(stored_prompts(&harness, "garden").await, own);
        assert_ne!(reason(harness.decisions("garden").await.pop().unwrap()), "");
    })
    .await;
}

#[tokio::test]
async fn a_draft_made_while_a_channel_becomes_private_is_redrafted() {
    on_every_store(async |store| {
        let harness = garden_message(store).await;
        harness.mind.script.push(PromptVerb::Reply, Ok("It is 4711."));
        let there = harness.clone();
        harness
            .mind
            .meanwhile(PromptVerb::Reply, || async move { make_private(&there, "garden").await });
        harness.says_in(top_level("kitchen"), "bob", "@Aizuchi what is the locker code?").await;
        harness.pass(60).await;
        let asked = harness.mind.prompt_texts(PromptVerb::Reply);
        let asked: Vec<bool> =
            asked.iter().rev().take(2).map(|asked| holds_locker_code(asked)).collect();
        assert_eq!(asked, [false, true]);
        assert_eq!(harness.platform.posted_texts(), ["Here I am.", "Here I am."]);
        let store = stored_prompts(&harness, "kitchen").await;
        assert!(
            !store.is_empty() && !store.iter().flatten().any(|store| holds_locker_code(store)),
            "{store:?}"
        );
    })
    .await;
}
