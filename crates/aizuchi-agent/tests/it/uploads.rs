//! The files of the local room, on every store: they are deleted with their messages.

use std::sync::Arc;

use aizuchi_harness::fixtures::{at, message};
use aizuchi_harness::harness::Harness;
use aizuchi_harness::test_store::on_every_database;
use aizuchi_model::chat::attachment::Attachment;
use aizuchi_model::chat::local;
use aizuchi_model::chat::{
    Arrival, ChannelId, ConversationId, Deletion, Edit, Heard, Message, MessageId, UserId,
    WorkspaceId,
};
use aizuchi_store::expiry::{Expiry, ExpiryProgress};
use aizuchi_store::order::Order;
use aizuchi_store::uploads::{PART_BYTES, UNSENT_LIFETIME, UPLOAD_WORKSPACE, Upload, UploadLimits};

/// Larger than one row.
const SIZE: usize = 300_000;

const ROOM_ENOUGH: UploadLimits = UploadLimits {
    max_unsent: 100,
    max_unsent_bytes: 1_000_000_000,
    max_total_bytes: 1_000_000_000,
};

fn room() -> ConversationId {
    let (workspace, channel) = (WorkspaceId::new(UPLOAD_WORKSPACE), ChannelId::new("general"));
    ConversationId { workspace, channel, thread: None }
}

async fn uploads(harness: &Harness, id: &str, second: i64) -> Attachment {
    let bytes = vec![id.len() as u8; SIZE];
    let (name, media_type) = ("plan.png".into(), "image/png".into());
    let upload = Upload { id: id.into(), name, media_type, bytes, at: at(second) };
    let attachment = upload.attachment();
    assert!(harness.store.uploads.put_upload(Arc::new(upload), ROOM_ENOUGH).await.unwrap());
    attachment
}

async fn sends(harness: &Harness, id: &str, files: Vec<Attachment>) {
    let sent = message(room(), id, at(10), id, "look");
    let sent = Message { attachments: files, ..sent };
    harness.inbox.hear(Heard::Message(sent, Arrival::Live)).await.unwrap();
}

async fn unsent(harness: &Harness) -> Vec<String> {
    let unsent = harness.store.uploads.unsent_uploads().await.unwrap();
    unsent.iter().map(|file| file.id.to_string()).collect()
}

/// Whether a message has a file.
async fn has(harness: &Harness, message: &str, id: &str) -> bool {
    let (channel, message) = (room().channel, MessageId::new(message));
    let content = harness.store.uploads.upload(&channel, &message, id).await.unwrap();
    if let Some(content) = &content {
        assert_eq!(*content, vec![id.len() as u8; SIZE]);
    }
    content.is_some()
}

/// The number of stored files and of their parts, if the store is a database.
async fn kept(harness: &Harness) -> Option<(i64, i64)> {
    let database = harness.store.database.as_ref()?;
    let files = database.count("SELECT count(*) AS n FROM uploads").await;
    Some((files, database.count("SELECT count(*) AS n FROM upload_parts").await))
}

fn expect_kept(found: Option<(i64, i64)>, files: i64) {
    assert!(found.is_none_or(|found| found == (files, files * 3)), "{found:?}");
}

#[test]
fn the_room_is_the_workspace_whose_files_are_kept() {
    assert_eq!(local::workspace_id().as_str(), UPLOAD_WORKSPACE);
}

#[tokio::test]
async fn a_file_belongs_to_the_message_that_was_sent_with_it() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let (one, two) = (uploads(&harness, "one", 0).await, uploads(&harness, "other", 1).await);
        assert_eq!(unsent(&harness).await, ["one", "other"]);
        assert!(!has(&harness, "m-1", "one").await);
        sends(&harness, "m-1", vec![one.clone(), two]).await;
        assert_eq!(unsent(&harness).await, Vec::<String>::new());
        assert!(has(&harness, "m-1", "one").await && has(&harness, "m-1", "other").await);
        // Another message that names the file does not get it.
        sends(&harness, "m-2", vec![one]).await;
        assert!(!has(&harness, "m-2", "one").await && has(&harness, "m-1", "one").await);
        // An edit of the text leaves the files.
        let edit = Edit {
            conversation: room(),
            message: MessageId::new("m-1"),
            at: at(20),
            made_at: at(20),
            text: "look here".into(),
            mentions: Vec::new(),
            attachments: None,
        };
        harness.inbox.hear(Heard::Edit(edit)).await.unwrap();
        assert!(has(&harness, "m-1", "one").await);
        expect_kept(kept(&harness).await, 2);
    })
    .await;
}

#[tokio::test]
async fn a_file_goes_with_its_message() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for (number, id) in ["deleted", "forgotten", "expired"].iter().enumerate() {
            let file = uploads(&harness, id, number as i64).await;
            sends(&harness, id, vec![file]).await;
            assert!(has(&harness, id, id).await);
            match *id {
                "deleted" => {
                    let message = MessageId::new(*id);
                    let deletion = Deletion { conversation: room(), message, at: at(20) };
                    harness.inbox.hear(Heard::Deletion(deletion)).await.unwrap();
                }
                "forgotten" => {
                    let (workspace, user) = (room().workspace, UserId::new("u-forgotten"));
                    let order = Order::Forget { workspace, user, asked: at(30) };
                    harness.store.store.order(order, at(30)).await.unwrap();
                    harness.store.finish_forgetting(at(30)).await;
                }
                _ => {
                    let expiry = Expiry { before: at(50), now: at(50) };
                    let store = &harness.store.store;
                    while store.expire_next(expiry).await.unwrap() != ExpiryProgress::Idle {}
                }
            }
            assert!(!has(&harness, id, id).await, "{id}");
            expect_kept(kept(&harness).await, 0);
        }
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_never_sent_is_dropped() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let sent = uploads(&harness, "sent", 0).await;
        sends(&harness, "m-1", vec![sent]).await;
        uploads(&harness, "early", 0).await;
        uploads(&harness, "late", 100).await;
        let now = at(50) + UNSENT_LIFETIME;
        harness.store.store.drop_journals(now).await.unwrap();
        assert_eq!(unsent(&harness).await, ["late"]);
        assert!(has(&harness, "m-1", "sent").await);
        expect_kept(kept(&harness).await, 2);
    })
    .await;
}

/// The oldest files are dropped, by number and by size, and a file that exceeds the whole limit is not stored.
#[tokio::test]
async fn files_take_no_more_room_than_they_may() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let put = async |id: &str, second: i64, limits: UploadLimits| {
            let (name, media_type) = ("plan.png".into(), "image/png".into());
            let bytes = vec![id.len() as u8; SIZE];
            let upload = Upload { id: id.into(), name, media_type, bytes, at: at(second) };
            harness.store.uploads.put_upload(Arc::new(upload), limits).await.unwrap()
        };
        let few = UploadLimits { max_unsent: 2, ..ROOM_ENOUGH };
        for (number, id) in ["one", "two", "three"].into_iter().enumerate() {
            assert!(put(id, number as i64, few).await);
        }
        assert_eq!(unsent(&harness).await, ["two", "three"]);
        let small = UploadLimits { max_unsent_bytes: 2 * SIZE as u64, ..ROOM_ENOUGH };
        assert!(put("four", 3, small).await);
        assert_eq!(unsent(&harness).await, ["three", "four"]);
        // Sent files stay.
        let sent = uploads(&harness, "sent", 4).await;
        sends(&harness, "m-1", vec![sent]).await;
        let full = UploadLimits { max_unsent: 1, max_total_bytes: 3 * SIZE as u64, ..ROOM_ENOUGH };
        assert!(!put("five", 5, full).await);
        assert_eq!(unsent(&harness).await, ["three", "four"]);
        let one = UploadLimits { max_unsent: 1, ..ROOM_ENOUGH };
        assert!(put("six", 6, one).await);
        assert_eq!(unsent(&harness).await, ["six"]);
        assert!(has(&harness, "m-1", "sent").await);
        expect_kept(kept(&harness).await, 2);
    })
    .await;
}

/// Eight parts are written per statement, and the number of a file's parts need not be a multiple of that.
#[tokio::test]
async fn a_large_file_is_read_as_a_whole_and_part_by_part() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let bytes: Vec<u8> =
            (0..9 * PART_BYTES + 7).map(|number| (number / 1000 % 251) as u8).collect();
        let (name, media_type) = ("plan.png".into(), "image/png".into());
        let upload = Upload { id: "big".into(), name, media_type, bytes, at: at(0) };
        let upload = Arc::new(upload);
        assert!(harness.store.uploads.put_upload(upload.clone(), ROOM_ENOUGH).await.unwrap());
        sends(&harness, "m-1", vec![upload.attachment()]).await;
        let (channel, message) = (room().channel, MessageId::new("m-1"));
        let store = &harness.store.uploads;
        let whole = store.upload(&channel, &message, "big").await.unwrap().unwrap();
        assert!(whole == upload.bytes);
        let mut parts = Vec::new();
        for number in 0..10 {
            parts.extend(
                store.upload_part(&channel, &message, "big", number).await.unwrap().unwrap(),
            );
        }
        assert!(parts == upload.bytes);
        assert_eq!(store.upload_part(&channel, &message, "big", 10).await.unwrap(), None);
        let other = MessageId::new("m-2");
        assert_eq!(store.upload_part(&channel, &other, "big", 0).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_file_can_be_taken_off_before_it_is_sent() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        let sent = uploads(&harness, "sent", 0).await;
        uploads(&harness, "off", 1).await;
        sends(&harness, "m-1", vec![sent]).await;
        for (id, expected) in [("off", true), ("off", false), ("sent", false)] {
            let dropped = harness.store.uploads.drop_unsent_upload(id).await.unwrap();
            assert_eq!(dropped, expected, "{id}");
        }
        assert!(has(&harness, "m-1", "sent").await);
        expect_kept(kept(&harness).await, 1);
    })
    .await;
}

/// Large files are not erased all at once, however few and short their messages are.
#[tokio::test]
async fn large_files_expire_one_after_another() {
    on_every_database(async |store| {
        let harness = Harness::new(store).await;
        for id in ["one", "two", "three"] {
            let (name, media_type) = ("plan.png".into(), "image/png".into());
            let upload =
                Upload { id: id.into(), name, media_type, bytes: vec![1; 6_000_000], at: at(0) };
            let file = upload.attachment();
            let uploads = &harness.store.uploads;
            assert!(uploads.put_upload(Arc::new(upload), ROOM_ENOUGH).await.unwrap());
            sends(&harness, id, vec![file]).await;
        }
        let expiry = Expiry { before: at(50), now: at(50) };
        let mut counts = Vec::new();
        while let ExpiryProgress::Working(page) =
            harness.store.store.expire_next(expiry).await.unwrap()
        {
            counts.extend(Some(page.count).filter(|count| *count > 0));
        }
        assert_eq!(counts, [1, 1, 1]);
    })
    .await;
}
