//! A recording that is sent with a prompt.

mod duration;

use std::fmt;
use std::sync::Arc;

/// The tokens per second of audio, as counted by OpenAI's transcription models. For models that charge per minute,
/// the price per token is set to match.
pub const TOKENS_PER_SECOND: u64 = 10;
/// People speak four or five tokens per second, in Japanese, too.
const SPOKEN_TOKENS_PER_SECOND: u64 = 5;
/// The minimum size of a second of speech, unless it is compressed unusually hard.
const LEAST_BYTES_PER_SECOND: u64 = 2_000;
/// The maximum size of a second: 48,000 samples of 32 bits on two channels.
const MOST_BYTES_PER_SECOND: u64 = 384_000;

#[derive(Clone, PartialEq, Eq)]
pub struct AudioRecording {
    pub format: AudioFormat,
    pub bytes: Arc<[u8]>,
    /// The estimated length, rather too high than too low: it is reserved in the budget, and recorded if the
    /// provider reports no usage.
    pub seconds: u64,
}

/// The formats that models accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AudioFormat {
    Ogg,
    Mp3,
    Mp4,
    Wav,
    Flac,
    WebM,
}

impl AudioFormat {
    /// Detects the format from the first bytes, since a server may report a wrong one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [b'O', b'g', b'g', b'S', ..] => Some(Self::Ogg),
            [b'I', b'D', b'3', ..] => Some(Self::Mp3),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => Some(Self::Wav),
            [b'f', b'L', b'a', b'C', ..] => Some(Self::Flac),
            [0x1a, 0x45, 0xdf, 0xa3, ..] => Some(Self::WebM),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(Self::Mp4),
            // A frame of MPEG audio, layer III.
            [0xff, second, ..] if second & 0xe6 == 0xe2 => Some(Self::Mp3),
            _ => None,
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ogg => "audio/ogg",
            Self::Mp3 => "audio/mpeg",
            Self::Mp4 => "audio/mp4",
            Self::Wav => "audio/wav",
            Self::Flac => "audio/flac",
            Self::WebM => "audio/webm",
        }
    }

    /// The name of the uploaded file. Providers detect the format by its extension.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Ogg => "recording.ogg",
            Self::Mp3 => "recording.mp3",
            Self::Mp4 => "recording.m4a",
            Self::Wav => "recording.wav",
            Self::Flac => "recording.flac",
            Self::WebM => "recording.webm",
        }
    }
}

impl AudioRecording {
    /// Creates a recording. `told_seconds` is the length that the platform reports. `None` if the bytes are not a
    /// recording.
    pub fn new(bytes: Vec<u8>, told_seconds: Option<u32>) -> Option<Self> {
        let format = AudioFormat::from_bytes(&bytes)?;
        let size = bytes.len() as u64;
        let measured = match format {
            AudioFormat::Ogg => duration::ogg_seconds(&bytes),
            AudioFormat::Mp3 => duration::mp3_seconds(&bytes),
            AudioFormat::Mp4 => duration::mp4_seconds(&bytes),
            AudioFormat::Wav => duration::wav_seconds(&bytes),
            AudioFormat::Flac => duration::flac_seconds(&bytes),
            AudioFormat::WebM => None,
        };
        let least =
            measured.unwrap_or(size / LEAST_BYTES_PER_SECOND).max(size / MOST_BYTES_PER_SECOND);
        let told_inside = match format {
            AudioFormat::Ogg => duration::ogg_stated_seconds(&bytes),
            AudioFormat::Mp3
            | AudioFormat::Mp4
            | AudioFormat::Wav
            | AudioFormat::Flac
            | AudioFormat::WebM => None,
        };
        // The sender controls the reported lengths, so they can only raise the estimate.
        let told = told_inside.max(told_seconds.map(u64::from)).unwrap_or_default();
        let seconds = least.max(told).max(1);
        Some(Self { format, bytes: bytes.into(), seconds })
    }

    /// One second of silence.
    pub fn silence() -> Self {
        // One channel of 16-bit samples at 16,000 Hz.
        let (rate, size) = (16_000_u32, 32_000_u32);
        let mut bytes = b"RIFF".to_vec();
        bytes.extend_from_slice(&(size + 36).to_le_bytes());
        bytes.extend_from_slice(b"WAVEfmt ");
        bytes.extend_from_slice(&16_u32.to_le_bytes());
        for number in [1_u16, 1] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&rate.to_le_bytes());
        bytes.extend_from_slice(&(rate * 2).to_le_bytes());
        for number in [2_u16, 16] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(b"data");
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.resize(bytes.len() + size as usize, 0);
        Self { format: AudioFormat::Wav, bytes: bytes.into(), seconds: 1 }
    }

    /// The tokens that the recording counts as.
    pub fn tokens(&self) -> u64 {
        self.seconds.saturating_mul(TOKENS_PER_SECOND)
    }

    /// The maximum number of tokens that can be spoken in this time.
    pub fn max_transcript_tokens(&self) -> u32 {
        let tokens = self.seconds.saturating_mul(SPOKEN_TOKENS_PER_SECOND);
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

/// Leaves out the bytes, which are unreadable.
impl fmt::Debug for AudioRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "AudioRecording({:?}, {} s, {} bytes)",
            self.format,
            self.seconds,
            self.bytes.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_what_a_recording_is() {
        for (bytes, expected) in [
            (&b"OggS\0\x02"[..], Some(AudioFormat::Ogg)),
            (&b"ID3\x04"[..], Some(AudioFormat::Mp3)),
            (&b"\xff\xfb\x90"[..], Some(AudioFormat::Mp3)),
            (&b"\xff\xf3\x90"[..], Some(AudioFormat::Mp3)),
            // Raw AAC, and a picture.
            (&b"\xff\xf1\x50"[..], None),
            (&b"\xff\xd8\xff\xe0"[..], None),
            (&b"\0\0\0\x1cftypM4A "[..], Some(AudioFormat::Mp4)),
            (&b"RIFF\x01\x02\x03\x04WAVEfmt "[..], Some(AudioFormat::Wav)),
            (&b"RIFF\x01\x02\x03\x04WEBPVP8 "[..], None),
            (&b"fLaC"[..], Some(AudioFormat::Flac)),
            (&b"\x1a\x45\xdf\xa3"[..], Some(AudioFormat::WebM)),
            (&b"<!DOCTYPE html>"[..], None),
            (&b""[..], None),
        ] {
            assert_eq!(AudioFormat::from_bytes(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_length_is_estimated_rather_too_high() {
        let ogg = |ticks: u64, padding: usize| {
            let page = |ticks: u64| [&b"OggS\0\0"[..], &ticks.to_le_bytes()].concat();
            [page(0), vec![0; padding], page(ticks)].concat()
        };
        for (bytes, told, expected) in [
            (ogg(48_001, 0), None, 2),
            // The sender controls both lengths. The larger one counts.
            (ogg(48_000 * 60, 0), Some(1), 60),
            (ogg(0, 0), Some(7), 7),
            (ogg(0, 800_000), Some(1), 400),
            (ogg(u64::MAX, 3_980), None, 2),
            ([&b"OggS"[..], &[0; 8]].concat(), None, 1),
            ([&b"ID3"[..], &[0; 9_997]].concat(), None, 5),
            ([&b"ID3"[..], &[0; 9_997]].concat(), Some(2), 5),
            ([&b"ID3"[..], &[0; 9_997]].concat(), Some(7), 7),
        ] {
            let recording = AudioRecording::new(bytes, told).unwrap();
            assert_eq!(recording.seconds, expected, "{told:?}");
            assert_eq!(recording.tokens(), expected * TOKENS_PER_SECOND);
        }
        assert_eq!(AudioRecording::new(b"<html>".to_vec(), Some(7)), None);
        let silence = AudioRecording::silence();
        assert_eq!(silence.bytes.len(), 44 + 32_000);
        assert_eq!(AudioFormat::from_bytes(&silence.bytes), Some(AudioFormat::Wav));
    }
}
