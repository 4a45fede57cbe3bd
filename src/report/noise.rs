//! Whether two policies differ by more than chance explains.

/// The value that chi-squared with one degree of freedom exceeds in 5 of 100 cases if nothing but chance is at work.
const CHI_SQUARED_95: f64 = 3.841;

/// Whether chance does not explain that the one has so many cases that the other does not have, and the other so many that
/// the one does not have.
///
/// This is McNemar's test (Q. McNemar, *Note on the sampling error of the difference between correlated proportions or
/// percentages*, Psychometrika 12, 1947), with the correction for continuity of A. L. Edwards (Psychometrika 13, 1948), by
/// which six cases against none are the fewest that count. Where it is not known which cases both have, whole counts may be given: then the
/// difference must be larger, since what both have is taken for noise as well. Cases are taken as independent.
pub fn differ(one: usize, other: usize) -> bool {
    let (difference, cases) = (one.abs_diff(other) as f64, (one + other) as f64);
    let corrected = (difference - 1.0).max(0.0);
    corrected * corrected > CHI_SQUARED_95 * cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_only_beyond_chance() {
        for (one, other, expected) in [
            (0, 0, false),
            (5, 0, false),
            (6, 0, true),
            (9, 2, false),
            (10, 1, true),
            (20, 14, false),
            (279, 273, false),
            (96, 270, true),
            (1000, 1070, false),
            (1000, 1100, true),
        ] {
            assert_eq!(differ(one, other), expected, "{one} {other}");
            assert_eq!(differ(other, one), expected, "{other} {one}");
        }
    }
}
