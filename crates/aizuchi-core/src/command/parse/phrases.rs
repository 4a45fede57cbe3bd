//! The phrases by which commands are recognized, in English and Japanese.

pub const WHY: &[&str] = &[
    "why",
    "why did you say that",
    "why did you say nothing",
    "why did you speak",
    "why did you reply",
    "why didn't you answer",
    "why do you say nothing",
    "why are you silent",
    "why are you so quiet",
    "why so quiet",
    "explain yourself",
    "なぜ",
    "なんで",
    "どうして",
    "理由は",
    "なぜ話したの",
    "なぜ黙ってるの",
    "なぜ黙っているの",
    "なんで黙ってるの",
    "どうして黙っているの",
    "どうして黙ってるの",
    "why were you silent",
    "why were you quiet",
    "なぜ黙ってたの",
    "なぜ黙っていたの",
    "なんで黙ってたの",
    "なんで黙っていたの",
    "どうして黙ってたの",
    "どうして黙っていたの",
    "なぜそう言ったの",
    "なんでそう言ったの",
    "どうしてそう言ったの",
    "なぜそう答えたの",
    "なんでそう答えたの",
    "どうしてそう答えたの",
    "なぜそう思ったの",
    "なんで話したの",
    "どうして話したの",
    "why did you answer that",
    "why did you answer",
    "why did you say this",
];

/// How a question begins that asks why the persona did not answer a message, which is named after it.
pub const WHY_SILENT: &[&str] = &[
    "why did you not answer",
    "why did you not reply",
    "why did you not respond",
    "why did you not react",
    "why did you not say",
    "why did you ignore",
    "why did you stay silent",
    "why did you stay quiet",
    "why didn't you answer",
    "why didn't you reply",
    "why didn't you respond",
    "why didn't you react",
    "why didn't you say",
    "why haven't you answered",
    "why have you not answered",
    "why were you silent",
    "why were you quiet",
    "why no answer",
    "why was there no answer",
];

/// The same question in Japanese, anywhere in the text: one of these words for why, and one of [`DID_NOT_ANSWER`].
pub const NAZE: [&str; 5] = ["なぜ", "なんで", "何で", "どうして", "何故"];

pub const DID_NOT_ANSWER: &[&str] = &[
    "答えなかった",
    "答えてくれなかった",
    "答えませんでした",
    "答えてくれませんでした",
    "答えてくれない",
    "返事しなかった",
    "返事をしなかった",
    "返事がなかった",
    "返事してくれなかった",
    "返事をくれなかった",
    "返事くれなかった",
    "返信しなかった",
    "反応しなかった",
    "反応してくれなかった",
    "無視した",
    "無視された",
    "スルーした",
    "黙ってた",
    "黙っていた",
    "黙ってる",
    "黙っている",
    "何も言わなかった",
    "話さなかった",
    "静かなの",
    "静かなんですか",
    "話さないの",
    "しゃべらないの",
    "喋らないの",
];

pub const STATUS: [&str; 4] = ["status", "ステータス", "状態", "いまの状態"];

pub const SETTINGS: [&str; 8] = [
    "settings", "list settings", "show settings", "show the settings", "設定", "設定一覧",
    "設定の一覧", "設定を見せて",
];

pub const MEMORY: [&str; 8] = [
    "memory",
    "what do you remember",
    "記憶",
    "メモリー",
    "何を覚えている",
    "何を覚えてる",
    "何を覚えてるの",
    "何を覚えていますか",
];

pub const STOP: &[&str] = &[
    "stop that",
    "stop posting",
    "stop replying",
    "stop spamming",
    "stop chatting",
    "shut it",
    "shut your mouth",
    "shut the fuck up",
    "stfu",
    "shush",
    "sh",
    "shh",
    "shhh",
    "hush",
    "zip it",
    "silence",
    "be silent",
    "stay silent",
    "stay quiet",
    "keep quiet",
    "keep silent",
    "pipe down",
    "enough",
    "enough already",
    "that's enough",
    "that is enough",
    "knock it off",
    "cut it out",
    "go away",
    "leave us alone",
    "leave me alone",
    "don't talk",
    "don't speak",
    "do not speak",
    "don't say anything",
    "no more talking",
    "you talk too much",
    "stop",
    "stop it",
    "stop talking",
    "shut up",
    "be quiet",
    "quiet",
    "ストップ",
    "やめて",
    "止めて",
    "黙って",
    "黙ってて",
    "だまって",
    "静かに",
    "静かにして",
    "静かにしてて",
    "うるさい",
    "うるさいよ",
    "うるさいな",
    "邪魔しないで",
    "黙れ",
    "だまれ",
    "黙ってろ",
    "黙っていて",
    "黙っていろ",
    "黙りなさい",
    "黙っといて",
    "黙っとけ",
    "しゃべるな",
    "喋るな",
    "話すな",
    "口を出すな",
    "しゃべらないで",
    "喋らないで",
    "話さないで",
    "口を挟まないで",
    "口を閉じて",
    "お静かに",
    "静粛に",
    "静かにしろ",
    "静かにしなさい",
    "静かにしていて",
    "うるさいなあ",
    "うるさいなぁ",
    "うるさいですよ",
    "うるさいです",
    "うるせえ",
    "うるせー",
    "うっさい",
    "うっせえ",
    "うるさいから黙って",
    "しーっ",
    "しっ",
    "シーッ",
    "もうたくさん",
    "もうたくさんだ",
    "もう十分",
    "もうやめて",
    "いい加減にして",
    "いいかげんにして",
    "引っ込んで",
    "引っ込んでて",
    "消えて",
    "消えろ",
];

pub const MUTE: [&str; 15] = [
    "mute", "be quiet", "be silent", "stay quiet", "stay silent", "keep quiet", "shut up",
    "ミュート", "黙っていて", "黙ってて", "黙って", "静かにしていて", "静かにしてて", "静かにして",
    "静かに",
];

pub const UNMUTE: [&str; 21] = [
    "come back",
    "you can come back",
    "戻ってきて",
    "戻ってきていいよ",
    "しゃべっていいよ",
    "喋っていいよ",
    "unmute",
    "start talking again",
    "talk again",
    "you can speak again",
    "you may talk again",
    "speak again",
    "you may speak again",
    "you can talk again",
    "resume",
    "ミュート解除",
    "ミュートを解除",
    "アンミュート",
    "ミュートやめて",
    "話していいよ",
    "話していい",
];

pub const RESET: [&str; 10] = [
    "reset",
    "reset this conversation",
    "reset the conversation",
    "forget this conversation",
    "リセット",
    "会話をリセット",
    "会話のリセット",
    "この会話をリセット",
    "会話を忘れて",
    "この会話を忘れて",
];

pub const FORGET_THAT: &[&str] = &[
    "forget that",
    "forget this",
    "forget about that",
    "forget that one",
    "forget this one",
    "forget that entry",
    "forget that memory",
    "forget that memo",
    "forget that note",
    "don't remember that",
    "do not remember that",
    "それ忘れて",
    "それを忘れて",
    "それは忘れて",
    "今の忘れて",
    "今のを忘れて",
    "今のは忘れて",
    "いまの忘れて",
    "いまのを忘れて",
    "いまのは忘れて",
    "さっきの忘れて",
    "さっきのを忘れて",
    "さっきのは忘れて",
    "そのこと忘れて",
    "そのことを忘れて",
    "そのことは忘れて",
    "これ忘れて",
    "これを忘れて",
    "これは忘れて",
    "その記憶を消",
    "その記憶を消して",
    "その記憶を忘れて",
    "この記憶を消",
    "この記憶を消して",
    "この記憶を忘れて",
    "そのメモを消",
    "そのメモを消して",
    "このメモを消",
    "このメモを消して",
];

/// Phrases that mean the same next to a quotation.
pub const FORGET_QUOTED: &[&str] = &[
    "forget",
    "forget about",
    "忘れて",
    "を忘れて",
    "は忘れて",
    "って忘れて",
    "のことを忘れて",
    "のことは忘れて",
    "というのを忘れて",
    "というのは忘れて",
];

pub const FORGET_ME: [&str; 12] = [
    "forget me",
    "forget-me",
    "私を忘れて",
    "私のことを忘れて",
    "私のこと忘れて",
    "僕を忘れて",
    "僕のことを忘れて",
    "僕のこと忘れて",
    "俺を忘れて",
    "俺のことを忘れて",
    "俺のこと忘れて",
    "わたしのことを忘れて",
];

/// Confirmations, before or after [`FORGET_ME`] and [`FORGET_THAT`].
pub const SURE: [&str; 6] = ["yes", "i am sure", "i'm sure", "sure", "はい", "本当に"];

/// Answers that mean the same as [`SURE`], alone or next to it.
pub const GO_AHEAD: [&str; 12] = [
    "yeah", "yep", "yup", "y", "do it", "go ahead", "please do", "うん", "ええ", "お願いします",
    "お願い", "消して",
];

pub const OPT_OUT: [&str; 9] = [
    "opt out",
    "opt-out",
    "optout",
    "opt me out",
    "don't listen to me",
    "do not listen to me",
    "オプトアウト",
    "私の発言を聞かないで",
    "聞かないで",
];

pub const OPT_IN: [&str; 8] = [
    "opt in",
    "opt-in",
    "optin",
    "opt me in",
    "listen to me again",
    "オプトイン",
    "また聞いて",
    "私の発言をまた聞いて",
];

pub const HELP: [&str; 5] = ["help", "commands", "ヘルプ", "コマンド", "使い方"];

pub const MODE: [&str; 2] = ["mode", "モード"];

pub const EVERYWHERE: [&str; 5] =
    ["everywhere", "in all channels", "どこでも", "全チャンネル", "すべてのチャンネル"];

/// Characters that may follow a command.
pub const END_MARKS: [char; 10] = [' ', '?', '!', '.', '…', '？', '！', '。', '、', ','];

/// Openings without a meaning of their own.
pub const OPENINGS: [&str; 19] = [
    "ok ", "ok, ", "okay ", "okay, ", "alright ", "alright, ", "hey ", "so ", "well ", "now ",
    "もう", "そろそろ", "じゃあ、", "じゃあ", "では、", "ねえ、", "しばらくの間", "しばらく",
    "少しの間",
];

/// Polite endings of a command, the longest first.
pub const POLITE_ENDINGS: [&str; 14] = [
    "をお願いします", "お願いします", "してください", "してほしい", "にしてください", "ください",
    "お願い", "にして", "して", "please", "pls", "now", "ね", "よ",
];

/// Words that, next to a name, may also be said about the named one, or about anything: "stop Aizuchi".
pub const VAGUE: [&str; 14] = [
    "stop", "stop it", "stop that", "enough", "silence", "sh", "quiet", "go away", "ストップ",
    "やめて", "止めて", "消えて", "しっ", "hush",
];
