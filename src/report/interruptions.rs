//! How often it would have interrupted, for so many posts.

use crate::report::noise::differ;

/// From so many posts on, a rate says something: with fewer, one interruption more or less changes it by more than ten in a
/// hundred.
pub const MIN_POSTS: usize = 10;

/// Interruptions in a hundred posts. `None` where there are too few posts to tell.
pub fn per_100(wrong: usize, spoke: usize) -> Option<f64> {
    (spoke >= MIN_POSTS).then(|| wrong as f64 / spoke as f64 * 100.0)
}

/// The place with the most interruptions of several, each with its posts and interruptions. `None` if there are too few posts in
/// it, or if chance explains that it has more of them than the next.
pub fn worst_place(places: &[(usize, usize)]) -> Option<usize> {
    let (first, (spoke, wrong)) = places.iter().enumerate().max_by_key(|(_, (_, wrong))| *wrong)?;
    let others = places.iter().enumerate().filter(|(place, _)| *place != first);
    let second = others.map(|(_, (_, wrong))| *wrong).max()?;
    (*spoke >= MIN_POSTS && differ(*wrong, second)).then_some(first)
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
