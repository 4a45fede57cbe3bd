//! The phrases by which commands are recognized, in English and Japanese: long lists in `phrases.txt`, short ones here.

use std::collections::HashMap;
use std::sync::LazyLock;

use strum::{EnumString, VariantArray};

/// The lists in `phrases.txt`, which tells what they are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum CommandPhrases {
    Why,
    WhySilent,
    DidNotAnswer,
    Stop,
    Unmute,
    Reset,
    ForgetThat,
    ForgetQuoted,
    ForgetMe,
    OptOut,
    OptIn,
    Memory,
    CatchUp,
    Away,
    News,
}

type Lists = HashMap<CommandPhrases, Vec<&'static str>>;

static LISTS: LazyLock<Lists> =
    LazyLock::new(|| parse(include_str!("phrases.txt")).expect("a test parses this file"));

impl CommandPhrases {
    pub fn all(self) -> &'static [&'static str] {
        LISTS.get(&self).map_or(&[], Vec::as_slice)
    }

    pub fn contains(self, form: &str) -> bool {
        self.all().contains(&form)
    }
}

/// Parses lists below their names. The error is the line that cannot be read.
fn parse(file: &'static str) -> Result<Lists, &'static str> {
    let (mut lists, mut list) = (Lists::new(), None);
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => list = Some(name.parse::<CommandPhrases>().map_err(|_| line)?),
            None => lists.entry(list.ok_or(line)?).or_default().push(line),
        }
    }
    Ok(lists)
}

/// The same question in Japanese, anywhere in the text: one of these words for why, and a phrase of [`CommandPhrases::DidNotAnswer`].
pub const NAZE: [&str; 5] = ["なぜ", "なんで", "何で", "どうして", "何故"];

pub const STATUS: [&str; 4] = ["status", "ステータス", "状態", "いまの状態"];

pub const SETTINGS: [&str; 8] = [
    "settings", "list settings", "show settings", "show the settings", "設定", "設定一覧",
    "設定の一覧", "設定を見せて",
];

pub const MUTE: [&str; 15] = [
    "mute", "be quiet", "be silent", "stay quiet", "stay silent", "keep quiet", "shut up",
    "ミュート", "黙っていて", "黙ってて", "黙って", "静かにしていて", "静かにしてて", "静かにして",
    "静かに",
];

/// Confirmations, before or after a request to forget.
pub const SURE: [&str; 6] = ["yes", "i am sure", "i'm sure", "sure", "はい", "本当に"];

/// Answers that mean the same as [`SURE`], alone or next to it.
pub const GO_AHEAD: [&str; 12] = [
    "yeah", "yep", "yup", "y", "do it", "go ahead", "please do", "うん", "ええ", "お願いします",
    "お願い", "消して",
];

pub const HELP: [&str; 5] = ["help", "commands", "ヘルプ", "コマンド", "使い方"];

/// Only alone: a call is about something else.
pub const CATCH_UP: [&str; 6] =
    ["catchup", "catch up", "catch-up", "キャッチアップ", "追いつきたい", "見逃したこと"];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_parses_and_fills_every_list() {
        let lists = parse(include_str!("phrases.txt")).unwrap();
        for list in CommandPhrases::VARIANTS {
            assert!(lists.contains_key(list), "{list:?}");
        }
        let phrases = lists.values().flatten();
        assert!(phrases.clone().all(|phrase| *phrase == phrase.trim().to_lowercase()));
        for unreadable in ["stop", "[halt]"] {
            assert_eq!(parse(unreadable).unwrap_err(), unreadable);
        }
    }
}
