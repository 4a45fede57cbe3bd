//! The `transcription` section.

use aizuchi_agent::agent::files::FileSettings;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::BoundedInteger;

section! {
    /// Which voice messages and other recordings the model `agents.transcription` transcribes when Aizuchi is about to
    /// answer. Without one, Aizuchi cannot hear them.
    pub struct TranscriptionConfig {
        /// Whether that model also gets recordings from private channels and direct messages.
        pub private_channels: bool,
        /// How many recordings are transcribed for one answer. Of the others, only the names are known.
        pub max_recordings: BoundedInteger<0, 10> = BoundedInteger(2),
        /// The longest recording that is transcribed, in seconds.
        pub max_seconds: BoundedInteger<1, 7_200> = BoundedInteger(300),
        /// The largest recording that is transcribed, in kilobytes. OpenAI accepts up to 25000.
        pub max_kilobytes: BoundedInteger<1, 25_000> = BoundedInteger(10_000),
    }
}

impl TranscriptionConfig {
    /// Combines these settings with the file settings of the rest of the config.
    pub fn settings(&self, others: FileSettings) -> FileSettings {
        FileSettings {
            transcribes_private: self.private_channels,
            max_recordings: self.max_recordings.size(),
            max_recording_bytes: self.max_kilobytes.size() * 1_000,
            max_recording_seconds: u32::try_from(self.max_seconds.0).unwrap_or(u32::MAX),
            ..others
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_agent() {
        let settings = FileSettings::default();
        assert_eq!(TranscriptionConfig::default().settings(settings.clone()), settings);
    }
}
