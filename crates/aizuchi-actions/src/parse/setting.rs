//! Commands about settings: `@Aizuchi set language ja here`, `@Aizuchi set confidence 0.8 in #garden`,
//! 「@Aizuchi 言語を日本語にして」.

use aizuchi_model::rules::ToolRule;
use aizuchi_model::rules::setting_override::{PlaceSetting, SettingChange, SettingKind};
use aizuchi_model::texts;

use crate::command::{Command, NearMiss, SettingRequest, SettingTarget};
use crate::parse::quiet::Quiet;
use crate::parse::{addressed_order, candidate_forms, normalize, own_words};

const DEFAULT: [&str; 6] = ["default", "the default", "標準", "既定", "設定どおり", "元"];
const HERE: [(&str, SettingTarget); 12] = [
    ("here", SettingTarget::Channel),
    ("in this channel", SettingTarget::Channel),
    ("for this channel", SettingTarget::Channel),
    ("in this room", SettingTarget::Channel),
    ("in this thread", SettingTarget::Thread),
    ("for this thread", SettingTarget::Thread),
    ("in this workspace", SettingTarget::Workspace),
    ("everywhere", SettingTarget::Workspace),
    ("in all channels", SettingTarget::Workspace),
    ("in every channel", SettingTarget::Workspace),
    ("for all channels", SettingTarget::Workspace),
    ("on this server", SettingTarget::Workspace),
];
const KOKO: [(&str, SettingTarget); 9] = [
    ("このチャンネルで", SettingTarget::Channel),
    ("このチャンネル", SettingTarget::Channel),
    ("この部屋", SettingTarget::Channel),
    ("ここ", SettingTarget::Channel),
    ("このスレッドで", SettingTarget::Thread),
    ("このスレッド", SettingTarget::Thread),
    ("すべてのチャンネル", SettingTarget::Workspace),
    ("全チャンネル", SettingTarget::Workspace),
    ("どこでも", SettingTarget::Workspace),
];
/// Endings of a Japanese order. In some forms, polite endings have already been removed.
const ENDS: [&str; 12] = [
    "に変えて", "に変更して", "に変更", "に設定して", "に設定", "に戻して", "に戻す", "にして",
    "にする", "に", "して", "",
];
const RESET_ALL: [&str; 4] =
    ["reset settings", "reset the settings", "reset all settings", "clear settings"];
const RESET_ALL_JA: [&str; 4] =
    ["設定をリセット", "設定をリセットして", "設定を元に戻して", "設定を標準に戻して"];

/// A change as a user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSetting {
    pub target: SettingTarget,
    /// The channel of [`SettingTarget::Named`], without its `#`.
    pub channel: Option<String>,
    pub change: WrittenChange,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenChange {
    Exactly(SettingChange),
    /// The bar for speaking unasked is to be one step above the present one.
    Quieter,
}

impl WrittenSetting {
    /// Parses the change that a message consists of, if it is one. It may begin with the persona's name.
    pub fn parse_message(text: &str, name: &str) -> Option<Self> {
        let order = addressed_order(&normalize(text), name);
        let change = candidate_forms(&order).iter().find_map(|form| Self::parse(form));
        let words = own_words(text, name);
        change
            .or_else(|| (Quiet::parse(&words) == Some(Quiet::Less)).then(|| Self::quieter(&words)))
    }

    /// Returns the change for a request to be quieter, for the channel that it names, if any.
    pub fn quieter(text: &str) -> Self {
        // "issue #42" is no channel.
        let channel = text.split_once('#').and_then(|(before, behind)| {
            let is_name = |it: char| it.is_alphanumeric() || "-_".contains(it);
            let name = behind.split(|it: char| !is_name(it)).next()?;
            let name = name.split(['で', 'の', 'は', 'に']).next()?;
            let is_place = before.ends_with("in ")
                || before.ends_with("on ")
                || behind[name.len()..].starts_with(['で', 'の', 'は', 'に']);
            (is_place && !name.is_empty()).then(|| name.to_owned())
        });
        let target = if channel.is_some() { SettingTarget::Named } else { SettingTarget::Channel };
        Self { target, channel, change: WrittenChange::Quieter }
    }

    /// Parses a change from one form of a command. See [`candidate_forms`].
    pub(super) fn parse(form: &str) -> Option<Self> {
        Self::english(form).or_else(|| Self::japanese(form))
    }

    pub fn command(&self) -> Command {
        let (kind, is_narrowing) = match &self.change {
            WrittenChange::Exactly(SettingChange::Set(setting)) => {
                (Some(setting.kind()), setting.only_narrows())
            }
            // Members may clear what members ordered.
            WrittenChange::Exactly(SettingChange::Clear(kind)) => (Some(*kind), true),
            WrittenChange::Exactly(SettingChange::ClearAll) => (None, true),
            WrittenChange::Quieter => (Some(SettingKind::MinConfidence), true),
        };
        Command::ChangeSetting(SettingRequest { target: self.target, kind, is_narrowing })
    }

    fn english(form: &str) -> Option<Self> {
        let (form, target, channel) = without_place(form);
        if RESET_ALL.contains(&form) {
            return Some(Self::exactly(target, channel, SettingChange::ClearAll));
        }
        if let Some(key) = form.strip_prefix("reset ") {
            let (kind, rest) = key_of(key)?;
            let change = SettingChange::Clear(kind);
            return rest.trim().is_empty().then(|| Self::exactly(target, channel, change));
        }
        let (kind, rest) = key_of(form.strip_prefix("set ")?)?;
        let value = rest.trim_start_matches([' ', ':', '：', '=']);
        let value = value.strip_prefix("to ").unwrap_or(value).trim();
        Some(Self::exactly(target, channel, change(kind, value)?))
    }

    fn japanese(form: &str) -> Option<Self> {
        let (form, target, channel) = from_place(form);
        if RESET_ALL_JA.contains(&form) {
            return Some(Self::exactly(target, channel, SettingChange::ClearAll));
        }
        let (kind, rest) = key_of(form)?;
        let rest = rest.trim();
        // "Our budget is 30,000" is said of other budgets.
        let is_told = kind == SettingKind::MoneyPerDay && rest.starts_with('は');
        let rest = rest.strip_prefix(['を', 'は']).filter(|_| !is_told)?.trim();
        let change = ENDS.iter().find_map(|end| change(kind, rest.strip_suffix(end)?.trim()))?;
        Some(Self::exactly(target, channel, change))
    }

    fn exactly(target: SettingTarget, channel: Option<String>, change: SettingChange) -> Self {
        Self { target, channel, change: WrittenChange::Exactly(change) }
    }
}

/// Recognizes an attempt at a change: a setting followed by one word that is not a valid value.
pub(super) fn near_setting(form: &str) -> Option<NearMiss> {
    let (form, ..) = without_place(form);
    let (_, rest) = key_of(form.strip_prefix("set ")?)?;
    let rest = rest.trim();
    let is_value = rest.strip_prefix("to ").unwrap_or(rest).split(' ').count() == 1;
    (is_value && rest.is_ascii()).then_some(NearMiss::Setting)
}

/// Returns the setting that a text begins with, and the text after its name.
fn key_of(text: &str) -> Option<(SettingKind, &str)> {
    SettingKind::all().find_map(|kind| {
        let rest = texts::settings::command_words(kind).iter().find_map(|word| {
            let rest = text.strip_prefix(word)?;
            // A Latin word must end here.
            let is_cut = word.is_ascii()
                && rest.starts_with(|character: char| character.is_ascii_alphanumeric());
            (!is_cut).then_some(rest)
        })?;
        Some((kind, rest))
    })
}

fn change(kind: SettingKind, value: &str) -> Option<SettingChange> {
    if DEFAULT.contains(&value) {
        return Some(SettingChange::Clear(kind));
    }
    let known = texts::settings::VALUE_WORDS
        .iter()
        .find(|(word, _)| *word == value)
        .map(|(_, value)| *value);
    kind.parse(known.unwrap_or(value)).filter(is_plain).map(SettingChange::Set)
}

/// Whether a setting is meant. The names of tools have an underscore: “set tools aside” is about something else.
/// 「モデルを変えて」 names no model.
fn is_plain(setting: &PlaceSetting) -> bool {
    if let PlaceSetting::Model(name) = setting {
        return name.is_ascii();
    }
    let PlaceSetting::Tools(ToolRule::Only(names)) = setting else { return true };
    names.iter().all(|name| name.contains('_'))
}

/// Splits an English order from the place at its end.
fn without_place(form: &str) -> (&str, SettingTarget, Option<String>) {
    for (words, target) in HERE {
        if let Some(rest) = form.strip_suffix(words).filter(|rest| rest.ends_with(' ')) {
            return (rest.trim_end(), target, None);
        }
    }
    let named = form.rsplit_once(" in #").or_else(|| form.rsplit_once(" for #"));
    match named.filter(|(_, name)| !name.is_empty() && !name.contains(' ')) {
        Some((rest, name)) => (rest, SettingTarget::Named, Some(name.to_owned())),
        None => (form, SettingTarget::Channel, None),
    }
}

/// Splits a Japanese order from the place at its beginning.
fn from_place(form: &str) -> (&str, SettingTarget, Option<String>) {
    let behind = |rest: &str| {
        let particles = ["では", "での", "で", "の", "は"];
        let particle = particles.iter().find(|particle| rest.starts_with(**particle));
        particle.map_or(0, |particle| particle.len())
    };
    for (words, target) in KOKO {
        if let Some(rest) = form.strip_prefix(words) {
            return (rest[behind(rest)..].trim_start_matches([' ', '、']), target, None);
        }
    }
    if let Some(named) = form.strip_prefix('#')
        && let Some((name, rest)) = named.split_once([' ', 'の', 'で'])
    {
        let rest = rest.trim_start();
        let rest = rest[behind(rest)..].trim_start_matches([' ', '、']);
        return (rest, SettingTarget::Named, Some(name.to_owned()));
    }
    (form, SettingTarget::Channel, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_in_either_case() {
        let text = "@Aizuchi set tools search_messages, tracker__findIssue";
        let written = WrittenSetting::parse_message(text, "Aizuchi").unwrap();
        let WrittenChange::Exactly(SettingChange::Set(PlaceSetting::Tools(tools))) = written.change
        else {
            panic!("{:?}", written.change);
        };
        assert!(tools.allows("search_messages") && tools.allows("tracker__findIssue"));
        assert!(!tools.allows("tracker__findIssues"));
        // What the config allows keeps its spelling.
        let configured = ToolRule::Only(vec!["tracker__findIssue".to_owned()]);
        assert_eq!(configured.narrowed_to(&tools), configured);
    }

    #[test]
    fn settings_are_changed_in_both_languages() {
        use SettingTarget::{Channel, Named, Thread, Workspace};
        for (message, target, channel, kind, value) in [
            ("@Aizuchi set language ja here", Channel, None, "language", Some("ja")),
            ("@Aizuchi set language to Japanese", Channel, None, "language", Some("ja")),
            ("@Aizuchi please set language: auto", Channel, None, "language", Some("auto")),
            (
                "@Aizuchi set confidence 0.8 in #garden",
                Named,
                Some("garden"),
                "min_confidence",
                Some("0.8"),
            ),
            (
                "@Aizuchi set confidence 85% in this thread",
                Thread,
                None,
                "min_confidence",
                Some("0.85"),
            ),
            ("@Aizuchi set memory off", Channel, None, "memory", Some("off")),
            ("@Aizuchi set memory off everywhere", Workspace, None, "memory", Some("off")),
            ("@Aizuchi set timing human", Channel, None, "timing", Some("human")),
            ("@Aizuchi set announce off", Channel, None, "announce", Some("off")),
            (
                "@Aizuchi set tools search_messages, get_memo",
                Channel,
                None,
                "tools",
                Some("search_messages, get_memo"),
            ),
            ("@Aizuchi set model small", Channel, None, "model", Some("small")),
            ("@Aizuchi set language default here", Channel, None, "language", None),
            ("@Aizuchi reset language in this thread", Thread, None, "language", None),
            ("@Aizuchi 言語を日本語にして", Channel, None, "language", Some("ja")),
            (
                "@Aizuchi このチャンネルの言語を英語にしてください",
                Channel,
                None,
                "language",
                Some("en"),
            ),
            (
                "@Aizuchi このスレッドでは言語を自動に設定して",
                Thread,
                None,
                "language",
                Some("auto"),
            ),
            ("@Aizuchi 確信度を０.8にして", Channel, None, "min_confidence", Some("0.8")),
            (
                "@Aizuchi #garden の確信度を0.9に変更して",
                Named,
                Some("garden"),
                "min_confidence",
                Some("0.9"),
            ),
            ("@Aizuchi 記憶をオフにして", Channel, None, "memory", Some("off")),
            ("@Aizuchi どこでもツールをオフにして", Workspace, None, "tools", Some("off")),
            ("@Aizuchi 言語を標準に戻して", Channel, None, "language", None),
        ] {
            let written = WrittenSetting::parse_message(message, "Aizuchi");
            let written = written.unwrap_or_else(|| panic!("{message}"));
            let kind = SettingKind::from_name(kind).expect("a setting");
            let expected = match value {
                Some(value) => SettingChange::Set(kind.parse(value).expect("a value")),
                None => SettingChange::Clear(kind),
            };
            assert_eq!(written.change, WrittenChange::Exactly(expected), "{message}");
            assert_eq!(
                (written.target, written.channel.as_deref()),
                (target, channel),
                "{message}"
            );
            let command = Command::parse_message(message, "Aizuchi");
            assert_eq!(command, Some(written.command()), "{message}");
        }
        for message in ["@Aizuchi reset settings", "@Aizuchi 設定をリセットして"] {
            let written = WrittenSetting::parse_message(message, "Aizuchi");
            let expected = WrittenChange::Exactly(SettingChange::ClearAll);
            assert_eq!(written.map(|it| it.change), Some(expected), "{message}");
        }
        for message in
            ["@Aizuchi settings", "@Aizuchi settings?", "@Aizuchi 設定", "@Aizuchi 設定一覧"]
        {
            let command = Command::parse_message(message, "Aizuchi");
            assert_eq!(command, Some(Command::ListSettings), "{message}");
        }
        let near = Command::parse_message("@Aizuchi set language french", "Aizuchi");
        assert_eq!(near, Some(Command::Usage(NearMiss::Setting)));
    }

    #[test]
    fn conversation_is_no_setting() {
        for message in [
            "@Aizuchi set memory limits on the server",
            "@Aizuchi set tools aside for tomorrow",
            "@Aizuchi set the table",
            "@Aizuchi set language ja?",
            "@Aizuchi reset the router",
            "@Aizuchi reset memory cards of the camera",
            "@Aizuchi 言語を学びたい",
            "@Aizuchi 記憶を失った",
            "@Aizuchi ツールを貸して",
            "@Aizuchi モデルを変えたい人は？",
        ] {
            assert_eq!(Command::parse_message(message, "Aizuchi"), None, "{message}");
        }
    }

    #[test]
    fn what_a_change_needs_is_known_before_it_is_stored() {
        let request =
            |text: &str| match WrittenSetting::parse_message(text, "").map(|it| it.command()) {
                Some(Command::ChangeSetting(request)) => request,
                other => panic!("{text}: {other:?}"),
            };
        for (text, is_narrowing) in [
            ("set memory off", true),
            ("set memory on", false),
            ("set tools on", false),
            ("set confidence 0.1", true),
            ("set language ja", false),
            ("set model small", false),
            ("reset language", true),
        ] {
            assert_eq!(request(text).is_narrowing, is_narrowing, "{text}");
        }
    }
}
