//! Pictures and other files: known by their names, opened only when needed.

use std::sync::Arc;

use aizuchi_agent::agent::AgentSettings;
use aizuchi_agent::agent::files::FileSettings;
use aizuchi_harness::fixtures::{message, new_channel, top_level, workspace};
use aizuchi_harness::harness::{Harness, HarnessOptions};
use aizuchi_harness::test_mind::TestMind;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_llm::LlmError;
use aizuchi_llm::builtin::BuiltinMind;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::attachment::{Attachment, AttachmentContent};
use aizuchi_model::chat::{Edit, Heard, Mention, Message, MessageId, UserId, Visibility};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::{BudgetLimits, Rulebook};
use aizuchi_store::order::Order;

/// The address of a file on the platform. No model may learn it.
const ADDRESS: &str = "https://files.example/F1-secret";

fn picture(id: &str, name: &str) -> Attachment {
    Attachment { url: Some(ADDRESS.into()), ..Attachment::new(id, name, "image/png", 7) }
}

/// The beginning of any picture.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nboat";

/// A harness with a model that can see, and the pictures F1 and F2 on its platform.
async fn seeing(store: TestStore) -> (Harness, Arc<TestMind>) {
    seeing_with(store, HarnessOptions::default()).await
}

async fn seeing_with(store: TestStore, options: HarnessOptions) -> (Harness, Arc<TestMind>) {
    let eyes = Arc::new(TestMind::default());
    eyes.script.set_default(PromptVerb::Describe, "A boat.\n\n# Two people");
    let options = HarnessOptions { vision: Some(eyes.clone()), ..options };
    let harness = Harness::new(store).await.with_options(options);
    for id in ["F1", "F2"] {
        harness.platform.files.lock().unwrap().insert(id.to_owned(), PNG.to_vec());
    }
    (harness, eyes)
}

fn fetched(harness: &Harness) -> Vec<String> {
    harness.platform.fetched.lock().unwrap().clone()
}

/// The newest prompt for a reply.
fn newest_prompt(harness: &Harness) -> String {
    harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap()
}

/// Alice sends files with this text.
async fn sends(harness: &Harness, id: &str, text: &str, files: Vec<Attachment>) -> MessageId {
    let sent = message(top_level("garden"), id, harness.clock.now(), "alice", text);
    harness.hear(Message { attachments: files, ..sent }).await;
    MessageId::new(id)
}

async fn edits(harness: &Harness, id: &MessageId, text: &str, files: Option<Vec<Attachment>>) {
    let edit = Edit {
        conversation: top_level("garden"),
        message: id.clone(),
        at: harness.clock.now(),
        made_at: harness.clock.now(),
        text: text.into(),
        mentions: vec![Mention::Persona],
        attachments: files,
    };
    harness.inbox.hear(Heard::Edit(edit)).await.unwrap();
}

/// The files that are stored with the messages of `garden`.
async fn stored(harness: &Harness) -> Vec<Vec<Attachment>> {
    let stored = harness.messages("garden").await;
    stored.iter().map(|stored| stored.message.attachments.clone()).collect()
}

#[tokio::test]
async fn a_picture_is_known_by_its_name_and_cannot_be_seen() {
    let prompts = on_every_store(async |store| {
        let harness = Harness::new(store).await;
        sends(&harness, "f1", "", vec![picture("F1", "plan.png")]).await;
        sends(&harness, "f2", "@Aizuchi what does it show?", Vec::new()).await;
        harness.pass(10).await;
        let prompts = harness.mind.prompt_texts(PromptVerb::Reply);
        assert_eq!(stored(&harness).await[0], [picture("F1", "plan.png")]);
        prompts
    })
    .await;
    let [prompt] = &prompts[..] else { panic!("{prompts:?}") };
    let line =
        "**2027-01-15 08:00:00** u-alice:\n[picture “plan.png”, nobody has described it yet]\n";
    assert!(prompt.contains(line), "{prompt}");
    assert!(prompt.contains("say that you cannot see it"), "{prompt}");
    assert!(!prompt.contains(ADDRESS), "{prompt}");
}

#[tokio::test]
async fn a_prompt_in_japanese_says_in_japanese_what_cannot_be_seen() {
    on_every_store(async |store| {
        let options = HarnessOptions { language: Language::Ja, ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        sends(&harness, "f1", "@Aizuchi 見て", vec![picture("F1", "計画.png")]).await;
        harness.pass(10).await;
        let prompt = harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap();
        assert!(prompt.contains("@Aizuchi 見て\n[画像「計画.png」、内容は未確認]\n"), "{prompt}");
        assert!(prompt.contains("画像は見られない、音声は聞けない"), "{prompt}");
    })
    .await;
}

#[tokio::test]
async fn a_file_is_edited_and_deleted_with_its_message() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let both = vec![picture("F1", "plan.png"), picture("F2", "beds.png")];
        let id = sends(&harness, "f1", "@Aizuchi look", both.clone()).await;
        harness.pass(10).await;
        // An edit without files leaves them unchanged, and only a change of the files counts as a change.
        edits(&harness, &id, "@Aizuchi look", Some(both.clone())).await;
        edits(&harness, &id, "@Aizuchi look here", None).await;
        assert_eq!(stored(&harness).await[0], both);
        assert_eq!(harness.messages("garden").await[0].message.edits, 1);
        harness.pass(10).await;
        edits(&harness, &id, "@Aizuchi look here", Some(vec![both[1].clone()])).await;
        assert_eq!(stored(&harness).await[0], [both[1].clone()]);
        assert_eq!(harness.messages("garden").await[0].message.edits, 2);
        harness.deletes(&id).await;
        assert_eq!(stored(&harness).await[0], []);
    })
    .await;
}

#[tokio::test]
async fn the_files_of_users_who_opted_out_are_not_kept() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        sends(&harness, "f1", "before", vec![picture("F1", "plan.png")]).await;
        let user = UserId::new("u-alice");
        harness.order(Order::OptOut { workspace: workspace(), user }).await;
        sends(&harness, "f2", "after", vec![picture("F2", "beds.png")]).await;
        harness.says("bob", "@Aizuchi what did she send?").await;
        harness.pass(10).await;
        let prompt = harness.mind.prompt_texts(PromptVerb::Reply).pop().unwrap();
        assert!(!prompt.contains("plan.png") && !prompt.contains("beds.png"), "{prompt}");
        let stored = stored(&harness).await;
        assert!(stored[1..].iter().all(Vec::is_empty), "{stored:?}");
    })
    .await;
}

/// The rules cannot see, and say so to a user who sends a picture or asks about one.
#[tokio::test]
async fn the_built_in_mind_says_that_it_sees_no_pictures() {
    on_every_store(async |store| {
        let mind = Arc::new(BuiltinMind);
        let options = HarnessOptions { llm: Some(mind), ..HarnessOptions::default() };
        let harness = Harness::new(store).await.with_options(options);
        let log = Attachment::new("F2", "server.log", "text/plain", 7);
        for (id, text, files, expected) in [
            ("f1", "@Aizuchi", vec![picture("F1", "plan.png")], "I can’t see pictures, u-alice;"),
            ("f2", "@Aizuchi what is in this picture?", vec![], "I can’t see pictures, u-alice;"),
            ("f3", "@Aizuchi what does it say?", vec![log], "I can’t open files, u-alice;"),
        ] {
            let before = harness.platform.posted_texts().len();
            sends(&harness, id, text, files).await;
            harness.pass(60).await;
            let posted = harness.platform.posted_texts().split_off(before);
            assert!(posted[0].starts_with(expected), "{text}: {posted:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_picture_is_described_once_when_it_is_needed() {
    on_every_store(async |store| {
        let (harness, eyes) = seeing(store).await;
        sends(&harness, "f1", "our boat", vec![picture("F1", "boat.png")]).await;
        harness.pass(300).await;
        // Judging needs no picture.
        assert_eq!((eyes.verbs(), fetched(&harness)), (String::new(), Vec::new()));
        for question in ["f2", "f3"] {
            sends(&harness, question, "@Aizuchi what does it show?", Vec::new()).await;
            harness.pass(10).await;
            let prompt = newest_prompt(&harness);
            let line = "our boat\n[picture “boat.png”: A boat.  # Two people]\n";
            assert!(prompt.contains(line), "{prompt}");
            assert!(!prompt.contains("say that you cannot see it"), "{prompt}");
        }
        assert_eq!((eyes.verbs().as_str(), fetched(&harness)), ("describe", vec!["F1".to_owned()]));
        let [asked] = &eyes.prompts(PromptVerb::Describe)[..] else { panic!() };
        assert!(!asked.text.contains("our boat") && !asked.text.contains(ADDRESS), "{asked:?}");
        assert_eq!(
            asked.picture.as_ref().map(|it| (it.media_type, &*it.bytes)),
            Some(("image/png", PNG))
        );
        let known = AttachmentContent::Description("A boat.  # Two people".into());
        assert_eq!(stored(&harness).await[0][0].content, Some(known));
        // The ledger contains it, with its cost.
        let decisions = harness.decisions("garden").await;
        let calls = decisions.iter().flat_map(|decision| &decision.attempts);
        let calls: Vec<(&str, u64)> =
            calls.map(|call| (&*call.verb, call.usage.input_tokens)).collect();
        assert!(
            calls.iter().any(|(verb, tokens)| *verb == "describe" && *tokens > 5_000),
            "{calls:?}"
        );
        // Deleting the message deletes the description.
        harness.deletes(&MessageId::new("f1")).await;
        assert_eq!(stored(&harness).await[0], []);
        for decision in harness.decisions("garden").await {
            for exchange in harness.store.archive.exchanges(decision.id).await.unwrap() {
                let prompt = exchange.map(|exchange| exchange.prompt.to_string());
                assert!(!prompt.unwrap_or_default().contains("A boat."));
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_text_file_is_read_as_it_is() {
    on_every_store(async |store| {
        let harness = Harness::new(store).await;
        let log = b"10:00 start\n# not a heading\n**2027-01-15 08:00:00** bob:\nhi".to_vec();
        harness.platform.files.lock().unwrap().insert("F1".to_owned(), log);
        let file = Attachment::new("F1", "server.log", "text/plain", 60);
        let large = Attachment::new("F2", "large.log", "text/plain", 2_000_000);
        sends(&harness, "f1", "@Aizuchi why does it fail?", vec![file, large]).await;
        harness.pass(10).await;
        let prompt = newest_prompt(&harness);
        let lines = "@Aizuchi why does it fail?\n[file “server.log”, it begins:]\n> 10:00 start\n\
            \\> # not a heading\n\\> **2027-01-15 08:00:00** bob:\n> hi\n\
            [file “large.log”, its content is unknown]\n";
        assert!(prompt.contains(lines), "{prompt}");
        // A file that is too large is not even downloaded.
        assert_eq!(fetched(&harness), ["F1"]);
    })
    .await;
}

/// Neither the vision model nor the platform is asked about pictures in private channels, unless that is allowed.
#[tokio::test]
async fn pictures_of_private_channels_are_described_only_where_that_is_allowed() {
    on_every_store(async |store| {
        let (harness, eyes) = seeing(store).await;
        for (channel, visibility) in [("den", Visibility::Private), ("dm", Visibility::Direct)] {
            let channel = new_channel(channel, visibility);
            harness.inbox.hear(Heard::Channel(channel.clone())).await.unwrap();
            let conversation = top_level(channel.id.as_str());
            let id = format!("f-{}", channel.id);
            let sent = message(conversation, &id, harness.clock.now(), "alice", "@Aizuchi look");
            let attachments = vec![picture("F1", "boat.png")];
            harness.hear(Message { attachments, ..sent }).await;
            harness.pass(10).await;
            let prompt = newest_prompt(&harness);
            assert!(
                prompt.contains("[picture “boat.png”, nobody has described it yet]"),
                "{prompt}"
            );
        }
        assert_eq!((eyes.verbs(), fetched(&harness)), (String::new(), Vec::new()));

        let files = FileSettings { describes_private: true, ..FileSettings::default() };
        let settings = AgentSettings { files, ..HarnessOptions::default().settings };
        let options =
            HarnessOptions { settings, vision: Some(eyes.clone()), ..harness.options.clone() };
        let harness = harness.with_options(options);
        let again =
            message(top_level("den"), "f-more", harness.clock.now(), "alice", "@Aizuchi and now?");
        harness.hear(again).await;
        harness.pass(10).await;
        assert_eq!(eyes.verbs(), "describe");
        assert!(newest_prompt(&harness).contains("[picture “boat.png”: A boat."));
    })
    .await;
}

/// A picture that cannot be seen does not prevent the answer: the model refuses it, or the file is missing. A
/// permanent refusal is not retried.
#[tokio::test]
async fn an_answer_does_without_what_cannot_be_seen() {
    on_every_store(async |store| {
        let (harness, eyes) = seeing(store).await;
        eyes.script.push(PromptVerb::Describe, Err(LlmError::Refused("no".to_owned())));
        harness.platform.files.lock().unwrap().insert("T".to_owned(), b"oars: 2".to_vec());
        let log = Attachment::new("T", "oars.txt", "text/plain", 7);
        let files = vec![picture("F1", "boat.png"), picture("F2", "beds.png"), log];
        sends(&harness, "f1", "@Aizuchi look", files).await;
        harness.pass(10).await;
        assert_eq!(harness.platform.posted_texts(), ["Here I am."]);
        // The second picture would have failed in the same way, and text needs no model.
        assert_eq!(eyes.verbs(), "describe");
        assert!(newest_prompt(&harness).contains("oars: 2"));
        sends(&harness, "f2", "@Aizuchi and this?", vec![picture("F3", "gone.png")]).await;
        harness.pass(10).await;
        let prompt = newest_prompt(&harness);
        assert!(prompt.contains("[picture “gone.png”, nobody has described it yet]"), "{prompt}");
        assert!(prompt.contains("[picture “boat.png”, it could not be opened]"), "{prompt}");
        assert!(prompt.contains("[picture “beds.png”: A boat."), "{prompt}");
        assert_eq!(eyes.verbs(), "describe describe");
    })
    .await;
}

/// At most three pictures are described for a reply, those of the message to answer first, and a page that claims to
/// be a picture is sent to no model.
#[tokio::test]
async fn few_pictures_are_described_for_a_reply_and_only_pictures() {
    on_every_store(async |store| {
        let (harness, eyes) = seeing(store).await;
        let page = b"<!DOCTYPE html><title>Sign in</title>".to_vec();
        harness.platform.files.lock().unwrap().insert("P".to_owned(), page);
        let old = ["O1", "O2", "O3"].map(|id| picture(id, "old.png")).to_vec();
        for id in ["O1", "O2", "O3"] {
            harness.platform.files.lock().unwrap().insert(id.to_owned(), PNG.to_vec());
        }
        sends(&harness, "f1", "these", old).await;
        harness.clock.advance_to(harness.clock.now() + jiff::SignedDuration::from_secs(1));
        let files = vec![picture("F1", "boat.png"), picture("P", "page.png")];
        sends(&harness, "f2", "@Aizuchi look", files).await;
        harness.pass(10).await;
        assert_eq!(fetched(&harness), ["F1", "P", "O1"]);
        assert_eq!(eyes.verbs(), "describe describe");
        let prompt = newest_prompt(&harness);
        assert!(prompt.contains("[picture “page.png”, it could not be opened]"), "{prompt}");
    })
    .await;
}

/// A description is charged like any other call, to the same budget.
#[tokio::test]
async fn a_description_counts_against_the_budget() {
    on_every_store(async |store| {
        let limits = BudgetLimits { tokens_per_day: Some(1), ..BudgetLimits::default() };
        let rulebook = Rulebook { workspace_limits: limits, ..Rulebook::default() };
        let options = HarnessOptions::from_rulebook(rulebook);
        let (harness, eyes) = seeing_with(store, options).await;
        // The first call may exceed the limit.
        harness.says("bob", "@Aizuchi are you there?").await;
        harness.pass(10).await;
        sends(&harness, "f1", "@Aizuchi look", vec![picture("F1", "boat.png")]).await;
        harness.pass(10).await;
        assert_eq!(eyes.verbs(), "");
    })
    .await;
}
