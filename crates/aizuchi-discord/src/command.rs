//! The slash command `/aizuchi`: the same commands as in plain words, for the one who gives them. Nobody else
//! sees them or their answers, and they are no lines of the talk.

mod registration;

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

use crate::DiscordPlatform;
use crate::api::{ApiRequest, DiscordApiError};
use crate::cache::Membership;
use crate::from_discord::message::ChannelRef;
use crate::identity::GuildSummary;
use crate::json::{non_empty_str, parse_id};
use crate::permissions::ADMIN_PERMISSIONS;
use crate::snowflake::id_timestamp;
use crate::text::write::{MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown};
use aizuchi_core::chat::{ChannelId, Role, UserId};
use aizuchi_core::command::CommandRequest;
use aizuchi_core::persona::Language;
use aizuchi_core::platform::slash_command::SlashCommands;

/// So many are answered at once: each has three seconds, and others may have much to forget.
const MAX_CONCURRENT: usize = 64;
/// So many servers are looked at for commands of another program.
const MAX_GUILDS: usize = 100;
/// How often it is tried to tell what a command has come to, where it took long.
const MAX_ATTEMPTS: usize = 4;
/// Nobody waits any more for an order that comes so late, as after a connection was gone.
const MAX_COMMAND_AGE: SignedDuration = SignedDuration::from_secs(60);
/// Discord takes answers for so long.
const INTERACTION_TOKEN_LIFETIME: SignedDuration = SignedDuration::from_mins(15);
/// What is waited between, unless Discord says how long.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(2);

impl DiscordPlatform {
    /// Makes the commands known, and answers whoever gives one.
    pub(super) async fn run_commands(&self) {
        join(self.register_commands(), self.answer_interactions()).await;
    }

    async fn answer_interactions(&self) {
        let mut responses = FuturesUnordered::new();
        loop {
            tokio::select! {
                given = self.next_interaction(), if responses.len() < MAX_CONCURRENT => match given {
                    Some(given) => responses.push(self.answer_interaction(given)),
                    None => return,
                },
                Some(()) = responses.next() => {}
            }
        }
    }

    /// The application is ours alone, so commands of whoever had it before go.
    async fn register_commands(&self) {
        let path = format!("/applications/{}/commands", self.identity.application);
        let call = ApiRequest::new(Method::PUT, path, Some(registration::command_definitions()));
        match self.call_with_retry(&call).await {
            Ok(_) => {}
            Err(error @ DiscordApiError::Refused(_)) => warn!("there is no /aizuchi: {error}"),
            Err(error) => info!("there may be no /aizuchi until the next start: {error}"),
        }
        for guild in self.identity.guilds.iter().take(MAX_GUILDS) {
            if let Err(error) = self.remove_guild_commands(guild).await {
                info!("what commands {} has could not be seen to: {error}", guild.name);
            }
        }
    }

    /// Commands that were made for one server alone stand in a list of its own.
    async fn remove_guild_commands(&self, guild: &GuildSummary) -> Result<(), DiscordApiError> {
        let path =
            format!("/applications/{}/guilds/{}/commands", self.identity.application, guild.id);
        let known = self.call_with_retry(&ApiRequest::get(path.clone())).await?;
        if known.as_array().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        self.call_with_retry(&ApiRequest::new(Method::PUT, path, Some(json!([])))).await?;
        info!("commands that another program had made for {} are gone", guild.name);
        Ok(())
    }

    /// Where Discord wants that, it is done a while later.
    async fn call_with_retry(&self, call: &ApiRequest) -> Result<Value, DiscordApiError> {
        match self.call(call).await {
            Err(DiscordApiError::RateLimited(wait)) => {
                self.clock.sleep_until(self.now() + wait).await;
                self.call(call).await
            }
            done => done,
        }
    }

    async fn answer_interaction(&self, given: Value) {
        let Some(at) = interaction_time(&given) else { return };
        if self.now() > at + MAX_COMMAND_AGE {
            return warn!(
                "a command is not carried out: it came more than {MAX_COMMAND_AGE:#} late, or this machine's clock is wrong"
            );
        }
        if given["type"] == InteractionType::ApplicationCommand as u8 {
            self.answer_command(&given).await;
        } else if given["type"] == InteractionType::ApplicationCommandAutocomplete as u8 {
            let choices = InteractionResponseType::ApplicationCommandAutocompleteResult;
            self.send_response(
                &given,
                choices,
                json!({ "choices": registration::length_suggestions(&given["data"]) }),
            )
            .await;
        }
    }

    /// Discord gives a command up that is not answered soon; so where it takes long, whoever gave it is shown
    /// that, and later what it has come to.
    async fn answer_command(&self, given: &Value) {
        let mut aside = std::pin::pin!(self.ephemeral_response(given));
        tokio::select! {
            biased;
            aside = &mut aside => {
                let message = InteractionResponseType::ChannelMessageWithSource;
                return self.send_response(given, message, aside).await;
            }
            () = tokio::time::sleep(self.settings.timeouts.command_answer) => {}
        }
        let thought = InteractionResponseType::DeferredChannelMessageWithSource;
        let hidden = json!({ "flags": MessageFlags::EPHEMERAL.bits() });
        let (aside, ()) = join(aside, self.send_response(given, thought, hidden)).await;
        self.respond_later(given, aside).await;
    }

    /// Puts an answer where the thought stands. Putting it there twice does no harm.
    async fn respond_later(&self, given: &Value, mut aside: Value) {
        let (Some(token), Some(at)) = (non_empty_str(&given["token"]), interaction_time(given))
        else {
            return;
        };
        // It is as hidden as the thought was, which no change can order.
        aside["flags"] = MessageFlags::SUPPRESS_EMBEDS.bits().into();
        let path = format!("/webhooks/{}/{token}/messages/@original", self.identity.application);
        let call = ApiRequest::new(Method::PATCH, path, Some(aside));
        for _ in 0..MAX_ATTEMPTS {
            let wait = match self.call(&call).await {
                Ok(_) => return,
                Err(error @ DiscordApiError::Refused(_)) => {
                    return info!("a command could not be answered: {error}");
                }
                Err(DiscordApiError::RateLimited(wait)) => wait,
                Err(DiscordApiError::Unreachable(_) | DiscordApiError::OutcomeUnknown(_)) => {
                    RETRY_DELAY
                }
            };
            let next = self.now() + wait;
            if next > at + INTERACTION_TOKEN_LIFETIME {
                return info!("a command could not be answered in {INTERACTION_TOKEN_LIFETIME:#}");
            }
            self.clock.sleep_until(next).await;
        }
        info!("a command could not be answered in {MAX_ATTEMPTS} tries");
    }

    async fn send_response(&self, given: &Value, kind: InteractionResponseType, data: Value) {
        let (Some(id), Some(token)) = (non_empty_str(&given["id"]), non_empty_str(&given["token"]))
        else {
            return;
        };
        let body = json!({ "type": kind, "data": data });
        let call = ApiRequest::post(format!("/interactions/{id}/{token}/callback"), body);
        if let Err(error) = self.call(&call).await {
            info!("a command could not be answered: {error}");
        }
    }

    /// For the one who asks alone. Some of it is a model's words: they call nobody and make Discord fetch
    /// nothing.
    async fn ephemeral_response(&self, given: &Value) -> Value {
        let told = match self.command_request(given).await {
            Some(given) => self.slash_commands.execute(&given).await,
            None => self.not_a_member_text(),
        };
        json!({
            "content": truncated(to_discord_markdown(&told, &MentionLookup::empty())),
            "flags": (MessageFlags::EPHEMERAL | MessageFlags::SUPPRESS_EMBEDS).bits(),
            "allowed_mentions": { "parse": [] },
        })
    }

    /// Only where it can hear anybody can order anything.
    async fn command_request(&self, given: &Value) -> Option<CommandRequest> {
        let channel = ChannelId::new(non_empty_str(&given["channel_id"])?);
        let by = non_empty_str(&given["member"]["user"]["id"])
            .or(non_empty_str(&given["user"]["id"]))?;
        let place = ChannelRef { guild: parse_id(&given["guild_id"]), channel };
        let place = self.locate(&place, None).await.ok()?.conversation;
        let room = self.cache.channel(&place.channel);
        room.filter(|room| room.membership == Membership::Member)?;
        Some(CommandRequest {
            command: SlashCommands::parse(&registration::command_text(&given["data"])),
            visibility: self.inbox.channel_cache.visibility(&place.workspace, &place.channel),
            conversation: place,
            user: UserId::new(by),
            role: caller_role(given),
            at: interaction_time(given)?.min(self.now()),
        })
    }

    fn not_a_member_text(&self) -> String {
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
fn interaction_time(given: &Value) -> Option<Timestamp> {
    id_timestamp(non_empty_str(&given["id"])?)
}

/// With each command Discord tells what whoever gives it may do there; what is known of them may be old.
fn caller_role(given: &Value) -> Role {
    let bits = non_empty_str(&given["member"]["permissions"]).and_then(|bits| bits.parse().ok());
    match Permissions::from_bits_truncate(bits.unwrap_or(0)).intersects(ADMIN_PERMISSIONS) {
        true => Role::Admin,
        false => Role::Member,
    }
}

/// What does not fit into one message is left out.
fn truncated(text: String) -> String {
    if text.encode_utf16().count() <= MAX_MESSAGE_LENGTH {
        return text;
    }
    let mut room = MAX_MESSAGE_LENGTH - 1;
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
            assert_eq!(caller_role(&told), expected, "{told}");
        }
    }

    #[test]
    fn an_answer_fits_into_one_message() {
        for text in ["a".repeat(MAX_MESSAGE_LENGTH), "あ".repeat(MAX_MESSAGE_LENGTH), String::new()]
        {
            assert_eq!(truncated(text.clone()), text);
        }
        for text in [
            "a".repeat(MAX_MESSAGE_LENGTH + 1),
            "🌱".repeat(MAX_MESSAGE_LENGTH),
            "あ🌱".repeat(MAX_MESSAGE_LENGTH),
        ] {
            let short = truncated(text.clone());
            let length = short.encode_utf16().count();
            assert!((MAX_MESSAGE_LENGTH - 1..=MAX_MESSAGE_LENGTH).contains(&length), "{length}");
            assert!(text.starts_with(short.strip_suffix('…').unwrap()));
        }
    }
}
