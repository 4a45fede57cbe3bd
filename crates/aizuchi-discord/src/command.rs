//! The slash command `/aizuchi`: the same commands as in plain words, for the one who gives them. Nobody else
//! sees them or their answers, and they are no lines of the talk.

mod offer;

use futures_util::future::join;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};
use tracing::{info, warn};
use twilight_model::application::interaction::InteractionType;
use twilight_model::channel::message::MessageFlags;
use twilight_model::guild::Permissions;
use twilight_model::http::interaction::InteractionResponseType;

use crate::api::{ApiError, Call};
use crate::from_discord::{Place, id_of, text, time};
use crate::permissions::MANAGING;
use crate::roster::Standing;
use crate::text::write::{Known, LONGEST, write};
use crate::{Discord, Guild};
use aizuchi_core::chat::{ChannelId, Role, UserId};
use aizuchi_core::command::Given;
use aizuchi_core::persona::Language;
use aizuchi_core::platform::slash::Slash;

/// So many are answered at once: each has three seconds, and others may have much to forget.
const AT_ONCE: usize = 64;
/// So many servers are looked at for commands of another program.
const MOST_GUILDS: usize = 100;
/// How often it is tried to tell what a command has come to, where it took long.
const TRIES: usize = 4;
/// Nobody waits any more for an order that comes so late, as after a connection was gone.
const TOO_LATE: SignedDuration = SignedDuration::from_secs(60);
/// Discord takes answers for so long.
const ANSWERED_FOR: SignedDuration = SignedDuration::from_mins(15);
/// What is waited between, unless Discord says how long.
const PAUSE: SignedDuration = SignedDuration::from_secs(2);

impl Discord {
    /// Makes the commands known, and answers whoever gives one.
    pub(super) async fn obey(&self) {
        join(self.register(), self.respond_to_all()).await;
    }

    async fn respond_to_all(&self) {
        let mut responses = FuturesUnordered::new();
        loop {
            tokio::select! {
                given = self.next_command(), if responses.len() < AT_ONCE => match given {
                    Some(given) => responses.push(self.respond(given)),
                    None => return,
                },
                Some(()) = responses.next() => {}
            }
        }
    }

    /// The application is ours alone, so commands of whoever had it before go.
    async fn register(&self) {
        let path = format!("/applications/{}/commands", self.who.application);
        let call = Call::of(Method::PUT, path, Some(offer::menu()));
        match self.call_twice(&call).await {
            Ok(_) => {}
            Err(error @ ApiError::Refused(_)) => warn!("there is no /aizuchi: {error}"),
            Err(error) => info!("there may be no /aizuchi until the next start: {error}"),
        }
        for guild in self.who.guilds.iter().take(MOST_GUILDS) {
            if let Err(error) = self.unregister(guild).await {
                info!("what commands {} has could not be seen to: {error}", guild.name);
            }
        }
    }

    /// Commands that were made for one server alone stand in a list of its own.
    async fn unregister(&self, guild: &Guild) -> Result<(), ApiError> {
        let path = format!("/applications/{}/guilds/{}/commands", self.who.application, guild.id);
        let known = self.call_twice(&Call::get(path.clone())).await?;
        if known.as_array().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        self.call_twice(&Call::of(Method::PUT, path, Some(json!([])))).await?;
        info!("commands that another program had made for {} are gone", guild.name);
        Ok(())
    }

    /// Where Discord wants that, it is done a while later.
    async fn call_twice(&self, call: &Call) -> Result<Value, ApiError> {
        match self.call(call).await {
            Err(ApiError::Limited(wait)) => {
                self.clock.sleep_until(self.now() + wait).await;
                self.call(call).await
            }
            done => done,
        }
    }

    async fn respond(&self, given: Value) {
        let Some(at) = given_at(&given) else { return };
        if self.now() > at + TOO_LATE {
            return warn!(
                "a command is not carried out: it came more than {TOO_LATE:#} late, or this machine's clock is wrong"
            );
        }
        if given["type"] == InteractionType::ApplicationCommand as u8 {
            self.respond_in_time(&given).await;
        } else if given["type"] == InteractionType::ApplicationCommandAutocomplete as u8 {
            let choices = InteractionResponseType::ApplicationCommandAutocompleteResult;
            self.answer(&given, choices, json!({ "choices": offer::lengths(&given["data"]) }))
                .await;
        }
    }

    /// Discord gives a command up that is not answered soon; so where it takes long, whoever gave it is shown
    /// that, and later what it has come to.
    async fn respond_in_time(&self, given: &Value) {
        let mut aside = std::pin::pin!(self.aside(given));
        tokio::select! {
            biased;
            aside = &mut aside => {
                let message = InteractionResponseType::ChannelMessageWithSource;
                return self.answer(given, message, aside).await;
            }
            () = tokio::time::sleep(self.settings.patience.obeying) => {}
        }
        let thought = InteractionResponseType::DeferredChannelMessageWithSource;
        let hidden = json!({ "flags": MessageFlags::EPHEMERAL.bits() });
        let (aside, ()) = join(aside, self.answer(given, thought, hidden)).await;
        self.tell_later(given, aside).await;
    }

    /// Puts an answer where the thought stands. Putting it there twice does no harm.
    async fn tell_later(&self, given: &Value, mut aside: Value) {
        let (Some(token), Some(at)) = (text(&given["token"]), given_at(given)) else { return };
        // It is as hidden as the thought was, which no change can order.
        aside["flags"] = MessageFlags::SUPPRESS_EMBEDS.bits().into();
        let path = format!("/webhooks/{}/{token}/messages/@original", self.who.application);
        let call = Call::of(Method::PATCH, path, Some(aside));
        for _ in 0..TRIES {
            let wait = match self.call(&call).await {
                Ok(_) => return,
                Err(error @ ApiError::Refused(_)) => {
                    return info!("a command could not be answered: {error}");
                }
                Err(ApiError::Limited(wait)) => wait,
                Err(ApiError::Unreachable(_) | ApiError::Unknown(_)) => PAUSE,
            };
            let next = self.now() + wait;
            if next > at + ANSWERED_FOR {
                return info!("a command could not be answered in {ANSWERED_FOR:#}");
            }
            self.clock.sleep_until(next).await;
        }
        info!("a command could not be answered in {TRIES} tries");
    }

    async fn answer(&self, given: &Value, kind: InteractionResponseType, data: Value) {
        let (Some(id), Some(token)) = (text(&given["id"]), text(&given["token"])) else { return };
        let body = json!({ "type": kind, "data": data });
        let call = Call::post(format!("/interactions/{id}/{token}/callback"), body);
        if let Err(error) = self.call(&call).await {
            info!("a command could not be answered: {error}");
        }
    }

    /// For the one who asks alone. Some of it is a model's words: they call nobody and make Discord fetch
    /// nothing.
    async fn aside(&self, given: &Value) -> Value {
        let told = match self.given(given).await {
            Some(given) => self.slash.obey(&given).await,
            None => self.absence_in_words(),
        };
        json!({
            "content": shortened(write(&told, &Known::nothing())),
            "flags": (MessageFlags::EPHEMERAL | MessageFlags::SUPPRESS_EMBEDS).bits(),
            "allowed_mentions": { "parse": [] },
        })
    }

    /// Only where it can hear anybody can order anything.
    async fn given(&self, given: &Value) -> Option<Given> {
        let channel = ChannelId::new(text(&given["channel_id"])?);
        let by = text(&given["member"]["user"]["id"]).or(text(&given["user"]["id"]))?;
        let place = Place { guild: id_of(&given["guild_id"]), channel };
        let place = self.ground(&place, None).await.ok()?.conversation;
        let room = self.roster.room(&place.channel);
        room.filter(|room| room.standing == Standing::Member)?;
        Some(Given {
            command: Slash::read(&offer::line(&given["data"])),
            visibility: self.ears.rooms.visibility(&place.workspace, &place.channel),
            place,
            by: UserId::new(by),
            role: role(given),
            at: given_at(given)?.min(self.now()),
        })
    }

    fn absence_in_words(&self) -> String {
        let name = &self.persona.name;
        match self.persona.language {
            Language::En => format!("{name} cannot see this channel. Give its role View Channels."),
            Language::Ja => format!(
                "{name} はこのチャンネルを見られません。ロールに「チャンネルを見る」を許可してください。"
            ),
        }
    }
}

/// When it was given: it may come later.
fn given_at(given: &Value) -> Option<Timestamp> {
    time(text(&given["id"])?)
}

/// With each command Discord tells what whoever gives it may do there; what is known of them may be old.
fn role(given: &Value) -> Role {
    let bits = text(&given["member"]["permissions"]).and_then(|bits| bits.parse().ok());
    match Permissions::from_bits_truncate(bits.unwrap_or(0)).intersects(MANAGING) {
        true => Role::Admin,
        false => Role::Member,
    }
}

/// What does not fit into one message is left out.
fn shortened(text: String) -> String {
    if text.encode_utf16().count() <= LONGEST {
        return text;
    }
    let mut room = LONGEST - 1;
    let fits = |letter: &char| {
        let left = room.checked_sub(letter.len_utf16());
        room = left.unwrap_or(0);
        left.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_manages_the_server_is_an_admin() {
        for (told, expected) in [
            (json!({ "member": { "permissions": "32" } }), Role::Admin),
            (json!({ "member": { "permissions": "8" } }), Role::Admin),
            (json!({ "member": { "permissions": "2147483647" } }), Role::Admin),
            (json!({ "member": { "permissions": "3072" } }), Role::Member),
            (json!({ "member": { "permissions": "much" } }), Role::Member),
            (json!({ "user": { "id": "1" } }), Role::Member),
        ] {
            assert_eq!(role(&told), expected, "{told}");
        }
    }

    #[test]
    fn an_answer_fits_into_one_message() {
        for text in ["a".repeat(LONGEST), "あ".repeat(LONGEST), String::new()] {
            assert_eq!(shortened(text.clone()), text);
        }
        for text in ["a".repeat(LONGEST + 1), "🌱".repeat(LONGEST), "あ🌱".repeat(LONGEST)] {
            let short = shortened(text.clone());
            let length = short.encode_utf16().count();
            assert!((LONGEST - 1..=LONGEST).contains(&length), "{length}");
            assert!(text.starts_with(short.strip_suffix('…').unwrap()));
        }
    }
}
