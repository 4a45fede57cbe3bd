//! The card that asks whether the persona may speak without approval in a channel.

use aizuchi_model::decision::trust::TrustOffer;
use aizuchi_model::persona::Language;
use aizuchi_model::texts;

/// An offer, and the form to answer it.
pub struct TrustCard {
    pub id: i64,
    /// The question.
    pub question: String,
    /// What agreeing does.
    pub means: String,
    pub rests_on: String,
}

impl TrustCard {
    /// `place` is the name of the channel, as shown.
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
