//! Plain requests to be quiet: "could you hold off until 4pm? We're in a retro", 「もう少し静かにしてもらえますか」. One
//! clause asks its reader for silence; politeness and reasons around it do not matter. What is asked of others ("tell Ben
//! to be quiet"), and what is only spoken of, is conversation.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::command::parse::own_words;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quiet {
    /// To say nothing for a while.
    Stop,
    /// To speak unasked less often.
    Less,
}

/// The patterns of one language. Words in angle brackets stand for the pattern of that name.
struct Patterns {
    less: Regex,
    stop: Regex,
}

impl Patterns {
    fn new(names: &[(&str, &str)], less: &str, stop: &str) -> Self {
        let pattern = |request: &str| {
            let mut pattern = format!("^<before>(?:{request})");
            for (name, words) in names {
                pattern = pattern.replace(&format!("<{name}>"), &format!("(?:{words})"));
            }
            regex(&pattern)
        };
        Self { less: pattern(less), stop: pattern(stop) }
    }

    fn find(&self, clause: &str) -> Option<Quiet> {
        match () {
            () if self.less.is_match(clause) => Some(Quiet::Less),
            () if self.stop.is_match(clause) => Some(Quiet::Stop),
            () => None,
        }
    }
}

/// Courtesies, and words that make a request of what follows.
const ASKING: &str = "(?:can|could|would|will) (?:you|u|ya)|(?:would|do) (?:you|u) mind|(?:you|u) (?:can|could|may|should|need to|have to|must)|\
(?:i|we)(?:'d| would) (?:really )?(?:like|love|prefer|appreciate)(?: it)?(?: if)? (?:you|it)(?: could| would| can)?|(?:i|we) (?:want|need) (?:you|it)|\
it(?:'d| would) be (?:great|nice|good|better|best|lovely)(?: if)?(?: you)?(?: could| would)?|(?:can|could|may) we|how about|time to";
static ENGLISH: LazyLock<Patterns> = LazyLock::new(|| {
    let names = [
        ("before", "(?:<filler> )*(?:(?:<asking>) )?(?:<filler> )*"),
        (
            "filler",
            "ok|okay|hey|hi|so|and|but|now|then|well|alright|right|please|pls|plz|sorry|sorry to ask|thanks|just|maybe|perhaps|kindly|actually|\
guys|for now|if you could|if possible|from now on|try to|to|all|both|be sure to|start|consider|temporarily|possibly|really|it's time to",
        ),
        ("asking", ASKING),
        (
            "often",
            "(?: (?:in|on|to|at|after|with|about))? (?:every|each|all|so much|so often|that much|that often|everything|constantly|half)\\b",
        ),
        (
            "speak",
            "(?:talk|speak|spoke|reply|respond|post|answer|write|writ|comment|chime in|chim|jump in|jump|butt in|butt|barge in|weigh in|weigh|interrupt|message|\
interject|speak up|pipe up|pip|say anything|say|react|spam|chat)(?:ing|ed)?(?: in| up| anything)*(?: here)?",
        ),
        (
            "posts",
            "messages|messaging|replies|posts|posting|answers|comments|commentary|commenting|interruptions|interjections|chatter|chatting|talking|noise|remarks",
        ),
        (
            "never",
            "(?:do not|don't|dont|not|no need to|(?:you )?(?:do not|don't|dont) (?:need|have) to)",
        ),
        (
            "be",
            "(?:be|being|stay|staying|keep|keeping|go|going|remain)(?: (?:a bit|a little|really|very|completely|totally|all|slightly|much|way|far|just|it))*",
        ),
        // What may follow a request.
        (
            "after",
            "[ ,;:.!?)🙏👋🙂]*(?:$|(?:here|in (?:here|this|the|our|my)|for|until|till?|today|tonight|tomorrow|this|now|please|pls|plz|thanks|thank|ok|okay|so |because|cause|\
as|since|while|when|unless|after|before|again|anymore|any more|at all|from|a (?:bit|while|little|moment|minute|notch)|some|lol|everyone|everywhere|guys|and|but|or|if|we|\
i'm|it's|the (?:next|rest|whole)|during|you|with|on this|how|everything|to (?:me|us|anyone|this))(?:\\W|$)|in #)",
        ),
    ];
    let less = "(?:a (?:bit|little|lot) )?(?:quieter|less <posts>)|<never> be so (?:chatty|talkative|loud|noisy|eager|active)|(?:calm|slow|chill|simmer)(?:ing)? (?:down|out) a (?:bit|little)|\
keep(?:ing)? (?:it|your <posts>|the <posts>) to a minimum|take it easy (?:with|on) (?:the|your) <posts>|<speak> only (?:when|if)|<speak>(?: (?:a bit|a little|a lot|much|way|far))* (?:less(?: often| frequently)?<after>|more (?:rarely|sparingly)|not so (?:much|often))|\
<be> (?:quieter|calmer|less (?:chatty|talkative|active|vocal|noisy|eager|loud|present|pushy|verbose)|more (?:quiet|reserved|selective|discreet))|\
(?:cut|cutting|dial|dialing|dialling|tone|toning|turn|turning|scale|scaling|rein|ease|easing|bring|lay|laying)(?: it| things| that)?(?: way| a bit| a little)? (?:down|back|off|in|up)\
(?: on)?(?: (?:the|your) (?:<posts>|frequency|volume)|<after>)|(?:reduce|reducing|lower|limit|limiting|halve)(?: the| your| how| number| amount| frequency| volume| of)* (?:<posts>|often|much)|\
(?:fewer|less) (?:<posts>|of you)|only <speak> (?:when|if)|(?:<never>|stop|stopping|quit) <speak><often>";
    let stop = "(?:<be> (?:quiet|silent|mute|muted|down|out|away)(?: of (?:this|it|here|that|our|the)(?: \\w+)?)?|hush|shush|shh*|silence|zip it|pipe down|quiet(?:en)?(?: down)?|\
shut (?:it|up)|mute(?: yourself)?|paus(?:e|ing)|stand(?:ing)? (?:down|by)|back(?:ing)? off|butt(?:ing)? out|bow(?:ing)? out|step(?:ping)? (?:out|back|away)|sit(?:ting)? (?:this|it) (?:one )?out|\
(?:take|taking) (?:a|five) ?(?:break|rest|nap|breather|seat)?|hold(?:ing)? (?:off|back|your tongue)|go away|rest(?:ing)?|sleep|not disturb|<never> disturb|skip(?:ping)? this|(?:be|go|stay|put yourself) on mute|(?:have|get) some (?:quiet|silence|peace|privacy|space)|\
leav(?:e|ing) (?:this|it|that)(?: one| thread)? to us|(?:be )?humans? only|(?:that's |thats |that is )?enough|leav(?:e|ing) us (?:alone|be|to it)|\
giv(?:e|ing) us (?:some |a (?:bit of |little |moment of )?)?(?:space|room|privacy|peace|quiet|minute|moment|break)|let (?:us|the humans|people|everyone) (?:talk|chat|think|work|be|discuss|finish)|\
(?:stop|stopping|quit|refrain(?:ing)? from|avoid(?:ing)?|hold(?:ing)? off(?: on)?)(?: (?:all|the|your))* (?:<speak>|<posts>|it|that)|<never> <speak>|no (?:more |further )?(?:<posts>) from you|\
no (?:more|further) (?:<posts>))(?: from you)?<after>";
    Patterns::new(&names, less, stop)
});

static JAPANESE: LazyLock<Patterns> = LazyLock::new(|| {
    let names = [
        // A time, a place or a courtesy, but nobody else.
        (
            "before",
            "(?:[^。]*まで(?:は)?)?(?:[^がをにはも]|ますが|ですが|だが|いが|(?:ここ|会話|話|チャンネル|部屋|スレッド)に|(?:今日|今|今夜|しばらく|当分|今週|今月|ここ|で|ル|昼|明日|午後|午前|夜|朝|中|まで|間|もう)は|までに|もう|\
何も|には)*?",
        ),
        (
            "not",
            "(?:口を?(?:挟ま|はさま|出さ)|口出しし|割り込ま|入って(?:こ|来)|話しかけ|しゃべら|喋ら|話さ|発言し|投稿し|書き込ま|返事し|返信し|反応し|コメントし|絡ま|突っ込ま|つっこま|話に入ら|返さ|邪魔し|出てこ|参加し|言わ)(?:ない|なく|ず|んで|んといて)",
        ),
        (
            "posts",
            "(?:投稿|発言|返信|返事|コメント|反応|書き込み|おしゃべり|口出し|口数|頻度|回数|ボリューム)",
        ),
        (
            "talk",
            "(?:投稿|発言|返信|返事|返答|コメント|反応|書き込み|おしゃべり|しゃべり|しゃべる|喋り|喋る|話す|話し|口数|口出し|頻度|回数|ボリューム|出番|登場|リプ|レス|メッセージ|通知|ツッコミ|トーン|テンション|賑やか)(?:回数|頻度|量|の|こと|し)*",
        ),
        (
            "reduce",
            "(?:減ら|少なめ|少なくし|控えめ|控え目|抑え|落とし|下げ|絞っ|半分[ぁ-ん]*に|ほどほど|たまに|ときどき|時々|最小限|間引|セーブ)",
        ),
        (
            "often",
            "(?:あまり|あんまり|そんなに|いちいち|毎回|何でも|なんでも|全部に|全部の|何にでも|しょっちゅう)",
        ),
        ("more", "(?:もう少し|もうちょい|もうちょっと|少し|ちょっと|もっと|なるべく|できれば)"),
        // Only auxiliaries follow.
        ("rest", "[ぁ-んー〜下頂欲願致助構結幸嬉大丈夫良頼]*$"),
    ];
    let less = "(?:<talk>[^を]*?(?:<reduce>|(?:すぎ|過ぎ|多い|多く))|(?:<talk>[のはをもが]|<often>|<more>|だけ|[^をがに]{0,6}?)*<reduce>|<often>[^をが]*?<not>|(?:もう少し|もうちょい|もうちょっと|もっと|もうすこし)(?:静か|しずか|おとなし|大人し)|\
[ぁ-ん一-龠]{1,6}(?:とき|時)だけ(?:[ぁ-ん]*<talk>)?)<rest>";
    let stop = "(?:<posts>[はも]?(?:いら|要ら|不要|結構|無用)|聞くだけに|見てるだけに|静か|しずか|おとなしく|大人しく|黙っ|黙れ|だまっ|<not>|<posts>[をは]?(?:止め|やめ|控え|ストップ|遠慮)|休んで(?:い?て|い?な|も?いい|くだ|下さ|くれ|もら|いた|頂|ほし|欲し)|引っ込んで|ほっとい|放っとい|放ってお|そっとし|席を外し|見守っ|ミュート)<rest>";
    Patterns::new(&names, less, stop)
});

static TALK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        "投稿|発言|返信|返事|返答|コメント|反応|書き込|しゃべ|喋|話|口|頻度|回数|ボリューム|出番|登場|リプ|レス|メッセージ|通知|うるさ|騒|賑やか|静か|控えめ|おとなし|割り込|トーン",
    )
});

/// How a Japanese request ends.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    let asks = "(?:[^く]て|[あかさせばまらわ]んで|[いめに]で|れ|(?:[うくぐすつぬぶむ]|[^てい]る)な|とき|とけ|いらない|要らない|ください|下さい|くれ(?:る|ない|ん)?|もらって|いただい|もら|ほしい|欲しい|お願い(?:します|いたします|致します)?|頼む|ちょうだい|\
(?:いい|良い|嬉しい|大丈夫|結構)(?:です)?|助かり?(?:ます|る))(?:です)?[ねよなわーや〜]*$";
    regex(asks)
});
/// How a Japanese request ends that has the form of a question.
static ASKS_WHETHER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        "(?:くれ|もらえ|もらって|もらい|いただけ|いただい|頂け|頂い|ください|下さい|くださ|お願い|願え)[ぁ-ん]*$",
    )
});

/// What a question asks that no request contains: how to have it silent, or why.
const ASKS_HOW: [&str; 5] = ["どうすれ", "どうやっ", "どうした", "なぜ", "なんで"];

impl Quiet {
    /// Finds what a message that addresses the persona asks for. `text` is its author's own words in lower case. If it
    /// asks anything else, a model has to answer that.
    pub fn parse(text: &str) -> Option<Self> {
        let is_about_talk = TALK.is_match(text);
        let in_clause = |clause: &str, sentence: &str| {
            let is_asked = is_question(sentence);
            // "quiet?" does not ask for it, but "could you be quiet?" does.
            let is_meant = !is_asked
                || sentence.ends_with(clause)
                    && !clause.contains(": ")
                    && ["you ", "u ", "please", "maybe"].iter().any(|word| clause.contains(word));
            if let Some(quiet) = ENGLISH.find(clause).filter(|_| is_meant) {
                return Some(quiet);
            }
            let plain = clause.trim_end_matches(|it: char| !it.is_alphanumeric());
            let asks = match is_asked || plain.ends_with('か') {
                true => {
                    ASKS_WHETHER.is_match(plain) && !ASKS_HOW.iter().any(|it| plain.contains(it))
                }
                false => ASKS.is_match(plain),
            };
            JAPANESE.find(plain).filter(|quiet| match quiet {
                Quiet::Less => is_about_talk && (asks || plain.ends_with(['ぎ', 'い'])),
                Quiet::Stop => asks,
            })
        };
        let sentences = text.split_inclusive(['.', '!', '?', '。', '！', '？', '\n', ';']);
        let mut found: Option<Self> = None;
        for sentence in sentences.map(str::trim) {
            let parts = clauses(sentence).into_iter();
            let asked = parts.filter_map(|clause| in_clause(clause, sentence)).max();
            if asked.is_none() && is_question(sentence) {
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
                r"\b(?:quiet\w*|silen\w*|hush|shush|shut|mute\w*|stop|pause|hold|break|rest|less|fewer|enough|alone|ourselves|space|privacy|private|leave|stay\w*|tone|dial|interrupt\w*|chim\w*|jump\w*|butt\w*|speak\w*)\b|[静黙控]|休んで|邪魔|だま|話さ|喋|しゃべ|口を|減ら|止め|やめ|割り込|おとなし|うるさ|少な|すぎ|いらな|ほっと|放っ|そっと|遠慮|トーン|頻度|ミュート|ストップ",
            )
        });
        WORDS.is_match(&own_words(text, ""))
    }
}

/// Whether a sentence asks something, more than for assent: "ok?"
fn is_question(sentence: &str) -> bool {
    let tag = sentence.rsplit([',', '、']).next().unwrap_or_default();
    let tag = tag.trim_matches(|it: char| !it.is_alphanumeric());
    let is_tag = ["ok", "okay", "alright", "please", "いい", "ね"].contains(&tag);
    sentence.ends_with(['?', '？']) && !is_tag
}

/// The parts of a sentence, and what it is from each of them on.
fn clauses(sentence: &str) -> Vec<&str> {
    const BEGINNINGS: [&str; 8] = [",", "、", " and ", " but ", " so ", "ので", "から", "けど"];
    // What follows may be a quotation.
    const ENDS: [&str; 2] = [": ", "—"];
    let ranges = |marks: &[&'static str]| -> Vec<(usize, usize)> {
        let all = marks.iter().flat_map(|mark| sentence.match_indices(*mark));
        all.map(|(at, mark)| (at, at + mark.len())).collect()
    };
    let beginnings = ranges(&BEGINNINGS);
    let mut ends = beginnings.clone();
    ends.extend(ranges(&ENDS));
    let starts = std::iter::once(0).chain(beginnings.iter().map(|(_, start)| *start));
    let parts = starts.flat_map(|start| {
        let next = ends.iter().map(|(at, _)| *at).filter(|at| *at >= start).min();
        [Some(sentence.len()), next].into_iter().flatten().map(move |end| &sentence[start..end])
    });
    parts.map(|part| part.trim_start_matches(|it: char| !it.is_alphanumeric()).trim_end()).collect()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test reads every pattern")
}
