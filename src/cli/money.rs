//! Amounts of money on the terminal. An amount other than 0 is never shown as 0.

/// From this many millionths on, an amount is shown with two decimals.
const SHOWN: u64 = 5_000;

/// Formats an amount that was paid.
pub fn spent(micros: u64, currency: &str) -> String {
    match micros {
        1..SHOWN => format!("less than 0.01 {currency}"),
        _ => format!("{:.2} {currency}", micros as f64 / 1e6),
    }
}

/// Formats an estimate.
pub fn about(micros: u64, currency: &str) -> String {
    match micros {
        1..SHOWN => spent(micros, currency),
        _ => format!("about {}", spent(micros, currency)),
    }
}

/// Formats a configured amount, with two decimals or as many as it has.
pub fn exact(micros: u64, currency: &str) -> String {
    let (whole, rest) = (micros / 1_000_000, format!("{:06}", micros % 1_000_000));
    let (cents, finer) = rest.split_at(2);
    format!("{whole}.{cents}{} {currency}", finer.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_nothing_is_not_shown_as_nothing() {
        for (micros, shown) in [
            (0, "0.00 EUR"),
            (1, "less than 0.01 EUR"),
            (4_999, "less than 0.01 EUR"),
            (10_000, "0.01 EUR"),
            (1_234_567, "1.23 EUR"),
        ] {
            assert_eq!(spent(micros, "EUR"), shown);
        }
        assert_eq!(about(900, "EUR"), "less than 0.01 EUR");
        assert_eq!(about(400_000, "EUR"), "about 0.40 EUR");
        for (micros, shown) in [
            (0, "0.00 EUR"),
            (1_000, "0.001 EUR"),
            (1, "0.000001 EUR"),
            (500_000, "0.50 EUR"),
            (12_000_000, "12.00 EUR"),
        ] {
            assert_eq!(exact(micros, "EUR"), shown);
        }
    }
}
