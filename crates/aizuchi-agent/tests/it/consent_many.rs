//! A keeper's question about a call stays where it is, however many calls follow. On every store.

use aizuchi_actions::question::{Choice, QuestionSubject};
use aizuchi_harness::fixtures::{top_level, workspace};
use aizuchi_harness::test_store::on_every_database;
use aizuchi_llm::prompt::PromptVerb;
use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_model::decision::consent::{ConsentChoice, ConsentState};
use aizuchi_model::persona::Language;
use aizuchi_platform::keeper::{Click, ClickAnswer, KeeperLengths, Keepers};
use serde_json::json;

use crate::consents::{Garden, PLANT, consents, decide};
use crate::keepers::{TestChat, look};

/// Another user asks for three calls in the kitchen, and none of them is allowed.
async fn refuse_three(garden: &Garden, round: usize) {
    let harness = &garden.harness;
    let calls = [0, 1, 2].map(|number| (PLANT, json!({ "roses": number })));
    harness.mind.script.push_tool_calls(PromptVerb::Reply, "", &calls);
    harness.mind.script.push(PromptVerb::Reply, Ok("I asked for these."));
    let user = format!("user{round}");
    harness.says_in(top_level("kitchen"), &user, "@Aizuchi plant roses").await;
    harness.pass(10).await;
    let kitchen = ChannelId::new("kitchen");
    let newest = consents(harness).await.into_iter();
    let open = newest.filter(|consent| {
        consent.conversation.channel == kitchen && consent.state == ConsentState::Open
    });
    let open: Vec<_> = open.map(|consent| consent.id).collect();
    assert_eq!(open.len(), 3);
    for id in open {
        decide(harness, id, ConsentChoice::Refuse).await.unwrap();
    }
    garden.goes_on().await;
}

#[tokio::test]
async fn an_open_question_outlasts_many_later_calls() {
    on_every_database(async |store| {
        let garden = Garden::asking(store, Language::En).await;
        let (harness, id) = (&garden.harness, garden.consent().await.id);
        let chat = TestChat::default();
        let keepers = Keepers {
            inbox: harness.inbox.clone(),
            archive: harness.store.archive.clone(),
            cursors: harness.store.cursors.clone(),
            language: Language::En,
            lengths: KeeperLengths { form: 3_000, post: 3_000 },
        };
        look(&keepers, &chat).await;
        let asked = chat.texts();
        assert_eq!(asked.len(), 1);
        for round in 0..17 {
            refuse_three(&garden, round).await;
        }
        look(&keepers, &chat).await;
        assert_eq!(chat.texts(), asked);
        let click = Click {
            workspace: workspace(),
            subject: QuestionSubject::Call(id),
            user: UserId::new("ren"),
            button: Choice::AllowOnce,
        };
        assert_eq!(keepers.answer(click).await, ClickAnswer::Settles);
        look(&keepers, &chat).await;
        assert!(chat.texts().len() == 1 && chat.texts() != asked, "{:?}", chat.texts());
    })
    .await;
}
