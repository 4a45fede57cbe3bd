//! Fits a [`NeuralNetwork`] by stochastic gradient descent (Adam: Kingma and Ba 2015).

use aizuchi_structure::network::{NeuralNetwork, softmax};

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
    /// The share of features that are left out, at random, each time that an example is learned from.
    pub dropout: f32,
}

const BATCH: usize = 32;
const FIRST_MOMENT: f32 = 0.9;
const SECOND_MOMENT: f32 = 0.999;
/// Candidates that hardly matter are not learned from.
const MIN_SLOPE: f32 = 1e-6;

/// A network in training: all coefficients in one list, the rows first, then `bias` and `output`.
struct Training<const HIDDEN: usize> {
    bias: usize,
    values: Vec<f32>,
    gradients: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
    is_touched: Vec<bool>,
    touched: Vec<u16>,
    /// The rows that an example has ever had.
    is_known: Vec<bool>,
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
pub fn fit(examples: &[Example], settings: &Settings) -> NeuralNetwork {
    // The number of hidden units is known to the compiler, which is several times as fast.
    match settings.hidden {
        0 => fit_with::<0>(examples, settings),
        1..=8 => fit_with::<8>(examples, settings),
        _ => fit_with::<16>(examples, settings),
    }
}

fn fit_with<const HIDDEN: usize>(examples: &[Example], settings: &Settings) -> NeuralNetwork {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut training = Training::<HIDDEN>::new(settings, &mut random);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let scale = 1.0 / (1.0 - settings.dropout);
    for epoch in 0..settings.epochs {
        for last in (1..order.len()).rev() {
            let other = (random.next() * (last + 1) as f32) as usize;
            order.swap(last, other.min(last));
        }
        let rate = settings.rate * (1.0 - epoch as f32 / settings.epochs as f32).max(0.1);
        for batch in order.chunks(BATCH) {
            for index in batch {
                let example = &examples[*index];
                match settings.dropout > 0.0 {
                    true => training.learn(&example.thin(settings.dropout, &mut random), scale),
                    false => training.learn(example, scale),
                }
            }
            training.step(rate, settings.decay);
        }
    }
    training.into_network()
}

impl Example {
    fn thin(&self, dropout: f32, random: &mut Random) -> Self {
        let candidates = self.candidates.iter().map(|candidate| {
            candidate.iter().copied().filter(|_| random.next() >= dropout).collect()
        });
        Self {
            candidates: candidates.collect(),
            is_right: self.is_right.clone(),
            weight: self.weight,
        }
    }
}

impl<const HIDDEN: usize> Training<HIDDEN> {
    const WIDTH: usize = HIDDEN + 1;

    fn new(settings: &Settings, random: &mut Random) -> Self {
        let bias = settings.features * Self::WIDTH;
        let mut values = vec![0.0; bias + 2 * HIDDEN];
        for row in values[..bias].chunks_mut(Self::WIDTH) {
            row[1..].fill_with(|| (random.next() - 0.5) * 0.3);
        }
        values[bias + HIDDEN..].fill_with(|| (random.next() - 0.5) * 0.5);
        let zeros = vec![0.0; values.len()];
        Self {
            bias,
            gradients: zeros.clone(),
            first: zeros.clone(),
            second: zeros,
            values,
            is_touched: vec![false; settings.features],
            touched: Vec::new(),
            is_known: vec![false; settings.features],
            steps: 0,
        }
    }

    fn score(&self, active: &[u16], scale: f32) -> (f32, [f32; HIDDEN]) {
        let (mut score, mut units) = (0.0, [0.0; HIDDEN]);
        for feature in active {
            let row = &self.values[usize::from(*feature) * Self::WIDTH..][..Self::WIDTH];
            score += row[0];
            units.iter_mut().zip(&row[1..]).for_each(|(unit, weight)| *unit += weight);
        }
        score *= scale;
        for (unit, bias) in units.iter_mut().zip(&self.values[self.bias..]) {
            *unit = (scale * *unit + bias).max(0.0);
        }
        let output = &self.values[self.bias + HIDDEN..];
        (score + units.iter().zip(output).map(|(unit, weight)| unit * weight).sum::<f32>(), units)
    }

    /// Adds the gradient of the cross entropy of the right candidates. `scale` is what a feature counts for.
    fn learn(&mut self, example: &Example, scale: f32) {
        let mut units = Vec::with_capacity(example.candidates.len());
        let mut scores: Vec<f32> = Vec::with_capacity(example.candidates.len());
        for active in &example.candidates {
            let (score, hidden) =
                if active.is_empty() { (0.0, [0.0; HIDDEN]) } else { self.score(active, scale) };
            scores.push(score);
            units.push(hidden);
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
        let output = self.bias + HIDDEN;
        for (number, active) in example.candidates.iter().enumerate() {
            let target = if example.is_right[number] { scores[number] / right } else { 0.0 };
            let slope = example.weight * (scores[number] - target) / BATCH as f32;
            if active.is_empty() || slope.abs() < MIN_SLOPE {
                continue;
            }
            let mut back = [0.0; HIDDEN];
            for (unit, value) in units[number].iter().enumerate().filter(|(_, value)| **value > 0.0)
            {
                back[unit] = slope * self.values[output + unit];
                self.gradients[output + unit] += slope * value;
                self.gradients[self.bias + unit] += back[unit];
            }
            let slope = slope * scale;
            back.iter_mut().for_each(|back| *back *= scale);
            for feature in active {
                let feature = usize::from(*feature);
                if !self.is_touched[feature] {
                    self.is_touched[feature] = true;
                    self.is_known[feature] = true;
                    self.touched.push(feature as u16);
                }
                let row = &mut self.gradients[feature * Self::WIDTH..][..Self::WIDTH];
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
        let width = Self::WIDTH;
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

    fn into_network(mut self) -> NeuralNetwork {
        // What no example had tells nothing; it still has its random beginning.
        for (row, is_known) in self.values.chunks_mut(Self::WIDTH).zip(&self.is_known) {
            if !is_known {
                row.fill(0.0);
            }
        }
        let output = self.bias + HIDDEN;
        NeuralNetwork {
            rows: self.values[..self.bias].to_vec(),
            bias: self.values[self.bias..output].to_vec(),
            output: self.values[output..].to_vec(),
        }
    }
}
