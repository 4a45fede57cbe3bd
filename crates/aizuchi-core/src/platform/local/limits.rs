//! The limits on what users may enter in the local room. Error messages name them too.

/// The longest message, in characters.
pub const MAX_MESSAGE_LENGTH: usize = 16_000;
/// The longest name of a user or channel, in characters.
pub const MAX_NAME_LENGTH: usize = 40;
/// How many files one message may be sent with.
pub const MAX_FILES: usize = 10;
/// How many files may wait for their messages, in the whole room. The oldest give way to newer ones.
pub const MAX_UNSENT_FILES: usize = 200;
/// How many bytes they may have together: as much as the largest files of one message.
pub const MAX_UNSENT_BYTES: u64 = 500_000_000;
/// How many files are uploaded at the same time. Each is held in memory until it is kept.
pub const MAX_UPLOADS_AT_ONCE: usize = 2;
/// The longest emoji, in characters. Some are a family of four, or a name.
pub const MAX_EMOJI_LENGTH: usize = 32;
/// One year. A longer mute has no end at all.
pub const MAX_MUTE_MINUTES: u64 = 525_600;
