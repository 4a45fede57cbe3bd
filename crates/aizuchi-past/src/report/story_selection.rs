//! Selects the moments that a report tells as stories: some of each kind, spread over the period and the channels. The
//! selection is deterministic.

use std::collections::{HashMap, HashSet};

use crate::report::story::{Note, Story, StoryKind};

/// A story with its rank among those of its kind: a smaller rank is preferred.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub rank: (u8, i64),
    pub story: Story,
}

/// What a story is an example of, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Example {
    /// The persona has something to say that helps, and posts it even without a model.
    Helps,
    /// The persona spoke, and another person wrote later …
    PersonLater,
    /// … or nobody …
    Nobody,
    /// … or somebody had written already.
    PersonFirst,
    /// The persona posts even without a model, and would probably have interrupted.
    WrongPost,
    /// The persona would probably have interrupted.
    Wrong,
    /// The persona stayed silent, and nobody answered.
    Missed,
    /// The persona stayed silent, and a person answered.
    Answered,
    /// The persona answered a message that seemed to address it.
    Called,
    /// The persona reacted with an emoji instead of a post.
    Reacted,
}

impl Example {
    pub fn new(kind: StoryKind, note: &Note, helps: bool) -> Self {
        match (kind, note) {
            (StoryKind::Wrong, _) if helps => Example::WrongPost,
            (StoryKind::Wrong, _) => Example::Wrong,
            (StoryKind::Called, _) => Example::Called,
            (StoryKind::Reacted, _) => Example::Reacted,
            (StoryKind::Silent, Note::Answered { .. }) => Example::Answered,
            (StoryKind::Silent, _) => Example::Missed,
            (StoryKind::Spoke, _) if helps => Example::Helps,
            (StoryKind::Spoke, Note::ItFirst { .. }) => Example::PersonLater,
            (StoryKind::Spoke, Note::PersonFirst { .. }) => Example::PersonFirst,
            (StoryKind::Spoke, _) => Example::Nobody,
        }
    }

    pub fn from_story(story: &Story) -> Self {
        Self::new(story.kind, &story.note, story.helps())
    }
}

const MAX_STORIES: usize = 12;
/// The maximum number of interruptions: posts first, and other moments only if there are fewer posts.
const MAX_WRONG: usize = 3;
/// The number of stories of each kind, if there are enough of all kinds. Answers to mentions and reactions have
/// sections of their own.
const SHARES: [(Example, usize); 8] = [
    (Example::Helps, 3),
    (Example::PersonLater, 2),
    (Example::Nobody, 1),
    (Example::PersonFirst, 0),
    (Example::WrongPost, MAX_WRONG),
    (Example::Wrong, MAX_WRONG),
    (Example::Missed, 2),
    (Example::Answered, 1),
];

/// Selects the stories of a report, by kind, and within a kind by time. Each message has at most one story.
pub fn choose(candidates: &[Candidate]) -> Vec<Story> {
    let mut told = HashSet::new();
    let mut pools: Vec<Vec<&Candidate>> = SHARES
        .iter()
        .map(|(example, _)| {
            let of_kind =
                candidates.iter().filter(|one| Example::from_story(&one.story) == *example);
            let mut of_kind: Vec<&Candidate> = of_kind.collect();
            of_kind.sort_by_key(|one| (one.rank, one.story.at));
            of_kind.retain(|one| told.insert((&one.story.channel, &one.story.anchor)));
            of_kind
        })
        .collect();
    let mut used = HashMap::new();
    let mut chosen: Vec<&Candidate> = Vec::new();
    for (pool, (example, share)) in pools.iter_mut().zip(SHARES) {
        let others =
            if example == Example::Wrong { count_of(&chosen, Example::WrongPost) } else { 0 };
        let share = share.saturating_sub(others);
        let taken = spread(pool.clone(), share, &mut used);
        pool.retain(|one| !taken.iter().any(|other| std::ptr::eq(*one, *other)));
        chosen.extend(taken);
    }
    for pool in pools {
        let rest = MAX_STORIES - chosen.len();
        chosen.extend(spread(pool, rest, &mut used));
    }
    chosen.sort_by_key(|one| {
        (Example::from_story(&one.story), one.story.at, one.story.channel.clone())
    });
    chosen.into_iter().map(|one| one.story.clone()).collect()
}

fn count_of(chosen: &[&Candidate], example: Example) -> usize {
    chosen.iter().filter(|one| Example::from_story(&one.story) == example).count()
}

/// Selects `count` stories of one kind, by time. Each message has at most one story.
pub fn choose_of(candidates: &[Candidate], example: Example, count: usize) -> Vec<Story> {
    let mut told = HashSet::new();
    let pool = candidates.iter().filter(|one| Example::from_story(&one.story) == example);
    let pool = pool.filter(|one| told.insert((&one.story.channel, &one.story.anchor)));
    let pool: Vec<&Candidate> = pool.collect();
    spread(pool, count, &mut HashMap::new()).into_iter().map(|one| one.story.clone()).collect()
}

/// Cuts the stories by time into `count` parts and takes one from each part: from the channel that was used least, the
/// one with the lowest rank.
pub fn spread<'a>(
    mut pool: Vec<&'a Candidate>,
    count: usize,
    used: &mut HashMap<String, usize>,
) -> Vec<&'a Candidate> {
    pool.sort_by_key(|one| (one.story.at, one.story.channel.clone()));
    let mut taken = Vec::new();
    for part in parts(&pool, count) {
        let order = |one: &&Candidate| {
            let uses = used.get(&one.story.channel).copied().unwrap_or(0);
            (uses, one.rank, one.story.at, one.story.channel.clone())
        };
        let Some(first) = part.iter().copied().min_by_key(order) else { continue };
        *used.entry(first.story.channel.clone()).or_default() += 1;
        taken.push(first);
    }
    taken
}

/// Splits a list into `count` parts whose lengths differ by at most one. A shorter list has fewer parts, so that none
/// is empty.
pub fn parts<T>(list: &[T], count: usize) -> impl Iterator<Item = &[T]> {
    let (length, count) = (list.len(), count.min(list.len()));
    (0..count).map(move |part| &list[part * length / count..(part + 1) * length / count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::story::StoryAct;
    use jiff::Timestamp;

    fn candidate(channel: &str, second: i64, rank: u8) -> Candidate {
        let story = Story {
            kind: StoryKind::Spoke,
            channel: channel.to_owned(),
            at: Timestamp::from_second(second).unwrap(),
            before: Vec::new(),
            act: StoryAct::WouldSay(None),
            after: Vec::new(),
            reason: None,
            mistake: None,
            note: Note::NobodyAnswered,
            posted_without_model: None,
            anchor: second.to_string(),
            thread: None,
        };
        Candidate { rank: (rank, 0), story }
    }

    #[test]
    fn examples_are_spread_over_the_period_and_the_channels() {
        let seconds = |found: &[&Candidate]| {
            found.iter().map(|one| one.story.at.as_second()).collect::<Vec<_>>()
        };
        let one: Vec<Candidate> = (0..30).map(|second| candidate("a", second, 1)).collect();
        let found = spread(one.iter().collect(), 3, &mut HashMap::new());
        assert_eq!(seconds(&found), [0, 10, 20]);
        assert!(spread(one.iter().collect(), 0, &mut HashMap::new()).is_empty());
        let mut two = one.clone();
        two[25].rank = (0, 0);
        two[14].story.channel = "b".to_owned();
        let found = spread(two.iter().collect(), 3, &mut HashMap::new());
        assert_eq!(seconds(&found), [0, 14, 25]);
        // Fewer than asked for.
        assert_eq!(spread(two.iter().take(2).collect(), 5, &mut HashMap::new()).len(), 2);
    }

    #[test]
    fn interruptions_of_posts_are_told_before_those_of_moments() {
        let wrong = |channel: &str, second: i64, is_posted: bool| {
            let mut one = candidate(channel, second, 0);
            one.story.kind = StoryKind::Wrong;
            one.story.posted_without_model = Some(is_posted);
            one
        };
        let calm = |second: i64| candidate("a", second, 0);
        let mut all: Vec<Candidate> = (0..40).map(calm).collect();
        all.extend((40..80).map(|second| wrong("b", second, false)));
        let told = |all: &[Candidate]| -> (usize, usize) {
            let told = choose(all);
            let of = |is_posted: bool| {
                let is_it = |one: &&Story| {
                    one.kind == StoryKind::Wrong && one.posted_without_model == Some(is_posted)
                };
                told.iter().filter(is_it).count()
            };
            (of(true), of(false))
        };
        assert_eq!(told(&all), (0, MAX_WRONG));
        all.push(wrong("b", 80, true));
        assert_eq!(told(&all), (1, MAX_WRONG - 1));
        all.extend((81..84).map(|second| wrong("b", second, true)));
        let (posts, moments) = told(&all);
        assert!(posts >= MAX_WRONG && moments == 0, "{posts} {moments}");
    }

    #[test]
    fn calls_are_told_by_themselves() {
        let mut all: Vec<Candidate> = (0..20).map(|second| candidate("a", second, 0)).collect();
        for one in &mut all[5..10] {
            one.story.kind = StoryKind::Called;
        }
        assert!(choose(&all).iter().all(|story| story.kind == StoryKind::Spoke));
        let calls = choose_of(&all, Example::Called, 3);
        let seconds: Vec<i64> = calls.iter().map(|story| story.at.as_second()).collect();
        assert_eq!(seconds, [5, 6, 8]);
        assert!(choose_of(&all, Example::Reacted, 3).is_empty());
    }

    #[test]
    fn what_helps_is_told_beside_what_does_not() {
        let mut all: Vec<Candidate> = (0..40).map(|second| candidate("a", second, 0)).collect();
        all[33].story.posted_without_model = Some(true);
        let told = choose(&all);
        assert_eq!(told.len(), MAX_STORIES);
        assert_eq!(told[0].at.as_second(), 33);
    }
}
