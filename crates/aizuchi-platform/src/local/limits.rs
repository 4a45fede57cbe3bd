//! The limits on what users may enter in the local room. Error messages name them too.

/// The maximum length of a message, in characters.
pub const MAX_MESSAGE_LENGTH: usize = 16_000;
/// The maximum length of a user's or channel's name, in characters.
pub const MAX_NAME_LENGTH: usize = 40;
/// The maximum number of files in one message.
pub const MAX_FILES: usize = 10;
/// The maximum number of unsent files in the whole room. The oldest are dropped for newer ones.
pub const MAX_UNSENT_FILES: usize = 200;
/// Their maximum total size in bytes: that of the largest files of one message.
pub const MAX_UNSENT_BYTES: u64 = 500_000_000;
/// The maximum number of concurrent uploads. Each is held in memory until it is stored.
pub const MAX_UPLOADS_AT_ONCE: usize = 2;
/// The maximum length of an emoji, in characters. Some are a family of four, or a name.
pub const MAX_EMOJI_LENGTH: usize = 32;
/// One year. A longer mute has no end at all.
pub const MAX_MUTE_MINUTES: u64 = 525_600;
