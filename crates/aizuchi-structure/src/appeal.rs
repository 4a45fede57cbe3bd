//! How much the words of a message ask for a word from somebody, whatever their form: a question with or without a
//! mark, a plea, trouble or distress. Its forms are weighed; `examples/fit_structure` writes the weights.

use std::sync::LazyLock;

use crate::fixed_map::{FixedMap, FixedSet};
use crate::vocabulary::each_form;

/// The maximum length that is read, in bytes. The beginning of a longer text suffices.
const MAX_BYTES: usize = 1200;
/// The unit of the weights in the table.
const UNIT: f32 = 0.01;

struct FormWeights {
    forms: FixedMap<&'static str, i16>,
    bias: i16,
}

static WEIGHTS: LazyLock<FormWeights> = LazyLock::new(|| {
    let rows = include_str!("appeal.csv").lines().filter_map(|row| {
        let (form, weight) = row.rsplit_once(',')?;
        Some((form, weight.parse::<i16>().ok()?))
    });
    let mut forms: FixedMap<&'static str, i16> = rows.collect();
    FormWeights { bias: forms.remove("bias").unwrap_or_default(), forms }
});

/// The appeal of a text in lower case, in log odds.
pub fn appeal(body: &str) -> f32 {
    let weights = &*WEIGHTS;
    let mut seen: FixedSet<&'static str> = FixedSet::default();
    let mut sum = i32::from(weights.bias);
    each_appeal_form(body, |form| {
        if let Some((form, weight)) = weights.forms.get_key_value(form)
            && seen.insert(form)
        {
            sum += i32::from(*weight);
        }
    });
    sum as f32 * UNIT
}

/// Calls `visit` with the forms of each clause of a text. The marks that end sentences are left out: a question counts
/// as much without one.
pub fn each_appeal_form(body: &str, mut visit: impl FnMut(&str)) {
    let end = body.floor_char_boundary(MAX_BYTES);
    let is_mark = |form: &str| form.starts_with(['?', '!', '？', '！', '…', '。']);
    for clause in body[..end].split([',', ';', ':', '(', ')', '、', '—', '–']) {
        each_form(clause, |form| {
            if !is_mark(form) {
                visit(form);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose;

    #[test]
    fn an_appeal_needs_no_question_mark() {
        for (calling, idle) in [
            ("who has access to the billing dashboard", "I have access to the billing dashboard"),
            ("what is the difference between a 502 and a 504", "that is the difference"),
            ("デプロイいつ", "デプロイしました"),
            ("誰かPR見てもらえませんか", "PR見ました"),
            ("uploads fail with a 413 on the new box", "the new box is up"),
            ("my grandmother died yesterday", "my grandmother made soup yesterday"),
            ("もう向いてないのかもしれない", "なるほど、それで"),
        ] {
            let of = |text: &str| appeal(&prose(text));
            assert!(of(calling) > of(idle) + 0.5, "{calling}: {} {}", of(calling), of(idle));
        }
    }
}
