//! Pages of one thread's messages, beside a channel in which others write on.

use aizuchi_harness::fixtures::{at, message, thread, until, workspace};
use aizuchi_harness::test_store::on_every_store;
use aizuchi_model::chat::{ChannelId, MessageId};
use aizuchi_model::flow::Disposition;
use aizuchi_store::query::{MessageQuery, MessageRange};

use crate::store_commands::PromisesExt;

/// `forget that` and questions about a message look back in their thread.
#[tokio::test]
async fn what_others_write_in_the_channel_does_not_shorten_a_page_of_a_thread() {
    on_every_store(async |store| {
        store.hear_human("m0", 0, "who has the ladder?").await;
        for (second, id) in [(1, "t1"), (2, "t2"), (3, "t3")] {
            let reply = message(thread("garden", "m0"), id, at(second), "bob", "not me");
            store.hear(reply, Disposition::Judge(until(at(60)))).await;
        }
        for second in 4..9 {
            store.hear_human(&format!("m{second}"), second, "the kettle is on").await;
        }
        let before = async |second| {
            let query = MessageQuery {
                workspace: workspace(),
                channel: ChannelId::new("garden"),
                thread: Some(MessageId::new("m0")),
                range: MessageRange::BeforeTime(at(second)),
                limit: 2,
            };
            let found = store.archive.messages(query).await.unwrap();
            found.iter().map(|stored| stored.message.id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(before(60).await, ["t2", "t3"]);
        assert_eq!(before(3).await, ["t1", "t2"]);
    })
    .await;
}
