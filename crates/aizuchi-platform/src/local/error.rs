//! Why the local room refuses a request, with texts for the user.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use aizuchi_store::StoreError;

use crate::local::limits::{
    MAX_EMOJI_LENGTH, MAX_FILES, MAX_MESSAGE_LENGTH, MAX_MUTE_MINUTES, MAX_NAME_LENGTH,
};

/// Why a request was refused.
#[derive(Debug)]
pub enum LocalRoomError {
    UnknownChannel(String),
    UnknownThread(String),
    UnknownMessage(String),
    /// Only the author may change a message.
    NotAuthor,
    InvalidName,
    InvalidChannelName,
    ChannelTaken(String),
    /// The name is the persona's.
    NameTaken(String),
    InvalidId,
    /// Another message has this id.
    IdTaken,
    InvalidEmoji,
    /// The duration of the mute is invalid.
    InvalidMinutes,
    EmptyText,
    /// The number of characters.
    TextTooLong(usize),
    /// Uploads are disabled in the settings.
    NoUploads,
    EmptyFile,
    /// The maximum size, in bytes.
    FileTooLarge(usize),
    /// The file is of a kind that is not accepted.
    UntakenFile,
    /// Too many files are being uploaded.
    TooManyUploads,
    /// The total size limit of all files is reached.
    UploadsFull,
    /// The message has too many files.
    TooManyFiles,
    /// It was never uploaded, another message has it, or too much time has passed.
    UnknownFile,
    Store(StoreError),
}

impl LocalRoomError {
    /// Returns the text for the user whose request was refused.
    pub fn describe(&self, language: Language) -> String {
        match self {
            Self::UnknownChannel(name) => texts::platform::unknown_channel(language, name),
            Self::UnknownThread(id) => texts::platform::unknown_thread(language, id),
            Self::UnknownMessage(id) => texts::platform::unknown_message(language, id),
            Self::NotAuthor => texts::platform::not_author(language).to_owned(),
            Self::InvalidName => texts::platform::invalid_name(language, MAX_NAME_LENGTH),
            Self::InvalidChannelName => {
                texts::platform::invalid_channel_name(language, MAX_NAME_LENGTH)
            }
            Self::ChannelTaken(name) => texts::platform::channel_taken(language, name),
            Self::NameTaken(name) => texts::platform::name_taken(language, name),
            Self::InvalidId => texts::platform::invalid_id(language).to_owned(),
            Self::IdTaken => texts::platform::id_taken(language).to_owned(),
            Self::InvalidEmoji => texts::platform::invalid_emoji(language, MAX_EMOJI_LENGTH),
            Self::InvalidMinutes => texts::platform::invalid_minutes(language, MAX_MUTE_MINUTES),
            Self::EmptyText => texts::platform::empty_text(language).to_owned(),
            Self::TextTooLong(length) => {
                texts::platform::text_too_long(language, *length, MAX_MESSAGE_LENGTH)
            }
            Self::NoUploads => texts::platform::no_uploads(language).to_owned(),
            Self::EmptyFile => texts::platform::empty_file(language).to_owned(),
            Self::FileTooLarge(most) => {
                texts::platform::file_too_large(language, &size_text(*most))
            }
            Self::UntakenFile => texts::platform::untaken_file(language).to_owned(),
            Self::TooManyUploads => texts::platform::too_many_uploads(language).to_owned(),
            Self::UploadsFull => texts::platform::uploads_full(language).to_owned(),
            Self::TooManyFiles => texts::platform::too_many_files(language, MAX_FILES),
            Self::UnknownFile => texts::platform::unknown_file(language).to_owned(),
            Self::Store(error) => texts::platform::not_stored(language, error),
        }
    }
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
