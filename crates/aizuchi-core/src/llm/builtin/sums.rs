//! Calculations that users type to try the mind out: "what's 17 * 23?", 「128÷4は？」.

/// The calculation as it was asked, and its result. `None` if the text asks anything else.
pub fn solve(text: &str) -> Option<(String, String)> {
    const AROUND: [&str; 23] = [
        "what is", "what's", "whats", "how much is", "how much makes", "calculate", "compute",
        "please", "equals", "makes", "は何", "はいくつ", "はいくら", "を計算して", "計算して",
        "って何", "って", "ください", "は", "いくつ", "いくら", "の答え", "=",
    ];
    let lower = text.to_lowercase().replace('’', "'").replace('＝', "=");
    let sum = AROUND.iter().fold(lower, |text, word| text.replace(word, " "));
    let sum = sum.trim_matches(|character: char| {
        character.is_whitespace() || "?？!！.。".contains(character)
    });
    if let Some(percentage) = percentage(sum) {
        return Some(percentage);
    }
    let tokens = tokens(sum)?;
    let result = sum_of(&tokens).filter(|result| result.is_finite() && result.abs() < MOST)?;
    let shown: Vec<String> = tokens.iter().map(Token::to_string).collect();
    Some((shown.join(" "), number(result)))
}

/// Solves "15% of 240", 「1200円の15%引き」, 「300の10%」.
fn percentage(sum: &str) -> Option<(String, String)> {
    let sum = sum.replace('％', "%");
    let value = |text: &str| {
        let digits: String = text.chars().filter(|it| it.is_ascii_digit() || *it == '.').collect();
        let rest = text.trim_matches(|it: char| it.is_ascii_digit() || ".,円 ".contains(it));
        digits.parse::<f64>().ok().filter(|_| rest.is_empty())
    };
    let (share, whole, end) = match sum.split_once("% of ") {
        Some((share, whole)) => (value(share)?, value(whole)?, ""),
        None => {
            let (whole, share) = sum.split_once('の')?;
            let (share, end) = share.split_once('%')?;
            (value(share)?, value(whole)?, end.trim())
        }
    };
    let part = whole * share / 100.0;
    let (sign, result) = match end {
        "" => ("×", part),
        "引き" | "オフ" | "off" => ("−", whole - part),
        "増し" => ("+", whole + part),
        _ => return None,
    };
    let whole = number(whole);
    let shown = match sign {
        "×" => format!("{whole} × {}%", number(share)),
        sign => format!("{whole} {sign} {}%", number(share)),
    };
    (result.is_finite() && result.abs() < MOST).then(|| (shown, number(result)))
}

/// Integers are exact below this.
const MOST: f64 = 9e15;

#[derive(Clone, Copy, Debug, PartialEq, strum::Display)]
enum Token {
    #[strum(to_string = "{0}")]
    Number(f64),
    #[strum(to_string = "+")]
    Plus,
    #[strum(to_string = "−")]
    Minus,
    #[strum(to_string = "×")]
    Times,
    #[strum(to_string = "÷")]
    Over,
}

/// Alternating numbers and signs, with at least two numbers.
fn tokens(sum: &str) -> Option<Vec<Token>> {
    const SIGNS: [(&str, Token); 15] = [
        ("multiplied by", Token::Times),
        ("divided by", Token::Over),
        ("times", Token::Times),
        ("plus", Token::Plus),
        ("minus", Token::Minus),
        ("かける", Token::Times),
        ("割る", Token::Over),
        ("たす", Token::Plus),
        ("ひく", Token::Minus),
        ("÷", Token::Over),
        ("×", Token::Times),
        ("*", Token::Times),
        ("x", Token::Times),
        ("+", Token::Plus),
        ("-", Token::Minus),
    ];
    let mut tokens = Vec::new();
    let mut rest = sum.trim_start();
    while !rest.is_empty() {
        let is_number_due = tokens.len() % 2 == 0;
        let token = match is_number_due {
            true => {
                let is_part =
                    |character: char| character.is_ascii_digit() || ".,".contains(character);
                let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
                let digits = rest[..end].replace(',', "");
                rest = &rest[end..];
                Token::Number(digits.parse().ok()?)
            }
            false => {
                let sign = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
                let (sign, token) = sign
                    .copied()
                    .or_else(|| rest.starts_with('/').then_some(("/", Token::Over)))?;
                rest = &rest[sign.len()..];
                token
            }
        };
        tokens.push(token);
        rest = rest.trim_start();
    }
    (tokens.len() >= 3 && tokens.len() % 2 == 1 && !is_date(sum)).then_some(tokens)
}

/// Whether this is a date rather than a calculation: "12/3" and "2026-11-25" are dates.
fn is_date(sum: &str) -> bool {
    !sum.contains(char::is_whitespace)
        && sum.chars().all(|character| character.is_ascii_digit() || "/-".contains(character))
}

/// Computes products first, then additions and subtractions.
fn sum_of(tokens: &[Token]) -> Option<f64> {
    let Token::Number(first) = *tokens.first()? else { return None };
    let (mut sum, mut product) = (0.0, first);
    for pair in tokens[1..].chunks(2) {
        let [sign, Token::Number(number)] = *pair else { return None };
        match sign {
            Token::Times => product *= number,
            Token::Over => product /= number,
            Token::Plus => {
                sum += product;
                product = number;
            }
            Token::Minus => {
                sum += product;
                product = -number;
            }
            Token::Number(_) => return None,
        }
    }
    Some(sum + product)
}

/// Formats a number with at most four decimal places.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_solved_and_nothing_else_is_taken_for_one() {
        for (text, expected) in [
            ("whats 17 * 23", Some(("17 × 23", "391"))),
            ("what's 2+2?", Some(("2 + 2", "4"))),
            ("128÷4は？", Some(("128 ÷ 4", "32"))),
            ("10 / 4", Some(("10 ÷ 4", "2.5"))),
            ("3 + 4 * 5", Some(("3 + 4 × 5", "23"))),
            ("1,200 times 3", Some(("1200 × 3", "3600"))),
            ("12かける3は？", Some(("12 × 3", "36"))),
            ("10 - 3 - 2", Some(("10 − 3 − 2", "5"))),
            ("what's 15% of 240?", Some(("240 × 15%", "36"))),
            ("1,200円の15％引きっていくら？", Some(("1200 − 15%", "1020"))),
            ("300の10%は？", Some(("300 × 10%", "30"))),
            ("the 5% of us who came", None),
            ("今月の10%の人", None),
            ("1 / 0", None),
            ("12/3", None),
            ("2026-11-25", None),
            ("what is on 12/3?", None),
            ("room 4 + room 5", None),
            ("what's 17?", None),
            ("2 eggs", None),
            ("", None),
        ] {
            let expected = expected.map(|(sum, result)| (sum.to_owned(), result.to_owned()));
            assert_eq!(solve(text), expected, "{text}");
        }
    }
}
