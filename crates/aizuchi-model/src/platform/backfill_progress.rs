//! How far the reading of what was missed has come on a platform.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chat::ChannelId;
use crate::persona::Language;
use crate::texts;

/// The findings of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckProgress {
    /// The number of messages that were compared.
    pub compared: usize,
    /// The number of them that the platform no longer had.
    pub deleted: usize,
}

/// The failed reads of a channel since the last successful one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedReads {
    pub count: u32,
    pub since: Timestamp,
    pub last: Timestamp,
    pub retry_at: Timestamp,
    /// Why the last one failed, for operators.
    pub error: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillProgress {
    pub platform: &'static str,
    pub channels: usize,
    /// The channels that have not been read since the last gap.
    pub behind: Vec<ChannelId>,
    /// The channels, among all, whose last read failed.
    pub failing: BTreeMap<ChannelId, FailedReads>,
    /// The number of threads that have been read.
    pub threads_read: usize,
    /// The channels in which missed deletions are still being looked for.
    pub deletion_checks: Vec<(ChannelId, CheckProgress)>,
}

impl BackfillProgress {
    /// Returns the number of channels that have been read.
    pub fn channels_read(&self) -> usize {
        self.channels - self.behind.len()
    }

    pub fn is_complete(&self) -> bool {
        self.behind.is_empty()
    }

    /// Describes the progress in a sentence for users.
    pub fn describe(&self, language: Language) -> String {
        let (read, failing) = (self.channels_read(), self.failing.len());
        let Self { platform, channels, threads_read: threads, .. } = *self;
        let told = texts::platform::backfill_progress(language, platform, read, channels, threads);
        match failing {
            0 => told,
            failing => told + &texts::platform::unreadable_channels(language, failing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_described_in_both_languages() {
        let channel = |number: usize| ChannelId::new(number.to_string());
        let progress = BackfillProgress {
            platform: "Slack",
            channels: 12,
            behind: (0..9).map(channel).collect(),
            failing: BTreeMap::new(),
            threads_read: 41,
            deletion_checks: Vec::new(),
        };
        assert!(!progress.is_complete());
        let described = [Language::En, Language::Ja].map(|language| progress.describe(language));
        assert_eq!(
            described,
            [
                "Slack: caught up on 3 of 12 channels and 41 threads",
                "Slack: 不在中の発言を、12 チャンネル中 3 チャンネル、41 スレッドまで読みました",
            ]
        );
        let reads = FailedReads {
            count: 1,
            since: Timestamp::UNIX_EPOCH,
            last: Timestamp::UNIX_EPOCH,
            retry_at: Timestamp::UNIX_EPOCH,
            error: "no access".into(),
        };
        let failing =
            BackfillProgress { failing: BTreeMap::from([(channel(1), reads)]), ..progress };
        let described = [Language::En, Language::Ja].map(|language| failing.describe(language));
        assert!(described[0].ends_with("; 1 can’t be read at the moment"));
        assert!(described[1].ends_with("（1 チャンネルはいま読めません）"));
    }
}
