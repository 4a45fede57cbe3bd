//! Which earlier message a message replies to: the features behind that probability.

use crate::cues::Cues;
use crate::features::{
    DISTANCES, DURATIONS, FeatureSet, distance_bucket, doubling_bucket, duration_bucket,
};
use crate::lexicon::AnswerTopic;
use crate::utterance::{Kind, Utterance};

/// A message replies to one of the last 40, or begins something new. In annotated IRC, 95 of 100 replies are to one of
/// the last 20 messages, and 98 to one of the last 50.
pub const WINDOW: usize = 40;

/// The gap assumed before any message, in seconds.
const INITIAL_GAP: f64 = 20.0;
/// The maximum length of a pause, in seconds. Longer ones count as this.
const MAX_GAP: f64 = 3600.0;
const RECENT_GAPS: usize = 30;
/// The result of [`shared_words`] for messages that share none.
const NO_SHARED_WORDS: (usize, usize) = (0, 0);

/// Calls a function with the features of each candidate: first that the message begins something new, then that it
/// replies to the last message of `window`, to the one before that, and so on.
pub fn each_candidate(
    window: &[Utterance],
    message: &Utterance,
    set: &mut FeatureSet,
    mut each: impl FnMut(&FeatureSet),
) {
    let context = LinkContext::new(window, message);
    set.restart(0);
    context.add_beginning(set);
    each(set);
    let beginning = set.len();
    let mut walk = Walk::default();
    for index in (0..window.len()).rev() {
        set.restart(beginning);
        context.add_pair(index, &walk, set);
        each(set);
        walk.pass(&context, index);
    }
}

/// The names of all features, in order.
pub fn row_names() -> Vec<String> {
    let names = crate::names::NameIndex::default();
    let message = Utterance::new(0, 0.0, "", &[], &names);
    let window = [message.clone()];
    let context = LinkContext::new(&window, &message);
    let mut set = FeatureSet::recording();
    context.add_beginning(&mut set);
    context.add_pair(0, &Walk::default(), &mut set);
    set.row_names()
}

/// A message and those before it.
struct LinkContext<'a> {
    window: &'a [Utterance],
    message: &'a Utterance,
    /// The kind and the form of the message.
    kind: usize,
    form: usize,
    /// An approximate set of its words: most messages share none with it.
    words: WordSet,
    /// The author's last message before this one.
    own_last: Option<usize>,
    /// The last message that addresses the author.
    called: Option<usize>,
    /// That message, unless the author has written since.
    called_since: Option<usize>,
    /// The user whom the author addressed last.
    last_to: Option<u32>,
    /// How many messages each user wrote.
    counts: Vec<(u32, usize)>,
    /// The number of users who take part, in classes.
    users: usize,
    /// The share of the messages that address a user, in sixths.
    naming: usize,
    /// The typical gap between two messages, in seconds.
    tempo: f64,
}

/// An approximate set of words, by eight bits of each.
#[derive(Default)]
struct WordSet([u64; 4]);

impl WordSet {
    fn new(words: &[u32]) -> Self {
        let mut set = Self::default();
        for word in words {
            let (part, bit) = Self::place(*word);
            set.0[part] |= bit;
        }
        set
    }

    /// Whether the set may contain any of these words. False only if it certainly contains none.
    fn may_have_any(&self, words: &[u32]) -> bool {
        words.iter().any(|word| {
            let (part, bit) = Self::place(*word);
            self.0[part] & bit != 0
        })
    }

    fn place(word: u32) -> (usize, u64) {
        (((word >> 6) & 3) as usize, 1 << (word & 63))
    }
}

/// What was seen while walking back from the message.
#[derive(Default)]
struct Walk {
    seen: Vec<(u32, usize)>,
    addressed: Vec<u32>,
    addressed_by_author: Vec<u32>,
    others: usize,
    to_author: usize,
    dialog: usize,
}

impl<'a> LinkContext<'a> {
    fn new(window: &'a [Utterance], message: &'a Utterance) -> Self {
        let author = message.author;
        let own_last = window.iter().rposition(|other| other.author == author);
        let called = window.iter().rposition(|other| other.addressee == Some(author));
        let own = window.iter().rev().filter(|other| other.author == author);
        let mut counts: Vec<(u32, usize)> = Vec::new();
        for other in window {
            match counts.iter_mut().find(|(user, _)| *user == other.author) {
                Some((_, count)) => *count += 1,
                None => counts.push((other.author, 1)),
            }
        }
        let is_newcomer = !counts.iter().any(|(user, _)| *user == author);
        let users = match counts.len() + usize::from(is_newcomer) {
            0..=2 => 0,
            3 => 1,
            4..=5 => 2,
            6..=9 => 3,
            _ => 4,
        };
        let addressing = window.iter().filter(|other| other.addressee.is_some()).count();
        Self {
            window,
            message,
            kind: message.kind() as usize,
            form: message.form(),
            words: WordSet::new(&message.words),
            own_last,
            called,
            called_since: called.filter(|called| own_last.is_none_or(|own| *called > own)),
            last_to: own.into_iter().find_map(|other| other.addressee),
            counts,
            users,
            naming: (addressing * 6).checked_div(window.len()).unwrap_or(0).min(5),
            tempo: typical_gap(window),
        }
    }

    fn since(&self, index: usize) -> f64 {
        (self.message.at - self.window[index].at).max(0.0)
    }

    fn distance(&self, index: Option<usize>) -> usize {
        index.map_or(DISTANCES, |index| distance_bucket(self.window.len() - index - 1))
    }

    fn add_beginning(&self, set: &mut FeatureSet) {
        let message = self.message;
        let is_addressing = message.addressee.is_some();
        let last = self.window.len().checked_sub(1);
        set.flag("new", true);
        set.cues("new: cues", message.cues);
        set.cues("new: cues, addressing", if is_addressing { message.cues } else { Cues::empty() });
        let addressing = if is_addressing { 1 } else { 2 * usize::from(!message.named.is_empty()) };
        set.one_of("new: addressing", 3, addressing);
        set.one_of("new: length", 8, doubling_bucket(message.length as f64 / 2.0, 8));
        set.one_of("new: own last message", DISTANCES + 1, self.distance(self.own_last));
        let own = self.own_last.map_or(DURATIONS, |own| duration_bucket(self.since(own)));
        set.one_of("new: time since own last message", DURATIONS + 1, own);
        set.one_of("new: called since", DISTANCES + 1, self.distance(self.called_since));
        set.one_of("new: called", DISTANCES + 1, self.distance(self.called));
        let pause = last.map_or(DURATIONS, |last| duration_bucket(self.since(last)));
        set.one_of("new: pause", DURATIONS + 1, pause);
        let gaps = last.map_or(8, |last| doubling_bucket(self.since(last) / self.tempo, 8));
        set.one_of("new: pause in gaps", 9, gaps);
        set.one_of("new: naming", 6, self.naming);
        set.one_of("new: people", 5, self.users);
        let own = usize::from(self.own_last.is_some());
        let asking = usize::from(message.is_asking()) * 4 + usize::from(is_addressing) * 2 + own;
        set.one_of("new: asking, addressing, known", 8, asking);
        let own = self.own_last.map(|own| 1 + usize::from(self.window[own].addressee.is_some()));
        set.one_of("new: own last message addressed", 3, own.unwrap_or(0));
        set.one_of("new: kind, people", Kind::COUNT * 5, self.kind * 5 + self.users);
        set.flag("new: bot", message.is_bot);
        set.flag("new: first message", last.is_none());
    }

    fn add_pair(&self, index: usize, walk: &Walk, set: &mut FeatureSet) {
        let (message, parent) = (self.message, &self.window[index]);
        let is_same = parent.author == message.author;
        let same = usize::from(is_same);
        let distance = self.window.len() - index - 1;
        let is_last = distance == 0;
        let nth = count_of(&walk.seen, parent.author);
        let is_addressing = message.addressee.is_some();
        let addressing = match message.addressee {
            None => 0,
            Some(user) if user == parent.author => 1,
            Some(_) => 2,
        };
        let parent_addressing = match parent.addressee {
            None => 0,
            Some(user) if user == message.author => 1,
            addressee if addressee == message.addressee => 2,
            Some(_) => 3,
        };
        let is_calling = parent_addressing == 1;
        let when = |is_on: bool, cues: Cues| if is_on { cues } else { Cues::empty() };
        let time = duration_bucket(self.since(index));
        let gaps = doubling_bucket(self.since(index) / self.tempo, 10);
        set.flag("reply", true);
        let place = (addressing * DISTANCES + distance_bucket(distance)) * 2 + same;
        set.one_of("addressing, distance, same author", 3 * DISTANCES * 2, place);
        set.one_of("time", DURATIONS, time);
        set.one_of("time in gaps", 10, gaps);
        set.any_of(
            "last message: time, same author",
            DURATIONS * 2,
            is_last.then_some(time * 2 + same),
        );
        set.any_of(
            "last message: time in gaps, same author",
            20,
            is_last.then_some(gaps * 2 + same),
        );
        let turn = (addressing * 5 + nth.min(4)) * 2 + same;
        set.one_of("addressing, nth of its author, same author", 3 * 5 * 2, turn);
        let both = (parent_addressing * 3 + addressing) * 2 + same;
        set.one_of("parent's addressing, addressing, same author", 4 * 3 * 2, both);
        set.any_of("calls since", 6, is_calling.then_some(walk.to_author.min(5)));
        set.flag("parent names author", parent.named.contains(&message.author));
        set.flag("names parent's author", message.named.contains(&parent.author));
        let kinds = (parent.kind() as usize * Kind::COUNT + self.kind) * 2 + same;
        set.one_of("parent's kind, kind, same author", Kind::COUNT * Kind::COUNT * 2, kinds);
        let answer = parent.topic as usize * Utterance::FORMS + self.form;
        let asks = parent.cues.contains(Cues::ASKS) && !is_same;
        set.any_of(
            "parent's topic, form",
            AnswerTopic::COUNT * Utterance::FORMS,
            asks.then_some(answer),
        );
        set.cues("parent's cues", parent.cues);
        set.cues("cues, same author", when(is_same, message.cues));
        set.cues("cues, last message", when(is_last, message.cues));
        set.cues("cues, called", when(is_calling, message.cues));
        set.cues(
            "parent's cues, last message, other author",
            when(is_last && !is_same, parent.cues),
        );
        let (shared, rarity) = match self.words.may_have_any(&parent.words) {
            true => shared_words(self.window, message, parent),
            false => NO_SHARED_WORDS,
        };
        set.one_of("shared words", 5, shared.min(4));
        set.one_of("rarity of shared words", 6, rarity);
        set.one_of("parent's length", 8, doubling_bucket(parent.length as f64 / 2.0, 8));
        set.one_of("authors between, same author", 12, walk.seen.len().min(5) * 2 + same);
        set.one_of("others' messages between, same author", 12, walk.others.min(5) * 2 + same);
        let crowd = (self.users * 4 + walk.others.min(3)) * 2 + same;
        set.one_of("people, others' messages between, same author", 40, crowd);
        set.flag("parent is a bot's", parent.is_bot);
        let is_partner = self.last_to == Some(parent.author);
        set.flag("last addressed, now nobody", is_partner && !is_addressing);
        set.flag("last addressed, newest", is_partner && nth == 0);
        let is_caller = |called: Option<usize>| {
            called.is_some_and(|called| self.window[called].author == parent.author)
        };
        set.flag("last caller, newest", is_caller(self.called) && nth == 0 && !is_addressing);
        set.flag("the last call", self.called_since == Some(index));
        set.flag("last caller", is_caller(self.called_since));
        let is_own_last = self.own_last == Some(index);
        set.flag("own last message", is_own_last);
        let same_addressee = parent.addressee == message.addressee;
        set.flag(
            "own last message, same addressee",
            is_own_last && is_addressing && same_addressee,
        );
        set.flag("own last message, no addressee", is_own_last && !is_addressing && same_addressee);
        set.flag("goes on at once", is_same && is_last && self.since(index) < 15.0);
        set.one_of("calls between both", 3, walk.dialog.min(2));
        let is_first = count_of(&self.counts, parent.author) == nth + 1;
        set.flag("parent's author's first", is_first);
        set.flag("parent's author's first, addressed", is_first && addressing == 1);
        set.flag(
            "parent's author's first, asking",
            is_first && parent.is_asking() && !is_addressing,
        );
        let addressed = usize::from(walk.addressed.contains(&parent.author)) * 2;
        let by_author = usize::from(walk.addressed_by_author.contains(&parent.author));
        set.one_of("parent's author addressed since, by the author", 4, addressed + by_author);
        set.flag("after own last message", self.own_last.is_some_and(|own| index > own));
        let is_before_own = |author: u32| {
            let before = self.own_last.and_then(|own| own.checked_sub(1));
            before.is_some_and(|before| self.window[before].author == author)
        };
        set.flag("before own last message", self.own_last == Some(index + 1));
        set.flag("author of the turn before", is_before_own(parent.author) && nth == 0 && !is_same);
        set.one_of("naming, addressing", 12, self.naming * 2 + usize::from(is_addressing));
    }
}

impl Walk {
    fn pass(&mut self, context: &LinkContext<'_>, index: usize) {
        let (message, parent) = (context.message, &context.window[index]);
        let is_same = parent.author == message.author;
        match self.seen.iter_mut().find(|(user, _)| *user == parent.author) {
            Some((_, count)) => *count += 1,
            None => self.seen.push((parent.author, 1)),
        }
        if let Some(user) = parent.addressee {
            self.addressed.push(user);
            if is_same {
                self.addressed_by_author.push(user);
            }
        }
        let is_calling = parent.addressee == Some(message.author);
        self.others += usize::from(!is_same);
        self.to_author += usize::from(is_calling);
        self.dialog += usize::from(is_calling && message.addressee == Some(parent.author));
    }
}

fn count_of(counts: &[(u32, usize)], user: u32) -> usize {
    counts.iter().find(|(other, _)| *other == user).map_or(0, |(_, count)| *count)
}

/// The median of the most recent gaps between two messages, in seconds.
fn typical_gap(window: &[Utterance]) -> f64 {
    let pairs = window.windows(2).rev().take(RECENT_GAPS);
    let mut gaps: Vec<f64> =
        pairs.map(|pair| (pair[1].at - pair[0].at).clamp(0.1, MAX_GAP)).collect();
    if gaps.is_empty() {
        return INITIAL_GAP;
    }
    let middle = gaps.len() / 2;
    gaps.select_nth_unstable_by(middle, f64::total_cmp).1.max(1.0)
}

/// How many rare words two messages share, and how rare the rarest of them is in the window: from 0, if they share
/// none, to 5 for a word that only the earlier one has used.
pub fn shared_words(
    window: &[Utterance],
    message: &Utterance,
    parent: &Utterance,
) -> (usize, usize) {
    let mut theirs = parent.words.iter().peekable();
    let (mut count, mut fewest) = (0, usize::MAX);
    for word in message.words.iter() {
        while theirs.next_if(|other| *other < word).is_some() {}
        if theirs.peek() != Some(&word) {
            continue;
        }
        count += 1;
        let users =
            || window.iter().filter(|other| other.words.binary_search(word).is_ok()).count();
        if fewest > 1 {
            fewest = fewest.min(users());
        }
    }
    let rarity = match fewest {
        usize::MAX => 0,
        0 | 1 => 5,
        2 => 4,
        3 => 3,
        4..=6 => 2,
        _ => 1,
    };
    (count, rarity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameIndex;

    #[test]
    fn words_that_are_surely_not_shared_are_none() {
        let texts = [
            "the vpn certificate expired again",
            "certificates are on the shelf",
            "新しい証明書が必要です",
            "証明書の期限が切れました",
            "",
        ];
        let names = NameIndex::default();
        let read = |text: &&str| Utterance::new(0, 0.0, text, &[], &names);
        let messages: Vec<Utterance> = texts.iter().map(read).collect();
        let mut surely_none = 0;
        for (message, parent) in
            messages.iter().flat_map(|one| messages.iter().map(move |it| (one, it)))
        {
            if !WordSet::new(&message.words).may_have_any(&parent.words) {
                assert_eq!(shared_words(&messages, message, parent), NO_SHARED_WORDS);
                surely_none += 1;
            }
        }
        assert!(surely_none > 10, "{surely_none}");
    }
}
