//! How long to wait before an attempt is repeated.

use aizuchi_model::clock::duration_from_seconds;
use jiff::SignedDuration;

/// Returns an exponential backoff with full jitter: up to 0.5, 1, 2, 4 … 30 seconds, so that clients do not return all
/// at once.
pub fn backoff_delay(attempt: u32, draw: f64) -> SignedDuration {
    let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX).min(6);
    duration_from_seconds((0.5 * 2_f64.powi(exponent)).min(30.0) * draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_grows_and_is_jittered() {
        for (attempt, longest) in [(1, 0.5), (2, 1.0), (5, 8.0), (7, 30.0), (1000, 30.0)] {
            assert_eq!(backoff_delay(attempt, 0.0), SignedDuration::ZERO);
            assert_eq!(
                backoff_delay(attempt, 0.5),
                duration_from_seconds(longest / 2.0),
                "{attempt}"
            );
        }
    }
}
