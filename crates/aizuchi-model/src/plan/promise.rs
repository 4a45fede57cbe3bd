//! Promises in the persona's own drafts: sentences by which it would do something later. Such a sentence is true only if
//! a plan keeps it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// The first person and the future, with what may stand between it and the verb.
const ENGLISH_SELF: &str = r"(?:\b(?:i'll|i will|i shall|i'm going to|i am going to|i'm gonna|we'll|we will|we shall|count on me to)|\b(?:and|but|so) will|(?:^\W*|[^\w\s] |\bok |\bokay )(?:ill|will|gonna|going to))\s+(?:(?:also|then|just|definitely|certainly|be sure to|make sure to|try to|go and|go|come back and)\s+)*([a-z'-]+(?: [a-z'-]+){0,2})";
/// What is done at once, or is nothing to be done, though it stands in the future: “I’ll keep it short”.
const AT_ONCE: &str = r"^(?:say|(?:tell|give|let|show|spare|walk) (?:you|it|me|us)\b|be|keep (?:it|this|that|my)|admit|go (?:with|for|first)|put it|start|begin|stick|stop|leave|add|note|assume|take|bet|pass|miss|need|never|not|have to|grant|repeat|rephrase|guess|explain|skip|remember|pretend|do my best|play|quote|list|answer|get (?:straight|to the)|mention|defer|agree|try (?:to|and|my)|vote|have (?:to|the|a (?:slice|cup))|quit|second|happily|gladly|always|only|cut|bear|know|see how|paste)\b";
const ENGLISH_OTHER: &str = r"\bi'm (?:keeping (?:tabs|an eye|track)|watching|monitoring)\b|\bi'm (?:checking|asking|posting|sending|coming|following|getting|reporting|looking|updating|reminding|pinging)\b.*\b(?:later|tomorrow|tonight|soon|again|monday|tuesday|wednesday|thursday|friday|saturday|sunday|next|after|at \d)|\b(?:will|'ll) (?:receive|get|hear|have|find)\b.*\bfrom me\b|\byou'll hear\b|\b(?:expect|more|reminder|update|summary|answer)\b.*\bfrom me\b|\b(?:let me|lemme|gotta) (?:look into|check|double-check|recheck|find out|ask|dig|investigate|verify|confirm|chase|circle|get back|come back|see (?:if|whether)|report)\b|\blooking into (?:it|this|that)\b.*\b(?:brb|back|soon|answer|later)\b|^(?:ok(?:ay)?|sure|yes|right)?\W*(?:circling|checking|coming|following|getting) (?:back|in|up)\b|\b(?:answer|update|summary|results?|numbers|reminder) coming\b|\bi\'ll\b.*\band be back\b|(?:^|\W)brb\b|\bbe right back\b|^\W*(?:more|updates?) (?:soon|later|tomorrow|to follow)\b|\bi'll let (?:you|everyone|everybody|them|the|[a-z]+) know\b|\bi'll (?:tell|give|show) (?:you|everyone)\b.*\b(?:later|tomorrow|tonight|soon|when|once|by|after|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|\bi'll be (?:back|watching|checking|keeping|here when)\b|\bi'll keep (?:you|an eye|tabs|watch|track|looking|checking|monitoring)\b|\bi'll (?:take another|have another|have an answer|take a look|try again|start a|answer (?:that|this|you|it) (?:later|tomorrow|tonight|once|when))\b|\b(?:give|send|drop) (?:you|everyone|them) (?:a|another|an) (?:heads|shout|nudge|reminder|update|call|ping|note|message|poke)|\breminder (?:coming|is set|set)\b|\bi will have\b.*\bfor you\b";
/// What binds it to nothing.
const ENGLISH_FREE: &str = r"\bif (?:you (?:like|want|wish|prefer|need|ask|'d)|you'd|that helps|it helps|need be|necessary)|\bi'?ll never\b|\bwill (?:not|never)\b|^\W*(?:please|you|you'll|he|she|they)\b.*\b(?:report|check) back here";

const JAPANESE_SURE: &str = "(?:お?知らせ|ご?報告|ご?連絡|折り返|リマインド|声(?:を)?(?:お)?[かが]け|催促|お?返事|お?返信|追っかけ|追いかけ|見張|見守|様子を見(?:に来|て)|フォロー|通知|アナウンス|メンション|お?伝え|ご?回答|ご案内)";
const JAPANESE_ACT: &str = "(?:確認|チェック|見|みて|調べ|当た|聞|きい|訊|尋ね|たずね|言|送|貼|はっと|共有|まと|更新|投稿|書|探|戻|来|返|起こ|思い出|相談|検討|整理|集計|試|やっ|出|掛け合|問い合わせ|メッセージ|答え|伺|うかが|比べ|比較|計算|教え|引き継|続け|数え|測|触れ|頼|呼|にく|取り上げ|突き合わせ|覗|のぞ|流|載|上げ|あげ|コメント|発表|渡|招待|募集|開|締め|立て|付け|つけ|まわ|回)";
const JAPANESE_END: &str = "[^、。]{0,8}(?:まする?|いたします|致します|する|せる|れる|える|ける|べる|める|げる|く|す|う|ぶ|む|る)(?:予定です)?(?:から|ので|し)?(?:笑|w+|ね|よ|な|わ|から|[ー〜～!！♪☆\\s])*$";
const JAPANESE_LATER: &str = "あと|後で|後ほど|のちほど|のち|明日|明後日|あした|あす|今夜|今晩|来週|来月|今週|次回|[月火水木金土日]曜|金曜|週末|週明け|月末|当日|前日|[0-9０-９一二三四五六七八九十]+(?:時|分後|日後|日前|時間前|日に)|時間後|日後|までに|次第|しだい|たら|れば|頃|朝|夕方|昼|また|もう一度|もういちど|もう一回|もっかい|再度|改めて|引き続き|随時|定期的|今日中|時間を|しばらく|そのとき|その時|ときに|前に|過ぎ|超え|てから|近づい|時点|次の|ころ|ごろ|以内|過ぎ";
/// In the clause itself: asked of others, done already, or of the mind.
const JAPANESE_FREE: &str = "ください|て(?:ね|みて|おいて)$|てい(?:ます|る)|てま(?:す|した)|そう(?:です|だ)|とのこと|らしい|でしょう|ましょう|ますか|ようか|よっか|ません|できま|できる|られ(?:ます|る)|あります|[にがはで]います$|いる$|なります|なる$|思いま|言い直|言い換|言うと|言えば|結論|正直|覚え|留め|[がも]出ます$|[がも]来ます$|[がも]来る$|お願い";
/// Others who act, outside of the clause that names the moment.
const JAPANESE_OTHERS: &str = "さん[がはも]|定例会は|くん[がは]|ちゃん[がは]|業者|担当者[がは]|側[がも]|[^私僕俺ちら]が(?:自分で)?(?:確認|連絡|報告|お?知らせ|見に来|持って来|調べ|送)";

struct PromisePatterns {
    english: Regex,
    others: Regex,
    at_once: Regex,
    japanese: [Regex; 2],
    later: Regex,
    free: [Regex; 2],
    of_others: Regex,
}

static PATTERNS: LazyLock<PromisePatterns> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).expect("a test reads every pattern");
    PromisePatterns {
        english: regex(ENGLISH_SELF),
        others: regex(ENGLISH_OTHER),
        at_once: regex(AT_ONCE),
        japanese: [
            regex(&format!("{JAPANESE_SURE}{JAPANESE_END}")),
            regex(&format!("{JAPANESE_ACT}{JAPANESE_END}")),
        ],
        later: regex(JAPANESE_LATER),
        free: [regex(ENGLISH_FREE), regex(JAPANESE_FREE)],
        of_others: regex(JAPANESE_OTHERS),
    }
});

/// The first sentence of a text that promises something for later.
pub fn find_promise(text: &str) -> Option<Range<usize>> {
    let words = without_quotations(text);
    sentences(&words).into_iter().find(|range| is_promise(&words[range.clone()]))
}

/// A text without the sentences that promise something.
pub fn without_promises(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(promise) = find_promise(&text) {
        text.replace_range(promise, "");
    }
    text.trim().to_owned()
}

/// A text of the same length in which quotations are blank. One that never ends is none.
fn without_quotations(text: &str) -> String {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
        let pattern =
            "(?s:```.*?```)|(?m:^>.*$)|“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"\\n]*\"|`[^`\\n]*`";
        Regex::new(pattern).expect("a test reads it")
    });
    let blank = |found: &regex::Captures<'_>| " ".repeat(found[0].len());
    QUOTED.replace_all(text, blank).into_owned()
}

/// The sentences of a text, each with the mark that ends it.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let is_end = match character {
            '。' | '！' | '？' | '!' | '?' | '\n' => true,
            '.' | '…' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if is_end {
            found.push(start..at + character.len_utf8());
            start = at + character.len_utf8();
        }
    }
    found.push(start..text.len());
    found
}

fn is_promise(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let lower = lower.trim();
    let patterns = &*PATTERNS;
    let [free_english, free_japanese] = &patterns.free;
    if lower.ends_with(['?', '？', ':', '：']) {
        return false;
    }
    let acts = |found: regex::Captures<'_>| {
        let (verb, end) = (&found[1], found.get(0).map_or(0, |all| all.end()));
        // What follows a colon is said at once.
        !patterns.at_once.is_match(verb) && !lower[end..].trim_start().starts_with(':')
    };
    let is_english =
        patterns.others.is_match(lower) || patterns.english.captures_iter(lower).any(acts);
    if is_english {
        return !free_english.is_match(lower);
    }
    // A clause may end with it in the middle of the sentence: 「あとで見ますので、ご安心を」.
    let whole = lower.replace("まーす", "ます").replace('　', " ");
    let is_later = patterns.later.is_match(&whole);
    let moment_ends = ["たら", "れば", "次第", "しだい", "てから"].iter();
    let moment_ends = moment_ends.filter_map(|end| Some(whole.rfind(end)? + end.len())).max();
    if patterns.of_others.is_match(&whole[moment_ends.unwrap_or(0)..]) {
        return false;
    }
    let [sure, act] = &patterns.japanese;
    whole.split('、').any(|clause| {
        let clause = clause.trim_end_matches(|it: char| !it.is_alphanumeric());
        let is_said = sure.is_match(clause) || is_later && act.is_match(clause);
        is_said && !free_japanese.is_match(clause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_told_from_what_others_do_and_from_offers() {
        for (text, expected) in [
            ("It is closed today. I’ll check again tomorrow.", Some(" I’ll check again tomorrow.")),
            (
                "Let me look into that and get back to you.",
                Some("Let me look into that and get back to you."),
            ),
            ("明日また確認しますね", Some("明日また確認しますね")),
            ("わかりません。あとで声をかけます。", Some("あとで声をかけます。")),
            ("Shall I remind you tomorrow?", None),
            ("I can check again if you like.", None),
            ("Rin said “I’ll check tomorrow”.", None),
            ("I’ll keep it short: no.", None),
            ("You should check again tomorrow.", None),
            ("明日お知らせしましょうか？", None),
            ("リンさんが明日確認します。", None),
            ("確認しました。", None),
            ("覚えておきます。", None),
        ] {
            assert_eq!(find_promise(text).map(|range| &text[range]), expected, "{text}");
        }
        assert_eq!(
            without_promises("Yes. I’ll ping you tomorrow. It is open."),
            "Yes. It is open."
        );
    }
}
