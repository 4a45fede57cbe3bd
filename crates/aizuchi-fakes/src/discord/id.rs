//! Snowflakes: ids that contain their creation time. Each kind of object has its own type.

use jiff::Timestamp;
use twilight_model::id::Id;
use twilight_model::id::marker::{
    ApplicationMarker, ChannelMarker, CommandMarker, GuildMarker, InteractionMarker, MessageMarker,
    RoleMarker, UserMarker, WebhookMarker,
};

pub type ApplicationId = Id<ApplicationMarker>;
pub type ChannelId = Id<ChannelMarker>;
pub type CommandId = Id<CommandMarker>;
pub type GuildId = Id<GuildMarker>;
pub type InteractionId = Id<InteractionMarker>;
pub type MessageId = Id<MessageMarker>;
pub type RoleId = Id<RoleMarker>;
pub type UserId = Id<UserMarker>;
pub type WebhookId = Id<WebhookMarker>;

/// Discord's epoch: the beginning of 2015, as Unix time.
const DISCORD_EPOCH_MILLISECONDS: i64 = 1_420_070_400_000;

/// The number of bits below the milliseconds, which distinguish ids of the same millisecond.
const SEQUENCE_BITS: u32 = 22;

/// Returns the smallest id of this millisecond.
pub fn min_snowflake_at(at: Timestamp) -> u64 {
    let milliseconds =
        u64::try_from(at.as_millisecond() - DISCORD_EPOCH_MILLISECONDS).unwrap_or(0).max(1);
    milliseconds << SEQUENCE_BITS
}

/// Returns the creation time of an id.
pub fn created_at<T>(id: Id<T>) -> Timestamp {
    let milliseconds = i64::try_from(id.get() >> SEQUENCE_BITS).unwrap_or(0);
    Timestamp::from_millisecond(DISCORD_EPOCH_MILLISECONDS + milliseconds).unwrap_or(Timestamp::MAX)
}

/// Formats a timestamp as Discord does.
pub fn format_timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// Generates ids that increase with time.
#[derive(Debug, Default)]
pub struct SnowflakeGenerator {
    last_id: u64,
    /// Distinguishes ids that are backdated to the same time.
    past_sequence: u64,
}

impl SnowflakeGenerator {
    pub fn new_id<T>(&mut self, now: Timestamp) -> Id<T> {
        self.last_id = min_snowflake_at(now).max(self.last_id + 1);
        Id::new(self.last_id)
    }

    /// Returns a backdated id.
    pub fn id_at<T>(&mut self, at: Timestamp) -> Id<T> {
        self.past_sequence = (self.past_sequence + 1) % (1 << SEQUENCE_BITS);
        Id::new(min_snowflake_at(at) | self.past_sequence)
    }
}

#[cfg(test)]
mod tests {
    use twilight_model::id::marker::MessageMarker;

    use super::*;

    #[test]
    fn ids_rise_and_contain_their_creation_time() {
        let now: Timestamp = "2026-11-21T01:02:03.456Z".parse().unwrap();
        let mut ids = SnowflakeGenerator::default();
        let first: MessageId = ids.new_id(now);
        let second: MessageId = ids.new_id(now);
        assert!(first < second);
        assert_eq!(created_at(first), now);
        assert_eq!(format_timestamp(now), "2026-11-21T01:02:03.456000+00:00");
        let past: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        let old: Id<MessageMarker> = ids.id_at(past);
        assert!(old < first);
        assert_ne!(ids.id_at::<MessageMarker>(past), old);
        assert_eq!(created_at(old), past);
    }
}
