//! Measures how long recordings are, by counting their frames. The lengths in their headers are controlled by the
//! sender, so they count only where they are longer. All lengths are in seconds, rounded up; `None` if a length is
//! unknown.

/// Opus always counts time at this rate, whatever the original sample rate.
const OPUS_TICKS_PER_SECOND: u64 = 48_000;
/// The maximum length of an Opus packet: 120 ms.
const MOST_OPUS_TICKS: u64 = 5_760;
/// The capture pattern at the beginning of an Ogg page.
const OGG_PAGE: &[u8] = b"OggS";
const OGG_PAGE_HEAD: usize = 27;
/// The minimum number of samples in an AAC frame.
const AAC_SAMPLES: u64 = 1_024;
/// The maximum sample rate of AAC. It yields the minimum length of a frame, whatever rate a header states.
const MOST_AAC_RATE: u64 = 48_000;
/// The maximum depth of the nested MP4 boxes that matter.
const MOST_BOX_DEPTH: usize = 6;

/// The length of MPEG audio, from its consecutive frames.
pub fn mp3_seconds(bytes: &[u8]) -> Option<u64> {
    let (mut at, mut nanos) = (0, 0_u64);
    while let Some(&[first, second, third]) = bytes.get(at..).and_then(<[u8]>::first_chunk::<3>) {
        match mp3_frame(first, second, third) {
            Some((length, duration)) => {
                at += length;
                nanos += duration;
            }
            None => at += 1,
        }
    }
    (nanos > 0).then(|| nanos.div_ceil(1_000_000_000))
}

/// The size of a layer III frame in bytes, and its length in nanoseconds.
fn mp3_frame(first: u8, second: u8, third: u8) -> Option<(usize, u64)> {
    const KILOBITS: [u64; 14] = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    const KILOBITS_OF_LATER: [u64; 14] =
        [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    const RATES: [u64; 3] = [44_100, 48_000, 32_000];
    if first != 0xff || second & 0xe6 != 0xe2 {
        return None;
    }
    // MPEG 1; 2, at half the sample rates; or 2.5, at a quarter.
    let (kilobits, divisor, samples): ([u64; 14], u64, u64) = match (second >> 3) & 3 {
        0 => (KILOBITS_OF_LATER, 4, 576),
        2 => (KILOBITS_OF_LATER, 2, 576),
        3 => (KILOBITS, 1, 1_152),
        _ => return None,
    };
    let kilobits = kilobits.get(usize::from(third >> 4).checked_sub(1)?)?;
    let rate = RATES.get(usize::from((third >> 2) & 3))? / divisor;
    let padding = u64::from((third >> 1) & 1);
    let length = usize::try_from(samples / 8 * kilobits * 1_000 / rate + padding).ok()?;
    Some((length, samples * 1_000_000_000 / rate))
}

/// The length of WAV audio, from the rate at which players play it.
pub fn wav_seconds(bytes: &[u8]) -> Option<u64> {
    let mut rest = bytes.get(12..)?;
    loop {
        let size = usize::try_from(u32::from_le_bytes(array(rest, 4)?)).ok()?;
        if rest.starts_with(b"fmt ") {
            break;
        }
        // Chunks are padded to an even size.
        rest = rest.get(8..)?.get(size.checked_next_multiple_of(2)?..)?;
    }
    let short = |at: usize| array(rest, at).map(|two| u64::from(u16::from_le_bytes(two)));
    let (format, channels, bits) = (short(8)?, short(10)?, short(22)?);
    let rate = u64::from(u32::from_le_bytes(array(rest, 12)?));
    // Uncompressed formats: integer, float, A-law, µ-law, and the extensible format, which names one of these later
    // on.
    let is_plain = [1, 3, 6, 7, 0xfffe].contains(&format);
    let per_second = rate * channels * bits / 8;
    (is_plain && per_second > 0).then(|| (bytes.len() as u64).div_ceil(per_second))
}

/// The length of FLAC audio, from its frames, which are found by their header checksums.
pub fn flac_seconds(bytes: &[u8]) -> Option<u64> {
    // The sample rate: 20 bits after the sizes of blocks and frames.
    let [high, middle, low] = array(bytes, 18)?;
    let usual = u64::from(high) << 12 | u64::from(middle) << 4 | u64::from(low) >> 4;
    let (mut at, mut nanos) = (0, 0_u64);
    while let Some(head) = bytes.get(at..) {
        let Some(begin) = head.windows(2).position(|two| two[0] == 0xff && two[1] & 0xfe == 0xf8)
        else {
            break;
        };
        at += begin + 1;
        if let Some((samples, rate)) = flac_frame(&head[begin..], usual) {
            nanos = nanos.saturating_add(samples * 1_000_000_000 / rate);
        }
    }
    (nanos > 0).then(|| nanos.div_ceil(1_000_000_000))
}

/// The number of samples in a frame, and their rate.
fn flac_frame(head: &[u8], usual_rate: u64) -> Option<(u64, u64)> {
    const RATES: [u64; 11] =
        [88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
    let [_, _, codes, more, number] = array(head, 0)?;
    if more & 1 != 0 {
        return None;
    }
    let after = 4 + usize::try_from(number.leading_ones().max(1)).ok()?;
    let [one, two] = array(head, after)?;
    let (samples, size_bytes) = match codes >> 4 {
        0 => return None,
        1 => (192_u64, 0),
        code @ 2..=5 => (576_u64 << (code - 2), 0),
        6 => (u64::from(one) + 1, 1),
        7 => (u64::from(u16::from_be_bytes([one, two])) + 1, 2),
        code => (256_u64 << (code - 8), 0),
    };
    let (rate, rate_bytes) = match codes & 15 {
        0 => (usual_rate, 0),
        code @ 1..=11 => (*RATES.get(usize::from(code) - 1)?, 0),
        12 => (usual_rate, 1),
        13 | 14 => (usual_rate, 2),
        _ => return None,
    };
    let end = after + size_bytes + rate_bytes;
    (rate > 0 && head.get(end) == Some(&crc8(head.get(..end)?))).then_some((samples, rate))
}

fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0_u8, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum, _| (sum << 1) ^ if sum & 0x80 == 0 { 0 } else { 7 })
    })
}

/// The length of MP4 audio: the maximum of what its headers state and what its frames take at least.
pub fn mp4_seconds(bytes: &[u8]) -> Option<u64> {
    let mut found = Mp4Lengths::default();
    found.read(bytes, 0);
    let counted = found.frames.saturating_mul(AAC_SAMPLES).div_ceil(MOST_AAC_RATE);
    Some(found.stated.max(counted)).filter(|seconds| *seconds > 0)
}

#[derive(Default)]
struct Mp4Lengths {
    /// The longest length that any header states.
    stated: u64,
    frames: u64,
}

impl Mp4Lengths {
    fn read(&mut self, mut boxes: &[u8], depth: usize) {
        while let Some((kind, content, rest)) = next_box(boxes) {
            match &kind {
                b"moov" | b"trak" | b"mdia" | b"minf" | b"stbl" | b"moof" | b"traf"
                    if depth < MOST_BOX_DEPTH =>
                {
                    self.read(content, depth + 1);
                }
                b"mvhd" | b"mdhd" => self.record_length(content).unwrap_or_default(),
                // The number of frames in the file, and in a fragment of it.
                b"stsz" | b"stz2" => self.count(content, 8),
                b"trun" => self.count(content, 4),
                _ => {}
            }
            boxes = rest;
        }
    }

    /// Records a length. `None` if the header states none.
    fn record_length(&mut self, content: &[u8]) -> Option<()> {
        let number = |at: usize| array(content, at).map(|it| u64::from(u32::from_be_bytes(it)));
        let (scale, duration) = match content.first()? {
            0 => (number(12)?, number(16)?),
            _ => (number(20)?, u64::from_be_bytes(array(content, 24)?)),
        };
        // All ones means an unknown length.
        let is_known = scale > 0 && duration != u64::from(u32::MAX) && duration != u64::MAX;
        if is_known {
            self.stated = self.stated.max(duration.div_ceil(scale));
        }
        Some(())
    }

    fn count(&mut self, content: &[u8], at: usize) {
        let frames = array(content, at).map_or(0, u32::from_be_bytes);
        self.frames = self.frames.saturating_add(frames.into());
    }
}

/// The kind of the first box, its content, and the bytes after it.
fn next_box(bytes: &[u8]) -> Option<([u8; 4], &[u8], &[u8])> {
    let kind = array(bytes, 4)?;
    let (head, size) = match u32::from_be_bytes(array(bytes, 0)?) {
        0 => (8, bytes.len()),
        1 => (16, usize::try_from(u64::from_be_bytes(array(bytes, 8)?)).ok()?),
        size => (8, usize::try_from(size).ok()?),
    };
    // A box may be truncated.
    let size = size.min(bytes.len());
    Some((kind, bytes.get(head..size)?, &bytes[size..]))
}

/// The length of Opus or Vorbis in Ogg, from its packets. The maximum if its pages overlap so much that they are not
/// counted to the end.
pub fn ogg_seconds(bytes: &[u8]) -> Option<u64> {
    let mut packets = OggPackets {
        rest: bytes,
        payload: &[],
        lacing: &[],
        is_continued: false,
        // Each takes at least a byte, unless pages are hidden inside of others.
        segments_left: bytes.len(),
    };
    let first = packets.next()?;
    if first.starts_with(b"OpusHead") {
        // After the packet of tags.
        let ticks: u64 = packets.by_ref().skip(1).map(opus_ticks).sum();
        return Some(packets.length_if_counted(ticks.div_ceil(OPUS_TICKS_PER_SECOND)));
    }
    if !first.starts_with(b"\x01vorbis") {
        return None;
    }
    let rate = u64::from(u32::from_le_bytes(array(first, 12)?));
    let longest = 1_u64.checked_shl(u32::from(first.get(28)? >> 4))?;
    let samples = packets.by_ref().skip(2).count() as u64 * (longest / 2);
    (rate > 0).then(|| packets.length_if_counted(samples.div_ceil(rate)))
}

/// The end time that the last page states, which the file's author controls.
pub fn ogg_stated_seconds(bytes: &[u8]) -> Option<u64> {
    let page = bytes.windows(OGG_PAGE.len()).rposition(|four| four == OGG_PAGE)?;
    let ticks = u64::from_le_bytes(array(bytes, page + 6)?);
    // This value means that no packet ends on the page.
    (ticks != u64::MAX).then(|| ticks.div_ceil(OPUS_TICKS_PER_SECOND))
}

fn opus_ticks(packet: &[u8]) -> u64 {
    let Some(&head) = packet.first() else { return 0 };
    let frame = match head >> 3 {
        code @ 0..=11 => [480, 960, 1_920, 2_880][usize::from(code & 3)],
        code @ 12..=15 => [480, 960][usize::from(code & 1)],
        code => [120, 240, 480, 960][usize::from(code & 3)],
    };
    let frames = match head & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => packet.get(1).map_or(u64::MAX, |count| u64::from(count & 0x3f)),
    };
    frames.saturating_mul(frame).min(MOST_OPUS_TICKS)
}

/// Iterates over the beginnings of packets: the part of each on the page where it begins.
struct OggPackets<'b> {
    /// The bytes after the page.
    rest: &'b [u8],
    /// The rest of the page: its content, and the lengths of the segments that packets consist of.
    payload: &'b [u8],
    lacing: &'b [u8],
    /// Whether the next segment belongs to a packet that was already returned.
    is_continued: bool,
    /// How many more segments are read. A file of pages inside of pages may have a hundred times as many as bytes.
    segments_left: usize,
}

impl<'b> OggPackets<'b> {
    fn turn_page(&mut self) -> Option<()> {
        let begin = self.rest.windows(OGG_PAGE.len()).position(|four| four == OGG_PAGE)?;
        let page = &self.rest[begin..];
        let head = page.get(..OGG_PAGE_HEAD)?;
        let content = &page[OGG_PAGE_HEAD..];
        let (lacing, content) = content.split_at_checked(usize::from(head[26]))?;
        let size: usize = lacing.iter().map(|length| usize::from(*length)).sum();
        self.payload = &content[..size.min(content.len())];
        self.lacing = lacing;
        // Players skip broken pages, and find pages hidden inside them.
        self.rest = &page[OGG_PAGE.len()..];
        self.is_continued = head[5] & 1 != 0;
        Some(())
    }

    fn next_segment(&mut self) -> Option<(&'b [u8], u8)> {
        while self.lacing.is_empty() {
            self.turn_page()?;
        }
        self.segments_left = self.segments_left.checked_sub(1)?;
        let (length, lacing) = self.lacing.split_first()?;
        let size = usize::from(*length).min(self.payload.len());
        let (segment, payload) = self.payload.split_at(size);
        (self.payload, self.lacing) = (payload, lacing);
        Some((segment, *length))
    }

    /// Returns the length, or the maximum if there may be more packets than were counted.
    fn length_if_counted(&self, seconds: u64) -> u64 {
        if self.segments_left > 0 { seconds } else { u64::MAX }
    }
}

impl<'b> Iterator for OggPackets<'b> {
    type Item = &'b [u8];

    fn next(&mut self) -> Option<&'b [u8]> {
        loop {
            let (segment, length) = self.next_segment()?;
            let is_begin = !self.is_continued;
            // A packet ends with a segment that is shorter than the maximum.
            self.is_continued = length == u8::MAX;
            if is_begin && !segment.is_empty() {
                return Some(segment);
            }
        }
    }
}

/// The bytes at this position, as an array.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with these segments. Flag 1: it begins with the rest of a packet.
    fn page(flags: u8, segments: &[&[u8]]) -> Vec<u8> {
        let mut page = [OGG_PAGE, &[0, flags], &[0; 20]].concat();
        page.push(segments.len() as u8);
        page.extend(segments.iter().map(|segment| segment.len() as u8));
        page.extend(segments.concat());
        page
    }

    #[test]
    fn packets_of_ogg_are_counted_whatever_its_last_page_says() {
        // One frame of 20 ms, and three of 60 ms, of which only two fit.
        let (short, long) = (&[0x08, 1][..], &[0x1b, 3, 9][..]);
        let mut opus = page(2, &[b"OpusHead"]);
        opus.extend(page(0, &[b"OpusTags"]));
        let one = page(0, &[short; 50]);
        for _ in 0..3 {
            opus.extend(&one);
        }
        assert_eq!(ogg_seconds(&opus), Some(3));
        assert_eq!(ogg_stated_seconds(&opus), Some(0));
        opus.extend(page(0, &[long; 50]));
        assert_eq!(ogg_seconds(&opus), Some(9));
        // A packet over two pages counts once.
        opus.extend(page(0, &[&[8; 255]]));
        opus.extend(page(1, &[&[0x1b, 3]]));
        opus.extend(one[..30].iter());
        assert_eq!(ogg_seconds(&opus), Some(10));

        let mut head = [0; 30];
        head[..7].copy_from_slice(b"\x01vorbis");
        head[12..16].copy_from_slice(&8_000_u32.to_le_bytes());
        head[28] = 0xb8;
        let mut vorbis = page(2, &[&head]);
        vorbis.extend(page(0, &[b"\x03vorbis", b"\x05vorbis"]));
        vorbis.extend(page(0, &[&[0; 9][..]; 80]));
        assert_eq!(ogg_seconds(&vorbis), Some(80 * 1_024 / 8_000 + 1));
        assert_eq!(ogg_seconds(b"OggS\0\x04"), None);
        assert_eq!(ogg_seconds(&page(2, &[b"fishead"])), None);
    }

    /// Each of these pages has 103 segments in 4 bytes.
    #[test]
    fn pages_inside_of_pages_are_not_counted_to_the_end() {
        let hidden = OGG_PAGE.repeat(10_000);
        let opus = [page(2, &[b"OpusHead"]), hidden.clone()].concat();
        assert_eq!(ogg_seconds(&opus), Some(u64::MAX));
        let mut head = [0; 30];
        head[..7].copy_from_slice(b"\x01vorbis");
        head[12..16].copy_from_slice(&8_000_u32.to_le_bytes());
        head[28] = 0xb8;
        let vorbis = [page(2, &[&head]), hidden].concat();
        assert_eq!(ogg_seconds(&vorbis), Some(u64::MAX));
    }

    #[test]
    fn frames_of_mpeg_are_counted() {
        // MPEG 2 at 8 kbit/s and 24 kHz: 24 ms in 24 bytes.
        let mut frame = vec![0xff, 0xf3, 0x14, 0];
        frame.resize(24, 0);
        let mp3 = [&b"ID3\x04\0\0"[..], &frame.repeat(1_000)].concat();
        assert_eq!(mp3_seconds(&mp3), Some(24));
        // MPEG 1 at 128 kbit/s and 44.1 kHz: 417 bytes, and 418 with padding.
        assert_eq!(mp3_frame(0xff, 0xfb, 0x90), Some((417, 26_122_448)));
        assert_eq!(mp3_frame(0xff, 0xfb, 0x92), Some((418, 26_122_448)));
        for head in [[0xff, 0xfb, 0x00], [0xff, 0xfb, 0xf0], [0xff, 0xfb, 0x9c], [0xff, 0xea, 0x90]]
        {
            assert_eq!(mp3_frame(head[0], head[1], head[2]), None, "{head:?}");
        }
        assert_eq!(mp3_seconds(b"ID3"), None);
    }

    #[test]
    fn the_rate_of_plain_samples_counts() {
        let mut wav = b"RIFF\0\0\0\0WAVEJUNK\x03\0\0\0abc\0fmt \x10\0\0\0\x01\0\x01\0".to_vec();
        wav.extend(8_000_u32.to_le_bytes());
        // The stated bytes per second do not count.
        wav.extend([0xff, 0xff, 0xff, 0, 2, 0, 16, 0]);
        wav.resize(160_000, 0);
        assert_eq!(wav_seconds(&wav), Some(10));
        assert_eq!(wav_seconds(b"RIFF\0\0\0\0WAVEfmt "), None);
        assert_eq!(wav_seconds(b"RIFF\0\0\0\0WAVEdata\xff\xff\xff\xff"), None);
    }

    #[test]
    fn frames_of_flac_are_counted() {
        let mut flac = b"fLaC\0\0\0\x22".to_vec();
        flac.extend([0; 10]);
        // 16,000 Hz, and no length.
        flac.extend([0x03, 0xe8, 0x00]);
        flac.resize(42, 0);
        // 4,096 samples, at the sample rate of the header.
        let mut frame = vec![0xff, 0xf8, 0xc0, 0x08, 0x00];
        frame.push(crc8(&frame));
        frame.extend([0; 6]);
        flac.extend(frame.repeat(125));
        assert_eq!(flac_seconds(&flac), Some(32));
        frame[5] ^= 1;
        flac.extend(frame.repeat(125));
        assert_eq!(flac_seconds(&flac), Some(32));
        assert_eq!(flac_seconds(b"fLaC"), None);
    }

    #[test]
    fn frames_of_mp4_count_where_its_heads_lie() {
        let boxed = |kind: &[u8; 4], content: &[u8]| {
            let size = u32::try_from(content.len() + 8).unwrap();
            [&size.to_be_bytes()[..], kind, content].concat()
        };
        let told = |scale: u32, duration: u32| {
            [&[0; 12][..], &scale.to_be_bytes(), &duration.to_be_bytes()].concat()
        };
        let file = |seconds: u32, frames: u32| {
            let sizes = [&[0; 8][..], &frames.to_be_bytes()].concat();
            let table = boxed(b"minf", &boxed(b"stbl", &boxed(b"stsz", &sizes)));
            let track = [boxed(b"mdhd", &told(16_000, seconds * 16_000)), table].concat();
            let head = boxed(b"mvhd", &told(1_000, seconds * 1_000));
            let track = boxed(b"trak", &boxed(b"mdia", &track));
            let moov = boxed(b"moov", &[head, track].concat());
            [boxed(b"ftyp", b"M4A "), boxed(b"mdat", &[0; 50]), moov].concat()
        };
        assert_eq!(mp4_seconds(&file(60, 938)), Some(60));
        assert_eq!(mp4_seconds(&file(1, 9_375)), Some(200));
        assert_eq!(mp4_seconds(&file(700, 0)), Some(700));
        assert_eq!(mp4_seconds(&boxed(b"ftyp", b"M4A ")), None);
        // Endlessly nested boxes.
        assert_eq!(mp4_seconds(&b"\0\0\0\0moov".repeat(100_000)), None);
        assert_eq!(mp4_seconds(b"\0\0\0\x01mvhd\0\0\0\0\0\0\0\x02"), None);
    }
}
