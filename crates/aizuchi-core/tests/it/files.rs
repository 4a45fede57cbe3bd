//! Pictures and other files: known by their names, opened when somebody needs them.

use std::sync::Arc;

use aizuchi_core::chat::attachment::Attachment;
use aizuchi_core::chat::{Edit, Heard, Mention, Message, MessageId, UserId};
use aizuchi_core::llm::builtin::BuiltinMind;
use aizuchi_core::persona::Language;
use aizuchi_core::prompt::PromptVerb;
use aizuchi_core::store::Order;

use aizuchi_harness::harness::{
    Harness, HarnessOptions, message, on_every_store, top_level, workspace,
};

/// Where the platform has a file. No model may learn it.
const ADDRESS: &str = "https://files.example/F1-secret";

fn picture(id: &str, name: &str) -> Attachment {
    Attachment { url: Some(ADDRESS.into()), ..Attachment::new(id, name, "image/png", 7) }
}

/// Alice sends files, with these words.
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
        assert!(
            prompt.contains("@Aizuchi 見て\n[画像「計画.png」、まだ誰も説明していません]\n"),
            "{prompt}"
        );
        assert!(prompt.contains("尋ねられたら見られないと伝え"), "{prompt}");
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
        // What a platform does not tell of stays, and only a change of the files is a change.
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

/// The rules have no eyes, and say so: to who sends a picture, and to who asks about one.
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
