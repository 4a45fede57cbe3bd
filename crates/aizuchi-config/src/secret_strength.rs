//! Whether a secret is easy to guess: an estimate that sees through words, sequences and repetitions.

/// The minimum estimate. A secret of 16 random hexadecimal digits is certain to reach it.
const MIN_BITS: f64 = 40.0;

/// Words that count as one character, because guesses start with them.
const WORDS: &[&str] = &[
    "administrator", "password", "passphrase", "passwort", "changeme", "change", "secret", "token",
    "admin", "letmein", "welcome", "example", "aizuchi", "slack", "discord", "default", "login",
    "master", "hunter2", "iloveyou", "monkey", "dragon", "replace", "random", "please", "access",
    "sample", "dummy", "guest", "test", "user", "root", "this", "with", "your", "long", "here",
    "http", "the", "my",
];

/// Rows of characters in which the next one is easy to guess.
const ROWS: [&str; 5] =
    ["abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// The minimum length of a run of neighbors or of one character. Shorter runs happen by chance.
const MIN_RUN: usize = 3;

/// Whether an attacker who tries likely secrets first would find this one.
pub fn is_guessable(secret: &str) -> bool {
    let secret: Vec<char> = secret.trim().to_lowercase().chars().collect();
    let surprises = surprises(once(&secret));
    let mut kinds = surprises.clone();
    kinds.sort_unstable();
    kinds.dedup();
    // As if each surprise were drawn from the kinds that occur; one kind alone gives no bits.
    (surprises.len() as f64) * (kinds.len() as f64).log2() < MIN_BITS
}

/// The secret without its repetitions, if it repeats as a whole.
fn once(secret: &[char]) -> &[char] {
    let is_period =
        |period: &usize| secret.iter().skip(*period).zip(secret).all(|(one, other)| one == other);
    let period = (1..=secret.len() / 2).find(is_period);
    &secret[..period.unwrap_or(secret.len())]
}

/// The characters that an attacker has to guess. Each word and each run counts as one.
fn surprises(secret: &[char]) -> Vec<char> {
    let mut found = Vec::new();
    let mut rest = secret;
    while let Some(first) = rest.first() {
        let length = word(rest).max(run(rest)).max(1);
        found.push(*first);
        rest = &rest[length..];
    }
    found
}

/// The length of the word that the text begins with, or 0.
fn word(text: &[char]) -> usize {
    let begins = |word: &&&str| {
        word.chars().count() <= text.len()
            && word.chars().zip(text).all(|(one, other)| one == *other)
    };
    WORDS.iter().filter(begins).map(|word| word.len()).max().unwrap_or(0)
}

/// The length of the run that the text begins with, or 0.
fn run(text: &[char]) -> usize {
    let is_step = |step: fn(char, char) -> bool| {
        let steps = text.iter().zip(text.iter().skip(1));
        1 + steps.take_while(|(one, next)| step(**one, **next)).count()
    };
    let same = is_step(|one, next| one == next);
    let up = is_step(are_neighbors);
    let down = is_step(|one, next| are_neighbors(next, one));
    let longest = same.max(up).max(down);
    if longest >= MIN_RUN { longest } else { 0 }
}

fn are_neighbors(one: char, next: char) -> bool {
    ROWS.iter().any(|row| row.chars().zip(row.chars().skip(1)).any(|pair| pair == (one, next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_sequences_and_repetitions_are_guessable() {
        for secret in [
            "aaaaaaaaaaaaaaaa",
            "abababababababab",
            "0123456789abcdef",
            "fedcba9876543210",
            "qwertyuiopasdfghjkl",
            "passwordpassword",
            "Password12345678",
            "change-me-change-me",
            "changeme-changeme-1",
            "hunter2hunter2hunter2",
            "aizuchi-token-2026",
            "my-secret-password-1",
            "replace-this-with-a-long-random-token",
            "11112222333344445555",
            "                secret",
        ] {
            assert!(is_guessable(secret), "{secret}");
        }
    }

    #[test]
    fn random_secrets_are_not_guessable() {
        for secret in [
            "9f86d081884c7d65",
            "e3b0c44298fc1c14",
            "4b227777d4dd1fc6",
            "correct-horse-battery-staple",
            "8302751946620913847",
            "Zk3v-9QpT-x7Lw-a2Rm",
            "猫は三匹とも窓辺で雨の音を聞いて眠る",
        ] {
            assert!(!is_guessable(secret), "{secret}");
        }
    }
}
