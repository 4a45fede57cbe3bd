//! twilight, which has types for Discord's API, parses all events and responses of the fake.

use aizuchi_fakes::discord::channel::{NewChannel, NewChannelKind};
use aizuchi_fakes::discord::driver::setup::PermissionEffect;
use aizuchi_fakes::discord::guild::NewUser;
use aizuchi_fakes::discord::message::NewFakeMessage;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use twilight_gateway::StreamExt as _;
use twilight_gateway::{ConfigBuilder, EventType, EventTypeFlags, Intents, Shard, ShardId};
use twilight_model::channel::thread::{ThreadMember, ThreadsListing};
use twilight_model::channel::{Channel, Message};
use twilight_model::gateway::connection_info::BotConnectionInfo;
use twilight_model::guild::{Guild, Member, Permissions, Role};
use twilight_model::oauth::Application;
use twilight_model::user::{CurrentUser, CurrentUserGuild, User};

use super::{Harness, TIMEOUT, TOKEN};

#[tokio::test]
async fn twilight_parses_all_events() {
    // Another test in this process may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let harness = Harness::new().await;
    let (tea, mio, guild) = (harness.tea, harness.mio, harness.guild);
    let url = format!("ws://{}/gateway", harness.address);
    let config = ConfigBuilder::new(TOKEN.to_owned(), Intents::all()).proxy_url(url).build();
    let mut shard = Shard::with_config(ShardId::ONE, config);
    let mut kinds = Vec::new();
    let receive = async |shard: &mut Shard, count: usize| {
        let mut kinds = Vec::new();
        while kinds.len() < count {
            let event = tokio::time::timeout(TIMEOUT, shard.next_event(EventTypeFlags::all()));
            kinds.push(event.await.expect("an event comes in time").unwrap().unwrap().kind());
        }
        kinds
    };
    kinds.extend(receive(&mut shard, 3).await);
    let discord = &harness.discord;
    let before = discord.read(|state| state.gateway.sessions[0].seq);
    let first = discord.send_message(tea, mio, &format!("<@{}> hello", harness.bot)).unwrap();
    let reply = discord.send_reply(tea, mio, first, "and more").unwrap();
    let file = json!({
        "id": "9", "filename": "tea.png", "size": 7, "url": "https://cdn.example/tea.png",
        "proxy_url": "https://cdn.example/tea.png", "content_type": "image/png",
    });
    let sticker = json!({ "id": "8", "name": "steam", "format_type": 1 });
    let message = NewFakeMessage::new(tea, mio, "look");
    discord
        .send_message_with(NewFakeMessage {
            attachments: vec![file],
            stickers: vec![sticker],
            ..message
        })
        .unwrap();
    let message = NewFakeMessage::new(tea, mio, "it rains");
    discord
        .send_message_with(NewFakeMessage { webhook: Some("Weather".to_owned()), ..message })
        .unwrap();
    discord.edit_message(tea, first, "hello!").unwrap();
    discord.add_reaction(tea, first, mio, "🍵").unwrap();
    discord.add_reaction(tea, first, mio, "steam:77").unwrap();
    discord.remove_reaction(tea, first, mio, "🍵").unwrap();
    discord.unfurl(tea, first).unwrap();
    discord.start_typing(tea, mio).unwrap();
    let thread = discord.start_thread_from_message(tea, first, mio, "talk").unwrap();
    discord.send_message(thread, mio, "here").unwrap();
    discord.join_thread(thread, harness.bot).unwrap();
    discord.archive_thread(thread).unwrap();
    discord.delete_channel(thread).unwrap();
    discord.delete_message(tea, reply).unwrap();
    discord.bulk_delete_messages(tea, &[first]).unwrap();
    let ken = discord.add_user_with(NewUser { name: "Ken".to_owned(), is_bot: true });
    discord.add_member(guild, ken).unwrap();
    discord.set_nick(guild, ken, "K").unwrap();
    let role = discord.add_role(guild, "brewers").unwrap();
    discord.give_role(guild, ken, role).unwrap();
    discord.remove_member(guild, ken).unwrap();
    for kind in [
        NewChannelKind::Forum,
        NewChannelKind::Voice,
        NewChannelKind::Announcement,
        NewChannelKind::Category,
    ] {
        let name = format!("{kind:?}").to_lowercase();
        let new = NewChannel { name, kind, topic: Some("all".to_owned()), ..Default::default() };
        let channel = discord.add_channel(new).unwrap();
        if kind == NewChannelKind::Forum {
            discord.create_forum_post(channel, mio, "why", "so?").unwrap();
        }
    }
    discord.set_permissions(tea, PermissionEffect::Deny, Permissions::ADD_REACTIONS).unwrap();
    let direct = discord.open_direct_message(mio).unwrap();
    discord.send_message(direct, mio, "psst").unwrap();
    discord.rename_guild(guild, "Tea Garden").unwrap();
    discord.set_unavailable(guild, true).unwrap();
    discord.set_unavailable(guild, false).unwrap();
    discord.change(|state| state.world.register_command(None, &json!({ "name": "aizuchi" })));
    discord.run_command(tea, mio, "aizuchi", json!([])).unwrap();
    discord.delete_channel(tea).unwrap();
    discord.remove_member(guild, harness.bot).unwrap();
    let after = discord.read(|state| state.gateway.sessions[0].seq);
    let count = usize::try_from(after - before).unwrap();
    kinds.extend(receive(&mut shard, count).await);
    for kind in [
        EventType::GatewayHello,
        EventType::Ready,
        EventType::GuildCreate,
        EventType::MessageCreate,
        EventType::MessageUpdate,
        EventType::MessageDelete,
        EventType::MessageDeleteBulk,
        EventType::ReactionAdd,
        EventType::ReactionRemove,
        EventType::TypingStart,
        EventType::ThreadCreate,
        EventType::ThreadUpdate,
        EventType::ThreadDelete,
        EventType::ThreadMembersUpdate,
        EventType::MemberAdd,
        EventType::MemberUpdate,
        EventType::MemberRemove,
        EventType::RoleCreate,
        EventType::ChannelCreate,
        EventType::ChannelUpdate,
        EventType::ChannelDelete,
        EventType::GuildUpdate,
        EventType::GuildDelete,
        EventType::InteractionCreate,
    ] {
        assert!(kinds.contains(&kind), "{kind:?} of {kinds:?}");
    }
}

#[tokio::test]
async fn twilight_parses_all_responses() {
    let harness = Harness::new().await;
    let (tea, guild) = (harness.tea, harness.guild);
    let first = harness.discord.send_message(tea, harness.mio, "hello").unwrap();
    harness.discord.add_reaction(tea, first, harness.mio, "🍵").unwrap();
    harness.discord.send_reply(tea, harness.mio, first, "and more").unwrap();
    let thread =
        harness.discord.start_thread_from_message(tea, first, harness.mio, "talk").unwrap();
    get::<CurrentUser>(&harness, "users/@me").await;
    get::<Application>(&harness, "applications/@me").await;
    get::<Vec<CurrentUserGuild>>(&harness, "users/@me/guilds").await;
    get::<User>(&harness, &format!("users/{}", harness.mio)).await;
    get::<Guild>(&harness, &format!("guilds/{guild}?with_counts=true")).await;
    get::<Vec<Role>>(&harness, &format!("guilds/{guild}/roles")).await;
    get::<Vec<Member>>(&harness, &format!("guilds/{guild}/members?limit=10")).await;
    get::<Vec<Member>>(&harness, &format!("guilds/{guild}/members/search?query=mi")).await;
    get::<Member>(&harness, &format!("guilds/{guild}/members/{}", harness.mio)).await;
    get::<Vec<Channel>>(&harness, &format!("guilds/{guild}/channels")).await;
    get::<ThreadsListing>(&harness, &format!("channels/{tea}/threads/archived/public")).await;
    get::<Channel>(&harness, &format!("channels/{thread}")).await;
    get::<Vec<ThreadMember>>(&harness, &format!("channels/{thread}/thread-members")).await;
    let history = get::<Vec<Message>>(&harness, &format!("channels/{tea}/messages")).await;
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].referenced_message.as_ref().unwrap().content, "hello");
    assert_eq!(history[1].thread.as_ref().unwrap().id, thread);
    assert_eq!(history[1].reactions[0].count, 1);
    get::<Message>(&harness, &format!("channels/{tea}/messages/{first}")).await;
    let path = format!("channels/{tea}/messages/{first}/reactions/%F0%9F%8D%B5");
    assert_eq!(get::<Vec<User>>(&harness, &path).await.len(), 1);
    get::<BotConnectionInfo>(&harness, "gateway/bot").await;
}

/// The response at a path, parsed as twilight's type.
async fn get<T: DeserializeOwned>(harness: &Harness, path: &str) -> T {
    let (status, response): (u16, Value) = harness.get(path).await;
    assert_eq!(status, 200, "{path}: {response}");
    serde_json::from_value(response.clone())
        .unwrap_or_else(|error| panic!("{path}: {error}: {response}"))
}
