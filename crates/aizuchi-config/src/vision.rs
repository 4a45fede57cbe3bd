//! The `vision` section.

use aizuchi_agent::agent::files::FileSettings;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::values::BoundedInteger;

section! {
    /// Which pictures, text files and PDFs Aizuchi opens when it is about to answer. The model `agents.vision` describes
    /// pictures; without one, Aizuchi cannot see them.
    pub struct VisionConfig {
        /// Whether `agents.vision` also gets pictures from private channels and direct messages.
        pub private_channels: bool,
        /// How many pictures are described for one answer. Of the others, only the names are known.
        pub max_pictures: BoundedInteger<0, 20> = BoundedInteger(3),
        /// The largest picture that is described, in kilobytes.
        pub max_picture_kilobytes: BoundedInteger<1, 20_000> = BoundedInteger(5_000),
        /// The largest text file that is opened, in kilobytes. The model that answers reads the beginning of it. 0 opens
        /// none.
        pub max_text_kilobytes: BoundedInteger<0, 10_000> = BoundedInteger(1_000),
        /// The largest PDF that is opened, in kilobytes. 0 opens none.
        pub max_pdf_kilobytes: BoundedInteger<0, 50_000> = BoundedInteger(10_000),
    }
}

impl VisionConfig {
    pub fn settings(&self) -> FileSettings {
        FileSettings {
            describes_private: self.private_channels,
            max_pictures: self.max_pictures.size(),
            max_picture_bytes: self.max_picture_kilobytes.size() * 1_000,
            max_text_bytes: self.max_text_kilobytes.size() * 1_000,
            max_pdf_bytes: self.max_pdf_kilobytes.size() * 1_000,
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
