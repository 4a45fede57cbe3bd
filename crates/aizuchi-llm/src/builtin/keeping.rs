//! What users ask the built-in mind to keep, and whether it is still kept.

use aizuchi_model::context::MAX_RECENT_MEMOS;
use aizuchi_model::memo::MAX_NAME_LENGTH;

use crate::builtin::matching::{is_mark, normalize, without_prefixes};
use crate::builtin::phrases::List;
use crate::prompt::Prompt;

/// The tool that adds a memo.
pub const ADD_MEMO: &str = "add_memo";

pub fn can_keep(prompt: &Prompt) -> bool {
    prompt.tools.iter().any(|tool| tool.name == ADD_MEMO)
}

/// The name of the memo that keeps this text.
pub fn memo_name(text: &str) -> String {
    let name: String = text.chars().take(MAX_NAME_LENGTH).collect();
    name.trim().to_owned()
}

/// Whether the memo made of this text has been deleted. A memo whose content was corrected keeps its name. While
/// there are more memos than a prompt contains, this is unknown.
pub fn is_thrown_away(text: &str, prompt: &Prompt) -> bool {
    let context = &prompt.context;
    let mut memos = context.important_memos.iter().chain(&context.recent_memos);
    can_keep(prompt)
        && context.recent_memos.len() < MAX_RECENT_MEMOS
        && !memos.any(|memo| memo.content == text || memo.name == memo_name(text))
}

/// The text to keep: "remember that the deploy is on Friday" → "the deploy is on Friday". `None` for a question.
pub fn text_to_keep(text: &str) -> Option<String> {
    if let Some(kept) = kept_under_title(text) {
        return Some(kept);
    }
    let text = without_beginning(without_polite_question(text));
    if text.trim_end().ends_with(['?', '？', 'か']) {
        return None;
    }
    // Only ASCII, so that positions in the two texts correspond: some letters are longer or shorter in lower case.
    let lower = text.to_ascii_lowercase();
    let polite =
        ["please ", "pls ", "plz ", "can you ", "can u ", "could you ", "would you ", "will you "];
    let skipped = polite.iter().find(|word| lower.starts_with(**word)).map_or(0, |word| word.len());
    let (lower, text) = (&lower[skipped..], &text[skipped..]);
    let behind = List::KeepBefore.phrases().iter().find_map(|phrase| {
        let rest = lower.strip_prefix(phrase)?;
        let is_cut =
            phrase.is_ascii() && rest.starts_with(|character: char| character.is_alphanumeric());
        (!is_cut).then(|| &text[text.len() - rest.len()..])
    });
    let trimmed = lower.trim_end_matches(is_mark);
    let before = List::KeepBehind.phrases().iter().find_map(|phrase| {
        let rest = trimmed.strip_suffix(phrase)?;
        // Accepts "…, remember that", but not "I can't remember that".
        let is_begun = !phrase.is_ascii()
            || rest.trim_end().ends_with([',', '.', '!', ';', ':', '–', '-'])
            || rest.ends_with(' ') && phrase.starts_with("please ");
        is_begun.then(|| &text[..rest.len()])
    });
    let is_around = |character| is_mark(character) || ":：".contains(character);
    let kept = before.map(without_copula).or(behind)?.trim_matches(is_around);
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// 「住所を覚えて：品川区」 → 「住所：品川区」.
fn kept_under_title(text: &str) -> Option<String> {
    const BETWEEN: [&str; 6] = [
        "を覚えておいて：",
        "を覚えといて：",
        "を覚えて：",
        "をメモして：",
        "を覚えて:",
        "をメモして:",
    ];
    let (title, told) = BETWEEN.iter().find_map(|between| text.split_once(between))?;
    let is_whole = !title.is_empty() && !told.trim().is_empty();
    is_whole.then(|| format!("{title}：{}", told.trim()))
}

/// Removes "Actually …", 「やっぱり…」: that something has changed is not part of what is kept.
fn without_beginning(text: &str) -> &str {
    const BEGINNINGS: [&str; 5] = ["actually, ", "actually ", "やっぱり、", "やっぱり", "やはり"];
    let behind = BEGINNINGS.iter().find_map(|begin| {
        let start = text.get(..begin.len())?;
        start.eq_ignore_ascii_case(begin).then(|| &text[begin.len()..])
    });
    behind.unwrap_or(text)
}

/// Turns a polite question into an order: 「…を覚えておいてもらえる？」 → 「…を覚えておいて」, "can you remember that it moved?" → "can you
/// remember that it moved".
fn without_polite_question(text: &str) -> &str {
    const KEEPS: [&str; 4] = ["remember that ", "keep in mind ", "make a note ", "note down "];
    const ASKS: [&str; 4] = ["can you ", "could you ", "would you ", "will you "];
    let body = text.trim_end_matches(is_mark);
    let polite = List::Requests.phrases().iter().find_map(|end| body.strip_suffix(end));
    let keeps = |rest: &&str| {
        rest.ends_with('て') && List::KeepBehind.phrases().iter().any(|it| rest.ends_with(it))
    };
    if let Some(rest) = polite.filter(keeps) {
        return rest;
    }
    let lower = normalize(body);
    let asked = without_prefixes(&lower, &ASKS);
    let asked = without_prefixes(asked, &["please "]);
    // "Can you remember that meeting?" asks about the meeting.
    const VERBS: [&str; 9] =
        [" is ", " are ", " was ", " were ", " will ", " has ", " have ", "'s ", " moved "];
    let told = format!("{asked} ");
    let is_order = asked.len() < lower.len()
        && KEEPS.iter().any(|it| asked.starts_with(it))
        && VERBS.iter().any(|verb| told.contains(verb));
    if is_order { body } else { text }
}

/// Removes the copula: 「金曜日だ」 → 「金曜日」, from 「金曜日だと覚えておいて」. A verb keeps its ending: 「頼んだ」.
fn without_copula(text: &str) -> &str {
    // In 「金曜にやるから覚えといて」, the reason for keeping it is not part of the text, but in 「15時から」 and 「頼んだ」 the ending is.
    let is_kana = |character: char| ('ぁ'..='ん').contains(&character);
    let ends_sentence =
        |rest: &str| rest.ends_with(|character| "るうくすつぬぶむぐいただ".contains(character));
    let text = text.trim_end_matches(is_mark);
    let text = text.strip_suffix("から").filter(|rest| ends_sentence(rest)).unwrap_or(text);
    let text = text.strip_suffix("って").filter(|rest| ends_sentence(rest)).unwrap_or(text);
    let explains = ["なの", "なので"].iter().find_map(|end| text.strip_suffix(end));
    let text = explains.filter(|rest| !rest.ends_with(is_kana)).unwrap_or(text);
    match text.strip_suffix('だ') {
        Some(rest) if rest.ends_with("から") || rest.ends_with("まで") => rest,
        Some(rest) if !rest.ends_with(|character| ('ぁ'..='ん').contains(&character)) => rest,
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Kelvin sign is two bytes shorter in lower case, and the dotted I one byte longer.
    #[test]
    fn letters_of_another_length_in_lower_case_are_no_letters_of_a_phrase() {
        assert_eq!(text_to_keep("İİ, \u{212a}eep that in mind"), None);
        assert_eq!(text_to_keep("İİ, Keep that in mind").as_deref(), Some("İİ"));
        assert_eq!(text_to_keep("KEEP IN MIND THAT İİ \u{212a}").as_deref(), Some("İİ \u{212a}"));
    }
}
