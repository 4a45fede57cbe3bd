//! Whether a message only agrees, so that nobody has to look at it.

use crate::cues::Cues;
use crate::prose;
use crate::reader::split_words;

/// What agrees: an English word or the beginning of a longer one, and a Japanese phrase.
const AGREES: &str = "ok|okay|agreed|works|fine|good|great|perfect|yes|yep|yeah|sure|sounds|deal|OK|オーケー|オッケー|大丈夫|\
    了解|承知|賛成|異議なし|異議ありません|問題ありません|問題ない|いいと思います|いいです|はい|行けます|いけます|参加します|それでお願い";
/// What takes it back: 「OKですが」, "ok, but".
const TAKES_BACK: &str = "but|not|however|though|whatever|unless|except|if|が、|けど|でも|ただ|じゃない|ではない|無理|別に|たぶん";
const MARKS: [&str; 7] = ["👍", "👌", "🙆", "✅", "⭕", "🙌", "+1"];
/// Longer messages say more than that.
const MAX_WORDS: usize = 6;
const MAX_JAPANESE_LETTERS: usize = 18;

/// Whether a message is surely nothing but consent, as to a date: "12th works for me", 「12日でOKです」.
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
    let has = |list: &str| {
        list.split('|').map(str::to_lowercase).any(|listed| match listed.is_ascii() {
            // Beside Japanese letters a Latin word has no spaces around it.
            true if cues.contains(Cues::JAPANESE) => text.contains(&listed),
            true => split_words(text).any(|word| word == listed),
            false => text.contains(&listed),
        })
    };
    let is_short = match cues.contains(Cues::JAPANESE) {
        true => {
            text.chars().filter(|letter| letter.is_alphanumeric()).count() <= MAX_JAPANESE_LETTERS
        }
        false => split_words(text).count() <= MAX_WORDS,
    };
    is_short && has(AGREES) && !has(TAKES_BACK)
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
            "sounds good",
            "👍",
            "+1",
            "12日でOKです",
            "12日で大丈夫です",
            "私もOKです",
            "了解です",
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
            "this is not ok",
            "good that you finally say it after three weeks of silence",
            "12日は無理です",
            "12日でOKですが、場所はどこですか",
            "OKじゃないです",
            "別にいいけど",
            "もういいよ",
            "いつもそうやって人のせいにする",
            "もう無理です",
        ] {
            assert!(!is_plain_agreement(text), "{text}");
        }
    }
}
