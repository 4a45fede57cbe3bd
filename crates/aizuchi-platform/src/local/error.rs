//! Why the local room refuses a request, with texts for the user.

use aizuchi_model::refusal::RefusalKind;
use aizuchi_model::texts::platform as texts;
use aizuchi_store::StoreError;

use crate::local::limits::{
    MAX_EMOJI_LENGTH, MAX_FILES, MAX_MESSAGE_LENGTH, MAX_MUTE_MINUTES, MAX_NAME_LENGTH,
};

aizuchi_model::refusals! {
    /// Why a request was refused.
    LocalRoomError: RefusalKind |language|
    UnknownChannel(name: String) [Unknown "unknown_channel"]
        texts::unknown_channel(language, name);
    UnknownThread(id: String) [Unknown "unknown_thread"] texts::unknown_thread(language, id);
    UnknownMessage(id: String) [Unknown "unknown_message"] texts::unknown_message(language, id);
    /// Only the author may change a message.
    NotAuthor [Forbidden "not_author"] texts::not_author(language);
    InvalidName [Invalid "invalid_name"] texts::invalid_name(language, MAX_NAME_LENGTH);
    InvalidChannelName [Invalid "invalid_channel_name"]
        texts::invalid_channel_name(language, MAX_NAME_LENGTH);
    ChannelTaken(name: String) [Conflict "channel_taken"] texts::channel_taken(language, name);
    /// The name is the persona's.
    NameTaken(name: String) [Conflict "name_taken"] texts::name_taken(language, name);
    InvalidId [Invalid "invalid_id"] texts::invalid_id(language);
    /// Another message has this id.
    IdTaken [Conflict "id_taken"] texts::id_taken(language);
    InvalidEmoji [Invalid "invalid_emoji"] texts::invalid_emoji(language, MAX_EMOJI_LENGTH);
    /// The duration of the mute is invalid.
    InvalidMinutes [Invalid "invalid_minutes"] texts::invalid_minutes(language, MAX_MUTE_MINUTES);
    EmptyText [Invalid "empty_text"] texts::empty_text(language);
    /// The number of characters.
    TextTooLong(length: usize) [TooLarge "text_too_long"]
        texts::text_too_long(language, *length, MAX_MESSAGE_LENGTH);
    /// Uploads are disabled in the settings.
    NoUploads [Forbidden "no_uploads"] texts::no_uploads(language);
    EmptyFile [Invalid "empty_file"] texts::empty_file(language);
    /// The maximum size, in bytes.
    FileTooLarge(most: usize) [TooLarge "file_too_large"]
        texts::file_too_large(language, &size_text(*most));
    /// The file is of a kind that is not accepted.
    UntakenFile [Unsupported "untaken_file"] texts::untaken_file(language);
    /// Too many files are being uploaded.
    TooManyUploads [TooMany "too_many_uploads"] texts::too_many_uploads(language);
    /// The total size limit of all files is reached.
    UploadsFull [Full "uploads_full"] texts::uploads_full(language);
    /// The message has too many files.
    TooManyFiles [Invalid "too_many_files"] texts::too_many_files(language, MAX_FILES);
    /// It was never uploaded, another message has it, or too much time has passed.
    UnknownFile [Invalid "unknown_file"] texts::unknown_file(language);
    Store(error: StoreError) [Unavailable "store_unusable"] texts::not_stored(language, error);
}

impl From<StoreError> for LocalRoomError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Formats a number of bytes for users.
fn size_text(bytes: usize) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", (bytes / 10_000) as f64 / 100.0),
        _ => format!("{} KB", bytes / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_fitting_unit() {
        for (bytes, expected) in
            [(1_000, "1 KB"), (999_999, "999 KB"), (10_000_000, "10 MB"), (2_550_000, "2.55 MB")]
        {
            assert_eq!(size_text(bytes), expected);
        }
    }
}
