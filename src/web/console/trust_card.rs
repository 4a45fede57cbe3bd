//! The card with which somebody answers whether it is to speak by itself in a channel.

use aizuchi_core::decision::trust::TrustOffer;
use aizuchi_core::persona::Language;
use aizuchi_core::texts;

/// An offer, and the form to answer it.
pub struct TrustCard {
    pub id: i64,
    /// The question.
    pub question: String,
    /// What a yes does.
    pub means: String,
    pub rests_on: String,
}

impl TrustCard {
    /// `place` is the channel's name, as it is shown.
    pub fn new(offer: &TrustOffer, place: &str, language: Language) -> Self {
        let least = offer.trusted.least.share();
        Self {
            id: offer.id.0,
            question: texts::trust::offer(language, least, offer.trusted.percent(), place),
            means: texts::trust::means(language, least),
            rests_on: texts::trust::rests_on(language, offer.clicks),
        }
    }
}
