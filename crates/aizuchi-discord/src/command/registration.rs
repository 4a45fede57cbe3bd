//! The subcommands of `/aizuchi`, and the command text that each stands for, as a user would write it in a channel.
//! The commands themselves are parsed by the core; only the labels are here.

use serde_json::{Value, json};
use twilight_model::application::command::{CommandOptionType, CommandType};

use crate::json::{array_at, non_empty_str};
use aizuchi_core::command::{Command, MuteScope};
use aizuchi_core::platform::slash_command::SlashCommands;
use aizuchi_core::rules::Mode;

/// A name and a description, in English and in Japanese.
struct CommandLabel {
    names: [&'static str; 2],
    descriptions: [&'static str; 2],
}

struct Subcommand {
    label: CommandLabel,
    options: &'static [CommandOption],
}

/// An option of a subcommand.
#[derive(Clone, Copy)]
enum CommandOption {
    Length,
    Everywhere,
    Mode,
}

const fn new_subcommand(
    names: [&'static str; 2],
    descriptions: [&'static str; 2],
    choices: &'static [CommandOption],
) -> Subcommand {
    Subcommand { label: CommandLabel { names, descriptions }, options: choices }
}

const SUBCOMMANDS: [Subcommand; 12] = [
    new_subcommand(
        ["why", "なぜ"],
        ["Why it spoke last here, or said nothing", "最後に話した、または黙っていた理由"],
        &[],
    ),
    new_subcommand(["status", "状態"], ["How it takes part here", "ここでの参加のしかた"], &[]),
    new_subcommand(
        ["memory", "記憶"],
        ["What it remembers of this place", "ここで覚えたこと"],
        &[],
    ),
    new_subcommand(
        ["mute", "ミュート"],
        [
            "It says nothing here, for so long or until you undo it",
            "しばらく、または解除するまで話さない",
        ],
        &[CommandOption::Length, CommandOption::Everywhere],
    ),
    new_subcommand(
        ["unmute", "ミュート解除"],
        ["It may speak again", "また話せるようにする"],
        &[CommandOption::Everywhere],
    ),
    new_subcommand(
        ["stop", "ストップ"],
        ["It says nothing here for an hour", "ここでは 1 時間話さない"],
        &[],
    ),
    new_subcommand(
        ["mode", "モード"],
        [
            "How it shall take part in this channel; for admins",
            "このチャンネルでの参加のしかたを変える（管理者のみ）",
        ],
        &[CommandOption::Mode],
    ),
    new_subcommand(
        ["reset", "リセット"],
        [
            "It begins anew in this conversation; for admins, and in direct messages",
            "この会話を最初からやり直す（管理者と DM のみ）",
        ],
        &[],
    ),
    new_subcommand(
        ["opt-out", "オプトアウト"],
        ["It does not listen to you any more", "あなたの発言を聞かないようにする"],
        &[],
    ),
    new_subcommand(
        ["opt-in", "オプトイン"],
        ["It listens to you again", "あなたの発言をまた聞くようにする"],
        &[],
    ),
    new_subcommand(
        ["forget-me", "私を忘れて"],
        [
            "It deletes what you said and what it remembers of it",
            "あなたの発言と、そこから覚えたことを消す",
        ],
        &[],
    ),
    new_subcommand(
        ["help", "ヘルプ"],
        ["What can be ordered in plain words, too", "ふつうの言葉で頼めること"],
        &[],
    ),
];

/// The lengths that are suggested before the user types.
const LENGTH_CHOICES: [(&str, [&str; 2]); 5] = [
    ("30m", ["30 minutes", "30分"]),
    ("1h", ["1 hour", "1時間"]),
    ("2h", ["2 hours", "2時間"]),
    ("8h", ["8 hours", "8時間"]),
    ("1d", ["1 day", "1日"]),
];
const MAX_LENGTH_CHARS: usize = 40;

/// The definition that is registered with Discord.
pub fn command_definitions() -> Value {
    json!([{
        "name": "aizuchi",
        "type": CommandType::ChatInput,
        "description": "Ask it why, keep it quiet, or say how it takes part",
        "description_localizations": { "ja": "理由を聞く、静かにさせる、参加のしかたを決める" },
        "options": SUBCOMMANDS.iter().map(subcommand_json).collect::<Vec<_>>(),
    }])
}

fn subcommand_json(subcommand: &Subcommand) -> Value {
    let mut json = labeled_option(CommandOptionType::SubCommand, &subcommand.label);
    json["options"] = subcommand.options.iter().map(|choice| option_json(*choice)).collect();
    json
}

fn option_json(choice: CommandOption) -> Value {
    match choice {
        CommandOption::Length => {
            let label = CommandLabel {
                names: ["length", "長さ"],
                descriptions: [
                    "For how long, such as 2h or 1h30m; without it, until somebody undoes it",
                    "2時間、1時間30分など。書かなければ、解除されるまで",
                ],
            };
            let mut json = labeled_option(CommandOptionType::String, &label);
            json["autocomplete"] = true.into();
            json["max_length"] = MAX_LENGTH_CHARS.into();
            json
        }
        CommandOption::Everywhere => {
            let label = CommandLabel {
                names: ["everywhere", "どこでも"],
                descriptions: ["In all channels; for admins", "すべてのチャンネルで（管理者のみ）"],
            };
            labeled_option(CommandOptionType::Boolean, &label)
        }
        CommandOption::Mode => {
            let label = CommandLabel {
                names: ["to", "参加のしかた"],
                descriptions: ["How it shall take part", "どのように参加するか"],
            };
            let mut json = labeled_option(CommandOptionType::String, &label);
            json["required"] = true.into();
            let modes = Mode::ALL.map(|mode| choice_json(mode.name(), mode_label(mode)));
            let default =
                choice_json("default", ["default: as the settings say", "default：設定のとおり"]);
            json["choices"] = modes.into_iter().chain([default]).collect();
            json
        }
    }
}

fn labeled_option(kind: CommandOptionType, label: &CommandLabel) -> Value {
    let CommandLabel { names: [name, ja], descriptions: [description, description_ja] } = label;
    json!({
        "type": kind,
        "name": name,
        "name_localizations": { "ja": ja },
        "description": description,
        "description_localizations": { "ja": description_ja },
    })
}

fn choice_json(value: &str, [name, ja]: [&str; 2]) -> Value {
    json!({ "name": name, "name_localizations": { "ja": ja }, "value": value })
}

fn mode_label(mode: Mode) -> [&'static str; 2] {
    match mode {
        Mode::Companion => ["companion: joins in", "companion：自分からも話す"],
        Mode::Facilitator => {
            ["facilitator: helps when needed", "facilitator：必要なときに手助けする"]
        }
        Mode::MentionOnly => {
            ["mention_only: answers when mentioned", "mention_only：メンションにだけ答える"]
        }
        Mode::Observe => ["observe: listens, never speaks", "observe：聞いて覚え、話さない"],
        Mode::Off => ["off: does not listen", "off：聞かない"],
    }
}

/// The chosen subcommand as a command text: `mute 2h`, `mode observe`. Empty if none was chosen.
pub fn command_text(data: &Value) -> String {
    let Some(chosen) = array_at(data, "options").next() else { return String::new() };
    let arguments =
        array_at(chosen, "options").filter_map(|option| match option["value"] == true {
            true => non_empty_str(&option["name"]),
            false => non_empty_str(&option["value"]),
        });
    non_empty_str(&chosen["name"]).into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Suggestions for the length that the user is typing.
pub fn length_suggestions(data: &Value) -> Value {
    let options = array_at(data, "options").flat_map(|chosen| array_at(chosen, "options"));
    let typed = options.filter(|option| option["focused"] == true);
    let typed = typed.filter_map(|option| non_empty_str(&option["value"])).map(str::trim);
    let is_new = |typed: &&str| {
        is_length(typed) && LENGTH_CHOICES.iter().all(|(default, _)| default != typed)
    };
    let default = LENGTH_CHOICES.iter().map(|(length, names)| choice_json(length, *names));
    typed.filter(is_new).map(|typed| choice_json(typed, [typed, typed])).chain(default).collect()
}

fn is_length(typed: &str) -> bool {
    let command = SlashCommands::parse(&format!("mute {typed}"));
    let is_mute = matches!(command, Command::Mute { duration: Some(_), scope: MuteScope::Channel });
    is_mute && typed.chars().count() <= MAX_LENGTH_CHARS
}

#[cfg(test)]
mod tests {
    use twilight_validate::command::command;

    use super::*;

    /// The subcommand that names a command.
    fn name(command: Command) -> &'static str {
        match command {
            Command::Why => "why",
            Command::Status => "status",
            Command::Memory => "memory",
            Command::Mute { .. } => "mute",
            Command::Unmute(_) => "unmute",
            Command::Stop => "stop",
            Command::Mode(_) => "mode",
            Command::Reset => "reset",
            Command::ForgetMe => "forget-me",
            Command::OptOut => "opt-out",
            Command::OptIn => "opt-in",
            Command::Help => "help",
        }
    }

    fn used(name: &str, options: Value) -> Command {
        let chosen = json!({ "options": [{ "name": name, "type": 1, "options": options }] });
        // An unknown command would be parsed as `help`.
        assert!(Command::parse(&command_text(&chosen)).is_some(), "{}", command_text(&chosen));
        SlashCommands::parse(&command_text(&chosen))
    }

    #[test]
    fn every_subcommand_parses_as_its_command() {
        for Subcommand { label, options: choices } in &SUBCOMMANDS {
            let needs_mode = matches!(choices, [CommandOption::Mode]);
            let options = if needs_mode { json!([{ "value": "observe" }]) } else { json!([]) };
            for called in label.names {
                assert_eq!(name(used(called, options.clone())), label.names[0], "{called}");
            }
        }
    }

    #[test]
    fn every_option_is_parsed() {
        let mute = |options| used("mute", options);
        let everywhere = json!({ "name": "everywhere", "type": 5, "value": true });
        let here = json!({ "name": "everywhere", "type": 5, "value": false });
        let two_hours = json!({ "name": "length", "type": 3, "value": "2h" });
        let expected = Command::parse("mute 2h everywhere").unwrap();
        assert_eq!(mute(json!([two_hours, everywhere])), expected);
        assert_eq!(mute(json!([everywhere, two_hours])), expected);
        assert_eq!(
            mute(json!([here])),
            Command::Mute { duration: None, scope: MuteScope::Channel }
        );
        assert_eq!(used("unmute", json!([everywhere])), Command::Unmute(MuteScope::Workspace));
        let mode = option_json(CommandOption::Mode);
        let modes = array_at(&mode, "choices").map(|mode| used("mode", json!([mode])));
        let all = Mode::ALL.map(|mode| Command::Mode(Some(mode)));
        assert_eq!(modes.collect::<Vec<_>>(), [&all[..], &[Command::Mode(None)]].concat());
    }

    #[test]
    fn the_definition_is_valid() {
        let mut definition = command_definitions()[0].take();
        definition["version"] = "1".into();
        let definition = serde_json::from_value(definition).unwrap();
        command(&definition).unwrap();
        assert_eq!(definition.options.len(), SUBCOMMANDS.len());
    }

    #[test]
    fn a_typed_length_is_suggested_if_it_parses() {
        let offered = |typed: &str| {
            let typed = json!({ "name": "length", "value": typed, "focused": true });
            let chosen = json!({ "options": [{ "name": "mute", "options": [typed] }] });
            let values = length_suggestions(&chosen);
            array_at(&json!({ "all": values }), "all")
                .map(|choice| choice["value"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let default = ["30m", "1h", "2h", "8h", "1d"];
        for typed in ["", "2h", "soon", "everywhere", "2h everywhere", &"1h".repeat(50)] {
            assert_eq!(offered(typed), default, "{typed}");
        }
        for typed in ["90m", "1h30m", "45分", "3 days"] {
            assert_eq!(offered(typed)[0], typed);
            assert_eq!(offered(typed)[1..], default, "{typed}");
        }
    }
}
