//! How often it would have interrupted, for so many posts.

/// From so many posts on, a rate says something: with fewer, one interruption more or less changes it by more than ten in a
/// hundred.
pub const MIN_POSTS: usize = 10;

/// Interruptions in a hundred posts. `None` where there are too few posts to tell.
pub fn per_100(wrong: usize, spoke: usize) -> Option<f64> {
    (spoke >= MIN_POSTS).then(|| wrong as f64 / spoke as f64 * 100.0)
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
}
