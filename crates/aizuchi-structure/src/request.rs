//! Whether a message belongs to what its author asks right after it, because one of the two has no subject of its own.

use crate::cues::Cues;
use crate::prose;
use crate::words::rare_words;

/// Requests that point to what was said before them.
const POINTING: &str = "any idea|any ideas|any idea why|any thoughts|thoughts|can you help|could you help|please help|\
    help|do you know|what do you think|what about it|何か分かる|分かる|分かりますか|わかる|わかりますか|知ってる|\
    知っていますか|どう|どう思う|どう思いますか|なんで|教えて|教えてください|助けて";

/// Whether an answer to `request` answers `message` as well, which its author wrote before: a mere greeting, or the same
/// question.
pub fn leads_up_to(message: &str, request: &str) -> bool {
    let (prose_of_message, cues) = (prose(message), Cues::from_text(message));
    let words = rare_words(&prose_of_message);
    let is_greeting = cues.contains(Cues::GREETING)
        && words.len() <= 2
        && !cues.intersects(Cues::ASKS.union(Cues::TROUBLE).union(Cues::FIRST_PERSON));
    let words_of_request = rare_words(&prose(request));
    let is_repeated = cues.contains(Cues::ASKS)
        && !words.is_empty()
        && words.iter().all(|word| words_of_request.contains(word));
    is_greeting || is_repeated
}

/// Whether a request says nothing but names, or only points, so that it is about the message right before it.
pub fn points_back(request: &str) -> bool {
    let request = prose(request);
    let request = request.split_whitespace().filter(|word| !word.starts_with('@'));
    let request = request.collect::<Vec<_>>().join(" ");
    let request = request.trim_end_matches(|character: char| !character.is_alphanumeric());
    request.is_empty() || POINTING.split('|').any(|pointing| pointing == request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_a_subject_of_its_own_leads_up_to_a_request() {
        for (message, request, expected) in [
            ("hey", "@Aizuchi when is the deploy?", true),
            ("hello everyone", "@Aizuchi when is the deploy?", true),
            ("hey, I feel like giving up", "@Aizuchi when is the deploy?", false),
            ("when is the deploy?", "@Aizuchi when is the deploy?", true),
            ("when is the deploy?", "@Aizuchi", true),
            ("when is the deploy?", "@Aizuchi ?", true),
            ("uploads fail with a 413", "@Aizuchi any idea?", true),
            ("uploads fail with a 413", "@Aizuchi do you know who runs it?", false),
            ("has anybody a charger?", "@Aizuchi when is the deploy?", false),
            ("has anybody a charger?", "@Aizuchi thanks", false),
            ("my dad is in hospital again", "@Aizuchi what is the weather like?", false),
            ("おはようございます", "@Aizuchi デプロイいつですか", true),
            ("デプロイいつですか", "@Aizuchi 分かる？", true),
            ("デプロイいつですか", "@Aizuchi デプロイはいつですか？", true),
            ("誰かPR見てもらえませんか", "@Aizuchi 12月4日は何曜日？", false),
            ("誰かPR見てもらえませんか", "@Aizuchi ありがとう", false),
            ("財布をなくした", "@Aizuchi 会議何時から？", false),
        ] {
            let is_covered = leads_up_to(message, request) || points_back(request);
            assert_eq!(is_covered, expected, "{message} / {request}");
        }
    }
}
