//! The words, pairs of words and Japanese endings by which answers differ from other messages. They are the ones that
//! occur often in the scenes of the fit; `examples/fit_structure` writes the list.

use std::sync::LazyLock;

use crate::fixed_map::FixedMap;
use crate::reader::is_japanese;

/// The maximum length that is read. The beginning of a longer text suffices.
const MAX_CHARACTERS: usize = 300;

static NUMBERS: LazyLock<FixedMap<&'static str, u16>> =
    LazyLock::new(|| include_str!("vocabulary.txt").lines().zip(0..).collect());

/// The number of forms in the list.
pub fn len() -> usize {
    NUMBERS.len()
}

/// The numbers of the listed forms in a text in lower case, sorted and without duplicates.
pub fn listed_forms(body: &str) -> Vec<u16> {
    let mut numbers = Vec::new();
    each_form(body, |form| numbers.extend(NUMBERS.get(form)));
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Calls `visit` with the forms of a text: Latin words, pairs of neighboring words and of the start and the first word,
/// two or three neighboring Japanese characters, the start and the end of a run of these, and the marks that end a
/// sentence.
pub fn each_form(body: &str, mut visit: impl FnMut(&str)) {
    let end = body.char_indices().nth(MAX_CHARACTERS).map_or(body.len(), |(end, _)| end);
    let (mut form, mut before) = (String::new(), "");
    for run in runs(&body[..end]) {
        match script(run.chars().next()) {
            Script::Latin => {
                visit(run);
                form.clear();
                form.extend([if before.is_empty() { "^" } else { before }, " ", run]);
                visit(&form);
                before = run;
            }
            Script::Japanese => each_japanese_form(run, &mut form, &mut visit),
            Script::Mark => visit(run),
            Script::Other => {}
        }
    }
}

fn each_japanese_form(run: &str, form: &mut String, visit: &mut impl FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let characters = starts.len() - 1;
    for size in [2, 3] {
        for at in 0..(characters + 1).saturating_sub(size) {
            visit(&run[starts[at]..starts[at + size]]);
        }
        form.clear();
        form.extend(["$", &run[starts[characters.saturating_sub(size)]..]]);
        visit(form);
    }
    form.clear();
    form.extend(["^", &run[..starts[characters.min(2)]]]);
    visit(form);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Japanese,
    Mark,
    Other,
}

fn script(character: Option<char>) -> Script {
    match character {
        Some('a'..='z' | '\'') => Script::Latin,
        Some('?' | '!' | '？' | '！' | '…' | '。' | '、') => Script::Mark,
        Some('ー') => Script::Japanese,
        Some(character) if is_japanese(character) && !"・゛゜".contains(character) => {
            Script::Japanese
        }
        Some(_) | None => Script::Other,
    }
}

/// The runs of one script. Each mark is a run of its own.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = script(rest.chars().next());
        let is_end = |(number, character): (usize, char)| {
            script(Some(character)) != first || (number > 0 && first == Script::Mark)
        };
        let mut characters = rest.char_indices().enumerate();
        let end = characters
            .find(|(number, (_, character))| is_end((*number, *character)))
            .map_or(rest.len(), |(_, (at, _))| at);
        let (run, after) = rest.split_at(end);
        rest = after;
        (!run.is_empty()).then_some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_words_pairs_and_endings() {
        let forms = |text: &str| {
            let mut forms = Vec::new();
            each_form(text, |form| forms.push(form.to_owned()));
            forms.join("|")
        };
        assert_eq!(forms("on it, sir!"), "on|^ on|it|on it|sir|it sir|!");
        assert_eq!(forms("棚です。"), "棚で|です|$です|棚です|$棚です|^棚で|。");
        assert_eq!(forms("は 9"), "$は|$は|^は");
    }
}
