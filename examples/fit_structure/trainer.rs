//! Fits a [`Network`] by stochastic gradient descent (Adam: Kingma and Ba 2015).

use aizuchi_structure::network::{Network, softmax};

/// Candidates of which one or several are right. A yes-or-no example has an empty candidate for "no".
pub struct Example {
    pub candidates: Vec<Vec<u16>>,
    pub is_right: Vec<bool>,
    pub weight: f32,
}

pub struct Settings {
    pub features: usize,
    pub hidden: usize,
    pub epochs: usize,
    /// At the start; it falls to a tenth.
    pub rate: f32,
    /// How strongly coefficients are drawn to zero.
    pub decay: f32,
}

const BATCH: usize = 32;
const FIRST_MOMENT: f32 = 0.9;
const SECOND_MOMENT: f32 = 0.999;

/// A network in training: all coefficients in one list, the rows first, then `bias` and `output`.
struct Training {
    width: usize,
    hidden: usize,
    bias: usize,
    values: Vec<f32>,
    gradients: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
    is_touched: Vec<bool>,
    touched: Vec<u16>,
    steps: i32,
}

/// A small deterministic source of randomness (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 24) as f32
    }
}

/// Fits a network. The same examples and settings give the same network.
pub fn fit(examples: &[Example], settings: &Settings) -> Network {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut training = Training::new(settings, &mut random);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    for epoch in 0..settings.epochs {
        for last in (1..order.len()).rev() {
            let other = (random.next() * (last + 1) as f32) as usize;
            order.swap(last, other.min(last));
        }
        let rate = settings.rate * (1.0 - epoch as f32 / settings.epochs as f32).max(0.1);
        for batch in order.chunks(BATCH) {
            for index in batch {
                training.learn(&examples[*index]);
            }
            training.step(rate, settings.decay);
        }
    }
    training.into_network()
}

impl Training {
    fn new(settings: &Settings, random: &mut Random) -> Self {
        let (hidden, width) = (settings.hidden, settings.hidden + 1);
        let bias = settings.features * width;
        let mut values = vec![0.0; bias + 2 * hidden];
        for row in values[..bias].chunks_mut(width) {
            row[1..].fill_with(|| (random.next() - 0.5) * 0.3);
        }
        values[bias + hidden..].fill_with(|| (random.next() - 0.5) * 0.5);
        let zeros = vec![0.0; values.len()];
        Self {
            width,
            hidden,
            bias,
            gradients: zeros.clone(),
            first: zeros.clone(),
            second: zeros,
            values,
            is_touched: vec![false; settings.features],
            touched: Vec::new(),
            steps: 0,
        }
    }

    fn score(&self, active: &[u16], units: &mut [f32]) -> f32 {
        units.copy_from_slice(&self.values[self.bias..self.bias + self.hidden]);
        let mut score = 0.0;
        for feature in active {
            let row = &self.values[usize::from(*feature) * self.width..][..self.width];
            score += row[0];
            units.iter_mut().zip(&row[1..]).for_each(|(unit, weight)| *unit += weight);
        }
        units.iter_mut().for_each(|unit| *unit = unit.max(0.0));
        let output = &self.values[self.bias + self.hidden..];
        score + units.iter().zip(output).map(|(unit, weight)| unit * weight).sum::<f32>()
    }

    /// Adds the gradient of the cross entropy of the right candidates.
    fn learn(&mut self, example: &Example) {
        let hidden = self.hidden;
        let mut units = vec![0.0; hidden * example.candidates.len()];
        let mut scores: Vec<f32> = Vec::with_capacity(example.candidates.len());
        for (number, active) in example.candidates.iter().enumerate() {
            let units = &mut units[number * hidden..(number + 1) * hidden];
            scores.push(if active.is_empty() { 0.0 } else { self.score(active, units) });
        }
        softmax(&mut scores);
        let right: f32 = scores
            .iter()
            .zip(&example.is_right)
            .filter(|(_, is)| **is)
            .map(|(score, _)| *score)
            .sum();
        if right <= 0.0 {
            return;
        }
        let output = self.bias + hidden;
        for (number, active) in example.candidates.iter().enumerate() {
            let target = if example.is_right[number] { scores[number] / right } else { 0.0 };
            let slope = example.weight * (scores[number] - target) / BATCH as f32;
            if active.is_empty() || slope.abs() < 1e-7 {
                continue;
            }
            let units = &units[number * hidden..(number + 1) * hidden];
            let back: Vec<f32> = (0..hidden)
                .map(
                    |unit| if units[unit] > 0.0 { slope * self.values[output + unit] } else { 0.0 },
                )
                .collect();
            for unit in 0..hidden {
                self.gradients[output + unit] += slope * units[unit];
                self.gradients[self.bias + unit] += back[unit];
            }
            for feature in active {
                let feature = usize::from(*feature);
                if !self.is_touched[feature] {
                    self.is_touched[feature] = true;
                    self.touched.push(feature as u16);
                }
                let row = &mut self.gradients[feature * self.width..][..self.width];
                row[0] += slope;
                row[1..].iter_mut().zip(&back).for_each(|(gradient, back)| *gradient += back);
            }
        }
    }

    fn step(&mut self, rate: f32, decay: f32) {
        self.steps = (self.steps + 1).min(10_000);
        let correction =
            [1.0 - FIRST_MOMENT.powi(self.steps), 1.0 - SECOND_MOMENT.powi(self.steps)];
        let rows = std::mem::take(&mut self.touched);
        let width = self.width;
        let coefficients = rows.iter().flat_map(|row| {
            let start = usize::from(*row) * width;
            start..start + width
        });
        for at in coefficients.chain(self.bias..self.values.len()) {
            let gradient = self.gradients[at] + decay * self.values[at];
            self.gradients[at] = 0.0;
            self.first[at] += (1.0 - FIRST_MOMENT) * (gradient - self.first[at]);
            self.second[at] += (1.0 - SECOND_MOMENT) * (gradient * gradient - self.second[at]);
            let scale = (self.second[at] / correction[1]).sqrt() + 1e-8;
            self.values[at] -= rate * (self.first[at] / correction[0]) / scale;
        }
        for row in rows {
            self.is_touched[usize::from(row)] = false;
        }
    }

    fn into_network(self) -> Network {
        let output = self.bias + self.hidden;
        Network {
            rows: self.values[..self.bias].to_vec(),
            bias: self.values[self.bias..output].to_vec(),
            output: self.values[output..].to_vec(),
        }
    }
}
