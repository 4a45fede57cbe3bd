//! The `vision` section.

use aizuchi_agent::agent::files::FileSettings;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::BoundedInteger;

/// Which pictures, text files and PDFs Aizuchi opens when it is about to answer. The model `agents.vision` describes
/// pictures; without one, Aizuchi cannot see them.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VisionConfig {
    /// Whether `agents.vision` also gets pictures from private channels and direct messages.
    pub private_channels: bool,
    /// How many pictures are described for one answer. Of the others, only the names are known.
    pub max_pictures: BoundedInteger<0, 20>,
    /// The largest picture that is described, in kilobytes.
    pub max_picture_kilobytes: BoundedInteger<1, 20_000>,
    /// The largest text file that is opened, in kilobytes. The model that answers reads the beginning of it. 0 opens
    /// none.
    pub max_text_kilobytes: BoundedInteger<0, 10_000>,
    /// The largest PDF that is opened, in kilobytes. 0 opens none.
    pub max_pdf_kilobytes: BoundedInteger<0, 50_000>,
}

impl Default for VisionConfig {
    fn default() -> Self {
        Self {
            private_channels: false,
            max_pictures: BoundedInteger(3),
            max_picture_kilobytes: BoundedInteger(5_000),
            max_text_kilobytes: BoundedInteger(1_000),
            max_pdf_kilobytes: BoundedInteger(10_000),
        }
    }
}

impl VisionConfig {
    pub fn settings(&self) -> FileSettings {
        // The validated maxima are far below `usize::MAX`.
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        FileSettings {
            describes_private: self.private_channels,
            max_pictures: count(self.max_pictures.0),
            max_picture_bytes: count(self.max_picture_kilobytes.0 * 1_000),
            max_text_bytes: count(self.max_text_kilobytes.0 * 1_000),
            max_pdf_bytes: count(self.max_pdf_kilobytes.0 * 1_000),
            ..FileSettings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_agent() {
        assert_eq!(VisionConfig::default().settings(), FileSettings::default());
    }
}
