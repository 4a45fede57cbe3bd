//! Posting to Discord: at most once, in the right conversation, without notifying any user.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_agent::inbox::channel_cache::ChannelCache;
use aizuchi_agent::inbox::in_flight::InFlight;
use aizuchi_agent::inbox::{Inbox, Redaction, WaitSettings};
use aizuchi_agent::metrics::Metrics;
use aizuchi_discord::DiscordPlatform;
use aizuchi_discord::identity::{fetch_identity, guild_workspace, resolve_identity};
use aizuchi_discord::settings::{DiscordSettings, DiscordTimeouts, ThreadPolicy, ThreadSettings};
use aizuchi_fakes::alteration::Alteration;
use aizuchi_fakes::discord::api_error::{ErrorCode, RateLimitScope};
use aizuchi_fakes::discord::channel::{NewChannel, NewChannelKind};
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::fault::Fault;
use aizuchi_fakes::discord::message::MessageKind;
use aizuchi_fakes::discord::method::Method;
use aizuchi_fakes::discord::rate_limit::{RateLimit, RateLimits};
use aizuchi_fakes::discord::{self as fake, FakeDiscord, id, serve};
use aizuchi_fakes::fault::Hang;
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, ChannelId, ConversationId, Heard, Message, MessageId, User,
    UserId, WorkspaceId,
};
use aizuchi_model::clock::Clock;
use aizuchi_model::decision::DecisionResult;
use aizuchi_model::flow::outbox::{DraftMetadata, OutboxItem, OutboxItemId};
use aizuchi_model::persona::{Language, Persona};
use aizuchi_model::platform::{Platform, PlatformError};
use aizuchi_platform::PlatformDeps;
use aizuchi_store::volatile::VolatileStore;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use twilight_model::guild::Permissions;

use crate::discord::bodies::are_valid;
use crate::program::TIMEOUT;

/// The adapter without the program, on a server with one channel.
struct PostHarness {
    fake: Arc<FakeDiscord>,
    /// The base URL of its API.
    base: String,
    discord: DiscordPlatform,
    inbox: Arc<Inbox>,
    conversation: ConversationId,
    tea: id::ChannelId,
    mio: id::UserId,
    item_count: std::sync::atomic::AtomicI64,
    _stop: DropGuard,
}

fn settings(base: &str, threads: ThreadPolicy, timeouts: DiscordTimeouts) -> DiscordSettings {
    DiscordSettings {
        token: SecretString::from("dev-discord-token").into(),
        api_base: base.to_owned(),
        gateway_url: None,
        shards: None,
        threads: ThreadSettings { default: threads, ..ThreadSettings::default() },
        in_flight_timeout: SignedDuration::from_secs(30),
        history_span: SignedDuration::ZERO,
        sync_interval: SignedDuration::from_hours(1),
        time_zone: TimeZone::UTC,
        timeouts,
    }
}

impl Drop for PostHarness {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            are_valid(&self.fake.read(|state| state.journal.calls.clone()));
        }
    }
}

impl PostHarness {
    async fn new() -> Self {
        Self::with(ThreadPolicy::Never).await
    }

    /// Returns a harness without rate limits, for many calls.
    async fn without_limits() -> Self {
        let many = RateLimit::new(1_000_000, SignedDuration::from_secs(1));
        let limits = RateLimits { global: many, messages: many, reactions: many, other: many };
        let settings = fake::FakeDiscordSettings {
            rate_limits: limits,
            ..fake::FakeDiscordSettings::default()
        };
        Self::with_settings(ThreadPolicy::Never, settings).await
    }

    async fn with(threads: ThreadPolicy) -> Self {
        Self::with_settings(threads, fake::FakeDiscordSettings::default()).await
    }

    async fn with_settings(threads: ThreadPolicy, world: fake::FakeDiscordSettings) -> Self {
        Self::with_timeouts(threads, world, DiscordTimeouts::default()).await
    }

    /// Returns a harness that soon gives up a call that hangs.
    async fn hasty() -> Self {
        let timeouts = DiscordTimeouts { call: Duration::from_secs(2), ..Default::default() };
        Self::with_timeouts(ThreadPolicy::Never, Default::default(), timeouts).await
    }

    async fn with_timeouts(
        threads: ThreadPolicy,
        world: fake::FakeDiscordSettings,
        timeouts: DiscordTimeouts,
    ) -> Self {
        let fake = FakeDiscord::new(world);
        let mio = fake.add_user("Mio");
        let guild = fake.add_guild("Tea House", mio);
        let new = NewChannel { name: "tea".to_owned(), ..NewChannel::default() };
        let tea = fake.add_channel(new).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api/v10", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, fake.clone(), stop.clone()));
        let settings = settings(&base, threads, timeouts);
        let store = Arc::new(VolatileStore::new());
        let inbox = Arc::new(Inbox {
            store: store.clone(),
            archive: store.clone(),
            channel_cache: Arc::new(ChannelCache::default()),
            persona_name: None,
            also_called: Vec::new(),
            zone: TimeZone::UTC,
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
        let deps = PlatformDeps {
            answers: aizuchi_harness::harness::answers(store.clone(), store.clone(), &persona),
            persona,
            inbox: inbox.clone(),
            archive: store.clone(),
            cursors: store.clone(),
        };
        let identity = resolve_identity(&settings, &*store).await.unwrap();
        let discord = DiscordPlatform::new(settings, identity, deps).await.unwrap();
        let conversation = ConversationId {
            workspace: guild_workspace(guild),
            channel: ChannelId::new(tea.to_string()),
            thread: None,
        };
        let item_count = std::sync::atomic::AtomicI64::new(0);
        let _stop = stop.drop_guard();
        let harness =
            Self { fake, base, discord, inbox, conversation, tea, mio, item_count, _stop };
        harness
            .heard(User {
                workspace: harness.conversation.workspace.clone(),
                id: UserId::new(mio.to_string()),
                name: "Mio".into(),
                kind: AuthorKind::Human,
                role: aizuchi_model::chat::Role::Member,
                zone: None,
            })
            .await;
        harness
    }

    async fn heard(&self, user: User) {
        self.inbox.hear(Heard::User(user)).await.unwrap();
    }

    /// Mio posts a message, and the program hears it.
    async fn says(&self, text: &str) -> MessageId {
        let id = self.fake.send_message(self.tea, self.mio, text).unwrap();
        let message = Message {
            conversation: self.conversation.clone(),
            id: MessageId::new(id.to_string()),
            at: Timestamp::now(),
            author: Author { id: UserId::new(self.mio.to_string()), kind: AuthorKind::Human },
            text: text.into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        };
        let id = message.id.clone();
        self.inbox.hear(Heard::Message(message, Arrival::Live)).await.unwrap();
        id
    }

    fn item(&self, text: &str, owed: &[&MessageId]) -> OutboxItem {
        let number = self.item_count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
        OutboxItem {
            id: OutboxItemId(number),
            first_in_draft: OutboxItemId(number),
            conversation: self.conversation.clone(),
            key: format!("0a1b-{number}").into(),
            text: text.into(),
            reaction_to: None,
            metadata: Arc::new(DraftMetadata {
                owed: owed.iter().map(|id| (*id).clone().into()).collect(),
                ..DraftMetadata::new(DecisionResult::Spoke, "")
            }),
            dispatched_at: None,
        }
    }

    /// Returns the same item after a call whose outcome is unknown.
    fn sending(item: &OutboxItem) -> OutboxItem {
        OutboxItem { dispatched_at: Some(Timestamp::now()), ..item.clone() }
    }

    fn bodies(&self) -> Vec<Value> {
        self.fake.posts().into_iter().map(|post| post.body).collect()
    }

    fn texts(&self) -> Vec<String> {
        self.fake.texts(self.tea).unwrap()
    }
}

#[tokio::test]
async fn a_post_notifies_no_user_and_shows_no_link_preview() {
    let harness = PostHarness::new().await;
    harness.says("hi").await;
    let item = harness.item("@everyone and @Mio: <@&5> https://x.example", &[]);
    let posted = harness.discord.post(&item).await.unwrap();
    let body = &harness.bodies()[0];
    assert_eq!(
        body["content"],
        format!("＠everyone and <@{}>: <＠&5> https://x.example", harness.mio)
    );
    assert_eq!(body["allowed_mentions"], json!({ "parse": [], "replied_user": false }));
    assert_eq!((&body["enforce_nonce"], &body["flags"]), (&json!(true), &json!(4)));
    assert_eq!(body["nonce"].as_str().unwrap().len(), 25);
    let message = harness.fake.messages(harness.tea).unwrap().pop().unwrap();
    assert_eq!((message.mentions.len(), message.mention_everyone), (0, false));
    assert_eq!(posted.id.as_str(), message.id.to_string());
    assert_eq!(posted.at.as_millisecond(), id::created_at(message.id).as_millisecond());
}

#[tokio::test]
async fn an_answer_replies_to_its_question_once() {
    let harness = PostHarness::new().await;
    let asked = harness.says("@Aizuchi, why?").await;
    let first = harness.item("Because", &[&asked]);
    let second = OutboxItem { first_in_draft: first.id, ..harness.item("of the rain.", &[&asked]) };
    harness.discord.post(&first).await.unwrap();
    harness.discord.post(&second).await.unwrap();
    // An unsolicited post is not a reply, unless there are newer messages.
    let about = |id: &MessageId| {
        let item = harness.item("I know that one.", &[]);
        let draft = DraftMetadata { about: Some(id.clone()), ..(*item.metadata).clone() };
        OutboxItem { metadata: Arc::new(draft), ..item }
    };
    let newest = harness.says("it rains").await;
    harness.discord.post(&about(&newest)).await.unwrap();
    harness.says("and snows").await;
    harness.discord.post(&about(&newest)).await.unwrap();
    let replied_to =
        harness.bodies().into_iter().map(|body| body["message_reference"]["message_id"].clone());
    let expected = [json!(asked), Value::Null, Value::Null, json!(newest)];
    assert_eq!(replied_to.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn without_access_to_the_history_an_answer_is_no_reply() {
    let harness = PostHarness::new().await;
    let asked = harness.says("@Aizuchi, why?").await;
    harness
        .fake
        .set_permissions(harness.tea, PermissionEffect::Deny, Permissions::READ_MESSAGE_HISTORY)
        .unwrap();
    harness.discord.post(&harness.item("Because.", &[&asked])).await.unwrap();
    assert_eq!(harness.texts(), ["@Aizuchi, why?", "Because."]);
}

/// The judge may be about a system message, such as the result of a poll. Discord accepts no reply to it.
#[tokio::test]
async fn a_post_about_a_system_message_is_no_reply() {
    let harness = PostHarness::new().await;
    let notice = harness.fake.send_message(harness.tea, harness.mio, "green tea won").unwrap();
    harness.fake.change(|state| {
        state.world.message_mut(harness.tea, notice).unwrap().kind = MessageKind::Join;
    });
    harness.says("what now?").await;
    let item = harness.item("Put the kettle on.", &[]);
    let about = Some(MessageId::new(notice.to_string()));
    let draft = DraftMetadata { about, ..(*item.metadata).clone() };
    let item = OutboxItem { metadata: Arc::new(draft), ..item };
    harness.discord.post(&item).await.unwrap();
    assert_eq!(harness.texts(), ["green tea won", "what now?", "Put the kettle on."]);
    assert_eq!(harness.bodies()[0]["message_reference"], Value::Null);
}

/// Discord removes the whitespace around a text, such as the line end after a heading.
#[tokio::test]
async fn a_lost_post_is_found_without_the_whitespace_around_it() {
    let harness = PostHarness::new().await;
    let item = harness.item("It is ready.\n\n#### Tea", &[]);
    harness.fake.inject_fault(Method::CreateMessage, Fault::ResetAfter);
    harness.discord.post(&item).await.unwrap_err();
    assert_eq!(harness.texts(), ["It is ready.\n\n**Tea**"]);
    let found = harness.discord.find_posted(&PostHarness::sending(&item)).await.unwrap();
    assert!(found.is_some());
}

/// Scenario D07: the response is lost in every possible way, and the message is posted once.
#[tokio::test]
async fn a_post_whose_response_is_lost_is_found_or_posted_once() {
    for fault in [
        Fault::ResetBefore,
        Fault::ResetAfter,
        Fault::HangBefore(Hang::UntilReleased),
        Fault::HangAfter(Hang::UntilReleased),
        Fault::Status(500),
        Fault::StatusAfter(502),
        Fault::Garbage,
    ] {
        let harness = match fault {
            Fault::HangBefore(_) | Fault::HangAfter(_) => PostHarness::hasty().await,
            _ => PostHarness::new().await,
        };
        let item = harness.item("It is ready.", &[]);
        harness.fake.inject_fault(Method::CreateMessage, fault.clone());
        let lost = harness.discord.post(&item).await;
        assert!(matches!(lost, Err(PlatformError::OutcomeUnknown(_))), "{fault:?}: {lost:?}");
        let found = harness.discord.find_posted(&PostHarness::sending(&item)).await.unwrap();
        let was_said = !harness.texts().is_empty();
        assert_eq!(found.is_some(), was_said, "{fault:?}");
        // Posting it again within minutes returns the same post.
        let posted = harness.discord.post(&item).await.unwrap();
        assert_eq!(harness.texts(), ["It is ready."], "{fault:?}");
        let known =
            harness.discord.find_posted(&PostHarness::sending(&item)).await.unwrap().unwrap();
        assert_eq!((known.id, known.at), (posted.id, posted.at), "{fault:?}");
        // Another item with the same text is another post.
        let other = harness.item("It is ready.", &[]);
        harness.discord.post(&other).await.unwrap();
        assert_eq!(harness.texts().len(), 2);
    }
}

/// The same full page is returned again and again, so whether it was posted stays unknown.
#[tokio::test]
async fn a_history_without_an_end_does_not_show_whether_a_post_was_made() {
    let harness = PostHarness::new().await;
    let said = harness.says("hi").await;
    let page = json!(vec![json!({"id": said.as_str(), "author": {}}); 100]);
    let endless = Alteration { pointer: String::new(), value: Some(page) };
    harness.fake.break_history(harness.tea, Fault::Altered(endless));
    let item = PostHarness::sending(&harness.item("It is ready.", &[]));
    let found = harness.discord.find_posted(&item).await;
    assert!(matches!(found, Err(PlatformError::OutcomeUnknown(_))), "{found:?}");
    harness.fake.clear_faults();
    assert_eq!(harness.discord.find_posted(&item).await, Ok(None));
}

/// The response was lost, and a moderator deleted the post before the next attempt. Discord remembers the nonce, and
/// responds that the message is unknown.
#[tokio::test]
async fn a_deleted_post_is_not_posted_again() {
    let harness = PostHarness::new().await;
    let item = harness.item("It is ready.", &[]);
    harness.fake.inject_fault(Method::CreateMessage, Fault::ResetAfter);
    harness.discord.post(&item).await.unwrap_err();
    let posted = harness.fake.posts()[0].id;
    harness.fake.delete_message(harness.tea, posted).unwrap();
    assert_eq!(harness.discord.find_posted(&PostHarness::sending(&item)).await, Ok(None));
    let posted = harness.discord.post(&item).await.unwrap();
    assert_eq!((harness.fake.posts().len(), harness.texts().len()), (1, 0));
    // The post gets an id of its own, which no message has for the backfill.
    let id: id::MessageId = posted.id.as_str().parse().unwrap();
    assert_eq!(id::created_at(id).as_millisecond(), posted.at.as_millisecond());
}

#[tokio::test]
async fn another_users_message_is_not_taken_for_the_post() {
    let harness = PostHarness::new().await;
    let item = harness.item("It is ready.", &[]);
    for number in 0..150 {
        harness.fake.send_message(harness.tea, harness.mio, &format!("line {number}")).unwrap();
    }
    harness.fake.send_message(harness.tea, harness.mio, "It is ready.").unwrap();
    assert_eq!(harness.discord.find_posted(&PostHarness::sending(&item)).await, Ok(None));
    harness.discord.post(&item).await.unwrap();
    assert!(harness.discord.find_posted(&PostHarness::sending(&item)).await.unwrap().is_some());
}

#[tokio::test]
async fn an_empty_history_proves_nothing_once_the_nonce_expired() {
    let harness = PostHarness::new().await;
    harness.says("hi").await;
    harness
        .fake
        .set_permissions(harness.tea, PermissionEffect::Deny, Permissions::READ_MESSAGE_HISTORY)
        .unwrap();
    let item = PostHarness::sending(&harness.item("It is ready.", &[]));
    // Discord still remembers the nonce, so posting again is safe.
    assert_eq!(harness.discord.find_posted(&item).await, Ok(None));
    let old = OutboxItem {
        dispatched_at: Some(Timestamp::now() - SignedDuration::from_mins(20)),
        ..item
    };
    let found = harness.discord.find_posted(&old).await;
    assert!(matches!(found, Err(PlatformError::Refused(_))), "{found:?}");
}

#[tokio::test]
async fn a_rate_limit_is_honored_and_does_not_delay_others() {
    let harness = PostHarness::new().await;
    let new = NewChannel { name: "hall".to_owned(), ..NewChannel::default() };
    let hall = harness.fake.add_channel(new).unwrap();
    harness
        .fake
        .inject_fault(Method::CreateMessage, Fault::rate_limited(700.0, RateLimitScope::User));
    let post = |conversation: &ConversationId| {
        let asked = MessageId::new("1");
        let mut item = harness.item("a", &[&asked]);
        item.conversation = conversation.clone();
        let discord = &harness.discord;
        async move { discord.post(&item).await }
    };
    let busy = |answer: Result<_, PlatformError>| match answer {
        Err(PlatformError::Busy { retry_after: Some(wait), .. }) => wait.as_secs_f64().round(),
        other => panic!("{other:?}"),
    };
    assert_eq!(busy(post(&harness.conversation).await), 700.0);
    let other = ConversationId {
        channel: ChannelId::new(hall.to_string()),
        ..harness.conversation.clone()
    };
    post(&other).await.unwrap();
    // Discord is not called at all.
    assert!(busy(post(&harness.conversation).await) > 500.0);
    assert_eq!(harness.fake.calls(Method::CreateMessage).len(), 2);
    // There is a global limit, too.
    harness
        .fake
        .inject_fault(Method::CreateMessage, Fault::rate_limited(900.0, RateLimitScope::Global));
    assert_eq!(busy(post(&other).await), 900.0);
    assert!(busy(post(&other).await) > 700.0);
    assert_eq!(harness.fake.calls(Method::CreateMessage).len(), 3);
}

#[tokio::test]
async fn no_call_is_made_on_an_empty_bucket() {
    // The bucket does not refill meanwhile.
    let messages = RateLimit::new(5, SignedDuration::from_hours(1));
    let rate_limits = RateLimits { messages, ..RateLimits::default() };
    let world = fake::FakeDiscordSettings { rate_limits, ..fake::FakeDiscordSettings::default() };
    let harness = PostHarness::with_settings(ThreadPolicy::Never, world).await;
    for _ in 0..5 {
        harness.discord.post(&harness.item("a", &[])).await.unwrap();
    }
    let sixth = harness.discord.post(&harness.item("a", &[])).await;
    assert!(matches!(sixth, Err(PlatformError::Busy { retry_after: Some(_), .. })), "{sixth:?}");
    let calls = harness.fake.calls(Method::CreateMessage);
    assert_eq!(calls.iter().map(|call| call.status).collect::<Vec<_>>(), [Some(200); 5]);
}

#[tokio::test]
async fn a_refused_post_is_not_retried() {
    for reason in [
        ErrorCode::UnknownChannel,
        ErrorCode::MissingAccess,
        ErrorCode::MissingPermissions,
        ErrorCode::InvalidBody,
        ErrorCode::ThreadLocked,
        ErrorCode::CannotSendToUser,
    ] {
        let harness = PostHarness::new().await;
        harness.fake.inject_fault(Method::CreateMessage, Fault::error(reason));
        let refused = harness.discord.post(&harness.item("a", &[])).await;
        assert!(matches!(refused, Err(PlatformError::Refused(_))), "{refused:?}");
        assert_eq!(harness.fake.calls(Method::CreateMessage).len(), 1);
    }
    let harness = PostHarness::new().await;
    harness.fake.inject_fault(Method::CreateMessage, Fault::error(ErrorCode::SlowMode));
    let slow = harness.discord.post(&harness.item("a", &[])).await;
    assert!(matches!(slow, Err(PlatformError::Busy { .. })), "{slow:?}");
}

#[tokio::test]
async fn a_mention_opens_a_thread_once() {
    let harness = PostHarness::with(ThreadPolicy::Auto).await;
    let asked = harness.says("@Aizuchi, what is in the box? Tell me.").await;
    let first = harness.item("A cat.", &[&asked]);
    let second = OutboxItem { first_in_draft: first.id, ..harness.item("And a dog.", &[&asked]) };
    let posted = harness.discord.post(&first).await.unwrap();
    assert_eq!(posted.thread.as_ref(), Some(&asked));
    harness.discord.post(&second).await.unwrap();
    let thread: id::ChannelId = asked.as_str().parse().unwrap();
    assert_eq!(harness.fake.texts(thread).unwrap(), ["", "A cat.", "And a dog."]);
    let name = harness.fake.read(|state| state.world.channels[&thread].name.clone());
    assert_eq!(name, "what is in the box");
    // A lost post is looked for in the thread that it would have opened.
    assert_eq!(
        harness.discord.find_posted(&PostHarness::sending(&first)).await.unwrap(),
        Some(posted)
    );
    let never = harness.item("Never said.", &[&harness.says("@Aizuchi?").await]);
    assert_eq!(harness.discord.find_posted(&PostHarness::sending(&never)).await, Ok(None));
    // An unsolicited post opens no thread.
    let unasked = harness.discord.post(&harness.item("Tea is ready.", &[])).await.unwrap();
    assert_eq!(unasked.thread, None);
}

#[tokio::test]
async fn without_permission_for_threads_the_answer_is_at_top_level() {
    let harness = PostHarness::with(ThreadPolicy::Auto).await;
    let asked = harness.says("@Aizuchi, why?").await;
    harness
        .fake
        .set_permissions(harness.tea, PermissionEffect::Deny, Permissions::CREATE_PUBLIC_THREADS)
        .unwrap();
    let posted = harness.discord.post(&harness.item("Because.", &[&asked])).await.unwrap();
    assert_eq!(posted.thread, None);
    assert_eq!(harness.texts(), ["@Aizuchi, why?", "Because."]);
    assert_eq!(harness.bodies()[0]["message_reference"]["message_id"], json!(asked));
}

#[tokio::test]
async fn a_reaction_is_idempotent() {
    let harness = PostHarness::new().await;
    let message = harness.says("The cake is done!").await;
    let reaction = OutboxItem { reaction_to: Some(message), ..harness.item("🎉", &[]) };
    assert_eq!(harness.discord.find_posted(&PostHarness::sending(&reaction)).await, Ok(None));
    harness.discord.post(&reaction).await.unwrap();
    assert!(harness.discord.find_posted(&PostHarness::sending(&reaction)).await.unwrap().is_some());
    let reactions = || harness.fake.messages(harness.tea).unwrap()[0].reactions.len();
    assert_eq!(reactions(), 1);
    let odd = OutboxItem { text: "party-parrot".into(), ..reaction };
    let odd = harness.discord.post(&odd).await;
    assert!(matches!(odd, Err(PlatformError::Refused(_))), "{odd:?}");
}

#[tokio::test]
async fn a_reaction_can_use_a_custom_emoji() {
    let harness = PostHarness::new().await;
    harness.fake.change(|state| {
        let guild = state.world.guilds.values_mut().next().unwrap();
        guild.emojis = vec![json!({"id": "77", "name": "wobble", "available": true})];
    });
    let message = harness.says("The cake is done!").await;
    let reaction = OutboxItem { reaction_to: Some(message), ..harness.item(":wobble:", &[]) };
    let react = async {
        // The custom emoji is unknown until Discord has described the server.
        while harness.discord.post(&reaction).await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        harness.discord.find_posted(&PostHarness::sending(&reaction)).await.unwrap().is_some()
    };
    let is_found = tokio::select! {
        ended = harness.discord.run(CancellationToken::new()) => panic!("{ended:?}"),
        is_found = tokio::time::timeout(Duration::from_secs(120), react) => is_found.unwrap(),
    };
    assert!(is_found);
    let reactions = &harness.fake.messages(harness.tea).unwrap()[0].reactions;
    assert_eq!(reactions[0].emoji.id.as_deref(), Some("77"));
}

#[tokio::test]
async fn typing_is_shown_only_before_unsolicited_posts_and_while_thinking() {
    let harness = PostHarness::new().await;
    let asked = harness.says("@Aizuchi?").await;
    let wait = harness.discord.show_typing(&harness.item("Yes.", &[&asked])).await;
    assert_eq!((wait, harness.fake.calls(Method::StartTyping).len()), (SignedDuration::ZERO, 0));
    let wait = harness.discord.show_typing(&harness.item("Tea is ready.", &[])).await;
    assert!(wait > SignedDuration::ZERO && wait <= SignedDuration::from_secs(3), "{wait}");
    assert_eq!(harness.fake.calls(Method::StartTyping).len(), 1);
    let mut thinking = harness.discord.show_thinking(&harness.conversation);
    let is_shown = async {
        let calls = || harness.fake.calls(Method::StartTyping);
        while calls().len() < 2 || calls().pop().unwrap().answer.is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = &mut thinking => panic!("it is shown as long as somebody thinks"),
        shown = tokio::time::timeout(Duration::from_secs(120), is_shown) => shown.unwrap(),
    }
    let over = tokio::time::timeout(Duration::from_millis(100), thinking).await;
    assert!(over.is_err());
    assert_eq!(harness.fake.calls(Method::StartTyping).len(), 2);
}

#[tokio::test]
async fn an_answer_in_a_direct_message_is_no_reply() {
    let harness = PostHarness::new().await;
    let direct = harness.fake.open_direct_message(harness.mio).unwrap();
    let asked =
        MessageId::new(harness.fake.send_message(direct, harness.mio, "hi").unwrap().to_string());
    let mut item = harness.item("Hello!", &[&asked]);
    item.conversation = ConversationId {
        workspace: WorkspaceId::new("discord:direct"),
        channel: ChannelId::new(direct.to_string()),
        thread: None,
    };
    harness.discord.post(&item).await.unwrap();
    assert_eq!(harness.fake.texts(direct).unwrap(), ["hi", "Hello!"]);
    assert_eq!(harness.bodies()[0]["message_reference"], Value::Null);
}

#[tokio::test]
async fn a_forum_post_is_answered_and_reacted_to_in_its_thread() {
    let harness = PostHarness::new().await;
    let new = NewChannel {
        name: "questions".to_owned(),
        kind: NewChannelKind::Forum,
        ..NewChannel::default()
    };
    let forum = harness.fake.add_channel(new).unwrap();
    let thread =
        harness.fake.create_forum_post(forum, harness.mio, "Roses", "Which soil?").unwrap();
    let asked = MessageId::new(thread.to_string());
    let mut item = harness.item("Loam.", &[&asked]);
    item.conversation.channel = ChannelId::new(forum.to_string());
    item.conversation.thread = Some(asked.clone());
    harness.discord.post(&item).await.unwrap();
    assert_eq!(harness.fake.texts(thread).unwrap(), ["Which soil?", "Loam."]);
    // The first message of a forum post is in the thread itself.
    let reaction = OutboxItem { text: "👍".into(), reaction_to: Some(asked), ..item };
    harness.discord.post(&reaction).await.unwrap();
    assert_eq!(harness.fake.messages(thread).unwrap()[0].reactions.len(), 1);
}

/// Returns the alterations of each value of the newest response to a request. Each value is altered in a subset of all
/// ways, which differs from value to value.
fn alterations(fake: &FakeDiscord, method: Method) -> Vec<Alteration> {
    let answer = fake.calls(method).into_iter().rev().find_map(|call| call.answer);
    let all = Alteration::all_of(&answer.unwrap_or_else(|| panic!("{method:?} was answered")));
    all.into_iter().step_by(5).collect()
}

fn call_count(fake: &FakeDiscord, method: Method) -> usize {
    fake.read(|state| state.journal.calls.iter().filter(|call| call.method == method).count())
}

#[tokio::test]
async fn no_response_to_a_post_makes_it_posted_twice() {
    let harness = PostHarness::without_limits().await;
    harness.discord.post(&harness.item("answer 0", &[])).await.unwrap();
    let alterations = alterations(&harness.fake, Method::CreateMessage);
    for (number, alteration) in (1..).zip(&alterations) {
        let item = harness.item(&format!("answer {number}"), &[]);
        harness.fake.inject_fault(Method::CreateMessage, Fault::Altered(alteration.clone()));
        let posted = harness.discord.post(&item).await;
        // The adapter makes at most fifty calls a second.
        let found = loop {
            if let Ok(found) = harness.discord.find_posted(&PostHarness::sending(&item)).await {
                break found;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let made = harness.fake.posts().pop().filter(|post| *post.text == *item.text);
        let made = made.map(|post| MessageId::new(post.id.to_string()));
        assert_eq!(found.map(|found| found.id), made, "{alteration:?} {posted:?}");
    }
    let mut texts: Vec<String> = harness.fake.posts().into_iter().map(|post| post.text).collect();
    let posts = texts.len();
    texts.dedup();
    assert_eq!(texts.len(), posts);
}

#[tokio::test]
async fn no_response_to_a_lookup_finds_what_was_not_posted() {
    let harness = PostHarness::without_limits().await;
    let on = harness.says("The cake is done!").await;
    let never = PostHarness::sending(&harness.item("Never said.", &[]));
    assert_eq!(harness.discord.find_posted(&never).await, Ok(None));
    for alteration in alterations(&harness.fake, Method::GetMessages) {
        harness.fake.inject_fault(Method::GetMessages, Fault::Altered(alteration.clone()));
        let found = harness.discord.find_posted(&never).await;
        assert!(!matches!(found, Ok(Some(_))), "{alteration:?}");
    }
    let reaction = OutboxItem { reaction_to: Some(on), ..harness.item("🎉", &[]) };
    harness.discord.post(&reaction).await.unwrap();
    assert!(harness.discord.find_posted(&reaction).await.unwrap().is_some());
    for alteration in alterations(&harness.fake, Method::GetMessage) {
        harness.fake.inject_fault(Method::GetMessage, Fault::Altered(alteration));
        // The lookup may fail, and the reaction is added again, which is idempotent.
        let _ = harness.discord.find_posted(&reaction).await;
    }
    assert!(harness.discord.find_posted(&reaction).await.unwrap().is_some());
}

#[tokio::test]
async fn no_description_of_a_server_or_of_the_bot_ends_the_adapter() {
    let harness = PostHarness::without_limits().await;
    let base = settings(&harness.base, ThreadPolicy::Never, DiscordTimeouts::default());
    let store = VolatileStore::new();
    for method in [Method::GetMe, Method::GetMyApplication, Method::GetMyGuilds] {
        for alteration in alterations(&harness.fake, method) {
            harness.fake.inject_fault(method, Fault::Altered(alteration));
            // The bot's identity may be unknown. That is an error, and the call may be retried.
            let _ = fetch_identity(&base).await;
        }
    }
    resolve_identity(&base, &store).await.unwrap();
    let checked = async {
        // A malformed event triggers a sync of the server.
        let sync = async |method: Method| {
            let before = call_count(&harness.fake, method);
            let synced = async {
                while call_count(&harness.fake, method) == before {
                    harness.fake.emit_event("CHANNEL_UPDATE", json!({}));
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            tokio::time::timeout(TIMEOUT, synced).await.unwrap();
        };
        let methods = [
            Method::GetGuild,
            Method::GetGuildChannels,
            Method::GetActiveThreads,
            Method::GetMember,
        ];
        for method in methods {
            sync(method).await;
            while harness.fake.calls(method).iter().all(|call| call.answer.is_none()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            for alteration in alterations(&harness.fake, method) {
                harness.fake.inject_fault(method, Fault::Altered(alteration));
                sync(method).await;
            }
        }
        // A message in the server's channel is heard nevertheless.
        let id = harness.fake.send_message(harness.tea, harness.mio, "hello").unwrap();
        let id = MessageId::new(id.to_string());
        let ConversationId { workspace, channel, .. } = &harness.conversation;
        let heard = async {
            while !harness.inbox.store.has_heard(workspace, channel, &id, None).await.unwrap() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, heard).await.unwrap();
    };
    tokio::select! {
        ended = harness.discord.run(CancellationToken::new()) => panic!("{ended:?}"),
        () = checked => {}
    }
}
