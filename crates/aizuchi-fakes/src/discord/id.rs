//! Snowflakes: ids that tell when they were made, one type for each kind of thing.

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

/// The first millisecond that snowflakes can tell: 2015 begins.
const DISCORD_EPOCH_MILLISECONDS: i64 = 1_420_070_400_000;

/// How many bits below the milliseconds tell ids of one moment apart.
const SEQUENCE_BITS: u32 = 22;

/// The smallest id of a moment.
pub fn min_snowflake_at(at: Timestamp) -> u64 {
    let since = u64::try_from(at.as_millisecond() - DISCORD_EPOCH_MILLISECONDS).unwrap_or(0).max(1);
    since << SEQUENCE_BITS
}

/// When an id was made.
pub fn created_at<T>(id: Id<T>) -> Timestamp {
    let since = i64::try_from(id.get() >> SEQUENCE_BITS).unwrap_or(0);
    Timestamp::from_millisecond(DISCORD_EPOCH_MILLISECONDS + since).unwrap_or(Timestamp::MAX)
}

/// A moment as Discord writes it.
pub fn format_timestamp(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// Makes ids that rise with time.
#[derive(Debug, Default)]
pub struct SnowflakeGenerator {
    last_id: u64,
    /// Tells ids apart that are said to be of the same past moment.
    past_sequence: u64,
}

impl SnowflakeGenerator {
    pub fn new_id<T>(&mut self, now: Timestamp) -> Id<T> {
        self.last_id = min_snowflake_at(now).max(self.last_id + 1);
        Id::new(self.last_id)
    }

    /// An id of some other moment than now.
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
    fn ids_rise_and_tell_their_moment() {
        let now: Timestamp = "2026-11-21T01:02:03.456Z".parse().unwrap();
        let mut mint = SnowflakeGenerator::default();
        let first: MessageId = mint.new_id(now);
        let second: MessageId = mint.new_id(now);
        assert!(first < second);
        assert_eq!(created_at(first), now);
        assert_eq!(format_timestamp(now), "2026-11-21T01:02:03.456000+00:00");
        let past: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        let old: Id<MessageMarker> = mint.id_at(past);
        assert!(old < first);
        assert_ne!(mint.id_at::<MessageMarker>(past), old);
        assert_eq!(created_at(old), past);
    }
}
