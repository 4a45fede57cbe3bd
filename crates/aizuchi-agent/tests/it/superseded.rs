//! Decisions with a superseded call are found, however they ended.

use aizuchi_harness::fixtures::workspace;
use aizuchi_harness::test_store::{TestStore, on_every_store};
use aizuchi_model::chat::{ChannelId, UserId};
use aizuchi_model::decision::DecisionId;
use aizuchi_model::flow::Outcome;
use aizuchi_store::query::{DecisionFilter, DecisionQuery, MessageFilter};

use crate::store_commands::{PromisesExt, attempt, silent};

async fn found(
    store: &TestStore,
    filter: DecisionFilter,
    messages: MessageFilter,
    before: Option<DecisionId>,
) -> Vec<DecisionId> {
    let query = DecisionQuery::Filtered {
        workspace: workspace(),
        channel: ChannelId::new("garden"),
        ended: Some(filter),
        gate: None,
        messages,
        before,
        limit: 10,
    };
    let found = store.archive.decisions(query).await.unwrap();
    found.into_iter().map(|decision| decision.id).collect()
}

#[tokio::test]
async fn what_was_superseded_is_found_however_it_ended() {
    on_every_store(async |store| {
        let (superseded, anybody) = (DecisionFilter::Superseded, MessageFilter::default());
        // A decision without an interruption.
        store.hear_human("0", 0, "good morning").await;
        let claim = store.claim(60).await.remove(0);
        let kept = Outcome { attempts: vec![attempt()], ..silent("they get along") };
        store.complete(&claim, kept, 61).await;
        assert_eq!(found(&store, superseded, anybody.clone(), None).await, []);

        store.hear_human("1", 100, "hello").await;
        let claim = store.claim(200).await.remove(0);
        assert!(store.hear_human("2", 201, "hello?").await.has_superseded);
        let discarded = Outcome { attempts: vec![attempt()], ..silent("discarded") };
        store.complete(&claim, discarded, 202).await;
        let id = claim.decision;
        assert_eq!(found(&store, DecisionFilter::Open, anybody.clone(), None).await, [id]);
        assert_eq!(found(&store, superseded, anybody.clone(), None).await, [id]);

        let claim = store.claim(400).await.remove(0);
        store.complete(&claim, silent("they get along"), 401).await;
        assert_eq!(found(&store, DecisionFilter::Open, anybody.clone(), None).await, []);
        assert_eq!(found(&store, superseded, anybody.clone(), None).await, [id]);
        assert_eq!(found(&store, superseded, anybody, Some(id)).await, []);
        for (author, expected) in [("u-alice", &[id][..]), ("u-bob", &[][..])] {
            let by =
                MessageFilter { author: Some(UserId::new(author)), ..MessageFilter::default() };
            assert_eq!(found(&store, superseded, by, None).await, expected, "{author}");
        }
    })
    .await;
}
