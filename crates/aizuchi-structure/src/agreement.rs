//! Whether a message only agrees, so that nobody has to look at it.

use crate::cues::Cues;
use crate::prose;
use crate::reader::split_words;

/// Words that agree.
const AGREES: &str = "ok|okay|agreed|works|fine|good|great|perfect|yes|yep|yeah|sure|sounds|deal";
/// Words that may stand beside them, as numbers may.
const BESIDE: &str = "me|us|for|by|with|to|is|that|the|on|at|all|and|too|am|pm|\
    monday|tuesday|wednesday|thursday|friday|saturday|sunday";
/// The same in Japanese. A phrase stands before the shorter ones that it contains.
const AGREES_JAPANESE: &str = "オーケー|オッケー|okay|ok|大丈夫|了解|承知|賛成|異議なし|異議ありません|問題ありません|問題ない|\
    いいと思います|いいです|行けます|いけます|参加します|それでお願い|はい";
const BESIDE_JAPANESE: &str = "いたしました|しました|します|です|ます|それ|その|私|僕|日|月|火|水|木|金|土|曜|時|分|\
    は|も|で|に|の|を|と|ね|よ|だ";
const MARKS: [&str; 7] = ["👍", "👌", "🙆", "✅", "⭕", "🙌", "+1"];

/// Whether a message is surely nothing but consent, as to a date: "12th works for me", 「12日でOKです」. Any other word may turn
/// it into its opposite: "fine. do it yourself".
pub fn is_plain_agreement(text: &str) -> bool {
    let cues = Cues::from_text(text);
    if cues.intersects(Cues::ASKS | Cues::QUESTION_WORD | Cues::TROUBLE | Cues::AGAIN | Cues::NO) {
        return false;
    }
    let text = prose(text);
    let text = text.trim();
    if MARKS.iter().any(|mark| text.trim_end_matches('\u{fe0f}') == *mark) {
        return true;
    }
    if cues.contains(Cues::JAPANESE) {
        return agrees_in_japanese(text);
    }
    let is_listed = |list: &str, word: &str| list.split('|').any(|listed| listed == word);
    let is_number = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let says = |word: &&str| !is_number(word) && !is_listed(BESIDE, word);
    let mut words = split_words(text).filter(says).peekable();
    words.peek().is_some() && words.all(|word| is_listed(AGREES, word))
}

fn agrees_in_japanese(text: &str) -> bool {
    // Each once: 「はいはい」 is no consent.
    let beside = AGREES_JAPANESE
        .split('|')
        .fold(text.to_owned(), |rest, phrase| rest.replacen(phrase, " ", 1));
    let agrees = beside != text;
    let rest = BESIDE_JAPANESE.split('|').fold(beside, |rest, phrase| rest.replace(phrase, " "));
    agrees && !rest.contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_agrees_is_told_from_what_says_more() {
        for text in [
            "ok for me",
            "fine by me",
            "12th works for me",
            "Tuesday is fine",
            "agreed",
            "that works for me",
            "sounds good",
            "👍",
            "+1",
            "12日でOKです",
            "12日で大丈夫です",
            "私もOKです",
            "了解です",
            "はい、大丈夫です",
            "賛成です",
            "問題ありません",
            "それでお願いします",
        ] {
            assert!(is_plain_agreement(text), "{text}");
        }
        for text in [
            "ok but who pays?",
            "ok, but I'm not happy with it",
            "I can't on the 12th",
            "whatever",
            "you never listen",
            "fine. do it yourself",
            "sure, blame me",
            "big deal",
            "good for you",
            "this is not ok",
            "good that you finally say it after three weeks of silence",
            "12日は無理です",
            "12日でOKですが、場所はどこですか",
            "OKじゃないです",
            "別にいいけど",
            "もういいよ",
            "はいはい",
            "はいはい、全部俺のせい",
            "いつもそうやって人のせいにする",
            "もう無理です",
        ] {
            assert!(!is_plain_agreement(text), "{text}");
        }
    }
}
