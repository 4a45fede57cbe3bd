//! Where policies differ: messages that one takes up and another does not.

use std::collections::{BTreeMap, HashMap, HashSet};

use aizuchi_import::rows::IdHash;
use aizuchi_model::chat::MessageId;
use aizuchi_model::decision::gate::Gate;
use jiff::Timestamp;

use crate::replay::moments::{Moment, MomentKind, Reason};
use crate::report::comparison::{Comparison, Measure, MeasureComparison, advise};
use crate::report::figures::{
    Difference, DifferenceSide, Differences, PolicyFigures, PolicyOnMessage, on_offer,
};
use crate::report::story::{Note, Story, StoryKind};
use crate::report::story_selection::{Candidate, spread};

/// The maximum number of differences that are shown in all, and of those that the same policies take up.
const MAX_SHOWN: usize = 8;
const MAX_SHOWN_OF_SIDE: usize = 3;

/// The hashes of a channel and of a message in it. Ids would take too much memory, because there may be very many.
type HashedMessage = (IdHash, IdHash);

/// How one policy treated each message.
pub struct Decided {
    policy: String,
    /// When each message was first taken up.
    taken_up: HashMap<HashedMessage, Timestamp>,
    /// The questions among them that no person answered.
    picked_up: HashSet<HashedMessage>,
    /// Those of these questions that get a post even without a model.
    posted_picked_up: HashSet<HashedMessage>,
    /// The decisions to stay silent, by channel, each in chronological order.
    silent: Vec<SilentDecision>,
    /// The distinct reasons in words. [`ShortReason`] refers to them by index.
    sentences: Vec<String>,
    sentence_numbers: HashMap<String, u32>,
    /// The unasked posts by channel, to tell stories of messages that another policy does not take up.
    spoken: HashMap<String, Vec<Moment>>,
}

struct SilentDecision {
    channel: IdHash,
    thread: IdHash,
    at: Timestamp,
    reason: ShortReason,
}

/// A [`Reason`] without its text.
#[derive(Clone, Copy)]
enum ShortReason {
    Gate(Gate),
    /// The index of the reason.
    Written(u32),
}

impl Decided {
    pub fn new(policy: &str) -> Self {
        Self {
            policy: policy.to_owned(),
            taken_up: HashMap::new(),
            picked_up: HashSet::new(),
            posted_picked_up: HashSet::new(),
            silent: Vec::new(),
            sentences: Vec::new(),
            sentence_numbers: HashMap::new(),
            spoken: HashMap::new(),
        }
    }

    /// Adds the questions of a channel that the policy takes up, and those of them that get a post even without a
    /// model.
    pub fn add_picked_up(&mut self, channel: &str, questions: &[MessageId], posted: &[MessageId]) {
        let keys = |ids: &[MessageId]| -> Vec<HashedMessage> {
            ids.iter().map(|question| key(channel, question.as_str())).collect()
        };
        self.picked_up.extend(keys(questions));
        self.posted_picked_up.extend(keys(posted));
    }

    pub fn add(&mut self, channel: &str, moments: &[Moment], taken_up: &[(MessageId, Timestamp)]) {
        for (message, at) in taken_up {
            self.taken_up.entry(key(channel, message.as_str())).or_insert(*at);
        }
        let name = channel;
        let channel = IdHash::new(name);
        for moment in moments {
            match moment.kind {
                MomentKind::Silent | MomentKind::Dropped => {
                    let thread = IdHash::from_thread(moment.thread.as_ref().map(MessageId::as_str));
                    let reason = self.shorten(&moment.reason);
                    self.silent.push(SilentDecision { channel, thread, at: moment.at, reason });
                }
                MomentKind::Spoke | MomentKind::WouldHaveSpoken if !moment.is_owed => {
                    self.spoken.entry(name.to_owned()).or_default().push(moment.clone());
                }
                MomentKind::Spoke
                | MomentKind::WouldHaveSpoken
                | MomentKind::Reacted
                | MomentKind::Failed => {}
            }
        }
    }

    fn shorten(&mut self, reason: &Reason) -> ShortReason {
        let sentence = match reason {
            Reason::Gate(gate) => return ShortReason::Gate(*gate),
            Reason::Written(sentence) => sentence,
        };
        if let Some(number) = self.sentence_numbers.get(sentence) {
            return ShortReason::Written(*number);
        }
        let number = self.sentences.len() as u32;
        self.sentence_numbers.insert(sentence.clone(), number);
        self.sentences.push(sentence.clone());
        ShortReason::Written(number)
    }

    fn whole(&self, reason: ShortReason) -> Reason {
        match reason {
            ShortReason::Gate(gate) => Reason::Gate(gate),
            ShortReason::Written(number) => {
                Reason::Written(self.sentences[number as usize].clone())
            }
        }
    }

    /// Returns the unasked posts of a channel.
    pub fn spoken(&self, channel: &str) -> &[Moment] {
        self.spoken.get(channel).map_or(&[], Vec::as_slice)
    }

    /// Drops the unasked posts of a channel, once no further policy follows.
    pub fn forget_spoken(&mut self, channel: &str) {
        self.spoken.remove(channel);
    }

    pub fn takes_up(&self, channel: &str, message: &MessageId) -> bool {
        self.taken_up.contains_key(&key(channel, message.as_str()))
    }

    /// Describes how this policy treated the message of a story.
    fn on(&self, story: &Story) -> PolicyOnMessage {
        let asked = story.before.iter().find(|message| message.is_about).map(|message| message.at);
        let spoke = self.taken_up.get(&key(&story.channel, &story.anchor)).zip(asked);
        let silence = asked.and_then(|asked| self.silence_after(story, asked));
        PolicyOnMessage {
            policy: self.policy.clone(),
            spoke_after: spoke.map(|(at, asked)| at.duration_since(asked).as_secs_f64()),
            looked_after: silence.map(|(after, _)| after),
            silent: silence.map(|(_, reason)| self.whole(reason)),
        }
    }

    /// Returns how long after that time, in seconds, the policy first looked and stayed silent in the conversation of
    /// the message or in its thread, and why.
    fn silence_after(&self, story: &Story, asked: Timestamp) -> Option<(f64, ShortReason)> {
        let channel = IdHash::new(&story.channel);
        let threads = [IdHash::from_thread(story.thread.as_deref()), IdHash::new(&story.anchor)];
        let first = threads.into_iter().filter_map(|thread| {
            let mut here =
                self.silent.iter().filter(|one| (one.channel, one.thread) == (channel, thread));
            here.find(|one| one.at >= asked)
        });
        let SilentDecision { at, reason, .. } = first.min_by_key(|one| one.at)?;
        Some((at.duration_since(asked).as_secs_f64(), *reason))
    }
}

fn key(channel: &str, message: &str) -> HashedMessage {
    (IdHash::new(channel), IdHash::new(message))
}

/// Computes the differences between policies. `candidates` are stories of messages that any of them takes up.
pub fn find(decided: &[Decided], candidates: &[Candidate]) -> Option<Differences> {
    if decided.len() < 2 {
        return None;
    }
    let all: HashSet<&HashedMessage> =
        decided.iter().flat_map(|policy| policy.taken_up.keys()).collect();
    let mut counts: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    for key in all {
        *counts.entry(takers(decided, key)).or_default() += 1;
    }
    counts.retain(|policies, _| policies.len() < decided.len());
    let sides = counts.iter().map(|(policies, messages)| DifferenceSide {
        policies: policies.clone(),
        messages: *messages,
    });
    let sides: Vec<DifferenceSide> = sides.collect();
    let most = (MAX_SHOWN / sides.len().max(1)).clamp(1, MAX_SHOWN_OF_SIDE);
    let shown = sides.iter().take(MAX_SHOWN).flat_map(|side| {
        let stories = stories_of(decided, candidates, &side.policies, most);
        stories.into_iter().map(move |story| Difference {
            policies: decided.iter().map(|policy| policy.on(&story)).collect(),
            taken_up_by: side.policies.clone(),
            story,
        })
    });
    let shown = shown.collect();
    Some(Differences { messages: counts.values().sum(), sides, shown })
}

/// Returns the indexes of the policies that take up a message.
fn takers(decided: &[Decided], key: &HashedMessage) -> Vec<usize> {
    let takes_up = |(_, policy): &(usize, &Decided)| policy.taken_up.contains_key(key);
    decided.iter().enumerate().filter(takes_up).map(|(place, _)| place).collect()
}

/// Selects stories of messages that exactly these policies take up, spread over the period.
fn stories_of(
    decided: &[Decided],
    candidates: &[Candidate],
    policies: &[usize],
    most: usize,
) -> Vec<Story> {
    let mut told: HashSet<HashedMessage> = HashSet::new();
    let mut pool: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let story = &candidate.story;
        let key = key(&story.channel, &story.anchor);
        let is_of_side = match story.kind {
            StoryKind::Wrong | StoryKind::Spoke => takers(decided, &key) == policies,
            StoryKind::Silent | StoryKind::Called | StoryKind::Reacted => false,
        };
        if is_of_side && told.insert(key) {
            pool.push(Candidate { rank: (interest(story), 0), ..candidate.clone() });
        }
    }
    let found = spread(pool.iter().collect(), most, &mut HashMap::new());
    found.into_iter().map(|one| one.story.clone()).collect()
}

/// Returns which offered policy is ahead by which measure, and which to take. `None` while a verdict is unknown: a
/// policy whose judge gave no answers would seem quiet.
pub fn compare(decided: &[Decided], policies: &[PolicyFigures]) -> Option<Comparison> {
    if policies.len() < 2 {
        return None;
    }
    let offered = on_offer(policies);
    let is_unknown = policies.iter().any(|policy| policy.unknown_verdicts > 0);
    if is_unknown || offered.len() < 2 {
        return Some(nothing_compared(offered));
    }
    let measures = measures_of(decided, policies, &offered);
    let advice = advise(&measures).map(|advice| advice.among_all(&offered));
    let posted = |policy: &PolicyFigures| Some(policy.posted_without_model?.picked_up);
    let posted = offered.iter().map(|place| posted(&policies[*place])).collect();
    let posted = compare_reached(decided, &offered, posted, |one| &one.posted_picked_up);
    let among_all = |measure: MeasureComparison| measure.among_all(&offered);
    Some(Comparison {
        measures: measures.into_iter().map(among_all).collect(),
        posted_picked_up: posted.map(among_all),
        advice,
        offered,
    })
}

fn nothing_compared(offered: Vec<usize>) -> Comparison {
    Comparison { offered, measures: Vec::new(), posted_picked_up: None, advice: None }
}

/// Returns the measures of the policies at these indexes.
fn measures_of(
    decided: &[Decided],
    policies: &[PolicyFigures],
    places: &[usize],
) -> Vec<MeasureComparison> {
    let counts = |measure: Measure, count: &dyn Fn(&PolicyFigures) -> Option<usize>| {
        let values: Option<Vec<usize>> =
            places.iter().map(|place| count(&policies[*place])).collect();
        Some(MeasureComparison::from_counts(measure, values?))
    };
    let picked_up: Option<Vec<usize>> =
        places.iter().map(|place| Some(policies[*place].unanswered?.picked_up)).collect();
    let picked_up = compare_reached(decided, places, picked_up, |one| &one.picked_up);
    // To be early with a question that is asked again is no gain.
    let first = |policy: &PolicyFigures| match policy.posted_without_model {
        Some(posted) => Some(posted.it_first_undisturbed),
        None => policy.spoke.map(|_| policy.first_answers.it_first_undisturbed),
    };
    let measures = [
        counts(Measure::Spoke, &|policy| policy.spoke),
        counts(Measure::Wrong, &|policy| policy.wrong),
        picked_up,
        counts(Measure::ItFirst, &first),
    ];
    measures.into_iter().flatten().collect()
}

/// Compares the unanswered questions that each policy reaches. Which questions these are is known, so those that both
/// reach are ignored. `None` if a count is unknown.
fn compare_reached(
    decided: &[Decided],
    places: &[usize],
    counts: Option<Vec<usize>>,
    reached: fn(&Decided) -> &HashSet<HashedMessage>,
) -> Option<MeasureComparison> {
    let only = |one: usize, other: usize| {
        let [one, other] = [one, other].map(|place| decided.get(*places.get(place)?));
        match one.zip(other) {
            Some((one, other)) => reached(one).difference(reached(other)).count(),
            None => 0,
        }
    };
    let apart = |one, other| (only(one, other), only(other, one));
    Some(MeasureComparison::new(Measure::PickedUp, counts?, apart))
}

/// Ranks a story: moments that help come first, then interruptions, then moments at which nobody answered.
fn interest(story: &Story) -> u8 {
    match (&story.note, story.kind) {
        _ if story.helps() => 0,
        (_, StoryKind::Wrong) => 1,
        (Note::NobodyAnswered, _) => 2,
        (_, StoryKind::Spoke | StoryKind::Silent | StoryKind::Called | StoryKind::Reacted) => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::story::{StoryAct, StoryAuthor, StoryMessage};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn silent(second: i64, thread: Option<&str>, gate: Gate) -> Moment {
        Moment {
            at: at(second),
            thread: thread.map(MessageId::new),
            kind: MomentKind::Silent,
            message: None,
            about: None,
            is_owed: false,
            reason: Reason::Gate(gate),
            text: None,
        }
    }

    #[test]
    fn a_policy_stayed_silent_where_the_message_stands() {
        let story = |thread: Option<&str>| Story {
            kind: StoryKind::Spoke,
            channel: "porch".to_owned(),
            at: at(200),
            before: vec![StoryMessage {
                at: at(100),
                author: StoryAuthor { id: "ann".to_owned(), name: "ann".to_owned() },
                is_bot: false,
                text: "who has a ladder?".to_owned(),
                is_about: true,
                left_out_after: 0,
                left_out: Vec::new(),
            }],
            act: StoryAct::WouldSay(None),
            after: Vec::new(),
            reason: None,
            mistake: None,
            note: Note::NobodyAnswered,
            posted_without_model: None,
            anchor: "7".to_owned(),
            thread: thread.map(str::to_owned),
        };
        let moments = [
            silent(110, None, Gate::NothingOpen),
            silent(120, Some("1"), Gate::Cooldown),
            silent(130, Some("9"), Gate::Share),
        ];
        let mut decided = Decided::new("quiet");
        decided.add("porch", &moments, &[]);
        let reason = |thread: Option<&str>| decided.on(&story(thread)).silent;
        assert_eq!(reason(None), Some(Reason::Gate(Gate::NothingOpen)));
        assert_eq!(reason(Some("1")), Some(Reason::Gate(Gate::Cooldown)));
        assert_eq!(reason(Some("2")), None);
        // In the thread that it opened.
        let below = [silent(105, Some("7"), Gate::Directed)];
        decided.add("porch", &below, &[]);
        let reason = decided.on(&story(None)).silent;
        assert_eq!(reason, Some(Reason::Gate(Gate::Directed)));
    }
}
