//! What a message requests from the built-in mind.

use aizuchi_model::recall::content_words::content_words;
use aizuchi_structure::cues::Cues;

use crate::builtin::keeping::text_to_keep;
use crate::builtin::matching::{
    changes, holds, holds_any, is_alone, is_mark, normalize, without_interjection,
    without_prefixes, without_softener,
};
use crate::builtin::phrases::{List, Topic};
use crate::builtin::preamble::{greets, without_call, without_excuse, without_greeting};
use crate::builtin::topic::find_topic;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Only the mind's name.
    Call,
    Greeting,
    /// To keep this text, as it was written.
    Keep(String),
    /// What `speaker` said about the topic, or who said something about it; an empty topic matches anything.
    Said {
        speaker: Option<String>,
        topic: String,
    },
    Topic(Topic),
    News(News),
    /// A laugh.
    Laugh,
    /// A question that earlier messages may answer, without the call.
    Question(String),
    /// To do something, without the call: "write me a poem".
    Order(String),
    Statement,
}

/// News that deserve a reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Good,
    Bad,
}

impl News {
    pub fn find(text: &str) -> Option<Self> {
        let (cues, lower) = (Cues::from_text(text), normalize(text));
        if cues.contains(Cues::ASKS) {
            return None;
        }
        if holds_any(&lower, List::BadNews.phrases()) {
            return Some(News::Bad);
        }
        let is_good = cues.contains(Cues::GOOD_NEWS) || holds_any(&lower, List::GoodNews.phrases());
        is_good.then_some(News::Good)
    }

    pub fn emoji(self) -> &'static str {
        match self {
            News::Good => "🎉",
            News::Bad => "❤️",
        }
    }
}

impl Request {
    /// Parses the request in a text to a mind named `name`. `user_names` are the names of possible speakers.
    pub fn parse<'a>(text: &str, name: &str, user_names: impl Iterator<Item = &'a str>) -> Self {
        let text = without_call(text, name);
        // "Hi Aizuchi, when …": the call may come after the greeting.
        let rest = without_call(without_greeting(&text), name);
        let rest = without_greeting(without_excuse(&rest));
        if rest.is_empty() {
            return if text.is_empty() { Request::Call } else { Request::Greeting };
        }
        if let Some(kept) = text_to_keep(rest) {
            return Request::Keep(kept);
        }
        let lower = normalize(rest);
        let asks = Cues::from_text(rest).contains(Cues::ASKS);
        let orders = orders(&lower);
        let may_ask = asks || begins_like_question(rest);
        if let Some(said) = find_said(&lower, user_names).filter(|_| may_ask || orders) {
            return said;
        }
        if let Some(topic) = find_topic(&lower)
            && (!asks || topic.is_asked())
            // "My number is 4480 now, forget the old one" is a statement.
            && (topic != Topic::ForgetOne || !states_change_first(&lower))
        {
            return Request::Topic(topic);
        }
        match News::find(rest).or_else(|| News::find(&text)) {
            Some(news) => Request::News(news),
            None if orders => Request::Order(rest.to_owned()),
            None if may_ask => Request::Question(rest.to_owned()),
            None if is_laugh(rest) => Request::Laugh,
            // "Good morning, it is cold today", 「はじめまして、健太です」.
            None if greets(&text) => Request::Greeting,
            None => Request::Statement,
        }
    }
}

/// Whether a text asks its readers to do something rather than to tell something: "can somebody help me carry
/// this?", 「手伝ってくれる人はいますか？」. Reporting a problem counts, too.
pub fn asks_for_help(text: &str) -> bool {
    const MODALS: [&str; 4] = ["can", "could", "would", "will"];
    const SOMEBODY: [&str; 4] = ["someone", "somebody", "anyone", "anybody"];
    const TELLING: [&str; 13] = [
        "tell", "explain", "say", "know", "remember", "recall", "remind", "point", "recommend",
        "suggest", "confirm", "clarify", "answer",
    ];
    const IN_JAPANESE: [&str; 7] =
        ["手伝", "手を貸", "助けて", "貸して", "代わって", "てくれる人", "てくれる方"];
    if !Cues::from_text(text).intersects(Cues::ASKS | Cues::QUESTION_WORD) {
        return true;
    }
    let lower = normalize(text);
    let words = lower.split(|character: char| !character.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty() && *word != "please").collect();
    let does = |words: &[&str]| {
        MODALS.contains(&words[0]) && SOMEBODY.contains(&words[1]) && !TELLING.contains(&words[2])
    };
    let in_japanese = IN_JAPANESE.iter().any(|phrase| lower.contains(phrase));
    words.windows(3).any(does) || in_japanese && !lower.contains("教えて")
}

/// Whether a text orders or politely asks the mind to do something: "write me a poem", "could you book a room?",
/// 「詩を書いて」.
fn orders(lower: &str) -> bool {
    const POLITE: [&str; 7] =
        ["please ", "can you ", "could you ", "would you ", "will you ", "can u ", "pls "];
    const VERBS: [&str; 7] = [" is", " are", " was", " has", " will", " can", "'s"];
    let text = lower.trim_matches(is_mark);
    let text = without_interjection(text).filter(|_| text.is_ascii()).unwrap_or(text);
    let rest = without_prefixes(text, &POLITE);
    let is_polite = rest.len() < text.len();
    let does = List::Orders.phrases().iter().any(|verb| {
        rest.strip_prefix(verb).is_some_and(|behind| {
            !behind.starts_with(|character: char| character.is_alphanumeric() || character == '-')
                && !VERBS.iter().any(|verb| behind.starts_with(verb))
        })
    });
    does && (is_polite || !lower.contains('?')) || orders_in_japanese(text)
}

/// Whether a text is an order in Japanese: 「詩を書いて」, 「調べてくれる」, 「作ってください」, but not 「健さんが来るって」.
fn orders_in_japanese(text: &str) -> bool {
    let body = without_softener(text).filter(|body| body.ends_with(['て', 'で'])).unwrap_or(text);
    let polite = List::Requests.phrases().iter().find_map(|end| body.strip_suffix(end));
    let body = polite.unwrap_or(body);
    let is_verb = |before: &str| before.ends_with(|character: char| !character.is_ascii());
    let is_heard = |body: &str| {
        // 「来るって」 is hearsay; 「作って」 and 「やって」 are orders.
        body.strip_suffix("って").is_some_and(|before| {
            !before.ends_with('や')
                && before.ends_with(|character| ('ぁ'..='ん').contains(&character))
        })
    };
    let ends = body.strip_suffix('て').or_else(|| body.strip_suffix("んで"));
    ends.is_some_and(is_verb) && !is_heard(body) && !body.ends_with("教えて")
}

/// Parses a request for what was said: "what did Mia say about the pump?", "who mentioned the pump?",
/// 「ミアさんはポンプについて何て言ってた？」.
fn find_said<'a>(lower: &str, user_names: impl Iterator<Item = &'a str>) -> Option<Request> {
    if !holds_any(lower, List::Said.phrases()) {
        return None;
    }
    let mut speaker = None;
    for user_name in user_names {
        let named = user_name.to_lowercase();
        if !named.is_empty() && holds(lower, &named) {
            speaker = Some(user_name.to_owned());
        }
    }
    let is_who = [
        "who ", "did anyone", "did anybody", "did somebody", "has anyone", "誰が", "だれが",
        "誰か", "人いる", "人はいる", "人いた", "人はいた",
    ]
    .iter()
    .any(|word| lower.contains(word));
    if speaker.is_none() && !is_who {
        return None;
    }
    let behind = List::About.phrases().iter().find_map(|word| {
        let at = lower.find(&format!("{word} "))?;
        Some(&lower[at + word.len()..])
    });
    let before = List::AboutJapanese
        .phrases()
        .iter()
        .find_map(|word| lower.find(word).map(|at| &lower[..at]));
    let topic = behind.or(before).unwrap_or(if is_who { lower } else { "" });
    let topic = match &speaker {
        Some(speaker) => topic.replace(&speaker.to_lowercase(), " "),
        None => topic.to_owned(),
    };
    Some(Request::Said { speaker, topic: topic.trim().to_owned() })
}

/// Whether a text states a change before the order: "My number is 4480 now, forget the old one", but not "actually,
/// forget what I said".
fn states_change_first(lower: &str) -> bool {
    let order = ["forget", "忘れて"].iter().filter_map(|word| lower.find(word)).min();
    let told = order.and_then(|at| lower[..at].rsplit_once([',', '.', ';', '、', '。']));
    told.is_some_and(|(told, _)| changes(told) && content_words(told).len() > 1)
}

/// Whether a text begins like a question. Many users omit the question mark when they speak to a bot: "who is on
/// call".
fn begins_like_question(text: &str) -> bool {
    Cues::from_text(text).contains(Cues::QUESTION_WORD)
}

/// Whether a text is a laugh and hardly anything else.
fn is_laugh(text: &str) -> bool {
    const MAX_CHARACTERS: usize = 12;
    let laughs = Cues::from_text(text).contains(Cues::LAUGHS)
        || List::Laughs.phrases().iter().any(|phrase| is_alone(&normalize(text), phrase));
    laughs && text.chars().count() <= MAX_CHARACTERS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Request {
        Request::parse(text, "Aizuchi", ["Mia", "Ken", "ミア", "健"].into_iter())
    }

    fn said(speaker: Option<&str>, topic: &str) -> Request {
        Request::Said { speaker: speaker.map(str::to_owned), topic: topic.to_owned() }
    }

    #[test]
    fn requests_are_told_apart() {
        use Request::{Call, Greeting, Laugh, Statement};
        let question = |text: &str| Request::Question(text.to_owned());
        let keep = |text: &str| Request::Keep(text.to_owned());
        let topic = Request::Topic;
        for (text, expected) in [
            ("@Aizuchi", Call),
            ("Aizuchi?", Call),
            ("hello @Aizuchi!", Greeting),
            ("@Aizuchi good morning", Greeting),
            ("@Aizuchi おはようございます！", Greeting),
            ("Hi Aizuchi, who are you?", topic(Topic::Identity)),
            ("@Aizuchi あなたは誰ですか？", topic(Topic::Identity)),
            ("@Aizuchi what can you do for us?", topic(Topic::Abilities)),
            ("@Aizuchi what time is it?", topic(Topic::Time)),
            ("@Aizuchi what time is the meeting?", question("what time is the meeting?")),
            ("@Aizuchi いま何時？", topic(Topic::Time)),
            ("@Aizuchi 会議は何時ですか", question("会議は何時ですか")),
            ("@Aizuchi what day is it today", topic(Topic::Date)),
            (
                "@Aizuchi please remember that the deploy is on Friday.",
                keep("the deploy is on Friday"),
            ),
            ("@Aizuchi remember: milk", keep("milk")),
            ("@Aizuchi デプロイは金曜日だと覚えておいて", keep("デプロイは金曜日")),
            ("@Aizuchi 鍵は棚の上って覚えといて！", keep("鍵は棚の上")),
            ("@Aizuchi do you remember the pump?", question("do you remember the pump?")),
            ("@Aizuchi what did Mia say about the pump?", said(Some("Mia"), "the pump?")),
            ("actually, forget what I said", Request::Topic(Topic::ForgetOne)),
            ("やっぱりさっきのは忘れて", Request::Topic(Topic::ForgetOne)),
            ("forget what I said about the cancelled party", Request::Topic(Topic::ForgetOne)),
            ("my number is now 4480, forget the old one", Request::Statement),
            ("@Aizuchi who said something about the pump?", said(None, "the pump?")),
            ("@Aizuchi ミアさんはポンプについて何て言ってた？", said(Some("ミア"), "さんはポンプ")),
            ("@Aizuchi can you summarise what we said?", topic(Topic::Summary)),
            ("@Aizuchi これまでの話をまとめて", topic(Topic::Summary)),
            ("@Aizuchi ここまでをまとめて", topic(Topic::Summary)),
            ("@Aizuchi what did I miss?", topic(Topic::Recap)),
            ("@Aizuchi are you human?", topic(Topic::Identity)),
            ("@Aizuchi thanks a lot!", topic(Topic::Courtesy)),
            ("@Aizuchi you are useless", topic(Topic::Controls)),
            ("@Aizuchi is the boring meeting over?", question("is the boring meeting over?")),
            ("@Aizuchi we won the contract!", Request::News(News::Good)),
            ("@Aizuchi うちの犬が亡くなりました", Request::News(News::Bad)),
            ("@Aizuchi 昨日から全然うまくいかなくて、ちょっと疲れた…", Request::News(News::Bad)),
            ("@Aizuchi I had a rough day", Request::News(News::Bad)),
            ("@Aizuchi モデルってどうやってつなぐの？", topic(Topic::Model)),
            ("@Aizuchi つなぎ方を教えて", topic(Topic::Model)),
            ("@Aizuchi how do I connect one?", topic(Topic::Model)),
            ("Aizuchi、ここまでまとめてくれる？", topic(Topic::Summary)),
            ("@Aizuchi remind me who reviews it?", question("remind me who reviews it?")),
            ("@Aizuchi the pump is blue", Statement),
            ("Hi Aizuchi, when is it open?", question("when is it open?")),
            ("@Aizuchi who is on call", question("who is on call")),
            ("@Aizuchi what do I hate", question("what do I hate")),
            ("@Aizuchi have a nice day", topic(Topic::Courtesy)),
            ("@Aizuchi haha", Laugh),
            ("@Aizuchi 笑", Laugh),
            ("@Aizuchi-two hello", Statement),
            ("@Aizuchi 犬の散歩は頼んだと覚えておいて", keep("犬の散歩は頼んだ")),
            ("@Aizuchi 定例は15時からだと覚えておいて", keep("定例は15時から")),
            ("@Aizuchi the standup is at ten, please remember.", keep("the standup is at ten")),
            ("@Aizuchi the demo is on Monday, remember that", keep("the demo is on Monday")),
            ("@Aizuchi The code is 4711. Please keep that in mind!", keep("The code is 4711")),
            ("@Aizuchi I can't remember that", Statement),
            (
                "@Aizuchi what do you think of the new logo?",
                question("what do you think of the new logo?"),
            ),
            ("@Aizuchi what did Mia think about the pump?", said(Some("Mia"), "the pump?")),
            ("@Aizuchi メモ：牛乳", keep("牛乳")),
            ("@Aizuchi 君は本当に賢いね！", Statement),
            ("@Aizuchi good bot", topic(Topic::Courtesy)),
            ("@Aizuchi すごいね", topic(Topic::Courtesy)),
            ("@Aizuchi tell us a joke", Request::Order("tell us a joke".to_owned())),
            ("@Aizuchi sorry!", topic(Topic::Courtesy)),
            ("@Aizuchi sorry, when is the deploy?", question("when is the deploy?")),
            ("@Aizuchi shut up", topic(Topic::Controls)),
            ("@Aizuchi 起きてる？", topic(Topic::Presence)),
            ("@Aizuchi お名前は？", topic(Topic::Identity)),
            ("@Aizuchi can you summarize the thread?", topic(Topic::Summary)),
            ("アイズチ、今何時ですか？", topic(Topic::Time)),
            ("@相槌 会議は何時ですか", question("会議は何時ですか")),
            ("@Aizuchi no, that's wrong", topic(Topic::Correction)),
            ("@Aizuchi いや、違うよ", topic(Topic::Correction)),
            ("@Aizuchi summarize please", topic(Topic::Summary)),
            ("@Aizuchi can u help me with something", topic(Topic::Abilities)),
            ("@Aizuchi do you store what I write?", topic(Topic::Privacy)),
            ("@Aizuchi なるほど", topic(Topic::Courtesy)),
            ("Aizuchiいる？", topic(Topic::Presence)),
            ("@Aizuchi ちょっと落ち込んでる", Request::News(News::Bad)),
            ("@Aizuchi pls remember my locker is 42", keep("my locker is 42")),
            (
                "@Aizuchi write me a poem about mondays",
                Request::Order("write me a poem about mondays".to_owned()),
            ),
            (
                "@Aizuchi could you translate this?",
                Request::Order("could you translate this?".to_owned()),
            ),
            ("@Aizuchi 月曜日の詩を書いて", Request::Order("月曜日の詩を書いて".to_owned())),
            ("@Aizuchi 健さんが来るって", Statement),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }

    /// What users say about their day, with words that are requests in other contexts.
    const EVERYDAY_ENGLISH: [&str; 48] = [
        "that was a stupid mistake of mine",
        "the traffic was terrible this morning",
        "the meeting was rather boring",
        "the noise from the roof is annoying",
        "the old cable is useless, use the grey one",
        "the stain won't go away",
        "is there a useless cable in the drawer?",
        "Nora did a good job on the fence",
        "the smart meter is broken",
        "we have an amazing view from the roof",
        "I'd like you to water the plants",
        "the new logo looks cute and clever",
        "I like my eggs well done",
        "thanks to the rain the tank is full",
        "something funny happened at the gate",
        "my brother told a joke and everybody left",
        "that is a joke, right?",
        "I sent the summary to Nora",
        "I will summarize it tomorrow",
        "the recap is in the folder",
        "what happened to the fence?",
        "what's going on with the deploy?",
        "the new filter doesn't help against the smell",
        "half of that story is not true",
        "I'll meet you there at nine",
        "are you working on the fence tomorrow?",
        "do you hear the bells from your house?",
        "put your name on the list",
        "what are you planning for Friday?",
        "who is this parcel for?",
        "let's get started at ten",
        "what do you need from the shop?",
        "what do you know about the pump?",
        "can you help Nora with the boxes?",
        "I bought a model train for my nephew",
        "which model of printer do we have?",
        "how are you getting home tonight?",
        "what's up with the printer?",
        "how is it going with the roof?",
        "glad to see you're better",
        "what day is it open again?",
        "what's the date of the fair?",
        "I don't have the time for a walk",
        "what's today's plan?",
        "see in the manual how it works",
        "the bread is fresh, it's done by hand",
        "we lost the key to the shed",
        "Ken said the gate is open",
    ];
    const EVERYDAY_JAPANESE: [&str; 48] = [
        "先週引っ越したばかりです",
        "プリンターが使えないです",
        "お邪魔します",
        "間違いありません",
        "住所が間違っています",
        "今日の最高気温は30度でした",
        "何が起きてるの？",
        "サーバー動いてる？",
        "会議室の名前は何？",
        "お客様のお名前は？",
        "メモリが足りません",
        "覚えていてくれて助けになりました",
        "サーバーが落ちました",
        "来週からバカンスに行きます",
        "隣の工事がうるさいです",
        "ピーマンが嫌いです",
        "今日の会議はつまらないかもしれない",
        "この古い鍵は役に立たないそうです",
        "えらいことになりました",
        "すごい雨ですね",
        "さすがに疲れました",
        "かわいい犬が門の前にいました",
        "猫が大好きです",
        "来週の月曜でいいですか？",
        "面白い話を駅で聞きました",
        "冗談を言う人が多い職場です",
        "荷物をまとめて送りました",
        "要約を直子さんに送りました",
        "デプロイはどうなってる？",
        "駅を一つ見逃しました",
        "坂の上で振り返ったら海が見えました",
        "会議室に誰かいますか？",
        "変な音が聞こえます",
        "その話は何か聞いてる？",
        "センサーが反応して止まりません",
        "何者かが鍵を壊しました",
        "自己紹介の資料を送りました",
        "プリンターの使い方がわかりません",
        "直子さんが手伝ってくれました",
        "新しいモデルを使っています",
        "どのモデルのプリンターですか？",
        "祖母は元気です",
        "エアコンの調子はどう？",
        "お店は明日おやすみです",
        "またねじが外れました",
        "お先に食べてください",
        "祭りは何月何日ですか？",
        "健さんは遅れると言っていました",
    ];

    #[test]
    fn everyday_sentences_want_nothing_else_of_it() {
        for text in EVERYDAY_ENGLISH.into_iter().chain(EVERYDAY_JAPANESE) {
            let request = parse(&format!("@Aizuchi {text}"));
            // 「お先に食べてください」 is an order, though not for the mind.
            let is_plain =
                matches!(request, Request::Statement | Request::Question(_) | Request::Order(_));
            assert!(is_plain, "{text}: {request:?}");
        }
    }

    #[test]
    fn a_hand_is_something_else_than_an_answer() {
        for (text, expected) in [
            ("can somebody help me carry the mast?", true),
            ("The school asks for a tour on Friday. Could anyone please take it?", true),
            ("I am stuck, the printer in room 4 won't print", true),
            ("土曜日に手伝ってくれる人はいますか？", true),
            ("誰かはさみを貸してもらえませんか？", true),
            ("can anybody please tell me where the mast is?", false),
            ("which varnish do we use, does anyone remember?", false),
            ("where is the key", false),
            ("予約表のリンクを知っている人はいますか？", false),
            ("はしごの場所を教えてくれる人はいますか？", false),
        ] {
            assert_eq!(asks_for_help(text), expected, "{text}");
        }
    }
}
