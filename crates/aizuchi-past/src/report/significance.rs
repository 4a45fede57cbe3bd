//! Significance tests: whether policies, channels or hours differ beyond chance.

/// The critical value of the chi-squared distribution with one degree of freedom at the 5 % level.
const CHI_SQUARED_95: f64 = 3.841;

/// The critical values of the chi-squared distribution at the 1 % level, with one, two and three degrees of freedom (R.
/// A. Fisher, *Statistical Methods for Research Workers*, 1925, table III).
const CHI_SQUARED_99: [f64; 3] = [6.635, 9.210, 11.345];

/// The result of comparing the shares of cases in several groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareComparison {
    /// The test does not apply: there are too few cases, fewer than two groups, or more than four.
    TooFew,
    /// The differences are not significant.
    Alike,
    Differ,
}

/// The smallest number of cases that differs significantly from zero.
pub const FEWEST_CASES: usize = 6;

/// Whether two counts of discordant cases differ significantly at the 5 % level: `one` counts the cases that only the
/// first side has, `other` those that only the second side has.
///
/// This is McNemar's test (Q. McNemar, *Note on the sampling error of the difference between correlated proportions or
/// percentages*, Psychometrika 12, 1947), with the continuity correction of A. L. Edwards (Psychometrika 13, 1948), by
/// which six cases against none are the fewest that are significant. If it is unknown which cases both sides have,
/// whole counts may be passed: the test is then stricter, since shared cases count as noise. Cases are assumed to be
/// independent.
pub fn differ(one: usize, other: usize) -> bool {
    differ_among(one, other, 1)
}

/// The same test with a correction for multiple comparisons: if `pairs` pairs are tested, each is tested at the level
/// divided by `pairs`. This is Bonferroni's correction (O. J. Dunn, *Multiple comparisons among means*, Journal of the
/// American Statistical Association 56, 1961).
pub fn differ_among(one: usize, other: usize, pairs: usize) -> bool {
    let (difference, cases) = (one.abs_diff(other) as f64, (one + other) as f64);
    let corrected = (difference - 1.0).max(0.0);
    corrected * corrected > limit(pairs) * cases
}

/// Whether the share of cases is significantly larger in one group than in another, if `groups` groups are tested. A
/// group is its size and its number of cases.
///
/// This is the chi-squared test of a 2×2 table, with the continuity correction of F. Yates (*Contingency tables
/// involving small numbers and the χ² test*, Supplement to the Journal of the Royal Statistical Society 1, 1934) and
/// Bonferroni's correction for the number of groups.
pub fn is_larger_share(one: (usize, usize), other: (usize, usize), groups: usize) -> bool {
    let [(size, cases), (other_size, other_cases)] =
        [one, other].map(|(size, cases)| (size as f64, cases as f64));
    let (all, all_cases) = (size + other_size, cases + other_cases);
    let apart = cases * (other_size - other_cases) - other_cases * (size - cases);
    let corrected = (apart - all / 2.0).max(0.0);
    let margins = size * other_size * all_cases * (all - all_cases);
    corrected * corrected * all > limit(groups) * margins
}

/// Compares the shares of cases in two to four groups at the 1 % level. A group is its size and its number of cases.
///
/// This is Pearson's chi-squared test (K. Pearson, Philosophical Magazine 50, 1900). It is used only where W. G.
/// Cochran's rule allows it: every expected count is at least 1, and at most a fifth of them are below 5 (*Some methods
/// for strengthening the common χ² tests*, Biometrics 10, 1954). The level is stricter than the usual 5 %, because
/// moments of one conversation are not independent.
pub fn compare_shares(groups: &[(usize, usize)]) -> ShareComparison {
    let limit = groups.len().checked_sub(2).and_then(|place| CHI_SQUARED_99.get(place).copied());
    let Some(limit) = limit else { return ShareComparison::TooFew };
    let size = groups.iter().map(|(size, _)| *size).sum::<usize>() as f64;
    let share = groups.iter().map(|(_, cases)| *cases).sum::<usize>() as f64 / size;
    let cells = groups.iter().flat_map(|(size, cases)| {
        let (size, cases) = (*size as f64, *cases as f64);
        [(cases, size * share), (size - cases, size * (1.0 - share))]
    });
    let cells: Vec<(f64, f64)> = cells.collect();
    let small = cells.iter().filter(|(_, expected)| *expected < 5.0).count();
    let are_enough = cells.iter().all(|(_, expected)| *expected >= 1.0);
    if !are_enough || small * 5 > cells.len() {
        return ShareComparison::TooFew;
    }
    let squares = cells.iter().map(|(found, expected)| (found - expected).powi(2) / expected);
    match squares.sum::<f64>() > limit {
        true => ShareComparison::Differ,
        false => ShareComparison::Alike,
    }
}

/// Returns the critical value of the chi-squared distribution with one degree of freedom at the 5 % level divided by
/// the number of comparisons. It is the square of a quantile of the normal distribution, which is approximated to
/// 0.0005 (M. Abramowitz and I. A. Stegun, *Handbook of Mathematical Functions*, 1964, 26.2.23).
fn limit(pairs: usize) -> f64 {
    if pairs <= 1 {
        return CHI_SQUARED_95;
    }
    let tail = 0.05 / pairs as f64 / 2.0;
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    (t - above / below).powi(2)
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

    #[test]
    fn a_share_is_larger_only_beyond_chance() {
        for (one, other, groups, expected) in [
            // 21 % of 108 against 14 % of 1829, in one of 24 hours, and alone.
            ((108, 23), (1829, 247), 24, false),
            ((108, 23), (1829, 247), 1, true),
            ((108, 50), (1829, 247), 24, true),
            // A smaller share.
            ((108, 1), (1829, 900), 1, false),
            ((0, 0), (10, 5), 1, false),
            ((10, 0), (10, 0), 1, false),
        ] {
            assert_eq!(is_larger_share(one, other, groups), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn shares_of_several_groups_differ_only_beyond_chance() {
        for (groups, expected) in [
            // Chi-squared is 12.3, and 11.3 the limit.
            (&[(398, 39), (617, 97), (592, 97), (330, 37)][..], ShareComparison::Differ),
            // The same shares of half as many.
            (&[(199, 20), (308, 48), (296, 48), (165, 19)][..], ShareComparison::Alike),
            (&[(100, 10), (100, 30)][..], ShareComparison::Differ),
            (&[(100, 10), (100, 10), (100, 10)][..], ShareComparison::Alike),
            // One of ten is expected in each.
            (&[(10, 0), (10, 2)][..], ShareComparison::TooFew),
            (&[(100, 0), (100, 0)][..], ShareComparison::TooFew),
            (&[(0, 0), (0, 0)][..], ShareComparison::TooFew),
            (&[(100, 10)][..], ShareComparison::TooFew),
            (&[][..], ShareComparison::TooFew),
            (&[(100, 10); 5][..], ShareComparison::TooFew),
        ] {
            assert_eq!(compare_shares(groups), expected, "{groups:?}");
        }
    }

    #[test]
    fn more_pairs_ask_for_a_larger_difference() {
        // The squares of the quantiles of the normal distribution for 0.05 / 6 and 0.05 / 28, on both sides.
        for (pairs, expected) in [(1, 3.841), (6, 6.960), (28, 9.758)] {
            assert!((limit(pairs) - expected).abs() < 0.02, "{pairs} {}", limit(pairs));
        }
        assert!(differ_among(6, 0, 1) && !differ_among(6, 0, 6) && differ_among(9, 0, 6));
        assert!(differ(FEWEST_CASES, 0) && !differ(FEWEST_CASES - 1, 0));
    }
}
