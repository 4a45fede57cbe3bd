//! How long is waited before something that was lost is tried again.

use jiff::SignedDuration;

use crate::clock::duration_from_seconds;

/// Nothing to half a second, then up to 1, 2, 4 … 30 seconds, spread so that many do not return together.
pub fn backoff_delay(tried: u32, draw: f64) -> SignedDuration {
    let exponent = i32::try_from(tried.saturating_sub(1)).unwrap_or(i32::MAX).min(6);
    duration_from_seconds((0.5 * 2_f64.powi(exponent)).min(30.0) * draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_spread_and_get_rarer() {
        for (tried, longest) in [(1, 0.5), (2, 1.0), (5, 8.0), (7, 30.0), (1000, 30.0)] {
            assert_eq!(backoff_delay(tried, 0.0), SignedDuration::ZERO);
            assert_eq!(backoff_delay(tried, 0.5), duration_from_seconds(longest / 2.0), "{tried}");
        }
    }
}
