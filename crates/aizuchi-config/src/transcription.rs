//! The `transcription` section.

use aizuchi_agent::agent::files::FileSettings;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::BoundedInteger;

/// Which voice messages and other recordings the model `agents.transcription` transcribes when Aizuchi is about to
/// answer. Without one, Aizuchi cannot hear them.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TranscriptionConfig {
    /// Whether that model also gets recordings from private channels and direct messages.
    pub private_channels: bool,
    /// How many recordings are transcribed for one answer. Of the others, only the names are known.
    pub max_recordings: BoundedInteger<0, 10>,
    /// The longest recording that is transcribed, in seconds.
    pub max_seconds: BoundedInteger<1, 7_200>,
    /// The largest recording that is transcribed, in kilobytes. OpenAI accepts up to 25000.
    pub max_kilobytes: BoundedInteger<1, 25_000>,
}

impl Default for TranscriptionConfig {
    fn default() -> Self {
        Self {
            private_channels: false,
            max_recordings: BoundedInteger(2),
            max_seconds: BoundedInteger(300),
            max_kilobytes: BoundedInteger(10_000),
        }
    }
}

impl TranscriptionConfig {
    /// Combines these settings with the file settings of the rest of the config.
    pub fn settings(&self, others: FileSettings) -> FileSettings {
        // The validated maxima are far below `usize::MAX`.
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        FileSettings {
            transcribes_private: self.private_channels,
            max_recordings: count(self.max_recordings.0),
            max_recording_bytes: count(self.max_kilobytes.0 * 1_000),
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
