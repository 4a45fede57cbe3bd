//! Fits the three networks of the uptake together: to what each message after a question is, and to whether the
//! question is open at the end.

use aizuchi_structure::network::{Network, sigmoid};

use crate::trainer::{BATCH, Random, Training};

/// A question with the messages after it.
pub struct Story {
    pub steps: Vec<Step>,
    /// Whether the question is open at the end, if that is known.
    pub is_open: Option<bool>,
    pub weight: f32,
}

/// A message after a question.
pub struct Step {
    pub features: Vec<u16>,
    pub said: Said,
}

/// Whose message it is, and what it does.
#[derive(Clone, Copy)]
pub enum Said {
    /// `bounds` are those between which the probability counts.
    ByAnother { takes_up: bool, bounds: [f32; 2] },
    /// Whether contentment counts here.
    ByAsker { content: bool, waits: bool, may_be_content: bool },
}

pub struct Settings {
    pub features: usize,
    pub epochs: usize,
    /// At the start; it falls to a twentieth.
    pub rate: f32,
    /// How strongly coefficients are drawn to zero.
    pub decay: f32,
    /// The share of features that are left out, at random, each time that a message is learned from.
    pub dropout: f32,
    /// How much the end of a story counts beside each of its messages.
    pub end_weight: f32,
}

/// The networks that are fitted.
pub struct Fitted {
    pub takes_up: Network,
    pub content: Network,
    pub waits: Network,
}

const TAKING: usize = 16;
const ASKERS: usize = 8;
/// A surer end is as good as certain.
const SURE: f32 = 0.999;

struct Trainings {
    takes_up: Training<TAKING>,
    content: Training<ASKERS>,
    waits: Training<ASKERS>,
}

/// A message as it is scored.
enum Scored {
    ByAnother(ByAnother),
    ByAsker(ByAsker),
}

struct ByAnother {
    takes_up: bool,
    bounds: [f32; 2],
    probability: f32,
    units: [f32; TAKING],
}

struct ByAsker {
    is_content: bool,
    waits: bool,
    may_be_content: bool,
    content_probability: f32,
    waits_probability: f32,
    content_units: [f32; ASKERS],
    waits_units: [f32; ASKERS],
}

/// Fits the networks. The same stories and settings give the same networks.
pub fn fit(stories: &[Story], settings: &Settings) -> Fitted {
    let mut random = Random::new();
    let mut trainings = Trainings {
        takes_up: Training::new(settings.features, &mut random),
        content: Training::new(settings.features, &mut random),
        waits: Training::new(settings.features, &mut random),
    };
    let mut order: Vec<usize> = (0..stories.len()).collect();
    for epoch in 0..settings.epochs {
        random.shuffle(&mut order);
        let rate = settings.rate * (1.0 - epoch as f32 / settings.epochs as f32).max(0.05);
        for batch in order.chunks(BATCH) {
            for index in batch {
                trainings.learn(&stories[*index], settings, &mut random);
            }
            trainings.takes_up.step(rate, settings.decay);
            trainings.content.step(rate, settings.decay);
            trainings.waits.step(rate, settings.decay);
        }
    }
    Fitted {
        takes_up: trainings.takes_up.into_network(),
        content: trainings.content.into_network(),
        waits: trainings.waits.into_network(),
    }
}

impl Trainings {
    fn learn(&mut self, story: &Story, settings: &Settings, random: &mut Random) {
        let scale = 1.0 / (1.0 - settings.dropout);
        let mut thin = |step: &Step| -> Vec<u16> {
            let features = step.features.iter().copied();
            features.filter(|_| random.next() >= settings.dropout).collect()
        };
        let features: Vec<Vec<u16>> = story.steps.iter().map(&mut thin).collect();
        let steps = story.steps.iter().zip(&features);
        let scored: Vec<Scored> =
            steps.map(|(step, features)| self.score(step.said, features, scale)).collect();
        let mut open = vec![1.0];
        for scored in &scored {
            open.push(scored.open_after(open[open.len() - 1]));
        }
        let weight = story.weight / BATCH as f32;
        let end = open[scored.len()].clamp(1.0 - SURE, SURE);
        // How the loss rises with the openness.
        let mut rise = match story.is_open {
            None => 0.0,
            Some(true) => -settings.end_weight * weight / end,
            Some(false) => settings.end_weight * weight / (1.0 - end),
        };
        for (number, scored) in scored.iter().enumerate().rev() {
            let slopes = scored.slopes(weight, open[number], rise);
            self.add_gradient(&features[number], scored, slopes, scale);
            rise = scored.rise_before(rise);
        }
    }

    fn score(&self, said: Said, features: &[u16], scale: f32) -> Scored {
        match said {
            Said::ByAnother { takes_up, bounds } => {
                let (score, units) = self.takes_up.score(features, scale);
                Scored::ByAnother(ByAnother {
                    takes_up,
                    bounds,
                    probability: sigmoid(score),
                    units,
                })
            }
            Said::ByAsker { content, waits, may_be_content } => {
                let (content_score, content_units) = self.content.score(features, scale);
                let (waits_score, waits_units) = self.waits.score(features, scale);
                Scored::ByAsker(ByAsker {
                    is_content: content,
                    waits,
                    may_be_content,
                    content_probability: sigmoid(content_score),
                    waits_probability: sigmoid(waits_score),
                    content_units,
                    waits_units,
                })
            }
        }
    }

    fn add_gradient(&mut self, features: &[u16], scored: &Scored, slopes: [f32; 2], scale: f32) {
        match scored {
            Scored::ByAnother(said) => {
                self.takes_up.add_gradient(features, &said.units, slopes[0], scale);
            }
            Scored::ByAsker(said) => {
                self.content.add_gradient(features, &said.content_units, slopes[0], scale);
                self.waits.add_gradient(features, &said.waits_units, slopes[1], scale);
            }
        }
    }
}

impl Scored {
    /// How open the question is after the message, if it was `open` before it.
    fn open_after(&self, open: f32) -> f32 {
        match self {
            Scored::ByAnother(said) => open * (1.0 - said.taken()),
            Scored::ByAsker(said) => {
                let still = open * (1.0 - said.content());
                still + (1.0 - still) * said.waits_probability
            }
        }
    }

    /// The slope of the loss with the openness before the message, given that after it.
    fn rise_before(&self, rise: f32) -> f32 {
        match self {
            Scored::ByAnother(said) => rise * (1.0 - said.taken()),
            Scored::ByAsker(said) => rise * (1.0 - said.waits_probability) * (1.0 - said.content()),
        }
    }

    /// The slopes of the loss with the scores: of taking up, or of contentment and waiting.
    fn slopes(&self, weight: f32, open: f32, rise: f32) -> [f32; 2] {
        let of_label =
            |probability: f32, is: bool| weight * (probability - f32::from(u8::from(is)));
        let of_score = |probability: f32| probability * (1.0 - probability);
        match self {
            Scored::ByAnother(said) => {
                let probability = said.probability;
                let label = of_label(probability, said.takes_up);
                let is_free = probability == said.taken();
                let end = if is_free { -open * rise * of_score(probability) } else { 0.0 };
                [label + end, 0.0]
            }
            Scored::ByAsker(said) => {
                let (content, waits) = (said.content_probability, said.waits_probability);
                let still = open * (1.0 - said.content());
                let of_content = -open * rise * (1.0 - waits) * of_score(content);
                let of_content = if said.may_be_content { of_content } else { 0.0 };
                let of_waits = rise * (1.0 - still) * of_score(waits);
                let labels = [of_label(content, said.is_content), of_label(waits, said.waits)];
                [labels[0] + of_content, labels[1] + of_waits]
            }
        }
    }
}

impl ByAnother {
    fn taken(&self) -> f32 {
        let [least, most] = self.bounds;
        self.probability.clamp(least, most)
    }
}

impl ByAsker {
    fn content(&self) -> f32 {
        if self.may_be_content { self.content_probability } else { 0.0 }
    }
}
