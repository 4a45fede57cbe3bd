//! Plain requests to be quiet: "could you hold off until 4pm? We're in a retro", 「もう少し静かにしてもらえますか」. The
//! whole message has to be such a request, with courtesies and reasons around it. What is asked of others, quoted, or
//! asked beside something else is for a model to understand.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::parse::own_words;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quiet {
    /// To say nothing for a while.
    Stop,
    /// To speak unasked less often.
    Less,
}

/// Parts of the patterns below, by the name that stands there in angle brackets.
const PARTS: [(&str, &str); 15] = [
    (
        "filler",
        "ok(?:ay)?|hey|hi|so|and|but|now|then|please|pls|plz|just|maybe|sorry|thanks|for now|from now on|can|could|would|\
will|you|u|i'd|i|like|love|want|need|appreciate it if|mind|should|have to|to|kindly|be sure|it(?:'d| would) be great if|it's time",
    ),
    (
        "speak",
        "talk|speak|reply|respond|post|answer|write|comment|chime in|jump in|butt in|weigh in|interrupt|pipe up|speak up|say anything|react",
    ),
    (
        "speaking",
        "talking|speaking|replying|responding|posting|answering|writing|commenting|chiming in|jumping in|butting in|\
weighing in|interrupting|piping up|speaking up|saying anything|reacting",
    ),
    (
        "posts",
        "messages|replies|posts|posting|answers|comments|interjections|interruptions|chatter|chatting|talking|noise",
    ),
    ("never", "don't|dont|do not|no need to|not|(?:don't|dont) (?:need|have) to"),
    ("very", " (?:a bit|a little|a lot|really|very|completely|all|just|much|way|it)"),
    (
        "tail",
        " (?:here|in (?:here|this (?:channel|room|thread)|#\\S+)|for (?:a (?:bit|while|moment|minute)|now|tonight|the (?:next|rest of) .*|\\d+ ?\\w+|\
an? \\w+|half an hour)|until .*|till? .*|today|tonight|tomorrow|this (?:week|morning|afternoon)|now|please|pls|plz|thanks|thx|thank you|ok|any ?more|again|everywhere|\
with us|a (?:bit|little|notch)|lol|some|from you|(?:so|that) (?:much|often)|every time .*|(?:to|about) every.*|\
(?:because|since|as|while|when|unless|so|during|if|we|we're|i'm) .*)",
    ),
    // A time, a place or a courtesy before a request in Japanese.
    (
        "before",
        "(?:(?:すみません(?:が)?|ごめん|悪い(?:んだ)?けど|恐れ入りますが|お願い(?:だから)?|できれば|いま|今|今日|今夜|今週|しばらく|当分|当面|ちょっと|少し|一旦|いったん|\
一回|もう|今後|ここ|この(?:チャンネル|スレッド|部屋|会話)|\\d+(?:分|時間|日)|一時間|.{0,13}[^き]まで|.{1,13}(?:の?あいだ|の?間|中))(?:だけ|ほど|くらい|は|では|で|に|の間|間)*)*",
    ),
    ("post", "投稿|発言|返信|返事|コメント|反応|書き込み|口出し"),
    (
        "unsaid",
        "(?:口を挟ま|口を出さ|口出しし|割り込ま|入ってこ|話しかけ|しゃべら|喋ら|話さ|発言し|投稿し|書き込ま|返事し|返信し|反応し|コメントし|邪魔し|(?:何も)?言わ)な",
    ),
    (
        "talk",
        "(?:投稿|発言|返信|返事|コメント|反応|口数|口出し|しゃべる|喋る|話す)(?:の?(?:回数|頻度|量))?",
    ),
    ("more", "もう少し|もうちょい|もうちょっと|もっと|少し|ちょっと|なるべく"),
    ("quietly", "お?静かに|おとなしく|控えめに"),
    ("fewer", "減らし|少なめに|控えめに|控えめで|ほどほどに|抑え"),
    // How a request ends in Japanese.
    (
        "ending",
        "(?:て|で|に|して|してて|していて|しておいて|しといて|しとき|ておいて|とけ|れ|て?いて|てて)?(?:い?て?(?:ください|下さい)|くれ(?:る|ない|ますか|ませんか|ん)?|\
もらえ(?:る|ます|ません|ない)?(?:か|かな|でしょうか)?|もらって(?:も)?いい(?:ですか)?|もらえると(?:助かり?(?:ます|る)|嬉しい(?:です)?)|いただけ(?:ますか|ませんか|ますでしょうか|ると助かります)|\
(?:ほし|欲し)い(?:です|な)?|お?願い(?:します|できますか|できますでしょうか|しまーす)?|頼む|いい(?:よ|です)?|大丈夫(?:です)?|ご遠慮ください)?[ねよなー〜っw]*",
    ),
];

const STOP: &str = "(?:<filler> )*(?:(?:be|being|stay|staying|keep|remain|go)<very>* (?:quiet|silent|muted?|out of (?:this|it)(?: (?:one|conversation|channel|thread))?)|\
quiet(?: down)?|hush|shush|shh+|silence|zip it|pipe down|shut up|mute(?: yourself)?|pause|stand down|back off|butt out|step (?:out|back|away)|sit this (?:one )?out|\
take a (?:break|rest)|hold (?:off|back|your tongue)|go away|leave us (?:alone|be|to it)|leave this(?: one| thread)? to us|\
give us (?:some |a (?:bit of|little) )?(?:space|room|privacy|peace|quiet)|let us (?:talk|chat|think|work)(?: alone| in peace)?|\
(?:stop|quit|refrain from|hold off(?: on)?|no more)(?: the)? (?:<speaking>|<posts>)|<never> <speak>)<tail>*|\
<before>(?:お?静かに|おとなしく|黙っ|だまっ|無言で|黙れ|<unsaid>(?:いで|いように|くて)|<post>[をはも]?(?:止め|やめ|控え|ストップ|ご?遠慮)し?|ほっとい|放っとい|放っておい|そっとし|見守っ|\
ミュートし|席を外し|休んで(?:い?て|も?いい|ください|下さい|ほしい|欲しい))<ending>";
const LESS: &str = "(?:<filler> )*(?:(?:(?:be|being|stay)<very>* )?(?:a (?:bit|little) )?(?:quieter|less (?:chatty|talkative|active|noisy|vocal|pushy)|more (?:quiet|reserved|selective|discreet)(?: about .*)?)|\
(?:don't|dont|do not) be so (?:chatty|talkative|noisy|active|loud)|<speak><very>* less(?: often)?|(?:tone|dial) (?:it|yourself) (?:down|back)(?:<very>| like \\S+)*|\
(?:dial|cut) (?:back|down)(?: on)? (?:the|your) <posts>|(?:a (?:bit|little) )?(?:fewer|less) <posts>|\
(?:<never>|stop|quit) (?:<speak>|<speaking>) (?:(?:so|that) (?:much|often)|every time .*|(?:to|about) every.*)|only <speak> (?:when|if) .*)<tail>*|\
<before>(?:(?:もう少し|もうちょい|もうちょっと|もっと)<quietly>|<talk>[はをの]?<more>?<fewer>|<more><talk>[はを]?<fewer>|控えめで|(?:あんまり|あまり|そんなに|毎回|いちいち)<unsaid>(?:いで|くて))<ending>";
/// A clause that only is polite.
const COURTESY: &str = "(?:<filler>|thanks?|thank you|thanks? .*|i'm|guys|mate|buddy|lol|too much|enough|alright|everyone|thx|you've been .*)\
(?: (?:<filler>|thanks?|ask|guys|mate|enough|so much))*|\
(?:すみません(?:が)?|ごめん(?:なさい)?|ありがとう?(?:ございます)?|お願い(?:します)?|悪い(?:んだ)?けど|恐れ入りますが|いま|今|ね)+|<before>";
/// A clause before a request that tells why, or of the reader.
const REASON: &str = "(?:because |cause |since |as |while |so |but )?(?:we|we're|we've|it's|this (?:one )?is|there's|i'm|you're|you|some of us|nobody|not every)\\b.*|\
.*[ぁ-ん].*(?:ので|から|んで|し|です|ます|けど|って|てる|ね)|.*中";
/// How a question ends that is a request.
const ASKS: &str =
    r".*(?:\b(?:you|u|please|maybe|ok)\b|くれ|もらえ|もらって|いただけ|願い|ください).*";

static PATTERNS: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    [LESS, STOP, COURTESY, REASON, ASKS].map(|pattern| {
        let names = PARTS.iter().fold(pattern.to_owned(), |pattern, (name, words)| {
            pattern.replace(&format!("<{name}>"), &format!("(?:{words})"))
        });
        regex(&format!("^(?:{names})$"))
    })
});

impl Quiet {
    /// Finds what a message that addresses the persona asks for. `text` is its author's own words in lower case. If it
    /// asks or says anything else, a model has to answer that.
    pub fn parse(text: &str) -> Option<Self> {
        let [less, stop, courtesy, reason, asks] = &*PATTERNS;
        let mut found: Option<Self> = None;
        for sentence in text.split_inclusive(['.', '!', '?', '。', '！', '？', '\n', ';']) {
            let is_question = sentence.trim_end().ends_with(['?', '？']);
            let mut asked: Option<Self> = None;
            for clause in clauses(sentence) {
                if less.is_match(&clause) {
                    asked = asked.max(Some(Quiet::Less));
                } else if stop.is_match(&clause) {
                    asked = asked.max(Some(Quiet::Stop));
                } else if !courtesy.is_match(&clause) {
                    let explains = match found.max(asked) {
                        Some(_) => may_explain(&clause),
                        None => reason.is_match(&clause),
                    };
                    if is_question || !explains {
                        return None;
                    }
                }
            }
            if is_question && !(asked.is_some() && asks.is_match(sentence.trim())) {
                return None;
            }
            found = found.max(asked);
        }
        found
    }

    /// Whether a message that addresses the persona may ask for quiet in words that [`Quiet::parse`] does not know.
    pub fn may_be_asked(text: &str) -> bool {
        static WORDS: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"\b(?:quiet\w*|silen(?:t|ce)|hush|shush|shut up|mute|stop|pause|hold (?:off|back)|a (?:break|rest)|enough from|alone|ourselves|some (?:space|privacy)|stay out|tone|dial|interrupt\w*|chim\w+|jump\w*|butt\w*|(?:speak|talk|post|repl|writ|comment)\w*)\b|[静黙控]|休んで|邪魔|だま|話さ|喋|しゃべ|口を|口数|減ら|割り込|おとなし|うるさ|ほっと|放っ|そっと|遠慮|頻度|ミュート|(?:投稿|発言|返信|返事|コメント|反応)",
            )
        });
        let text = own_words(text, "");
        let asks_of_it = ["you", "くれ", "もら", "いただ"];
        let is_question = text.trim_end().ends_with(['?', '？']);
        WORDS.is_match(&text) && (!is_question || asks_of_it.iter().any(|it| text.contains(it)))
    }
}

/// Whether a clause behind a request may tell why: it is no vocative and no quotation.
fn may_explain(clause: &str) -> bool {
    let is_quoted = clause.starts_with('と') || clause.starts_with("って");
    let is_japanese = clause.chars().any(|character| matches!(character, 'ぁ'..='ん'));
    !is_quoted && (is_japanese || clause.split(' ').count() >= 3)
}

/// The clauses of a sentence, without marks around them.
fn clauses(sentence: &str) -> Vec<String> {
    let marked = sentence.replace("ので", "ので、").replace("から", "から、");
    let marked = marked.replace(" but ", ", ").replace(" - ", ", ");
    let parts = marked
        .split([',', '、', '，', ':', '：', '—', '–'])
        .map(|part| {
            let is_mark = |it: char| !it.is_alphanumeric();
            let part = part.trim_start_matches(|it: char| is_mark(it) && it != '#');
            let part = part.trim_end_matches(|it: char| is_mark(it) && it != '%');
            part.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .filter(|part| !part.is_empty());
    parts.collect()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test reads every pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_or_asked_of_others_or_beside_something_else_is_conversation() {
        for text in [
            "translate this into German:\nplease be quiet in the library",
            "次を英語にして：\n静かにしてください",
            "summarize this\nAnn  10:02\nplease be quiet\nBob  10:03\nno way",
            "write a poster for the library: Welcome! Please be quiet. No food.",
            "母に、少し黙ってて、と言われた",
            "thanks. Ben, please stop talking",
            "good night! Kids, be quiet now",
            "be quiet, Ben",
            "ありがとう！田中さん、ちょっと黙ってて",
            "隣の人、静かにしてほしい",
            "list 5 names, that's enough",
            "my plan for today is to rest, eat and sleep",
            "explain it to me, but stay away from jargon",
            "コードだけ出して、コメントはいらない",
            "the draft sounds angry, tone it down",
            "turn it off",
            "監視アラートの通知が多い",
            "会議の回数を減らして",
            "remember that the demo is on Friday, and then be quiet for an hour",
        ] {
            assert_eq!(Quiet::parse(&text.to_lowercase()), None, "{text}");
        }
        for text in [
            "where can I leave my bike?",
            "how much disk space is left?",
            "summarize the rest of the thread",
            "食べすぎた",
        ] {
            assert!(!Quiet::may_be_asked(text), "{text}");
        }
    }
}
