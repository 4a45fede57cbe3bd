//! How sure the judge must be where somebody has ordered that.

use std::borrow::Cow;

use crate::rules::ChannelRules;

/// A confidence in hundredths, as people are told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinConfidence(u8);

impl MinConfidence {
    /// What a confidence is at least. `None`: it is none.
    pub fn floor(confidence: f64) -> Option<Self> {
        // 0.29 is a little less than 29 hundredths, and is meant to be that.
        const ROUNDING: f64 = 1e-9;
        let hundredths = (confidence * 100.0 + ROUNDING).floor();
        (0.0..=100.0).contains(&hundredths).then_some(Self(hundredths as u8))
    }

    pub fn from_hundredths(hundredths: i64) -> Option<Self> {
        u8::try_from(hundredths).ok().filter(|it| *it <= 100).map(Self)
    }

    pub fn hundredths(self) -> u8 {
        self.0
    }

    /// From 0 to 1.
    pub fn value(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl ChannelRules {
    /// These rules where somebody has ordered that it takes this confidence. It is never less than what is configured.
    pub fn with_min_confidence(&self, ordered: Option<MinConfidence>) -> Cow<'_, Self> {
        match ordered.map(MinConfidence::value).filter(|ordered| *ordered > self.min_confidence) {
            Some(min_confidence) => Cow::Owned(Self { min_confidence, ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_at_least_its_hundredths() {
        for hundredths in 0..=100 {
            let confidence = MinConfidence::from_hundredths(hundredths).unwrap();
            assert_eq!(MinConfidence::floor(confidence.value()), Some(confidence));
            assert_eq!(i64::from(confidence.hundredths()), hundredths);
        }
        let floor = |confidence| MinConfidence::floor(confidence).map(MinConfidence::hundredths);
        assert_eq!((floor(0.7499), floor(0.29), floor(1.0)), (Some(74), Some(29), Some(100)));
        assert_eq!((floor(-0.2), floor(1.2), floor(f64::NAN)), (None, None, None));
        assert_eq!(MinConfidence::from_hundredths(101), None);
        assert_eq!(MinConfidence::from_hundredths(-1), None);
    }

    #[test]
    fn an_order_demands_no_less_than_the_settings() {
        let rules = ChannelRules { min_confidence: 0.7, ..ChannelRules::default() };
        let demanded = |hundredths| {
            rules.with_min_confidence(MinConfidence::from_hundredths(hundredths)).min_confidence
        };
        assert_eq!((demanded(60), demanded(70), demanded(74)), (0.7, 0.7, 0.74));
        assert_eq!(rules.with_min_confidence(None).min_confidence, 0.7);
    }
}
