//! How long users of a channel take to answer each other, learned from their messages, and when the persona should post
//! so that its delays look similar.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::{Author, AuthorKind, Message, MessageId};

/// The minimum delay: no human reads a message and answers it faster.
const MIN_DELAY_SECONDS: f64 = 3.0;
/// The maximum delay: a later message begins a new conversation.
const MAX_DELAY_SECONDS: f64 = 3600.0;
/// Bins between the two, at equal ratios: each begins 1.43 times as late as the one before.
const BINS: usize = 20;
/// When this many messages are counted, all counts are halved so that recent behavior weighs more.
const MAX_MESSAGES: u32 = 4000;
/// Mean and deviation of the natural logarithm of a delay in seconds, in a channel without data. These are the
/// medians over the public Slack channels of our measurements.
const PRIOR_MU: f64 = 4.1;
const PRIOR_SIGMA: f64 = 1.7;
/// The prior weighs like this many messages still waiting at each delay.
const PRIOR_MESSAGES: f64 = 4.0;

/// For each bin, how many messages were answered after that delay, and how many were followed by another
/// message of their own author. A last bin counts messages without a successor within [`MAX_DELAY_SECONDS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplyDelays(Vec<[u32; 2]>);

/// The newest message of a human in a conversation. Messages of the persona in between are skipped: otherwise
/// the persona would never learn of the silences that it ends itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousMessage {
    pub at: Timestamp,
    pub id: MessageId,
    pub author: Author,
}

/// What makes the persona withdraw a post that it is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YieldPolicy {
    /// Any message before it.
    ToAnyMessage,
    /// An answer to the same message.
    ToAnswer,
}

impl PreviousMessage {
    /// Returns the message as the predecessor of the next one, if a human wrote it.
    pub fn from_message(message: &Message) -> Option<Self> {
        let Message { at, id, author, .. } = message;
        let previous = Self { at: *at, id: id.clone(), author: author.clone() };
        (author.kind == AuthorKind::Human).then_some(previous)
    }

    pub fn is_before(&self, message: &Message) -> bool {
        (self.at, &self.id) < (message.at, &message.id)
    }
}

impl ReplyDelays {
    /// Records that `message` followed `before`. A message out of order is ignored.
    pub fn record(&mut self, before: &PreviousMessage, message: &Message) {
        let is_between_humans = before.author.kind == AuthorKind::Human && message.is_human();
        let after = message.at.duration_since(before.at).as_secs_f64();
        if !is_between_humans || !before.is_before(message) || after < MIN_DELAY_SECONDS {
            return;
        }
        let bin = if after < MAX_DELAY_SECONDS { bin_position(after) as usize } else { BINS };
        let is_own = before.author.id == message.author.id;
        if self.0.len() <= bin {
            self.0.resize(bin + 1, [0, 0]);
        }
        self.0[bin][usize::from(is_own)] += 1;
        if self.message_count() >= MAX_MESSAGES {
            self.0.iter_mut().flatten().for_each(|count| *count /= 2);
        }
    }

    /// Draws how much longer a user here would wait before answering a message that is `waited` old, at most
    /// `longest`. `draw` is in `[0, 1)`.
    ///
    /// If the persona yields only to an answer, this samples the users' own delays, given that `waited` has
    /// passed. If it yields to any message, that would be biased: the later the persona means to post, the
    /// likelier a user comes first, so the posts that remain would come too early (by a KS distance of 0.25 for
    /// two equal participants). So each moment is drawn in proportion to the chance that a user answers just
    /// then *if none has yet* (the hazard). What remains after users have come first is distributed like the
    /// users' own delays.
    pub fn sample(
        &self,
        waited: SignedDuration,
        longest: SignedDuration,
        yields: YieldPolicy,
        draw: f64,
    ) -> SignedDuration {
        // Beyond half of the maximum, a longer wait makes no difference.
        let over = waited.as_secs_f64().clamp(0.0, MAX_DELAY_SECONDS / 2.0);
        let from = over.max(MIN_DELAY_SECONDS);
        let to = (over + longest.as_secs_f64()).clamp(from, MAX_DELAY_SECONDS);
        let edges = self.cumulative_hazard();
        let before = hazard_at(&edges, from);
        let reach = hazard_at(&edges, to) - before;
        let passed = match yields {
            YieldPolicy::ToAnyMessage => draw * reach,
            YieldPolicy::ToAnswer => -(1.0 - draw * (1.0 - (-reach).exp())).ln(),
        };
        let at = delay_at_hazard(&edges, before + passed).clamp(from, to);
        SignedDuration::from_millis(((at - over) * 1000.0).round() as i64)
    }

    /// Returns the delay by which half of the answers had come. `None` if there are none.
    pub fn median(&self) -> Option<SignedDuration> {
        let answered = || self.0.iter().take(BINS).map(|[answered, _]| *answered);
        let half = answered().sum::<u32>().div_ceil(2);
        let mut seen = 0;
        let bin = answered().position(|count| {
            seen += count;
            seen >= half && seen > 0
        })?;
        // The bins are spaced by ratio, so the geometric mean is the middle.
        let middle = (bin_start(bin) * bin_start(bin + 1)).sqrt();
        Some(SignedDuration::from_secs(middle.round() as i64))
    }

    fn message_count(&self) -> u32 {
        self.0.iter().flatten().sum()
    }

    /// Returns the cumulative hazard at each bin's start, from the share of the messages still waiting that were
    /// answered in each bin. Messages that their author followed up count as waiting for half of that bin.
    fn cumulative_hazard(&self) -> [f64; BINS + 1] {
        let mut edges = [0.0; BINS + 1];
        let mut waiting = f64::from(self.message_count());
        for bin in 0..BINS {
            let [answered, left] = self.0.get(bin).copied().unwrap_or_default().map(f64::from);
            let usual = 1.0 - prior_tail(bin_start(bin + 1)) / prior_tail(bin_start(bin));
            let share =
                (answered + PRIOR_MESSAGES * usual) / (waiting - left / 2.0 + PRIOR_MESSAGES);
            // The chance that nobody has answered is `exp(-hazard)`, so shares add up as logarithms.
            edges[bin + 1] = edges[bin] - (1.0 - share).ln();
            waiting -= answered + left;
        }
        edges
    }
}

/// Returns the position of a delay among the bins, as a fraction.
fn bin_position(seconds: f64) -> f64 {
    (seconds / MIN_DELAY_SECONDS).ln() / (MAX_DELAY_SECONDS / MIN_DELAY_SECONDS).ln() * BINS as f64
}

/// Returns the delay at which a bin begins.
fn bin_start(bin: usize) -> f64 {
    MIN_DELAY_SECONDS * (MAX_DELAY_SECONDS / MIN_DELAY_SECONDS).powf(bin as f64 / BINS as f64)
}

/// Returns the hazard at a delay, interpolated within the bin by ratio.
fn hazard_at(edges: &[f64; BINS + 1], seconds: f64) -> f64 {
    let position = bin_position(seconds).clamp(0.0, BINS as f64);
    let bin = (position as usize).min(BINS - 1);
    edges[bin] + (position - bin as f64) * (edges[bin + 1] - edges[bin])
}

/// Returns the delay at which the hazard reaches this value.
fn delay_at_hazard(edges: &[f64; BINS + 1], hazard: f64) -> f64 {
    let bin = edges.partition_point(|edge| *edge <= hazard).clamp(1, BINS) - 1;
    let part = (hazard - edges[bin]) / (edges[bin + 1] - edges[bin]);
    MIN_DELAY_SECONDS
        * (MAX_DELAY_SECONDS / MIN_DELAY_SECONDS)
            .powf((bin as f64 + part.clamp(0.0, 1.0)) / BINS as f64)
}

/// Returns the share of longer delays according to the prior.
fn prior_tail(seconds: f64) -> f64 {
    normal_tail((seconds.ln() - PRIOR_MU) / PRIOR_SIGMA)
}

/// Returns the share of a normal distribution above `z`, to seven digits (Abramowitz and Stegun 26.2.17).
fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let factors = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let sum = factors.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChannelId, ConversationId, UserId, WorkspaceId};
    use crate::clock::seeded_random;

    const ALL: SignedDuration = SignedDuration::from_secs(3600);

    fn message(at_ms: i64, author: &str) -> Message {
        let kind = match author {
            "bot" => AuthorKind::Bot,
            "persona" => AuthorKind::Persona,
            _ => AuthorKind::Human,
        };
        Message {
            conversation: ConversationId {
                workspace: WorkspaceId::new("w"),
                channel: ChannelId::new("c"),
                thread: None,
            },
            id: MessageId::new(format!("{at_ms:012}")),
            at: Timestamp::from_millisecond(at_ms).unwrap(),
            author: Author { id: UserId::new(author), kind },
            text: "so it goes".into(),
            mentions: Vec::new(),
            attachments: Vec::new(),
            edits: 0,
        }
    }

    fn learn(delays: &mut ReplyDelays, after: f64, author: &str) {
        let before = PreviousMessage::from_message(&message(0, "ann")).unwrap();
        delays.record(&before, &message((after * 1000.0) as i64, author));
    }

    /// Returns the `number`th of `most` values spread evenly between 0 and 1.
    fn even(number: usize, most: usize) -> f64 {
        (number as f64 + 0.5) / most as f64
    }

    /// Spread evenly by ratio between 4 and 400 seconds.
    fn human(draw: f64) -> f64 {
        4.0 * 100_f64.powf(draw)
    }

    fn median(mut delays: Vec<f64>) -> f64 {
        delays.sort_by(f64::total_cmp);
        delays[delays.len() / 2]
    }

    fn distance(mut one: Vec<f64>, mut other: Vec<f64>) -> f64 {
        one.sort_by(f64::total_cmp);
        other.sort_by(f64::total_cmp);
        let share = |all: &[f64], most: f64| {
            all.partition_point(|delay| *delay <= most) as f64 / all.len() as f64
        };
        let gap = |at: &f64| (share(&one, *at) - share(&other, *at)).abs();
        one.iter().chain(&other).map(gap).fold(0.0, f64::max)
    }

    fn draws(
        delays: &ReplyDelays,
        waited: i64,
        longest: SignedDuration,
        yields: YieldPolicy,
    ) -> Vec<f64> {
        let waited = SignedDuration::from_secs(waited);
        let draw = |number| delays.sample(waited, longest, yields, even(number, 1000));
        (0..1000).map(|number| draw(number).as_secs_f64()).collect()
    }

    #[test]
    fn only_a_users_message_after_another_users_is_learned() {
        let mut delays = ReplyDelays::default();
        let previous = |at, author| PreviousMessage::from_message(&message(at, author));
        assert_eq!((previous(0, "bot"), previous(0, "persona")), (None, None));
        let ann = previous(10_000, "ann").unwrap();
        for (before, message) in [
            (&ann, message(20_000, "bot")),
            (&ann, message(20_000, "persona")),
            // Out of order, and too soon.
            (&ann, message(5_000, "bob")),
            (&ann, message(12_000, "bob")),
        ] {
            delays.record(before, &message);
        }
        assert_eq!(delays, ReplyDelays::default());
        delays.record(&ann, &message(13_001, "bob"));
        delays.record(&ann, &message(13_500, "ann"));
        delays.record(&ann, &message(10_000_000, "bob"));
        let mut expected = vec![[0, 0]; BINS + 1];
        (expected[0], expected[BINS]) = ([1, 1], [1, 0]);
        assert_eq!(delays, ReplyDelays(expected));
    }

    #[test]
    fn learned_counts_stay_small_and_recent() {
        let mut delays = ReplyDelays::default();
        for (after, times) in [(10.0, 3999), (1000.0, 4000)] {
            (0..times).for_each(|_| learn(&mut delays, after, "bob"));
        }
        assert!(delays.message_count() < MAX_MESSAGES);
        let late = draws(&delays, 0, ALL, YieldPolicy::ToAnswer);
        assert!(median(late) > 870.0);
        let json = serde_json::to_string(&delays).unwrap();
        assert_eq!(serde_json::from_str::<ReplyDelays>(&json).unwrap(), delays);
        assert!(json.len() < 300, "{json}");
    }

    #[test]
    fn no_delay_is_out_of_bounds() {
        let mut learned = ReplyDelays::default();
        (0..500).for_each(|number| learn(&mut learned, human(even(number, 500)), "bob"));
        for delays in [&ReplyDelays::default(), &learned] {
            for yields in [YieldPolicy::ToAnyMessage, YieldPolicy::ToAnswer] {
                for waited in [-5, 0, 2, 60, 1800, 3600, 1_000_000] {
                    for longest in [0, 30, 1800, 31_622_400] {
                        let limit = SignedDuration::from_secs(longest);
                        for delay in draws(delays, waited, limit, yields) {
                            let all = delay + waited.max(0) as f64;
                            let most = (longest as f64).max(MIN_DELAY_SECONDS);
                            assert!((0.0..=most).contains(&delay), "{waited} {longest} {delay}");
                            assert!(all >= MIN_DELAY_SECONDS, "{waited} {longest} {delay}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_prior_applies_without_data() {
        let all = draws(&ReplyDelays::default(), 0, ALL, YieldPolicy::ToAnswer);
        // exp(4.1), apart from the two ends.
        assert!((55.0..65.0).contains(&median(all.clone())), "{}", median(all));
        let tail = prior_tail(300.0);
        assert!((tail - 0.1727).abs() < 1e-3, "{tail}");
    }

    #[test]
    fn sampled_delays_match_the_users_of_the_channel() {
        let mut delays = ReplyDelays::default();
        let human_delays: Vec<f64> = (0..1000).map(|number| human(even(number, 1000))).collect();
        human_delays.iter().for_each(|delay| learn(&mut delays, *delay, "bob"));
        let own = draws(&delays, 0, ALL, YieldPolicy::ToAnswer);
        assert!((36.0..44.0).contains(&median(own.clone())), "{}", median(own));
        assert!(distance(own, human_delays.clone()) < 0.05);
        // After a minute of waiting, the rest is distributed like the delays of users who take longer than
        // that.
        let own: Vec<f64> = draws(&delays, 60, ALL, YieldPolicy::ToAnswer);
        let own = own.into_iter().map(|delay| delay + 60.0).collect();
        let longer = human_delays.into_iter().filter(|delay| *delay > 60.0).collect();
        assert!(distance(own, longer) < 0.08);
    }

    /// Users may come first, and an author may follow up on their own message. The posts that the persona still
    /// makes are distributed like the users' answers.
    #[test]
    fn yielding_to_others_does_not_make_it_hasty() {
        let mut delays = ReplyDelays::default();
        let next = |number: usize| {
            let draw = |what| seeded_random(7, &[&number.to_string(), what]);
            let (answer, own) = (human(draw("answer")), human(draw("own")) * 2.0);
            if answer < own { (answer, "bob") } else { (own, "ann") }
        };
        (0..3000).map(next).for_each(|(after, author)| learn(&mut delays, after, author));
        for waited in [0.0, 30.0] {
            let over = SignedDuration::from_millis((waited * 1000.0) as i64);
            let spoken = |yields| {
                let posts = (3000..13_000).filter_map(|number| {
                    let draw = seeded_random(7, &[&number.to_string(), "delay"]);
                    let at = waited + delays.sample(over, ALL, yields, draw).as_secs_f64();
                    let (before, _) = next(number);
                    (before > waited && at < before).then_some(at)
                });
                posts.collect::<Vec<f64>>()
            };
            let human_delays = (3000..13_000).map(next).filter(|(_, author)| *author == "bob");
            let human_delays: Vec<f64> =
                human_delays.map(|(after, _)| after).filter(|after| *after > waited).collect();
            let apart = |yields| distance(spoken(yields), human_delays.clone());
            assert!(
                apart(YieldPolicy::ToAnyMessage) < 0.08,
                "{}",
                apart(YieldPolicy::ToAnyMessage)
            );
            assert!(apart(YieldPolicy::ToAnswer) > 0.15, "{}", apart(YieldPolicy::ToAnswer));
        }
    }
}
