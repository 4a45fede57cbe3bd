//! What is said on Discord is said once or not at all, where it belongs, and calls nobody.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_core::chat::{
    Arrival, Author, AuthorKind, ChannelId, ConversationId, Heard, Message, MessageId, User,
    UserId, WorkspaceId,
};
use aizuchi_core::clock::Clock;
use aizuchi_core::decision::DecisionResult;
use aizuchi_core::event::{DraftMetadata, OutboxItem, OutboxItemId};
use aizuchi_core::inbox::channel_cache::ChannelCache;
use aizuchi_core::inbox::in_flight::InFlight;
use aizuchi_core::inbox::{Inbox, Redaction, WaitSettings};
use aizuchi_core::memory::Lineage;
use aizuchi_core::metrics::Metrics;
use aizuchi_core::persona::{Language, Persona};
use aizuchi_core::platform::{Platform, PlatformDeps, PlatformError};
use aizuchi_core::store::volatile::VolatileStore;
use aizuchi_discord::DiscordPlatform;
use aizuchi_discord::identity::{guild_workspace, resolve_identity};
use aizuchi_discord::settings::{DiscordSettings, DiscordTimeouts, ThreadPolicy, ThreadSettings};
use aizuchi_fakes::discord::api_error::{ErrorCode, RateLimitScope};
use aizuchi_fakes::discord::channel::{NewChannel, NewChannelKind};
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::{self as fake, FakeDiscord, id, serve};
use aizuchi_fakes::fault::Hang;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use twilight_model::guild::Permissions;

use crate::discord::bodies::are_valid;

/// The adapter alone, with two people's lines in one channel.
struct Voice {
    fake: Arc<FakeDiscord>,
    discord: DiscordPlatform,
    inbox: Arc<Inbox>,
    place: ConversationId,
    tea: id::ChannelId,
    mio: id::UserId,
    said: std::sync::atomic::AtomicI64,
    _stop: DropGuard,
}

impl Drop for Voice {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            are_valid(&self.fake.read(|state| state.journal.calls.clone()));
        }
    }
}

impl Voice {
    async fn new() -> Self {
        Self::with(ThreadPolicy::Never).await
    }

    async fn with(threads: ThreadPolicy) -> Self {
        let fake = FakeDiscord::new(fake::FakeDiscordSettings::default());
        let mio = fake.add_user("Mio");
        let guild = fake.add_guild("Tea House", mio);
        let new = NewChannel { name: "tea".to_owned(), ..NewChannel::default() };
        let tea = fake.add_channel(new).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api/v10", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, fake.clone(), stop.clone()));
        let settings = DiscordSettings {
            token: "dev-discord-token".into(),
            api_base: base,
            gateway_url: None,
            shards: None,
            threads: ThreadSettings { default: threads, ..ThreadSettings::default() },
            settle_time: SignedDuration::from_secs(30),
            history_span: SignedDuration::ZERO,
            sync_interval: SignedDuration::from_hours(1),
            time_zone: TimeZone::UTC,
            timeouts: DiscordTimeouts {
                call: Duration::from_secs(2),
                ..DiscordTimeouts::default()
            },
        };
        let store = Arc::new(VolatileStore::new());
        let inbox = Arc::new(Inbox {
            store: store.clone(),
            channel_cache: Arc::new(ChannelCache::default()),
            command_name: None,
            is_announcing: false,
            redaction: Redaction::Drop,
            in_flight: Arc::new(InFlight::default()),
            clock: Clock::system(),
            metrics: Arc::new(Metrics::default()),
            remember_delay: None,
            wait_settings: WaitSettings::default(),
            random_seed: 7,
        });
        let persona = Arc::new(Persona {
            name: "Aizuchi".to_owned(),
            system_prompt: String::new(),
            language: Language::En,
        });
        let surroundings = PlatformDeps {
            answers: aizuchi_harness::harness::answers(store.clone(), store.clone(), &persona),
            persona,
            inbox: inbox.clone(),
            archive: store.clone(),
        };
        let who = resolve_identity(&settings, &*store).await.unwrap();
        let discord = DiscordPlatform::new(settings, who, surroundings).await.unwrap();
        let place = ConversationId {
            workspace: guild_workspace(guild),
            channel: ChannelId::new(tea.to_string()),
            thread: None,
        };
        let said = std::sync::atomic::AtomicI64::new(0);
        let _stop = stop.drop_guard();
        let voice = Self { fake, discord, inbox, place, tea, mio, said, _stop };
        voice
            .heard(User {
                workspace: voice.place.workspace.clone(),
                id: UserId::new(mio.to_string()),
                name: "Mio".into(),
                kind: AuthorKind::Human,
                role: aizuchi_core::chat::Role::Member,
            })
            .await;
        voice
    }

    async fn heard(&self, user: User) {
        self.inbox.hear(Heard::User(user)).await.unwrap();
    }

    /// Mio says something, and it is heard.
    async fn says(&self, text: &str) -> MessageId {
        let id = self.fake.send_message(self.tea, self.mio, text).unwrap();
        let message = Message {
            conversation: self.place.clone(),
            id: MessageId::new(id.to_string()),
            at: Timestamp::now(),
            author: Author { id: UserId::new(self.mio.to_string()), kind: AuthorKind::Human },
            text: text.into(),
            mentions: Vec::new(),
            edits: 0,
        };
        let id = message.id.clone();
        self.inbox.hear(Heard::Message(message, Arrival::Live)).await.unwrap();
        id
    }

    fn piece(&self, text: &str, owed: &[&MessageId]) -> OutboxItem {
        let number = self.said.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        OutboxItem {
            id: OutboxItemId(number),
            first_in_draft: OutboxItemId(number),
            conversation: self.place.clone(),
            key: format!("0a1b-{number}").into(),
            text: text.into(),
            reaction_to: None,
            metadata: Arc::new(DraftMetadata {
                owed: owed.iter().map(|id| (*id).clone()).collect(),
                about: None,
                lineage: Lineage::default(),
                seen_revision: 0,
                ends: DecisionResult::Spoke,
                why: String::new(),
                only_for: None,
            }),
            dispatched_at: None,
        }
    }

    /// The same piece, as it stands after a call whose end is not known.
    fn sending(piece: &OutboxItem) -> OutboxItem {
        OutboxItem { dispatched_at: Some(Timestamp::now()), ..piece.clone() }
    }

    fn bodies(&self) -> Vec<Value> {
        self.fake.posts().into_iter().map(|post| post.body).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.fake.texts(self.tea).unwrap()
    }
}

#[tokio::test]
async fn a_post_calls_nobody_and_shows_nothing_of_others() {
    let voice = Voice::new().await;
    voice.says("hi").await;
    let piece = voice.piece("@everyone and @Mio: <@&5> https://x.example", &[]);
    let posted = voice.discord.post(&piece).await.unwrap();
    let body = &voice.bodies()[0];
    assert_eq!(
        body["content"],
        format!("＠everyone and <@{}>: <＠&5> https://x.example", voice.mio)
    );
    assert_eq!(body["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
    assert_eq!((&body["enforce_nonce"], &body["flags"]), (&json!(true), &json!(4)));
    assert_eq!(body["nonce"].as_str().unwrap().len(), 25);
    let message = voice.fake.messages(voice.tea).unwrap().pop().unwrap();
    assert_eq!((message.mentions.len(), message.mention_everyone), (0, false));
    assert_eq!(posted.id.as_str(), message.id.to_string());
    assert_eq!(posted.at.as_millisecond(), id::created_at(message.id).as_millisecond());
}

#[tokio::test]
async fn an_answer_points_to_its_question_once() {
    let voice = Voice::new().await;
    let asked = voice.says("@Aizuchi, why?").await;
    let first = voice.piece("Because", &[&asked]);
    let second = OutboxItem { first_in_draft: first.id, ..voice.piece("of the rain.", &[&asked]) };
    voice.discord.post(&first).await.unwrap();
    voice.discord.post(&second).await.unwrap();
    // What nobody asked for stands alone, unless others have spoken since.
    let about = |id: &MessageId| {
        let piece = voice.piece("I know that one.", &[]);
        let draft = DraftMetadata { about: Some(id.clone()), ..(*piece.metadata).clone() };
        OutboxItem { metadata: Arc::new(draft), ..piece }
    };
    let newest = voice.says("it rains").await;
    voice.discord.post(&about(&newest)).await.unwrap();
    voice.says("and snows").await;
    voice.discord.post(&about(&newest)).await.unwrap();
    let points =
        voice.bodies().into_iter().map(|body| body["message_reference"]["message_id"].clone());
    let expected = [json!(asked), Value::Null, Value::Null, json!(newest)];
    assert_eq!(points.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn where_the_past_is_hidden_an_answer_stands_alone() {
    let voice = Voice::new().await;
    let asked = voice.says("@Aizuchi, why?").await;
    voice
        .fake
        .set_permissions(voice.tea, PermissionEffect::Deny, Permissions::READ_MESSAGE_HISTORY)
        .unwrap();
    voice.discord.post(&voice.piece("Because.", &[&asked])).await.unwrap();
    assert_eq!(voice.texts(), ["@Aizuchi, why?", "Because."]);
}

/// D07: an answer is lost in every way that there is, and it is said once.
#[tokio::test]
async fn a_lost_answer_is_found_or_said_once() {
    for fault in [
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::HangBefore(Hang::UntilReleased),
        Fault::HangAfter(Hang::UntilReleased),
        Fault::Status(500),
        Fault::StatusAfter(502),
        Fault::Garbage,
    ] {
        let voice = Voice::new().await;
        let piece = voice.piece("It is ready.", &[]);
        voice.fake.inject_fault(Method::CreateMessage, fault.clone());
        let lost = voice.discord.post(&piece).await;
        assert!(matches!(lost, Err(PlatformError::OutcomeUnknown(_))), "{fault:?}: {lost:?}");
        let found = voice.discord.find_posted(&Voice::sending(&piece)).await.unwrap();
        let was_said = !voice.texts().is_empty();
        assert_eq!(found.is_some(), was_said, "{fault:?}");
        // Whoever says it again within minutes gets the same post.
        let posted = voice.discord.post(&piece).await.unwrap();
        assert_eq!(voice.texts(), ["It is ready."], "{fault:?}");
        let known = voice.discord.find_posted(&Voice::sending(&piece)).await.unwrap().unwrap();
        assert_eq!((known.id, known.at), (posted.id, posted.at), "{fault:?}");
        // Another piece of the same words is another one.
        let other = voice.piece("It is ready.", &[]);
        voice.discord.post(&other).await.unwrap();
        assert_eq!(voice.texts().len(), 2);
    }
}

#[tokio::test]
async fn nobody_else_is_taken_for_it() {
    let voice = Voice::new().await;
    let piece = voice.piece("It is ready.", &[]);
    for number in 0..150 {
        voice.fake.send_message(voice.tea, voice.mio, &format!("line {number}")).unwrap();
    }
    voice.fake.send_message(voice.tea, voice.mio, "It is ready.").unwrap();
    assert_eq!(voice.discord.find_posted(&Voice::sending(&piece)).await, Ok(None));
    voice.discord.post(&piece).await.unwrap();
    assert!(voice.discord.find_posted(&Voice::sending(&piece)).await.unwrap().is_some());
}

#[tokio::test]
async fn an_empty_history_says_nothing_after_minutes() {
    let voice = Voice::new().await;
    voice.says("hi").await;
    voice
        .fake
        .set_permissions(voice.tea, PermissionEffect::Deny, Permissions::READ_MESSAGE_HISTORY)
        .unwrap();
    let piece = Voice::sending(&voice.piece("It is ready.", &[]));
    // Its nonce is still known, so it may be said again.
    assert_eq!(voice.discord.find_posted(&piece).await, Ok(None));
    let old = OutboxItem {
        dispatched_at: Some(Timestamp::now() - SignedDuration::from_mins(20)),
        ..piece
    };
    let found = voice.discord.find_posted(&old).await;
    assert!(matches!(found, Err(PlatformError::Refused(_))), "{found:?}");
}

#[tokio::test]
async fn a_limit_is_kept_and_holds_up_nobody_else() {
    let voice = Voice::new().await;
    let new = NewChannel { name: "hall".to_owned(), ..NewChannel::default() };
    let hall = voice.fake.add_channel(new).unwrap();
    voice.fake.inject_fault(Method::CreateMessage, Fault::rate_limited(7.0, RateLimitScope::User));
    let post = |place: &ConversationId| {
        let asked = MessageId::new("1");
        let mut piece = voice.piece("a", &[&asked]);
        piece.conversation = place.clone();
        let discord = &voice.discord;
        async move { discord.post(&piece).await }
    };
    let busy = |answer: Result<_, PlatformError>| match answer {
        Err(PlatformError::Busy { retry_after: Some(wait), .. }) => wait.as_secs_f64().round(),
        other => panic!("{other:?}"),
    };
    assert_eq!(busy(post(&voice.place).await), 7.0);
    let other = ConversationId { channel: ChannelId::new(hall.to_string()), ..voice.place.clone() };
    post(&other).await.unwrap();
    // Discord is not even asked.
    assert!(busy(post(&voice.place).await) > 5.0);
    assert_eq!(voice.fake.calls(Method::CreateMessage).len(), 2);
    // All calls together have a limit, too.
    voice
        .fake
        .inject_fault(Method::CreateMessage, Fault::rate_limited(9.0, RateLimitScope::Global));
    assert_eq!(busy(post(&other).await), 9.0);
    assert!(busy(post(&other).await) > 7.0);
    assert_eq!(voice.fake.calls(Method::CreateMessage).len(), 3);
}

#[tokio::test]
async fn a_full_bucket_is_not_filled_further() {
    let voice = Voice::new().await;
    for _ in 0..5 {
        voice.discord.post(&voice.piece("a", &[])).await.unwrap();
    }
    let sixth = voice.discord.post(&voice.piece("a", &[])).await;
    assert!(matches!(sixth, Err(PlatformError::Busy { retry_after: Some(_), .. })), "{sixth:?}");
    let calls = voice.fake.calls(Method::CreateMessage);
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(200); 5]);
}

#[tokio::test]
async fn what_discord_refuses_is_given_up() {
    for reason in [
        ErrorCode::UnknownChannel,
        ErrorCode::MissingAccess,
        ErrorCode::MissingPermissions,
        ErrorCode::InvalidBody,
        ErrorCode::ThreadLocked,
        ErrorCode::CannotSendToUser,
    ] {
        let voice = Voice::new().await;
        voice.fake.inject_fault(Method::CreateMessage, Fault::error(reason));
        let refused = voice.discord.post(&voice.piece("a", &[])).await;
        assert!(matches!(refused, Err(PlatformError::Refused(_))), "{refused:?}");
        assert_eq!(voice.fake.calls(Method::CreateMessage).len(), 1);
    }
    let voice = Voice::new().await;
    voice.fake.inject_fault(Method::CreateMessage, Fault::error(ErrorCode::SlowMode));
    let slow = voice.discord.post(&voice.piece("a", &[])).await;
    assert!(matches!(slow, Err(PlatformError::Busy { .. })), "{slow:?}");
}

#[tokio::test]
async fn what_was_said_and_deleted_is_not_said_again() {
    let voice = Voice::new().await;
    let piece = voice.piece("It is ready.", &[]);
    voice.discord.post(&piece).await.unwrap();
    let id = voice.fake.messages(voice.tea).unwrap()[0].id;
    voice.fake.delete_message(voice.tea, id).unwrap();
    let again = voice.discord.post(&piece).await;
    assert!(matches!(again, Err(PlatformError::Refused(_))), "{again:?}");
    assert_eq!(voice.texts(), [""; 0]);
}

#[tokio::test]
async fn a_mention_opens_a_thread_once() {
    let voice = Voice::with(ThreadPolicy::Auto).await;
    let asked = voice.says("@Aizuchi, what is in the box? Tell me.").await;
    let first = voice.piece("A cat.", &[&asked]);
    let second = OutboxItem { first_in_draft: first.id, ..voice.piece("And a dog.", &[&asked]) };
    let posted = voice.discord.post(&first).await.unwrap();
    assert_eq!(posted.thread.as_ref(), Some(&asked));
    voice.discord.post(&second).await.unwrap();
    let thread: id::ChannelId = asked.as_str().parse().unwrap();
    assert_eq!(voice.fake.texts(thread).unwrap(), ["", "A cat.", "And a dog."]);
    let name = voice.fake.read(|state| state.world.channels[&thread].name.clone());
    assert_eq!(name, "what is in the box");
    // A lost post is looked for in the thread that it would have been in.
    assert_eq!(voice.discord.find_posted(&Voice::sending(&first)).await.unwrap(), Some(posted));
    let never = voice.piece("Never said.", &[&voice.says("@Aizuchi?").await]);
    assert_eq!(voice.discord.find_posted(&Voice::sending(&never)).await, Ok(None));
    // What nobody asked for opens none.
    let unasked = voice.discord.post(&voice.piece("Tea is ready.", &[])).await.unwrap();
    assert_eq!(unasked.thread, None);
}

#[tokio::test]
async fn where_no_thread_can_be_opened_it_answers_beside() {
    let voice = Voice::with(ThreadPolicy::Auto).await;
    let asked = voice.says("@Aizuchi, why?").await;
    voice
        .fake
        .set_permissions(voice.tea, PermissionEffect::Deny, Permissions::CREATE_PUBLIC_THREADS)
        .unwrap();
    let posted = voice.discord.post(&voice.piece("Because.", &[&asked])).await.unwrap();
    assert_eq!(posted.thread, None);
    assert_eq!(voice.texts(), ["@Aizuchi, why?", "Because."]);
    assert_eq!(voice.bodies()[0]["message_reference"]["message_id"], json!(asked));
}

#[tokio::test]
async fn it_nods_once() {
    let voice = Voice::new().await;
    let line = voice.says("The cake is done!").await;
    let nod = OutboxItem { reaction_to: Some(line), ..voice.piece("🎉", &[]) };
    assert_eq!(voice.discord.find_posted(&Voice::sending(&nod)).await, Ok(None));
    voice.discord.post(&nod).await.unwrap();
    assert!(voice.discord.find_posted(&Voice::sending(&nod)).await.unwrap().is_some());
    let reactions = || voice.fake.messages(voice.tea).unwrap()[0].reactions.len();
    assert_eq!(reactions(), 1);
    let odd = OutboxItem { text: "party-parrot".into(), ..nod };
    let odd = voice.discord.post(&odd).await;
    assert!(matches!(odd, Err(PlatformError::Refused(_))), "{odd:?}");
}

#[tokio::test]
async fn it_nods_with_an_emoji_of_the_server() {
    let voice = Voice::new().await;
    voice.fake.change(|state| {
        let guild = state.world.guilds.values_mut().next().unwrap();
        guild.emojis = vec![json!({"id": "77", "name": "wobble", "available": true})];
    });
    let line = voice.says("The cake is done!").await;
    let nod = OutboxItem { reaction_to: Some(line), ..voice.piece(":wobble:", &[]) };
    let nods = async {
        // Until it has been told of the server, it knows none of its emoji.
        while voice.discord.post(&nod).await.is_err() {
            tokio::task::yield_now().await;
        }
        voice.discord.find_posted(&Voice::sending(&nod)).await.unwrap().is_some()
    };
    let is_found = tokio::select! {
        ended = voice.discord.run(CancellationToken::new()) => panic!("{ended:?}"),
        is_found = tokio::time::timeout(Duration::from_secs(20), nods) => is_found.unwrap(),
    };
    assert!(is_found);
    let reactions = &voice.fake.messages(voice.tea).unwrap()[0].reactions;
    assert_eq!(reactions[0].emoji.id.as_deref(), Some("77"));
}

#[tokio::test]
async fn it_shows_that_it_types_only_what_it_will_say() {
    let voice = Voice::new().await;
    let asked = voice.says("@Aizuchi?").await;
    let wait = voice.discord.show_typing(&voice.piece("Yes.", &[&asked])).await;
    assert_eq!((wait, voice.fake.calls(Method::StartTyping).len()), (SignedDuration::ZERO, 0));
    let wait = voice.discord.show_typing(&voice.piece("Tea is ready.", &[])).await;
    assert!(wait > SignedDuration::ZERO && wait <= SignedDuration::from_secs(3), "{wait}");
    assert_eq!(voice.fake.calls(Method::StartTyping).len(), 1);
    let thinking = voice.discord.show_thinking(&voice.place);
    let over = tokio::time::timeout(Duration::from_millis(100), thinking).await;
    assert!(over.is_err());
    assert_eq!(voice.fake.calls(Method::StartTyping).len(), 2);
}

#[tokio::test]
async fn in_a_direct_message_it_answers_without_pointing() {
    let voice = Voice::new().await;
    let direct = voice.fake.open_direct_message(voice.mio).unwrap();
    let asked =
        MessageId::new(voice.fake.send_message(direct, voice.mio, "hi").unwrap().to_string());
    let mut piece = voice.piece("Hello!", &[&asked]);
    piece.conversation = ConversationId {
        workspace: WorkspaceId::new("discord:direct"),
        channel: ChannelId::new(direct.to_string()),
        thread: None,
    };
    voice.discord.post(&piece).await.unwrap();
    assert_eq!(voice.fake.texts(direct).unwrap(), ["hi", "Hello!"]);
    assert_eq!(voice.bodies()[0]["message_reference"], Value::Null);
}

#[tokio::test]
async fn a_forum_has_no_top_level_and_its_threads_are_spoken_in() {
    let voice = Voice::new().await;
    let new = NewChannel {
        name: "questions".to_owned(),
        kind: NewChannelKind::Forum,
        ..NewChannel::default()
    };
    let forum = voice.fake.add_channel(new).unwrap();
    let thread = voice.fake.create_forum_post(forum, voice.mio, "Roses", "Which soil?").unwrap();
    let asked = MessageId::new(thread.to_string());
    let mut piece = voice.piece("Loam.", &[&asked]);
    piece.conversation.channel = ChannelId::new(forum.to_string());
    piece.conversation.thread = Some(asked.clone());
    voice.discord.post(&piece).await.unwrap();
    assert_eq!(voice.fake.texts(thread).unwrap(), ["Which soil?", "Loam."]);
    // Its first line is in the thread itself.
    let nod = OutboxItem { text: "👍".into(), reaction_to: Some(asked), ..piece };
    voice.discord.post(&nod).await.unwrap();
    assert_eq!(voice.fake.messages(thread).unwrap()[0].reactions.len(), 1);
}
