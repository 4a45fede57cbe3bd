//! Settings that users change for a thread, a channel or the workspace, in the chat and on the console.

use crate::persona::Language;
use crate::rules::ToolRule;
use crate::rules::setting_override::{PlaceSetting, SettingKind};
use crate::texts::pick;

texts! {
    /// `place` is where it applies, `value` is a [`shown_value`], and `undo` is the order that reverts it.
    changed(place: &str, setting: &str, value: &str, name: &str, undo: &str):
        "Done, {place}: {setting} is {value} from now on. `@{name} {undo}` returns to what holds without this."
        / "{setting}を「{value}」に変更しました（{place}）。`@{name} {undo}` で元に戻せます。";
    /// Appended to [`changed`] if the config or another user limits the value.
    holds(value: &str):
        " What holds is {value}: the config, or what somebody else has set, allows no more."
        / "ただし、いま効いているのは「{value}」です。設定ファイルやほかの人の設定で許された範囲までしか変えられないためです。";
    /// Appended to [`changed`] for a budget in money.
    unpriced:
        " The price of a model in use is not known, so its calls are not counted."
        / "ただし、料金のわからないモデルが使われており、その呼び出しは予算に数えられません。";
    cleared(place: &str, setting: &str, value: &str):
        "Done, {place}: nothing is set there for {setting} any more, so it is {value}."
        / "{setting}を元に戻しました（{place}）。いまは「{value}」です。";
    /// Appended to [`cleared`] for a user who is not an admin.
    admins_stay:
        " What an admin has set stays." / "管理者による設定はそのまま残ります。";
    all_cleared(place: &str):
        "Done, {place}: every setting is as the config says, or as an admin has set it for all channels."
        / "すべての設定を元に戻しました（{place}）。設定ファイルの値と、ほかに残っている設定（管理者によるものなど）が使われます。";
    /// `setting` is the setting that was to be changed.
    not_done(setting: &str):
        "I did not change {setting}: I was away when you said so, or somebody has changed it since. Please say it again if you still want it."
        / "{setting}は変更していません。私が止まっていた間に書かれたか、そのあとで別の変更があったためです。必要なら、もう一度書いてください。";
    all: "the settings" / "設定";
    list(lines: &str, name: &str):
        "These settings hold here:\n{lines}\n`@{name} set language ja` changes one here, `… in this thread`, `… in #garden` or `… everywhere` "
        "elsewhere; `@{name} reset settings` takes all back."
        / "ここでの設定は次のとおりです。\n{lines}\n`@{name} 言語を日本語にして` のように変えられます。先頭に `このスレッドの`、`#garden の`、`どこでも` を付けると、場所を選べます。"
          "`@{name} 設定をリセット` ですべて元に戻ります。";
    line(setting: &str, value: &str, source: &str):
        "- {setting}: {value} ({source})" / "- {setting}：{value}（{source}）";
    ordered(scope: &str): "set {scope}" / "{scope}の設定";
    of_thread: "from the config, for this thread" / "設定ファイル：このスレッド";
    of_channel: "from the config, for this channel" / "設定ファイル：このチャンネル";
    of_workspace: "from the config, for all channels here" / "設定ファイル：ここの全チャンネル";
    of_everywhere: "from the config" / "設定ファイル";
    as_everywhere: "as everywhere" / "全体と同じ";
    unlimited: "no limit" / "上限なし";
    /// The model where none is chosen.
    default_value: "default" / "標準";
    usage(name: &str):
        "I didn’t understand that setting. Say `@{name} set language ja`, `set confidence 0.8`, `set memory off`, `set tools off`, "
        "`set timing human`, `set announce off`, `set budget 0.50` or `set model NAME`, with `here`, `in this thread`, `in #garden` or `everywhere` behind it; "
        "`default` as the value takes it back."
        / "設定を読み取れませんでした。`@{name} 言語を日本語にして`、`確信度を0.8にして`、`記憶をオフにして`、`ツールをオフにして`、"
          "`タイミングを人間らしくして`、`あいさつをオフにして`、`予算を0.5にして`、`モデルを NAME にして` のように書いてください。先頭に `このスレッドの`、`#garden の`、`どこでも` を付けられます。"
          "`言語を標準に戻して` のように書くと、元に戻ります。";
    needs_thread:
        "Please set that in the thread that you mean."
        / "スレッドの設定は、そのスレッドの中で変えてください。";
    not_of_threads:
        "I greet a channel once, when I join it, and a budget is a channel’s, so a thread has neither. Please set that for the channel."
        / "あいさつはチャンネルに参加したときに一度だけするもので、予算もチャンネルごとのものなので、スレッドには設定できません。チャンネルの設定を変えてください。";
    no_such_channel:
        "I know no public channel of that name. Please set it in the channel that you mean."
        / "その名前の公開チャンネルが見つかりません。変えたいチャンネルの中で設定してください。";
    no_such_model(names: &str):
        "I know no model of that name. There are: {names}." / "その名前のモデルはありません。選べるのは {names} です。";
    too_many(most: usize):
        "Members have set {most} things here already. Please take one back first, or ask an admin."
        / "メンバーによる設定がすでに {most} 件あります。先にどれかを元に戻すか、管理者に頼んでください。";
    too_many_own(most: usize):
        "You have set {most} things already. Please take one back first, or ask an admin."
        / "あなたによる設定がすでに {most} 件あります。先にどれかを元に戻すか、管理者に頼んでください。";
    no_models:
        "The config names no other models, in `models.named`."
        / "設定ファイルの `models.named` に、選べるモデルがありません。";

    undo_here(setting: &str): "set {setting} default" / "{setting}を標準に戻して";
    undo_in_thread(setting: &str):
        "set {setting} default in this thread" / "このスレッドの{setting}を標準に戻して";
    undo_everywhere(setting: &str):
        "set {setting} default everywhere" / "どこでも{setting}を標準に戻して";
    undo_in(setting: &str, channel: &str):
        "set {setting} default in #{channel}" / "#{channel} の{setting}を標準に戻して";

    title: "Settings" / "設定";
    explained:
        "They stand over the config’s from now on, without a restart, and widen nothing that the config allows here. Words for the persona are a standing order."
        / "再起動なしですぐに効き、設定ファイルより優先されます。ただし、設定ファイルで許された範囲は超えられません。話し方などを文章で伝えるときは、「指示」を使ってください。";
    place: "Where" / "対象";
    of_threads: "Threads with settings of their own" / "個別に設定したスレッド";
    no_threads: "No thread here has any." / "個別に設定したスレッドはありません。";
    thread: "Thread" / "スレッド";
    value: "Value" / "値";
    set: "Set" / "設定する";
    clear: "Take back" / "元に戻す";
    set_now(setting: &str): "Changed: {setting}" / "変更しました：{setting}";
    set_by(by: &str): "by {by}" / "{by} による";
}

/// The words for a setting: its names in a sentence, in English and Japanese, and its words in commands, of which the
/// first two are shown.
fn words(kind: SettingKind) -> (&'static str, &'static str, &'static [&'static str]) {
    match kind {
        SettingKind::Language => ("the language", "言語", &["language", "言語", "ことば", "言葉"]),
        SettingKind::MinConfidence => (
            "the confidence that I need to speak unasked",
            "自分から話すのに必要な確信度",
            &["confidence", "確信度", "min_confidence", "min confidence", "自信"],
        ),
        SettingKind::Timing => ("the timing", "話すタイミング", &["timing", "タイミング"]),
        SettingKind::Announce => (
            "the greeting on joining",
            "参加のあいさつ",
            &["announce", "あいさつ", "announcements", "参加のあいさつ", "挨拶"],
        ),
        SettingKind::Tools => ("the use of tools", "ツール", &["tools", "ツール"]),
        SettingKind::Memory => ("the memory", "記憶", &["memory", "記憶"]),
        SettingKind::Model => ("the model", "モデル", &["model", "モデル"]),
        SettingKind::MoneyPerDay => (
            "the daily budget per channel",
            "チャンネルごとの 1 日の予算",
            &["budget", "予算", "money_per_day", "money per day", "1日の予算", "1 日の予算"],
        ),
    }
}

/// The words that stand for a value of the config in commands. The first one for each value is shown in Japanese.
pub const VALUE_WORDS: [(&str, &str); 13] = [
    ("日本語", "ja"),
    ("japanese", "ja"),
    ("英語", "en"),
    ("english", "en"),
    ("自動", "auto"),
    ("オン", "on"),
    ("有効", "on"),
    ("オフ", "off"),
    ("無効", "off"),
    ("なし", "off"),
    ("人間らしく", "human"),
    ("人のように", "human"),
    ("すぐ", "plain"),
];

/// The name of a setting.
pub fn setting(language: Language, kind: SettingKind) -> &'static str {
    let (english, japanese, _) = words(kind);
    pick(language, english, japanese)
}

/// The words for a setting in commands.
pub fn command_words(kind: SettingKind) -> &'static [&'static str] {
    words(kind).2
}

/// The word for a setting in commands.
pub fn command_word(language: Language, kind: SettingKind) -> &'static str {
    let words = command_words(kind);
    pick(language, words[0], words[1])
}

/// A value, as users say it in a command.
pub fn shown_value(language: Language, value: &PlaceSetting) -> String {
    let written = value.to_string();
    let is_name = matches!(value, PlaceSetting::Model(_))
        || matches!(value, PlaceSetting::Tools(ToolRule::Only(names)) if !names.is_empty());
    let shown = VALUE_WORDS.iter().find(|(_, value)| *value == written);
    match shown.filter(|_| language == Language::Ja && !is_name) {
        Some((word, _)) => (*word).to_owned(),
        None => written,
    }
}
