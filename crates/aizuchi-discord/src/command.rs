//! The slash command `/aizuchi`: the same commands as in chat, with ephemeral responses. Neither the commands nor
//! their responses are messages of the channel.

mod registration;

use aizuchi_actions::command::CommandRequest;
use aizuchi_agent::metrics::labels::{MalformedInput, PlatformTask};
use aizuchi_model::chat::{Role, UserId};
use aizuchi_model::texts;
use aizuchi_platform::slash_command::SlashCommands;
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
use crate::from_discord::message::parse_channel_ref;
use crate::identity::GuildSummary;
use crate::json::{id_str, non_empty_str};
use crate::permissions::ADMIN_PERMISSIONS;
use crate::snowflake::id_timestamp;
use crate::text::write::{MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown};

/// How many interactions are answered concurrently. Each must be answered within three seconds, and some commands take
/// long.
const MAX_CONCURRENT: usize = 64;
/// How many servers are checked at most for commands of a previous program.
const MAX_GUILDS: usize = 100;
/// How many times a deferred response is attempted.
const MAX_ATTEMPTS: usize = 4;
/// A command older than this, delivered after a reconnect, is ignored: its user no longer waits.
const MAX_COMMAND_AGE: SignedDuration = SignedDuration::from_secs(60);
/// How long Discord accepts responses to an interaction.
const INTERACTION_TOKEN_LIFETIME: SignedDuration = SignedDuration::from_mins(15);
/// The delay between attempts, unless Discord sends one.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(2);

impl DiscordPlatform {
    /// Registers the commands and answers interactions. Never returns.
    pub(super) async fn run_commands(&self) {
        join(self.register_commands(), self.answer_interactions()).await;
    }

    async fn answer_interactions(&self) {
        let mut responses = FuturesUnordered::new();
        loop {
            tokio::select! {
                interaction = self.next_interaction(), if responses.len() < MAX_CONCURRENT => match interaction {
                    Some(interaction) => {
                        let answering = self.answer_interaction(interaction);
                        responses.push(self.incidents.contain(PlatformTask::Command, answering));
                    }
                    None => return,
                },
                Some(_answered_or_panicked) = responses.next() => {}
            }
        }
    }

    /// Registers the commands, and removes those of a program that used the same application before.
    async fn register_commands(&self) {
        let path = format!("/applications/{}/commands", self.identity.application);
        // PUT replaces the whole list, so a repetition does no harm.
        let call = ApiRequest::new(Method::PUT, path, Some(registration::command_definitions()));
        match self.call_with_retry(&call).await {
            Ok(_) => {}
            Err(error @ DiscordApiError::Refused(_)) => {
                warn!(platform = "discord", %error, "could not register /aizuchi");
            }
            Err(error) => {
                info!(platform = "discord", %error, "/aizuchi may be missing until the next start");
            }
        }
        for guild in self.identity.guilds.iter().take(MAX_GUILDS) {
            if let Err(error) = self.remove_guild_commands(guild).await {
                info!(
                    platform = "discord",
                    server = %guild.id,
                    %error,
                    "could not check the server's commands"
                );
            }
        }
    }

    /// Removes commands that were registered for a single server, which Discord lists separately.
    async fn remove_guild_commands(&self, guild: &GuildSummary) -> Result<(), DiscordApiError> {
        let path =
            format!("/applications/{}/guilds/{}/commands", self.identity.application, guild.id);
        let registered = self.call_with_retry(&ApiRequest::get(path.clone())).await?;
        if registered.as_array().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        self.call_with_retry(&ApiRequest::new(Method::PUT, path, Some(json!([])))).await?;
        info!(platform = "discord", server = %guild.id, "removed commands of another program");
        Ok(())
    }

    /// Makes a call, and retries it once after a rate limit.
    async fn call_with_retry(&self, call: &ApiRequest) -> Result<Value, DiscordApiError> {
        match self.call(call).await {
            Err(DiscordApiError::RateLimited(wait)) => {
                self.clock.sleep_until(self.now() + wait).await;
                self.call(call).await
            }
            result => result,
        }
    }

    async fn answer_interaction(&self, interaction: Value) {
        let Some(at) = interaction_time(&interaction) else {
            return self.incidents.record_malformed(MalformedInput::Command, "an interaction");
        };
        if self.now() > at + MAX_COMMAND_AGE {
            return warn!(
                platform = "discord",
                max_age = ?MAX_COMMAND_AGE,
                "ignored a late command; is this machine's clock right?"
            );
        }
        if interaction["type"] == InteractionType::ApplicationCommand as u8 {
            self.answer_command(&interaction).await;
        } else if interaction["type"] == InteractionType::ApplicationCommandAutocomplete as u8 {
            let choices = InteractionResponseType::ApplicationCommandAutocompleteResult;
            self.send_response(
                &interaction,
                choices,
                json!({ "choices": registration::length_suggestions(&interaction["data"]) }),
            )
            .await;
        } else if interaction["type"] == InteractionType::MessageComponent as u8 {
            self.answer_click(&interaction).await;
        } else if interaction["type"] == InteractionType::ModalSubmit as u8 {
            self.answer_form(&interaction).await;
        }
    }

    /// Answers a command. If it takes long, the response is deferred first, because Discord drops a command that is not
    /// answered within three seconds.
    async fn answer_command(&self, interaction: &Value) {
        let mut response = std::pin::pin!(self.ephemeral_response(interaction));
        tokio::select! {
            biased;
            response = &mut response => {
                let message = InteractionResponseType::ChannelMessageWithSource;
                return self.send_response(interaction, message, response).await;
            }
            () = tokio::time::sleep(self.settings.timeouts.command_answer) => {}
        }
        let deferred = InteractionResponseType::DeferredChannelMessageWithSource;
        let ephemeral = json!({ "flags": MessageFlags::EPHEMERAL.bits() });
        // Concurrently: the command must go on while Discord is told to wait.
        let (response, ()) =
            join(response, self.send_response(interaction, deferred, ephemeral)).await;
        self.respond_later(interaction, response).await;
    }

    /// Replaces the deferred response. Idempotent.
    async fn respond_later(&self, interaction: &Value, mut response: Value) {
        let (Some(token), Some(at)) =
            (non_empty_str(&interaction["token"]), interaction_time(interaction))
        else {
            return;
        };
        // The response stays ephemeral like the deferred one; an edit cannot set that flag.
        response["flags"] = MessageFlags::SUPPRESS_EMBEDS.bits().into();
        let path = format!("/webhooks/{}/{token}/messages/@original", self.identity.application);
        let call = ApiRequest::new(Method::PATCH, path, Some(response));
        for _ in 0..MAX_ATTEMPTS {
            let wait = match self.call(&call).await {
                Ok(_) => return,
                Err(error @ DiscordApiError::Refused(_)) => {
                    return info!(platform = "discord", %error, "could not answer a command");
                }
                Err(DiscordApiError::RateLimited(wait)) => wait,
                Err(
                    DiscordApiError::Unreachable(_)
                    | DiscordApiError::OutcomeUnknown(_)
                    | DiscordApiError::Malformed(_),
                ) => RETRY_DELAY,
            };
            let next = self.now() + wait;
            if next > at + INTERACTION_TOKEN_LIFETIME {
                return info!(
                    platform = "discord",
                    "a command's token expired before it was answered"
                );
            }
            self.clock.sleep_until(next).await;
        }
        info!(platform = "discord", attempt = MAX_ATTEMPTS, "gave up answering a command");
    }

    pub(super) async fn send_response(
        &self,
        interaction: &Value,
        kind: InteractionResponseType,
        data: Value,
    ) {
        let (Some(id), Some(token)) =
            (non_empty_str(&interaction["id"]), non_empty_str(&interaction["token"]))
        else {
            return;
        };
        let body = json!({ "type": kind, "data": data });
        let call = ApiRequest::post(format!("/interactions/{id}/{token}/callback"), body);
        if let Err(error) = self.call(&call).await {
            info!(platform = "discord", %error, "could not answer a command");
        }
    }

    /// Returns an ephemeral response. It may contain a model's text, so it mentions no user and shows no link previews.
    async fn ephemeral_response(&self, interaction: &Value) -> Value {
        let text = match self.command_request(interaction).await {
            Some(request) => self.slash_commands.execute(&request).await.text,
            None => self.not_a_member_text(),
        };
        json!({
            "content": truncated(to_discord_markdown(&text, &MentionLookup::empty())),
            "flags": (MessageFlags::EPHEMERAL | MessageFlags::SUPPRESS_EMBEDS).bits(),
            "allowed_mentions": { "parse": [] },
        })
    }

    /// Converts the interaction to the core's command request. Returns `None` in a channel that the bot cannot read.
    async fn command_request(&self, interaction: &Value) -> Option<CommandRequest> {
        let channel_ref = parse_channel_ref(interaction)?;
        let user =
            id_str(&interaction["member"]["user"]["id"]).or(id_str(&interaction["user"]["id"]))?;
        let conversation = self.locate(&channel_ref, None).await.ok()?.conversation;
        let cached = self.cache.channel(&conversation.channel);
        cached.filter(|cached| cached.membership == Membership::Member)?;
        let text = registration::command_text(&interaction["data"]);
        Some(CommandRequest {
            command: SlashCommands::parse(&text),
            text: text.into(),
            written_in: None,
            message: None,
            reply_to: None,
            visibility: self
                .inbox
                .channel_cache
                .visibility(&conversation.workspace, &conversation.channel),
            conversation,
            user: UserId::new(user),
            role: caller_role(interaction),
            // Discord's clock may be ahead of ours.
            at: interaction_time(interaction)?.min(self.now()),
        })
    }

    fn not_a_member_text(&self) -> String {
        texts::discord::not_a_member(self.persona.language, &self.persona.name)
    }
}

/// Returns when the user triggered the interaction, which may be earlier than it arrives.
fn interaction_time(interaction: &Value) -> Option<Timestamp> {
    id_timestamp(non_empty_str(&interaction["id"])?)
}

/// Derives the user's role from the permissions that Discord sends along, because the cache may be outdated.
fn caller_role(interaction: &Value) -> Role {
    let bits =
        non_empty_str(&interaction["member"]["permissions"]).and_then(|bits| bits.parse().ok());
    match Permissions::from_bits_truncate(bits.unwrap_or(0)).intersects(ADMIN_PERMISSIONS) {
        true => Role::Admin,
        false => Role::Member,
    }
}

/// Truncates a text to the length of one message.
pub(super) fn truncated(text: String) -> String {
    if text.encode_utf16().count() <= MAX_MESSAGE_LENGTH {
        return text;
    }
    let mut available = MAX_MESSAGE_LENGTH - 1;
    let fits = |character: &char| {
        let rest = available.checked_sub(character.len_utf16());
        available = rest.unwrap_or(0);
        rest.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_manages_the_server_is_an_admin() {
        for (interaction, expected) in [
            (json!({ "member": { "permissions": "32" } }), Role::Admin),
            (json!({ "member": { "permissions": "8" } }), Role::Admin),
            (json!({ "member": { "permissions": "2147483647" } }), Role::Admin),
            (json!({ "member": { "permissions": "3072" } }), Role::Member),
            (json!({ "member": { "permissions": "much" } }), Role::Member),
            (json!({ "user": { "id": "1" } }), Role::Member),
        ] {
            assert_eq!(caller_role(&interaction), expected, "{interaction}");
        }
    }

    #[test]
    fn a_response_fits_into_one_message() {
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
