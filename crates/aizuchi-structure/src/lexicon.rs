//! The words and phrases behind [`Cues`], in English and Japanese, in lower case.

use crate::cues::Cues;

/// The required position of a phrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// One of the words.
    Word,
    /// The first word.
    FirstWord,
    /// Anywhere, even within a word, as in scripts without spaces.
    Anywhere,
    /// The start of the text.
    Start,
    /// The end of a sentence.
    SentenceEnd,
    /// The end of a sentence that ends like a question but is none.
    NoQuestion,
}

/// The subject of the answer that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerTopic {
    Place,
    Time,
    Amount,
    Person,
    Choice,
    Reason,
    Way,
    Thing,
    /// Yes or no, or help.
    Other,
}

impl AnswerTopic {
    pub const COUNT: usize = 9;

    /// The first topic whose words the question contains.
    pub fn find(body: &str) -> Self {
        let found = TOPICS.iter().find(|(_, words)| words.iter().any(|word| body.contains(word)));
        found.map_or(AnswerTopic::Other, |(topic, _)| *topic)
    }
}

/// Each cue with a position and the phrases that indicate it there.
pub const ENTRIES: &[(Cues, Position, &[&str])] = &[
    (
        Cues::ASKS,
        Position::Anywhere,
        &[
            "does anyone", "does anybody", "anyone know", "anybody know", "can someone",
            "can anyone", "can anybody", "could someone", "could anyone", "could anybody",
            "how do i ", "how can i ", "how to i ", "is there a way", "is there any way",
            "what would be the best", "do you know", "any ideas",
        ],
    ),
    (
        Cues::ASKS,
        Position::SentenceEnd,
        &[
            "ですか", "ますか", "ませんか", "でしょうか", "ましたか", "でしたか", "教えてください",
            "教えて", "教えてほしい", "教えて下さい", "かな", "っけ", "のか", "ないか", "だろうか",
            "ですかね", "ますかね", "でしょうかね", "ですかー", "ますかー",
        ],
    ),
    (
        Cues::ASKS,
        Position::NoQuestion,
        &[
            "そうですか", "そうなんですか", "ではないか", "ということか", "そうですかね",
            "なるほどですか",
            // Musing: 「そろそろ帰ろうかな」, 「どうしようかな」, 「晴れるかなあ」.
            "こうかな", "ごうかな", "そうかな", "とうかな", "のうかな", "ぼうかな", "もうかな",
            "ようかな", "ろうかな", "おうかな",
        ],
    ),
    (
        Cues::TAG,
        Position::Anywhere,
        &[
            "right?", "isn't it?", ", no?", "eh?", "huh?", "correct?", "aren't you?", "don't you?",
            "よね？", "ね？", "よね?", "ね?",
        ],
    ),
    (
        Cues::QUESTION_WORD,
        Position::FirstWord,
        &[
            "how", "what", "where", "why", "who", "when", "which", "whats", "what's", "how's",
            "where's", "who's", "is", "are", "can", "does", "do", "did", "anyone", "anybody",
            "has", "have", "could", "would", "should", "will", "was", "were", "isn't", "doesn't",
            "don't", "anything", "any", "whose", "am", "had", "hows", "wheres",
        ],
    ),
    (
        Cues::QUESTION_WORD,
        Position::Anywhere,
        &[
            "wondering whether", "wondering if", "until when", "till when", "by when", "at what",
            "in which", "on which", "from where", "for how", "to whom", "wonder whether", "どう",
            "なに", "何", "どこ", "いつ", "誰", "だれ", "なぜ", "どれ", "どの", "どちら", "どなた",
        ],
    ),
    (
        Cues::TO_ALL,
        Position::Word,
        &[
            "anyone", "anybody", "someone", "somebody", "everyone", "everybody", "folks", "guys",
            "y'all", "peeps",
        ],
    ),
    (
        Cues::TO_ALL,
        Position::Anywhere,
        &[
            "誰か", "だれか", "どなたか", "みなさん", "皆さん", "みんな", "皆様", "@here", "@all",
            "@channel", "@everyone", "<!here>", "<!channel>",
        ],
    ),
    (
        Cues::TROUBLE,
        Position::Word,
        &[
            "help", "problem", "problems", "trouble", "stuck", "issue", "issues", "error",
            "errors", "can't", "cant", "cannot", "doesn't", "doesnt", "won't", "wont", "trying",
            "tried", "wondering", "failed", "fails", "failing", "broken", "confused", "struggling",
            "weird",
        ],
    ),
    (
        Cues::TROUBLE,
        Position::Anywhere,
        &[
            "looking for", "any idea", "need to", "not working", "not sure", "困って", "困り",
            "助けて", "できない", "できません", "動かない", "動きません", "エラー", "わからない",
            "分からない", "わかりません", "うまくいか", "失敗",
        ],
    ),
    (
        Cues::THANKS,
        Position::Word,
        &["thanks", "thx", "thank", "ty", "cheers", "tnx", "thankyou", "thanx", "tyvm", "tysm"],
    ),
    (
        Cues::THANKS,
        Position::Anywhere,
        &[
            "got it", "appreciate it", "ありがと", "有難う", "助かりました", "助かります",
            "助かる", "感謝", "あざす", "サンクス",
        ],
    ),
    (
        Cues::IN_ADVANCE,
        Position::Anywhere,
        &["in advance", "for any help", "よろしくお願い", "any help", "would appreciate"],
    ),
    (
        Cues::SOLVED,
        Position::Anywhere,
        &[
            "never mind", "nevermind", "nvm", "solved", "fixed it", "found it", "figured it out",
            "that worked", "it works now", "works now", "that was it", "that did it", "解決",
            "できました", "直りました", "動きました", "いけました", "ありました", "見つかりました",
            "できた", "直った", "いけた", "お騒がせ", "だけでした", "だけだった", "勘違いでした",
            "false alarm", "sorry for the noise", "all good now", "all sorted now",
        ],
    ),
    (
        Cues::GREETING,
        Position::FirstWord,
        &[
            "hi", "hello", "hey", "hiya", "morning", "yo", "greetings", "hellow", "heya", "howdy",
            "hallo",
        ],
    ),
    (
        Cues::GREETING,
        Position::Anywhere,
        &["おはよう", "こんにちは", "こんばんは", "はじめまして", "初めまして", "good morning"],
    ),
    (Cues::GOODBYE, Position::FirstWord, &["bye", "cya", "goodbye", "goodnight"]),
    (
        Cues::GOODBYE,
        Position::Anywhere,
        &[
            "good night", "see you", "see ya", "gotta go", "お疲れ", "おやすみ", "また明日",
            "失礼します",
        ],
    ),
    (
        Cues::YES,
        Position::FirstWord,
        &[
            "yes", "yeah", "yep", "yup", "ya", "yea", "sure", "right", "correct", "true",
            "exactly", "indeed", "aye", "absolutely", "definitely",
        ],
    ),
    (
        Cues::YES,
        Position::Start,
        &[
            "はい", "そうです", "うん", "ですね", "ええ", "その通り", "そうそう", "ですです",
            "ですよね",
        ],
    ),
    (Cues::NO, Position::FirstWord, &["no", "nope", "nah", "not", "don't", "never", "neither"]),
    (Cues::NO, Position::Start, &["いいえ", "いや", "違い", "ちがい", "ううん", "いえ"]),
    (
        Cues::ACKNOWLEDGES,
        Position::FirstWord,
        &[
            "ok", "okay", "k", "ah", "oh", "cool", "great", "nice", "ahh", "ohh", "hmm", "hm",
            "well", "ic", "oic", "alright", "aha", "awesome", "perfect", "interesting",
            "understood", "sweet", "makes", "oki", "gotcha", "noted",
        ],
    ),
    (
        Cues::ACKNOWLEDGES,
        Position::Start,
        &[
            "なるほど", "了解", "承知", "わかりました", "分かりました", "ほー", "へー", "おお",
            "たしかに", "確かに", "あー", "すごい", "いいですね", "おー", "りょ",
        ],
    ),
    (
        Cues::ADVICE,
        Position::FirstWord,
        &[
            "try", "use", "check", "run", "type", "install", "go", "look", "read", "open", "sudo",
            "apt-get", "edit", "just", "you", "it's", "its", "that's", "thats", "because", "cause",
            "it", "that", "there", "maybe", "probably", "depends", "see", "ask", "in", "on", "at",
            "under", "top", "behind",
        ],
    ),
    (
        Cues::ADVICE,
        Position::Anywhere,
        &[
            "てください", "て下さい", "してみ", "てみて", "たら", "ればいい", "れば良い",
            "いいと思い", "良いと思い", "かも", "はず", "みたいです", "できます", "と思います",
            "ですよ", "にあります", "あるよ", "ますよ",
        ],
    ),
    (
        Cues::SECOND_PERSON,
        Position::Word,
        &["you", "your", "u", "ur", "you're", "youre", "you've", "yours"],
    ),
    (Cues::SECOND_PERSON, Position::Anywhere, &["さん"]),
    (
        Cues::FIRST_PERSON,
        Position::Word,
        &["i", "i'm", "im", "my", "i've", "ive", "me", "i'd", "mine", "our"],
    ),
    (Cues::FIRST_PERSON, Position::Anywhere, &["私", "僕", "自分", "俺", "わたし", "うちの"]),
    (
        Cues::GOOD_NEWS,
        Position::Anywhere,
        &[
            "we won", "have won", "we did it", "made it!", "i passed", "got the job",
            "got accepted", "it's a boy", "it's a girl", "finally done", "finally works",
            "is live", "congrat", "happy birthday", "good news", "great news", "🎉", "🥳", "🎊",
            "🏆", ":tada:", "やった！", "やったー", "優勝", "勝ちました", "勝った", "合格",
            "受かりました", "受かった", "おめでとう", "うれしい", "嬉しい", "生まれました",
            "採用されました", "お誕生日",
        ],
    ),
    (Cues::GOOD_NEWS, Position::Word, &["yay", "hooray", "hurray", "woohoo", "woot"]),
    (
        Cues::GRIEVES,
        Position::Word,
        &[
            "funeral", "cremation", "hospice", "miscarriage", "chemo", "grieving", "mourning",
            "heartbroken", "suicidal", "suicide", "widowed", "redundancy", "divorce", "aneurysm",
            "tumour", "tumor", "dementia", "bullied", "tears", "crying", "cried", "overwhelmed",
            "worthless", "lonely",
        ],
    ),
    (
        Cues::GRIEVES,
        Position::Anywhere,
        &[
            "passed away",
            "laid to rest",
            "mom died",
            "mum died",
            "mother died",
            "dad died",
            "father died",
            "brother died",
            "sister died",
            "wife died",
            "husband died",
            "son died",
            "daughter died",
            "friend died",
            "grandma died",
            "grandpa died",
            "grandmother died",
            "grandfather died",
            "nan died",
            "gran died",
            "cat died",
            "dog died",
            "baby died",
            "died yesterday",
            "died today",
            "died this morning",
            "died last",
            "put to sleep",
            "lost the baby",
            "lost my mum",
            "lost my mom",
            "lost my mother",
            "lost my dad",
            "lost my father",
            "lost my wife",
            "lost my husband",
            "lost my brother",
            "lost my sister",
            "lost my son",
            "lost my daughter",
            "lost my best friend",
            "lost my job",
            "got fired",
            "been fired",
            "laid off",
            "moved out last night",
            "had a stroke",
            "in hospital",
            "in the hospital",
            "in the icu",
            "intensive care",
            "diagnosed with",
            "want to die",
            "kill myself",
            "end it all",
            "want to live",
            "know how to go on",
            "can't go on",
            "can't do this anymore",
            "can't do this any more",
            "can't take it anymore",
            "can't take this anymore",
            "can't cope",
            "falling apart",
            "burned out",
            "burnt out",
            "panic attack",
            "hands are shaking",
            "hands were shaking",
            "can't stop shaking",
            "yelled at",
            "screamed at",
            "hate myself",
            "give up on myself",
            "not cut out for",
            "no use to anyone",
            "can't sleep",
            "haven't slept",
            "broke up with",
            "亡くな",
            "亡くし",
            "亡き",
            "他界",
            "逝っ",
            "逝き",
            "逝か",
            "逝去",
            "じいちゃんが死",
            "ばあちゃんが死",
            "父が死",
            "母が死",
            "猫が死",
            "犬が死",
            "葬式",
            "葬儀",
            "通夜",
            "訃報",
            "忌引",
            "一周忌",
            "喪中",
            "四十九日",
            "お悔やみ",
            "看取",
            "命を絶",
            "首をくく",
            "危篤",
            "余命",
            "意識が戻",
            "白血病",
            "腫瘍",
            "がんが見つか",
            "癌",
            "流産",
            "入院し",
            "入院する",
            "入院にな",
            "救急車",
            "死にたい",
            "消えたい",
            "消えてしまいたい",
            "生きていたく",
            "生きるのが",
            "泣いて",
            "泣いた",
            "泣きそう",
            "泣けて",
            "涙が",
            "眠れな",
            "眠れず",
            "喉を通",
            "のどを通",
            "手が震え",
            "手の震え",
            "震えが止ま",
            "取るのが怖",
            "行くのが怖",
            "会うのが怖",
            "心が折",
            "怒鳴られ",
            "いじめ",
            "責められ",
            "燃え尽き",
            "休職",
            "うつの診断",
            "うつ病",
            "鬱",
            "向いてないのかも",
            "向いてない気が",
            "離婚",
            "振られた",
            "ふられた",
            "クビにな",
            "解雇され",
            "孤独",
            "ひとりぼっち",
            "一人ぼっち",
            "もうやだ",
            "もう無理かも",
            "もう限界",
        ],
    ),
    (
        Cues::LAUGHS,
        Position::Word,
        &["lol", "haha", "heh", "hehe", "lmao", "rofl", "hahaha", "ww", "lmfao"],
    ),
    (
        Cues::LAUGHS,
        Position::Anywhere,
        &[
            ":)", ":p", ":d", ";)", "笑", "ｗ", "www", ":joy:", ":smile", ":stuck_out", "😂", "🤣",
            "草",
        ],
    ),
    (
        Cues::CONTINUES,
        Position::FirstWord,
        &["and", "but", "or", "also", "so", "then", "which", "with", "plus", "otherwise", "though"],
    ),
    (
        Cues::CONTINUES,
        Position::Start,
        &[
            "で、", "あと", "でも", "ただ", "なので", "また", "それで", "ちなみに", "だから",
            "というか",
        ],
    ),
    (
        Cues::NOTICE,
        Position::Anywhere,
        &["has joined the channel", "has left the channel", "set the channel"],
    ),
    (
        Cues::JOINS,
        Position::Anywhere,
        &[
            "same here", "me too", "here too", "+1", "no idea", "no clue", "dunno", "idk",
            "don't know", "good question", "same problem", "same issue", "same for me",
            "not only you", "wondering the same", "also curious", "saw that too", "happens to me",
            "beats me", "who knows", "no clue", "following", "うちも", "私も", "僕も", "俺も",
            "自分も", "同じく", "わからない", "分からない", "わからん", "わかりません",
            "分かりません", "知らない", "知らん", "気になる", "気になります", "謎", "なんでだろ",
            "つらい", "大変そう", "どんまい",
        ],
    ),
    (
        Cues::JOINS,
        Position::FirstWord,
        &["same", "oof", "ouch", "ugh", "yikes", "dito", "ditto", "damn", "sorry"],
    ),
    (
        Cues::OFFERS,
        Position::Anywhere,
        &[
            "i'll", "i will", "i can ", "let me", "lemme", "on it", "count me in", "i'm in",
            "i got it", "i've got", "on my way", "looking into", "will do", "will check",
            "checking", "one sec", "give me a", "確認します", "確認しま", "見てみます", "見ます",
            "調べます", "やります", "行きます", "やっておき", "しておきます", "対応します",
            "持っていきます", "行けます", "見とく", "やっとく", "待って", "お待ち", "行くわ",
            "行く！",
        ],
    ),
    (Cues::OFFERS, Position::FirstWord, &["me", "omw"]),
    (Cues::OFFERS, Position::SentenceEnd, &["i do", "i am", "i have", "i can", "i will", "i did"]),
    (
        Cues::AGAIN,
        Position::Anywhere,
        &[
            "anyone?", "anybody?", "no one?", "nobody?", "still the same", "still not", "still no",
            "still doesn't", "still broken", "still stuck", "didn't help", "did not help",
            "didn't work", "doesn't work", "doesn't help", "that's not it", "bump", "same error",
            "no luck", "anyone at all", "already tried", "tried that", "だめでした", "ダメでした",
            "駄目でした", "変わらず", "変わらない", "変わりません", "だめだった", "ダメだった",
            "まだ", "どなたか", "誰か", "だれか", "いませんか", "それじゃなくて", "違いました",
            "解決せず", "やっぱり",
        ],
    ),
];

/// Each topic with the words that indicate it anywhere in a question.
pub const TOPICS: &[(AnswerTopic, &[&str])] = &[
    (AnswerTopic::Place, &["where", "どこ", "どちら", "場所", "which room", "which channel"]),
    (
        AnswerTopic::Time,
        &[
            "when", "what time", "how long", "until when", "いつ", "何時", "何日", "何曜", "何分",
            "いつまで", "締め切り", "締切",
        ],
    ),
    (
        AnswerTopic::Amount,
        &[
            "how many", "how much", "how big", "how old", "what number", "いくつ", "いくら",
            "何個", "何人", "何本", "何枚", "何台", "何番", "どれくらい", "どのくらい",
        ],
    ),
    (
        AnswerTopic::Person,
        &["who ", "whose", "誰", "だれ", "どなた", "anyone", "anybody", "someone", "somebody"],
    ),
    (AnswerTopic::Choice, &["which", " or ", "どれ", "どっち", "どの", "それとも"]),
    (AnswerTopic::Reason, &["why", "なぜ", "なんで", "何で", "原因", "理由"]),
    (
        AnswerTopic::Way,
        &[
            "how do", "how can", "how to", "how should", "how does", "way to", "どうやって",
            "どうすれ", "どうやる", "どうしたら", "やり方", "方法",
        ],
    ),
    (AnswerTopic::Thing, &["what", "何", "なに", "なん"]),
];
