//! Rates of interruptions among posts.

use crate::report::significance::{ShareComparison, compare_shares, differ, is_larger_share};

/// The minimum number of posts for a rate. With fewer, one interruption more or less changes the rate by more than ten
/// in a hundred.
pub const MIN_POSTS: usize = 10;

/// How the rates of interruptions compare between the parts of the day.
#[derive(Clone, Debug, PartialEq)]
pub enum DayParts {
    /// There are too few posts to compare the parts.
    TooFew,
    /// The differences may be due to chance.
    Alike,
    /// The parts differ beyond chance. `places` are the indexes of those with a higher rate than the whole day.
    Worse {
        places: Vec<usize>,
        /// Interruptions per hundred posts in these parts.
        per_100: f64,
        /// Interruptions per hundred posts in the other parts.
        rest_per_100: f64,
    },
}

/// Returns interruptions per hundred posts. `None` if there are fewer than [`MIN_POSTS`] posts.
pub fn per_100(wrong: usize, spoke: usize) -> Option<f64> {
    (spoke >= MIN_POSTS).then(|| wrong as f64 / spoke as f64 * 100.0)
}

/// Returns the index of the place with the most interruptions. Each place is its posts and its interruptions. `None` if
/// the place has too few posts, or if chance may explain that it has more interruptions than the next one.
pub fn worst_place(places: &[(usize, usize)]) -> Option<usize> {
    let (first, (spoke, wrong)) = places.iter().enumerate().max_by_key(|(_, (_, wrong))| *wrong)?;
    let others = places.iter().enumerate().filter(|(place, _)| *place != first);
    let second = others.map(|(_, (_, wrong))| *wrong).max()?;
    (*spoke >= MIN_POSTS && differ(*wrong, second)).then_some(first)
}

/// Returns the indexes of the places whose rate of interruptions is higher beyond chance than that of all other places
/// together, the highest rate first. `None` unless at least two places have enough posts.
pub fn worse_places(places: &[(usize, usize)]) -> Option<Vec<usize>> {
    let sum = |value: fn(&(usize, usize)) -> usize| places.iter().map(value).sum::<usize>();
    let (spoke, wrong) = (sum(|one| one.0), sum(|one| one.1));
    let tested = places.iter().filter(|(spoke, _)| *spoke >= MIN_POSTS).count();
    let is_worse = |(_, (own_spoke, own_wrong)): &(usize, &(usize, usize))| {
        let others = (spoke - own_spoke, wrong - own_wrong);
        *own_spoke >= MIN_POSTS && is_larger_share((*own_spoke, *own_wrong), others, tested)
    };
    let worse = places.iter().enumerate().filter(is_worse).map(|(place, _)| place);
    let mut worse: Vec<usize> = worse.collect();
    let share = |place: usize| places[place].1 as f64 / places[place].0 as f64;
    worse.sort_by(|one, other| share(*other).total_cmp(&share(*one)));
    (tested >= 2).then_some(worse)
}

/// Compares the rates of the parts of the day. Each part is its posts and its interruptions. The parts are fixed before
/// the data are seen, so one test of the whole table is valid. `None` unless at least two parts have enough posts.
pub fn compare_day_parts(parts: &[(usize, usize)]) -> Option<DayParts> {
    let told = parts.iter().copied().filter(|(spoke, _)| *spoke >= MIN_POSTS);
    let told: Vec<(usize, usize)> = told.collect();
    if told.len() < 2 {
        return None;
    }
    Some(match compare_shares(&told) {
        ShareComparison::TooFew => DayParts::TooFew,
        ShareComparison::Alike => DayParts::Alike,
        ShareComparison::Differ => worse_parts(parts),
    })
}

fn worse_parts(parts: &[(usize, usize)]) -> DayParts {
    let sum = |all: &[(usize, usize)]| {
        let none = (0_usize, 0_usize);
        all.iter().fold(none, |(spoke, wrong), one| (spoke + one.0, wrong + one.1))
    };
    let rate = |(spoke, wrong): (usize, usize)| wrong as f64 / spoke.max(1) as f64 * 100.0;
    let of_day = rate(sum(parts));
    let is_worse = |part: &(usize, usize)| part.0 >= MIN_POSTS && rate(*part) > of_day;
    let (worse, rest): (Vec<_>, Vec<_>) = parts.iter().copied().partition(is_worse);
    let places = parts.iter().enumerate().filter(|(_, part)| is_worse(part));
    DayParts::Worse {
        places: places.map(|(place, _)| place).collect(),
        per_100: rate(sum(&worse)),
        rest_per_100: rate(sum(&rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_posts() {
        assert_eq!(per_100(0, 0), None);
        assert_eq!(per_100(1, 9), None);
        assert_eq!(per_100(0, 10), Some(0.0));
        assert_eq!(per_100(3, 12), Some(25.0));
    }

    #[test]
    fn worse_places_are_so_beyond_chance() {
        assert_eq!(worse_places(&[]), None);
        assert_eq!(worse_places(&[(40, 30), (9, 0)]), None);
        assert_eq!(worse_places(&[(100, 14), (100, 15), (100, 20)]), Some(vec![]));
        assert_eq!(worse_places(&[(100, 40), (300, 30), (90, 50)]), Some(vec![2, 0]));
        assert_eq!(worse_places(&[(20, 0), (20, 0)]), Some(vec![]));
    }

    #[test]
    fn parts_of_the_day_are_compared_as_a_whole() {
        assert_eq!(compare_day_parts(&[(398, 39), (9, 0), (0, 0), (0, 0)]), None);
        let few = [(12, 1), (12, 0), (0, 0), (0, 0)];
        assert_eq!(compare_day_parts(&few), Some(DayParts::TooFew));
        let alike = [(100, 10), (120, 15), (90, 8), (4, 4)];
        assert_eq!(compare_day_parts(&alike), Some(DayParts::Alike));
        let parts = [(398, 39), (617, 97), (592, 97), (330, 37)];
        let Some(DayParts::Worse { places, per_100, rest_per_100 }) = compare_day_parts(&parts)
        else {
            panic!("{:?}", compare_day_parts(&parts));
        };
        assert_eq!(places, [1, 2]);
        assert_eq!((per_100.round(), rest_per_100.round()), (16.0, 10.0));
    }

    #[test]
    fn the_worst_place_is_clearly_ahead_of_the_next() {
        assert_eq!(worst_place(&[]), None);
        for (places, expected) in [
            (&[(40, 30)][..], None),
            (&[(10, 9), (10, 9)][..], None),
            (&[(12, 9), (12, 5)][..], None),
            // One post on each, ten times.
            (&[(2, 2), (2, 2), (2, 2)][..], None),
            // Too few posts.
            (&[(9, 9), (40, 0)][..], None),
            (&[(12, 0), (30, 25), (40, 3)][..], Some(1)),
        ] {
            assert_eq!(worst_place(places), expected, "{places:?}");
        }
    }
}
