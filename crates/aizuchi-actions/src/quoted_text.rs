//! The quotations in a command: lines that begin with `>`, and text in quotation marks.

/// Opening and closing quotation marks.
const MARKS: [(char, char); 5] = [('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('«', '»')];

/// A text, separated from its quotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quoted {
    /// The text without quoted lines, and with an ellipsis for each quotation in marks.
    pub rest: String,
    pub quotations: Vec<String>,
}

impl Quoted {
    pub fn split(text: &str) -> Self {
        let mut quoted = Self::default();
        for line in text.lines() {
            match line.trim_start().strip_prefix('>') {
                Some(quotation) => quoted.quotations.push(quotation.to_owned()),
                None => quoted.take_marked(line),
            }
            quoted.rest.push('\n');
        }
        for quotation in &mut quoted.quotations {
            *quotation = quotation.trim_matches(['>', ' ', '\u{3000}']).to_owned();
        }
        quoted.quotations.retain(|quotation| !quotation.is_empty());
        quoted
    }

    /// Extracts the text between quotation marks from a line.
    fn take_marked(&mut self, line: &str) {
        let mut left = line;
        while let Some((before, quotation, behind)) = first_quotation(left) {
            self.rest.push_str(before);
            self.rest.push('…');
            self.quotations.push(quotation.to_owned());
            left = behind;
        }
        self.rest.push_str(left);
    }
}

/// Splits a text into the parts before, inside and after the first pair of quotation marks.
fn first_quotation(text: &str) -> Option<(&str, &str, &str)> {
    let opening = |character: char| MARKS.iter().find(|(open, _)| *open == character);
    let (at, (open, close)) = text
        .char_indices()
        .find_map(|(at, character)| opening(character).map(|marks| (at, *marks)))?;
    let (quotation, behind) = text[at + open.len_utf8()..].split_once(close)?;
    Some((&text[..at], quotation, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_lines_and_marked_text() {
        for (text, rest, quotations) in [
            ("forget that", "forget that", &[][..]),
            ("> the beans are up\nforget that", "forget that", &["the beans are up"]),
            ("> a b\n>> c\n@A forget that", "@A forget that", &["a b", "c"]),
            ("forget “the beans” please", "forget … please", &["the beans"]),
            ("「豆が出た」を忘れて", "…を忘れて", &["豆が出た"]),
            ("forget \"a\" and \"b\"", "forget … and …", &["a", "b"]),
            ("5\" of snow", "5\" of snow", &[]),
            (">\nforget that", "forget that", &[]),
        ] {
            let quoted = Quoted::split(text);
            let owned = |texts: &[&str]| texts.iter().map(|it| it.to_string()).collect::<Vec<_>>();
            assert_eq!(
                (quoted.rest.trim(), quoted.quotations),
                (rest, owned(quotations)),
                "{text}"
            );
        }
    }
}
