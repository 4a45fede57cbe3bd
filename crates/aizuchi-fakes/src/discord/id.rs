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
const EPOCH: i64 = 1_420_070_400_000;

/// How many bits below the milliseconds tell ids of one moment apart.
const APART: u32 = 22;

/// The smallest id of a moment.
pub fn smallest_at(at: Timestamp) -> u64 {
    let since = u64::try_from(at.as_millisecond() - EPOCH).unwrap_or(0).max(1);
    since << APART
}

/// When an id was made.
pub fn made_at<T>(id: Id<T>) -> Timestamp {
    let since = i64::try_from(id.get() >> APART).unwrap_or(0);
    Timestamp::from_millisecond(EPOCH + since).unwrap_or(Timestamp::MAX)
}

/// A moment as Discord writes it.
pub fn written(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

/// Makes ids that rise with time.
#[derive(Debug, Default)]
pub struct Mint {
    newest: u64,
    /// Tells ids apart that are said to be of the same past moment.
    made: u64,
}

impl Mint {
    pub fn new_id<T>(&mut self, now: Timestamp) -> Id<T> {
        self.newest = smallest_at(now).max(self.newest + 1);
        Id::new(self.newest)
    }

    /// An id of some other moment than now.
    pub fn id_of<T>(&mut self, at: Timestamp) -> Id<T> {
        self.made = (self.made + 1) % (1 << APART);
        Id::new(smallest_at(at) | self.made)
    }
}

#[cfg(test)]
mod tests {
    use twilight_model::id::marker::MessageMarker;

    use super::*;

    #[test]
    fn ids_rise_and_tell_their_moment() {
        let now: Timestamp = "2026-11-21T01:02:03.456Z".parse().unwrap();
        let mut mint = Mint::default();
        let first: MessageId = mint.new_id(now);
        let second: MessageId = mint.new_id(now);
        assert!(first < second);
        assert_eq!(made_at(first), now);
        assert_eq!(written(now), "2026-11-21T01:02:03.456000+00:00");
        let past: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        let old: Id<MessageMarker> = mint.id_of(past);
        assert!(old < first);
        assert_ne!(mint.id_of::<MessageMarker>(past), old);
        assert_eq!(made_at(old), past);
    }
}
