//! A small network on binary features: `weight · x + output · relu(H x + bias)`.

/// A network with its coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct NeuralNetwork {
    /// For each feature, its weight and its column of `H`: 1 + `hidden` numbers.
    pub rows: Vec<f32>,
    pub bias: Vec<f32>,
    pub output: Vec<f32>,
}

/// The unit of the numbers in a table.
const UNIT: f32 = 0.01;
/// The number of hidden units with a loop of its own.
const WIDE: usize = 16;

impl NeuralNetwork {
    pub fn hidden(&self) -> usize {
        self.bias.len()
    }

    /// The score of a set of features. `hidden` is a buffer.
    pub fn score(&self, active: &[u16], hidden: &mut Vec<f32>) -> f32 {
        // The network that finds links has this width. A loop as wide as the registers is several times as fast.
        if self.hidden() == WIDE {
            return self.score_wide(active);
        }
        let width = self.hidden() + 1;
        hidden.clear();
        hidden.extend_from_slice(&self.bias);
        let mut score = 0.0;
        for feature in active {
            let start = usize::from(*feature) * width;
            let row = &self.rows[start..start + width];
            score += row[0];
            for (unit, weight) in hidden.iter_mut().zip(&row[1..]) {
                *unit += weight;
            }
        }
        let units = hidden.iter().zip(&self.output);
        score + units.map(|(unit, weight)| unit.max(0.0) * weight).sum::<f32>()
    }

    /// Computes the score with [`WIDE`] hidden units, in the same order and therefore with the same bits.
    fn score_wide(&self, active: &[u16]) -> f32 {
        // Rows of a known length need one bounds check each.
        let (rows, _) = self.rows.as_chunks::<{ WIDE + 1 }>();
        let mut hidden = [0.0_f32; WIDE];
        hidden.copy_from_slice(&self.bias);
        let mut score = 0.0_f32;
        for feature in active {
            let [weight, units @ ..] = &rows[usize::from(*feature)];
            score += *weight;
            for (unit, weight) in hidden.iter_mut().zip(units) {
                *unit += *weight;
            }
        }
        let units = hidden.iter().zip(&self.output);
        score + units.map(|(unit, weight)| unit.max(0.0) * weight).sum::<f32>()
    }

    /// Parses a table: a line for each row, then one for `bias` and one for `output`, each a name and whole numbers of
    /// hundredths, separated by commas. Returns `None` for anything else.
    pub fn parse(table: &str) -> Option<Self> {
        let numbers = |line: &str| -> Option<Vec<f32>> {
            let cells = line.split(',').skip(1);
            cells.map(|cell| Some(f32::from(cell.parse::<i16>().ok()?) * UNIT)).collect()
        };
        let lines: Vec<Vec<f32>> = table.lines().map(numbers).collect::<Option<_>>()?;
        let (output, rest) = lines.split_last()?;
        let (bias, rows) = rest.split_last()?;
        let is_whole =
            bias.len() == output.len() && rows.iter().all(|row| row.len() == bias.len() + 1);
        is_whole.then(|| Self { rows: rows.concat(), bias: bias.clone(), output: output.clone() })
    }

    /// Writes the table that [`NeuralNetwork::parse`] reads, with these names for the rows.
    pub fn to_table(&self, names: &[String]) -> String {
        let line = |name: &str, numbers: &[f32]| {
            let cells = numbers.iter().map(|number| format!(",{}", (number / UNIT).round() as i16));
            format!("{}{}\n", name.replace(',', ";"), cells.collect::<String>())
        };
        let rows = names.iter().zip(self.rows.chunks(self.hidden() + 1));
        let rows: String = rows.map(|(name, row)| line(name, row)).collect();
        rows + &line("bias", &self.bias) + &line("output", &self.output)
    }
}

/// Turns scores into probabilities that sum to one.
pub fn softmax(scores: &mut [f32]) {
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - highest).exp();
        sum += *score;
    }
    for score in scores {
        *score /= sum;
    }
}

pub fn sigmoid(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_back_and_scores() {
        let network = NeuralNetwork {
            rows: vec![0.5, 1.0, -1.0, 0.25, 0.0, 2.0],
            bias: vec![-0.5, 0.0],
            output: vec![2.0, 1.0],
        };
        let table = network.to_table(&["a, b 0".to_owned(), "a 1".to_owned()]);
        assert_eq!(NeuralNetwork::parse(&table), Some(network.clone()));
        let mut buffer = Vec::new();
        assert_eq!(network.score(&[0], &mut buffer), 0.5 + 2.0 * 0.5);
        assert_eq!(network.score(&[0, 1], &mut buffer), 0.75 + 2.0 * 0.5 + 1.0);
        for table in ["", "a,1", "a,1,2\nbias,1,2\noutput,1,2", "a,x,1\nbias,1\noutput,1"] {
            assert_eq!(NeuralNetwork::parse(table), None, "{table}");
        }
    }
}
