//! Which moments are told: a fixed share of each kind, the channels in turn. It is the same for the same input.

use std::collections::{HashMap, HashSet};

use crate::report::story::{Story, StoryKind};

/// A story, and its place among those of its kind: smaller goes first.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub rank: (u8, i64),
    pub story: Story,
}

const MAX_STORIES: usize = 10;
/// How many of each kind are told, if there are as many of the others.
const SHARES: [(StoryKind, usize); 3] =
    [(StoryKind::Wrong, 3), (StoryKind::Spoke, 4), (StoryKind::Silent, 3)];

/// The stories to tell, by kind, and in each kind by time. What is about the same message is told once.
pub fn choose(candidates: &[Candidate]) -> Vec<Story> {
    let mut told = HashSet::new();
    let mut pools: Vec<Vec<&Candidate>> = SHARES
        .iter()
        .map(|(kind, _)| {
            let of_kind = candidates.iter().filter(|one| one.story.kind == *kind);
            let mut of_kind: Vec<&Candidate> = of_kind.collect();
            of_kind.sort_by_key(|one| (one.rank, one.story.at));
            of_kind.retain(|one| told.insert((&one.story.channel, &one.story.anchor)));
            of_kind
        })
        .collect();
    let mut used = HashMap::new();
    let mut chosen: Vec<Story> = Vec::new();
    for (pool, (_, share)) in pools.iter_mut().zip(SHARES) {
        let taken = take_in_turn(pool, share, &mut used);
        chosen.extend(taken.into_iter().map(|one| one.story.clone()));
    }
    for pool in &mut pools {
        let taken = take_in_turn(pool, MAX_STORIES - chosen.len(), &mut used);
        chosen.extend(taken.into_iter().map(|one| one.story.clone()));
    }
    chosen.sort_by(|one, other| {
        (one.kind, one.at, &one.channel).cmp(&(other.kind, other.at, &other.channel))
    });
    chosen
}

/// Takes the first of the channel that was used least, again and again.
pub fn take_in_turn<'a>(
    pool: &mut Vec<&'a Candidate>,
    count: usize,
    used: &mut HashMap<String, usize>,
) -> Vec<&'a Candidate> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let order = |one: &Candidate| {
            let uses = used.get(&one.story.channel).copied().unwrap_or(0);
            (uses, one.rank, one.story.at, one.story.channel.clone())
        };
        let first = pool.iter().enumerate().min_by_key(|(_, one)| order(one));
        let Some(position) = first.map(|(position, _)| position) else { break };
        let one = pool.remove(position);
        *used.entry(one.story.channel.clone()).or_default() += 1;
        taken.push(one);
    }
    taken
}
