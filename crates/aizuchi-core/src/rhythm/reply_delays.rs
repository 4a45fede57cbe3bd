//! How long people of a channel take to answer somebody else's line, learned as they talk, and when
//! the persona speaks so that its own delays are like theirs.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::chat::{Author, AuthorKind, Message, MessageId};

/// Nobody reads a line and answers it faster.
const MIN_DELAY_SECONDS: f64 = 3.0;
/// Whoever writes later than this begins a new conversation.
const MAX_DELAY_SECONDS: f64 = 3600.0;
/// Between the two, evenly by ratio: each begins 1.43 times as late as the one before.
const BINS: usize = 20;
/// When so many lines are counted, all counts are halved: what people did lately counts more.
const MAX_MESSAGES: u32 = 4000;
/// The natural logarithm of a delay in seconds has this mean and deviation in a channel that nothing is
/// known of (benchmarks B5: public Slack channels, the middle of all that were measured).
const PRIOR_MU: f64 = 4.1;
const PRIOR_SIGMA: f64 = 1.7;
/// What was known before counts like so many lines that had waited for as long, at each delay.
const PRIOR_MESSAGES: f64 = 4.0;

/// For each bin, and for lines that nobody followed within [`LONGEST`] in a last one: how many lines were
/// answered after so long, and how many were left by themselves because their author went on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplyDelays(Vec<[u32; 2]>);

/// The newest line of a conversation by a person. What the persona says between two lines is looked past:
/// were those pairs left out, it would never learn of the silences that it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviousMessage {
    pub at: Timestamp,
    pub id: MessageId,
    pub author: Author,
}

/// What keeps the persona from saying what it is about to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YieldPolicy {
    /// Whatever anybody says before it.
    ToAnyMessage,
    /// An answer to the same line.
    ToAnswer,
}

impl PreviousMessage {
    /// What a line is for the next one; only people's count.
    pub fn from_message(message: &Message) -> Option<Self> {
        let Message { at, id, author, .. } = message;
        let said = Self { at: *at, id: id.clone(), author: author.clone() };
        (author.kind == AuthorKind::Human).then_some(said)
    }

    pub fn is_before(&self, message: &Message) -> bool {
        (self.at, &self.id) < (message.at, &message.id)
    }
}

impl ReplyDelays {
    /// A person has said `message` behind `before`. A line that comes out of its order teaches nothing.
    pub fn record(&mut self, before: &PreviousMessage, message: &Message) {
        let is_between_people = before.author.kind == AuthorKind::Human && message.is_human();
        let after = message.at.duration_since(before.at).as_secs_f64();
        if !is_between_people || !before.is_before(message) || after < MIN_DELAY_SECONDS {
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

    /// How much longer a person would take here whose line has waited for `waited` already, at most
    /// `longest`; `draw` is in `[0, 1)`.
    ///
    /// Where the persona yields to an answer alone, this is a draw from people's own delays, those that are
    /// over left out. Where it yields to any line, that would not do: the later it means to speak, the
    /// likelier somebody comes before it, so what it gets to say would come too early (with a KS distance
    /// of 0.25, were it one of two alike). So it picks each moment in proportion to the chance that
    /// somebody answers just then *if nobody has yet* (the hazard). What is left of that after people
    /// have spoken first is distributed as their own delays are.
    pub fn sample(
        &self,
        waited: SignedDuration,
        longest: SignedDuration,
        yields: YieldPolicy,
        draw: f64,
    ) -> SignedDuration {
        // Behind half of it, what has waited longer waits no differently.
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

    fn message_count(&self) -> u32 {
        self.0.iter().flatten().sum()
    }

    /// How many answers a line that is never answered would have deserved by each bin's beginning: the
    /// cumulative hazard, by the share of the lines still waiting that were answered in each bin. Lines
    /// that were left there waited through half of it.
    fn cumulative_hazard(&self) -> [f64; BINS + 1] {
        let mut edges = [0.0; BINS + 1];
        let mut waiting = f64::from(self.message_count());
        for bin in 0..BINS {
            let [answered, left] = self.0.get(bin).copied().unwrap_or_default().map(f64::from);
            let usual = 1.0 - prior_tail(bin_start(bin + 1)) / prior_tail(bin_start(bin));
            let share =
                (answered + PRIOR_MESSAGES * usual) / (waiting - left / 2.0 + PRIOR_MESSAGES);
            edges[bin + 1] = edges[bin] - (1.0 - share).ln();
            waiting -= answered + left;
        }
        edges
    }
}

/// Where a delay stands among the bins.
fn bin_position(seconds: f64) -> f64 {
    (seconds / MIN_DELAY_SECONDS).ln() / (MAX_DELAY_SECONDS / MIN_DELAY_SECONDS).ln() * BINS as f64
}

/// When a bin begins.
fn bin_start(bin: usize) -> f64 {
    MIN_DELAY_SECONDS * (MAX_DELAY_SECONDS / MIN_DELAY_SECONDS).powf(bin as f64 / BINS as f64)
}

/// Within a bin it rises evenly by ratio.
fn hazard_at(edges: &[f64; BINS + 1], seconds: f64) -> f64 {
    let place = bin_position(seconds).clamp(0.0, BINS as f64);
    let bin = (place as usize).min(BINS - 1);
    edges[bin] + (place - bin as f64) * (edges[bin + 1] - edges[bin])
}

/// The delay by which the hazard has come to so much.
fn delay_at_hazard(edges: &[f64; BINS + 1], hazard: f64) -> f64 {
    let bin = edges.partition_point(|edge| *edge <= hazard).clamp(1, BINS) - 1;
    let part = (hazard - edges[bin]) / (edges[bin + 1] - edges[bin]);
    MIN_DELAY_SECONDS
        * (MAX_DELAY_SECONDS / MIN_DELAY_SECONDS)
            .powf((bin as f64 + part.clamp(0.0, 1.0)) / BINS as f64)
}

/// The share of all delays that are longer, where nothing is known.
fn prior_tail(seconds: f64) -> f64 {
    normal_tail((seconds.ln() - PRIOR_MU) / PRIOR_SIGMA)
}

/// The share of a normal distribution above `z`, to seven digits (Abramowitz and Stegun 26.2.17).
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

    fn line(at_ms: i64, author: &str) -> Message {
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
            edits: 0,
        }
    }

    fn learn(delays: &mut ReplyDelays, after: f64, author: &str) {
        let before = PreviousMessage::from_message(&line(0, "ann")).unwrap();
        delays.record(&before, &line((after * 1000.0) as i64, author));
    }

    /// From 0 to 1, one of `most` that are evenly spread.
    fn even(number: usize, most: usize) -> f64 {
        (number as f64 + 0.5) / most as f64
    }

    /// Evenly spread by ratio between 4 and 400 seconds.
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
    fn only_what_people_say_behind_other_people_is_learned() {
        let mut delays = ReplyDelays::default();
        let said = |at, author| PreviousMessage::from_message(&line(at, author));
        assert_eq!((said(0, "bot"), said(0, "persona")), (None, None));
        let ann = said(10_000, "ann").unwrap();
        for (before, message) in [
            (&ann, line(20_000, "bot")),
            (&ann, line(20_000, "persona")),
            // Out of its order, and too soon.
            (&ann, line(5_000, "bob")),
            (&ann, line(12_000, "bob")),
        ] {
            delays.record(before, &message);
        }
        assert_eq!(delays, ReplyDelays::default());
        delays.record(&ann, &line(13_001, "bob"));
        delays.record(&ann, &line(13_500, "ann"));
        delays.record(&ann, &line(10_000_000, "bob"));
        let mut expected = vec![[0, 0]; BINS + 1];
        (expected[0], expected[BINS]) = ([1, 1], [1, 0]);
        assert_eq!(delays, ReplyDelays(expected));
    }

    #[test]
    fn what_is_learned_stays_small_and_new() {
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
    fn where_nothing_is_known_it_is_as_elsewhere() {
        let all = draws(&ReplyDelays::default(), 0, ALL, YieldPolicy::ToAnswer);
        // exp(4.1), but for the two ends.
        assert!((55.0..65.0).contains(&median(all.clone())), "{}", median(all));
        let tail = prior_tail(300.0);
        assert!((tail - 0.1727).abs() < 1e-3, "{tail}");
    }

    #[test]
    fn it_takes_as_long_as_people_here() {
        let mut delays = ReplyDelays::default();
        let people: Vec<f64> = (0..1000).map(|number| human(even(number, 1000))).collect();
        people.iter().for_each(|delay| learn(&mut delays, *delay, "bob"));
        let own = draws(&delays, 0, ALL, YieldPolicy::ToAnswer);
        assert!((36.0..44.0).contains(&median(own.clone())), "{}", median(own));
        assert!(distance(own, people.clone()) < 0.05);
        // Whoever has waited for a minute goes on like those who take longer than that.
        let own: Vec<f64> = draws(&delays, 60, ALL, YieldPolicy::ToAnswer);
        let own = own.into_iter().map(|delay| delay + 60.0).collect();
        let longer = people.into_iter().filter(|delay| *delay > 60.0).collect();
        assert!(distance(own, longer) < 0.08);
    }

    /// Everybody has a say before it, and so have those who go on themselves: what it gets to say all the
    /// same comes when people's answers come.
    #[test]
    fn what_is_not_said_for_others_does_not_make_it_hasty() {
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
                let said = (3000..13_000).filter_map(|number| {
                    let draw = seeded_random(7, &[&number.to_string(), "delay"]);
                    let at = waited + delays.sample(over, ALL, yields, draw).as_secs_f64();
                    let (before, _) = next(number);
                    (before > waited && at < before).then_some(at)
                });
                said.collect::<Vec<f64>>()
            };
            let people = (3000..13_000).map(next).filter(|(_, author)| *author == "bob");
            let people: Vec<f64> =
                people.map(|(after, _)| after).filter(|after| *after > waited).collect();
            let apart = |yields| distance(spoken(yields), people.clone());
            assert!(
                apart(YieldPolicy::ToAnyMessage) < 0.08,
                "{}",
                apart(YieldPolicy::ToAnyMessage)
            );
            assert!(apart(YieldPolicy::ToAnswer) > 0.15, "{}", apart(YieldPolicy::ToAnswer));
        }
    }
}
