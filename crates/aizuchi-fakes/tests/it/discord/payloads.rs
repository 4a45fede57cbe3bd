//! All that it tells is read by twilight, which knows Discord's types.

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

use super::{PATIENCE, Stage, TOKEN};

#[tokio::test]
async fn all_that_is_told_can_be_read() {
    // Somebody else may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stage = Stage::new().await;
    let (tea, mio, guild) = (stage.tea, stage.mio, stage.guild);
    let url = format!("ws://{}/gateway", stage.address);
    let config = ConfigBuilder::new(TOKEN.to_owned(), Intents::all()).proxy_url(url).build();
    let mut shard = Shard::with_config(ShardId::ONE, config);
    let mut told = Vec::new();
    let hear = async |shard: &mut Shard, count: usize| {
        let mut heard = Vec::new();
        while heard.len() < count {
            let event = tokio::time::timeout(PATIENCE, shard.next_event(EventTypeFlags::all()));
            heard.push(event.await.expect("it comes in time").unwrap().unwrap().kind());
        }
        heard
    };
    told.extend(hear(&mut shard, 3).await);
    let discord = &stage.discord;
    let before = discord.read(|state| state.gateway.sessions[0].seq);
    let first = discord.send_message(tea, mio, &format!("<@{}> hello", stage.bot)).unwrap();
    let answer = discord.send_reply(tea, mio, first, "and more").unwrap();
    let file = json!({
        "id": "9", "filename": "tea.png", "size": 7, "url": "https://cdn.example/tea.png",
        "proxy_url": "https://cdn.example/tea.png", "content_type": "image/png",
    });
    let sticker = json!({ "id": "8", "name": "steam", "format_type": 1 });
    let saying = NewFakeMessage::new(tea, mio, "look");
    discord
        .send_message_with(NewFakeMessage {
            attachments: vec![file],
            stickers: vec![sticker],
            ..saying
        })
        .unwrap();
    let saying = NewFakeMessage::new(tea, mio, "it rains");
    discord
        .send_message_with(NewFakeMessage { webhook: Some("Weather".to_owned()), ..saying })
        .unwrap();
    discord.edit_message(tea, first, "hello!").unwrap();
    discord.add_reaction(tea, first, mio, "🍵").unwrap();
    discord.add_reaction(tea, first, mio, "steam:77").unwrap();
    discord.remove_reaction(tea, first, mio, "🍵").unwrap();
    discord.unfurl(tea, first).unwrap();
    discord.start_typing(tea, mio).unwrap();
    let thread = discord.start_thread_from_message(tea, first, mio, "talk").unwrap();
    discord.send_message(thread, mio, "here").unwrap();
    discord.join_thread(thread, stage.bot).unwrap();
    discord.archive_thread(thread).unwrap();
    discord.delete_channel(thread).unwrap();
    discord.delete_message(tea, answer).unwrap();
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
        let room = discord.add_channel(new).unwrap();
        if kind == NewChannelKind::Forum {
            discord.create_forum_post(room, mio, "why", "so?").unwrap();
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
    discord.remove_member(guild, stage.bot).unwrap();
    let after = discord.read(|state| state.gateway.sessions[0].seq);
    let count = usize::try_from(after - before).unwrap();
    told.extend(hear(&mut shard, count).await);
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
        assert!(told.contains(&kind), "{kind:?} of {told:?}");
    }
}

#[tokio::test]
async fn all_that_is_answered_can_be_read() {
    let stage = Stage::new().await;
    let (tea, guild) = (stage.tea, stage.guild);
    let first = stage.discord.send_message(tea, stage.mio, "hello").unwrap();
    stage.discord.add_reaction(tea, first, stage.mio, "🍵").unwrap();
    stage.discord.send_reply(tea, stage.mio, first, "and more").unwrap();
    let thread = stage.discord.start_thread_from_message(tea, first, stage.mio, "talk").unwrap();
    read::<CurrentUser>(&stage, "users/@me").await;
    read::<Application>(&stage, "applications/@me").await;
    read::<Vec<CurrentUserGuild>>(&stage, "users/@me/guilds").await;
    read::<User>(&stage, &format!("users/{}", stage.mio)).await;
    read::<Guild>(&stage, &format!("guilds/{guild}?with_counts=true")).await;
    read::<Vec<Role>>(&stage, &format!("guilds/{guild}/roles")).await;
    read::<Vec<Member>>(&stage, &format!("guilds/{guild}/members?limit=10")).await;
    read::<Vec<Member>>(&stage, &format!("guilds/{guild}/members/search?query=mi")).await;
    read::<Member>(&stage, &format!("guilds/{guild}/members/{}", stage.mio)).await;
    read::<Vec<Channel>>(&stage, &format!("guilds/{guild}/channels")).await;
    read::<ThreadsListing>(&stage, &format!("channels/{tea}/threads/archived/public")).await;
    read::<Channel>(&stage, &format!("channels/{thread}")).await;
    read::<Vec<ThreadMember>>(&stage, &format!("channels/{thread}/thread-members")).await;
    let history = read::<Vec<Message>>(&stage, &format!("channels/{tea}/messages")).await;
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].referenced_message.as_ref().unwrap().content, "hello");
    assert_eq!(history[1].thread.as_ref().unwrap().id, thread);
    assert_eq!(history[1].reactions[0].count, 1);
    read::<Message>(&stage, &format!("channels/{tea}/messages/{first}")).await;
    let path = format!("channels/{tea}/messages/{first}/reactions/%F0%9F%8D%B5");
    assert_eq!(read::<Vec<User>>(&stage, &path).await.len(), 1);
    read::<BotConnectionInfo>(&stage, "gateway/bot").await;
}

/// What a path answers, as twilight understands it.
async fn read<T: DeserializeOwned>(stage: &Stage, path: &str) -> T {
    let (status, answer): (u16, Value) = stage.get(path).await;
    assert_eq!(status, 200, "{path}: {answer}");
    serde_json::from_value(answer.clone())
        .unwrap_or_else(|error| panic!("{path}: {error}: {answer}"))
}
