//! The words of an invented history. Nobody in it exists.

/// Given names. Mia is asked about in tests.
pub const NAMES: &[&str] = &[
    "Mia", "Jonas", "Aoi", "Ren", "Hana", "Oskar", "Lena", "Yuki", "Sora", "Priya", "Diego",
    "Noor", "Kaito", "Freya", "Tomas", "Sakura", "Emil", "Ines", "Haruto", "Zoe", "Marek", "Airi",
    "Leo", "Nami", "Olga", "Ravi", "Mio", "Tariq", "Elsa", "Daichi", "Rosa", "Iris", "Minato",
    "Paul", "Kira", "Goro", "Lucia", "Shun", "Vera", "Theo",
];

pub const FAMILIES: &[&str] = &[
    "", "Berg", "Sato", "Ito", "Lind", "Costa", "Mori", "Novak", "Khan", "Okada", "Weiss", "Ueda",
    "Silva", "Abe", "Roth", "Endo", "Moss", "Hara", "Vale", "Kondo",
];

/// Names of channels: a subject and a kind.
pub const SUBJECTS: &[&str] = &[
    "garden", "ferry", "harbor", "library", "kitchen", "orchard", "printer", "museum", "tea",
    "atlas", "lantern", "meadow", "bridge", "bakery", "compass", "quarry", "studio", "signal",
    "tram", "willow", "お知らせ", "雑談", "経理", "採用", "図書", "台所", "庭", "翻訳", "地図",
    "写真",
];

pub const KINDS: &[&str] =
    &["", "-team", "-help", "-ops", "-news", "-plans", "-design", "-相談", "-web", "-data"];

/// What users say. `{}` is a subject.
pub const SAID: &[&str] = &[
    "has anybody looked at the {} numbers from last week?",
    "the {} page loads twice when I come from the search, is that known?",
    "I moved the {} meeting to Thursday, the room was taken",
    "thanks, that worked on the second try",
    "who keeps the key for the {} cupboard?",
    "the build is green again, the {} test was waiting for a port",
    "I would rather keep the old {} layout until the spring",
    "agreed",
    "can somebody read my note on {} before noon?",
    "two visitors asked about the {} tour, I gave them the leaflet",
    "the {} invoice says 41 boxes, we counted 40",
    "I am out this afternoon, Mia has the {} list",
    "lunch?",
    "draft is in the {} folder, comments welcome",
    "it failed again at the same step, log is attached",
    "let us decide on {} tomorrow when Jonas is back",
];

pub const SAID_JA: &[&str] = &[
    "{}の資料、どなたか見ていただけますか？",
    "{}の件、来週に回してもいいですか",
    "了解です",
    "さきほどの{}のエラー、再起動で直りました",
    "ミーティングは木曜に移しました。{}の部屋が埋まっていたので",
    "ありがとうございます！",
    "{}の請求書、数が合わないようです。誰か確認できますか？",
    "今日は午後から外出します。{}はMiaさんにお願いしました",
    "昼にしますか",
    "前の{}の表のほうが見やすかったと思います",
];

/// What the persona says.
pub const ANSWERS: &[&str] = &[
    "The {} numbers are in Tuesday's note; the total was 412.",
    "That is known: the {} page is asked for twice since the last release. Ren has it on the list.",
    "Jonas took the {} key on Monday.",
    "The count of 40 matches the delivery note, so the {} invoice has one box too many.",
    "Last time you decided to keep the {} layout until spring, because of the print run.",
];

pub const ANSWERS_JA: &[&str] = &[
    "{}の資料は火曜のメモにまとめてあります。",
    "{}の請求書は納品書と一つ違うようです。納品書では40箱でした。",
    "{}の鍵は月曜にJonasさんが持っていきました。",
];

/// Why a judge kept silent.
pub const SILENCES: &[&str] = &[
    "They are settling it between themselves; nobody asked.",
    "The question was answered a minute later.",
    "It is small talk, a word from me would not help.",
    "I know nothing about this that they do not know.",
    "They are about to decide, and an outsider would be in the way.",
];

pub const SILENCES_JA: &[&str] = &[
    "本人どうしで話がまとまりつつあります。",
    "質問にはもう答えが出ています。",
    "雑談なので、口をはさむ必要はありません。",
];

pub const REMEMBERED: &[&str] = &[
    "Mia is away on Fridays until the spring.",
    "Mia prefers short answers and keeps the {} list.",
    "The {} meeting is on Thursdays at ten.",
    "Jonas has the key of the {} cupboard.",
    "They keep the old {} layout until the print run in spring.",
    "The {} invoice of October had one box too many.",
];

pub const REMEMBERED_JA: &[&str] = &[
    "Miaさんは金曜が休み。",
    "{}の打ち合わせは木曜の十時から。",
    "{}の請求書は経理のHanaさんが見る。",
];

pub const ORDERS: &[&str] = &[
    "Answer in one or two sentences.",
    "Do not join in talk about salaries.",
    "Greet new members by name.",
    "質問には日本語で答える。",
];
