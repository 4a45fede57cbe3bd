//! What our fake Discord promises to those who test against it. That it is like Discord is proven by
//! clients that others have written (`scripts/peers`).

use std::sync::Arc;
use std::time::Duration;

use aizuchi_fakes::discord::channel::NewChannel;
use aizuchi_fakes::discord::id::{ChannelId, GuildId, UserId};
use aizuchi_fakes::discord::{FakeDiscord, FakeDiscordSettings, serve};
use futures_util::{SinkExt, StreamExt};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use twilight_model::gateway::Intents;

use aizuchi_harness::net::http;

mod gateway;
mod messages;
mod page;
mod channels;
mod payloads;

/// A fake Discord with a guild of Mio's and one channel in it.
struct Stage {
    discord: Arc<FakeDiscord>,
    address: String,
    http: reqwest::Client,
    bot: UserId,
    mio: UserId,
    guild: GuildId,
    tea: ChannelId,
    _stop: DropGuard,
}

/// No test waits longer than this for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(60);

const TOKEN: &str = "dev-discord-token";

fn usual() -> Intents {
    Intents::GUILDS
        | Intents::GUILD_MESSAGES
        | Intents::GUILD_MESSAGE_REACTIONS
        | Intents::DIRECT_MESSAGES
        | Intents::MESSAGE_CONTENT
}

/// As in life, but sessions may begin as fast as they like.
fn settings() -> FakeDiscordSettings {
    FakeDiscordSettings {
        identify_interval: SignedDuration::ZERO,
        ..FakeDiscordSettings::default()
    }
}

impl Stage {
    async fn new() -> Self {
        Self::with(settings()).await
    }

    async fn with(settings: FakeDiscordSettings) -> Self {
        let discord = FakeDiscord::new(settings);
        let mio = discord.add_user("Mio");
        let guild = discord.add_guild("Tea House", mio);
        let new = NewChannel { name: "tea".to_owned(), ..NewChannel::default() };
        let tea = discord.add_channel(new).unwrap();
        let bot = discord.bot_user();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, discord.clone(), stop.clone()));
        let _stop = stop.drop_guard();
        Self { discord, address, http: http(), bot, mio, guild, tea, _stop }
    }

    /// What a request is answered, and with which status.
    async fn ask(&self, verb: &str, path: &str, body: Value) -> (u16, Value) {
        let answer = self.send(verb, path, body).await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn send(
        &self,
        verb: &str,
        path: &str,
        body: Value,
    ) -> reqwest::Result<reqwest::Response> {
        let url = format!("http://{}/api/v10/{path}", self.address);
        let request = self.http.request(verb.parse().unwrap(), url);
        request.header("authorization", format!("Bot {TOKEN}")).json(&body).send().await
    }

    async fn post(&self, body: Value) -> (u16, Value) {
        self.ask("POST", &format!("channels/{}/messages", self.tea), body).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let url = format!("http://{}/api/v10/{path}", self.address);
        let request = self.http.get(url).header("authorization", format!("Bot {TOKEN}"));
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn connect(&self) -> Socket {
        let url = format!("ws://{}/gateway/?v=10&encoding=json", self.address);
        Socket(tokio_tungstenite::connect_async(url).await.unwrap().0)
    }

    /// A connection with a session, and the READY that began it.
    async fn listen(&self, intents: Intents) -> (Socket, Value) {
        let mut socket = self.connect().await;
        assert_eq!(socket.heard().await["op"], 10);
        socket.identify(intents).await;
        let ready = socket.heard().await;
        assert_eq!(ready["t"], "READY", "{ready}");
        if intents.contains(Intents::GUILDS) {
            socket.event("GUILD_CREATE").await;
        }
        (socket, ready["d"].clone())
    }

    async fn until(&self, is_so: impl Fn(&FakeDiscord) -> bool) {
        let mut changed = self.discord.subscribe();
        let come = async {
            while !is_so(&self.discord) {
                changed.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, come).await.expect("it comes in time");
    }
}

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

/// How a connection ended.
#[derive(Debug, PartialEq)]
enum End {
    Closed(u16),
    Reset,
}

impl Socket {
    async fn say(&mut self, op: u64, data: Value) {
        let frame = json!({ "op": op, "d": data }).to_string();
        self.0.send(Message::text(frame)).await.unwrap();
    }

    async fn identify(&mut self, intents: Intents) {
        let properties = json!({ "os": "linux", "browser": "test", "device": "test" });
        let identify = json!({ "token": TOKEN, "intents": intents, "properties": properties });
        self.say(2, identify).await;
    }

    async fn resume(&mut self, session: &Value, seq: u64) {
        let resume = json!({ "token": TOKEN, "session_id": session, "seq": seq });
        self.say(6, resume).await;
    }

    /// The next frame.
    async fn heard(&mut self) -> Value {
        let heard = tokio::time::timeout(PATIENCE, self.0.next()).await;
        match heard.expect("it comes in time").unwrap().unwrap() {
            Message::Text(text) => serde_json::from_str(text.as_str()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The data of the next frame, which must be this event.
    async fn event(&mut self, name: &str) -> Value {
        let frame = self.heard().await;
        assert_eq!(frame["t"], name, "{frame}");
        frame["d"].clone()
    }

    async fn end(&mut self) -> End {
        let ended = async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Close(close))) => {
                        return End::Closed(close.map_or(1005, |close| close.code.into()));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return End::Reset,
                }
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("it ends in time")
    }
}
