//! Tests of the fake Discord. `scripts/peers` checks with independent clients that it behaves like Discord.

use std::sync::Arc;
use std::time::Duration;

use aizuchi_fakes::discord::channel::NewChannel;
use aizuchi_fakes::discord::id::{ChannelId, GuildId, UserId};
use aizuchi_fakes::discord::{FakeDiscord, FakeDiscordSettings, serve};
use aizuchi_harness::net::http;
use futures_util::{SinkExt, StreamExt};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use twilight_model::gateway::Intents;

mod gateway;
mod messages;
mod page;
mod channels;
mod payloads;

/// A running fake Discord with a guild that Mio owns, and one channel, `#tea`.
struct Harness {
    discord: Arc<FakeDiscord>,
    address: String,
    http: reqwest::Client,
    bot: UserId,
    mio: UserId,
    guild: GuildId,
    tea: ChannelId,
    _stop: DropGuard,
}

/// The most that a test waits for something that should happen at once.
const TIMEOUT: Duration = Duration::from_secs(60);

const TOKEN: &str = "dev-discord-token";

fn default_intents() -> Intents {
    Intents::GUILDS
        | Intents::GUILD_MESSAGES
        | Intents::GUILD_MESSAGE_REACTIONS
        | Intents::DIRECT_MESSAGES
        | Intents::MESSAGE_CONTENT
}

/// The default settings, but without a least time between IDENTIFYs.
fn settings() -> FakeDiscordSettings {
    FakeDiscordSettings {
        identify_interval: SignedDuration::ZERO,
        ..FakeDiscordSettings::default()
    }
}

impl Harness {
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

    /// Sends a request and returns the status and the body of the response.
    async fn request(&self, http_method: &str, path: &str, body: Value) -> (u16, Value) {
        let response = self.send(http_method, path, body).await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn send(
        &self,
        http_method: &str,
        path: &str,
        body: Value,
    ) -> reqwest::Result<reqwest::Response> {
        let url = format!("http://{}/api/v10/{path}", self.address);
        let request = self.http.request(http_method.parse().unwrap(), url);
        request.header("authorization", format!("Bot {TOKEN}")).json(&body).send().await
    }

    async fn post(&self, body: Value) -> (u16, Value) {
        self.request("POST", &format!("channels/{}/messages", self.tea), body).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        let url = format!("http://{}/api/v10/{path}", self.address);
        let request = self.http.get(url).header("authorization", format!("Bot {TOKEN}"));
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn connect(&self) -> Socket {
        let url = format!("ws://{}/gateway/?v=10&encoding=json", self.address);
        Socket(tokio_tungstenite::connect_async(url).await.unwrap().0)
    }

    /// A connection with a session, and the data of its READY.
    async fn listen(&self, intents: Intents) -> (Socket, Value) {
        let mut socket = self.connect().await;
        assert_eq!(socket.next_payload().await["op"], 10);
        socket.identify(intents).await;
        let ready = socket.next_payload().await;
        assert_eq!(ready["t"], "READY", "{ready}");
        if intents.contains(Intents::GUILDS) {
            socket.event("GUILD_CREATE").await;
        }
        (socket, ready["d"].clone())
    }

    async fn wait_until(&self, condition: impl Fn(&FakeDiscord) -> bool) {
        let mut changed = self.discord.subscribe();
        let holds = async {
            while !condition(&self.discord) {
                changed.changed().await.unwrap();
            }
        };
        tokio::time::timeout(TIMEOUT, holds).await.expect("the condition holds in time");
    }
}

struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

#[derive(Debug, PartialEq)]
enum ConnectionEnd {
    Closed(u16),
    Reset,
}

impl Socket {
    async fn send_payload(&mut self, op: u64, data: Value) {
        let frame = json!({ "op": op, "d": data }).to_string();
        self.0.send(Message::text(frame)).await.unwrap();
    }

    async fn identify(&mut self, intents: Intents) {
        let properties = json!({ "os": "linux", "browser": "test", "device": "test" });
        let identify = json!({ "token": TOKEN, "intents": intents, "properties": properties });
        self.send_payload(2, identify).await;
    }

    async fn resume(&mut self, session: &Value, seq: u64) {
        let resume = json!({ "token": TOKEN, "session_id": session, "seq": seq });
        self.send_payload(6, resume).await;
    }

    async fn next_payload(&mut self) -> Value {
        let frame = tokio::time::timeout(TIMEOUT, self.0.next()).await;
        match frame.expect("a frame comes in time").unwrap().unwrap() {
            Message::Text(text) => serde_json::from_str(text.as_str()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The data of the next payload, which must be this event.
    async fn event(&mut self, name: &str) -> Value {
        let payload = self.next_payload().await;
        assert_eq!(payload["t"], name, "{payload}");
        payload["d"].clone()
    }

    async fn wait_for_end(&mut self) -> ConnectionEnd {
        let ended = async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Close(close))) => {
                        return ConnectionEnd::Closed(
                            close.map_or(1005, |close| close.code.into()),
                        );
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return ConnectionEnd::Reset,
                }
            }
        };
        tokio::time::timeout(TIMEOUT, ended).await.expect("the connection ends in time")
    }
}
