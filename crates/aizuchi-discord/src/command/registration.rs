//! The subcommands of `/aizuchi`, and the command text for each, as a user would write it in a channel. The core parses
//! the commands themselves.

use aizuchi_actions::command::{Command, MuteScope};
use aizuchi_model::persona::Language;
use aizuchi_model::rules::Mode;
use aizuchi_model::texts::discord;
use aizuchi_platform::slash_command::SlashCommands;
use serde_json::{Value, json};
use twilight_model::application::command::{CommandOptionType, CommandType};

use crate::json::{array_at, non_empty_str};

/// A text of the catalogue, registered with Discord in both languages.
type Text = fn(Language) -> &'static str;

struct CommandLabel {
    name: Text,
    description: Text,
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
    /// Skips the confirmation.
    ForSure,
}

const fn new_subcommand(
    name: Text,
    description: Text,
    options: &'static [CommandOption],
) -> Subcommand {
    Subcommand { label: CommandLabel { name, description }, options }
}

const SUBCOMMANDS: [Subcommand; 14] = [
    new_subcommand(discord::why_name, discord::why_description, &[]),
    new_subcommand(discord::status_name, discord::status_description, &[]),
    new_subcommand(discord::memory_name, discord::memory_description, &[]),
    new_subcommand(discord::catch_up_name, discord::catch_up_description, &[]),
    new_subcommand(discord::reminders_name, discord::reminders_description, &[]),
    new_subcommand(
        discord::mute_name,
        discord::mute_description,
        &[CommandOption::Length, CommandOption::Everywhere],
    ),
    new_subcommand(discord::unmute_name, discord::unmute_description, &[CommandOption::Everywhere]),
    new_subcommand(discord::stop_name, discord::stop_description, &[]),
    new_subcommand(discord::mode_name, discord::mode_description, &[CommandOption::Mode]),
    new_subcommand(discord::reset_name, discord::reset_description, &[]),
    new_subcommand(discord::opt_out_name, discord::opt_out_description, &[]),
    new_subcommand(discord::opt_in_name, discord::opt_in_description, &[]),
    new_subcommand(
        discord::forget_me_name,
        discord::forget_me_description,
        &[CommandOption::ForSure],
    ),
    new_subcommand(discord::help_name, discord::help_description, &[]),
];

/// The lengths suggested before the user types.
const LENGTH_CHOICES: [(&str, Text); 5] = [
    ("30m", discord::thirty_minutes),
    ("1h", discord::one_hour),
    ("2h", discord::two_hours),
    ("8h", discord::eight_hours),
    ("1d", discord::one_day),
];
const MAX_LENGTH_CHARS: usize = 40;

/// The definition that is registered with Discord.
pub fn command_definitions() -> Value {
    let [description, description_ja] = in_both_languages(discord::command_description);
    json!([{
        "name": "aizuchi",
        "type": CommandType::ChatInput,
        "description": description,
        "description_localizations": { "ja": description_ja },
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
                name: discord::length_name,
                description: discord::length_description,
            };
            let mut json = labeled_option(CommandOptionType::String, &label);
            json["autocomplete"] = true.into();
            json["max_length"] = MAX_LENGTH_CHARS.into();
            json
        }
        CommandOption::Everywhere => {
            let label = CommandLabel {
                name: discord::everywhere_name,
                description: discord::everywhere_description,
            };
            labeled_option(CommandOptionType::Boolean, &label)
        }
        CommandOption::ForSure => {
            let label = CommandLabel {
                name: discord::for_sure_name,
                description: discord::for_sure_description,
            };
            labeled_option(CommandOptionType::Boolean, &label)
        }
        CommandOption::Mode => {
            let label = CommandLabel {
                name: discord::to_mode_name,
                description: discord::to_mode_description,
            };
            let mut json = labeled_option(CommandOptionType::String, &label);
            json["required"] = true.into();
            let modes = Mode::ALL.map(|mode| {
                let label = in_both_languages(|language| discord::mode(language, mode));
                choice_json(mode.name(), label)
            });
            let default = choice_json("default", in_both_languages(discord::default_mode));
            json["choices"] = modes.into_iter().chain([default]).collect();
            json
        }
    }
}

fn labeled_option(kind: CommandOptionType, label: &CommandLabel) -> Value {
    let [name, name_ja] = in_both_languages(label.name);
    let [description, description_ja] = in_both_languages(label.description);
    json!({
        "type": kind,
        "name": name,
        "name_localizations": { "ja": name_ja },
        "description": description,
        "description_localizations": { "ja": description_ja },
    })
}

fn choice_json(value: &str, [name, ja]: [&str; 2]) -> Value {
    json!({ "name": name, "name_localizations": { "ja": ja }, "value": value })
}

fn in_both_languages(text: impl Fn(Language) -> &'static str) -> [&'static str; 2] {
    [Language::En, Language::Ja].map(text)
}

/// Returns the chosen subcommand as a command text: `mute 2h`, `mode observe`. Empty if none was chosen.
pub fn command_text(data: &Value) -> String {
    let Some(chosen) = array_at(data, "options").next() else { return String::new() };
    let arguments =
        array_at(chosen, "options").filter_map(|option| match option["value"] == true {
            true => non_empty_str(&option["name"]),
            false => non_empty_str(&option["value"]),
        });
    non_empty_str(&chosen["name"]).into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Returns suggestions for the length that the user is typing.
pub fn length_suggestions(data: &Value) -> Value {
    let options = array_at(data, "options").flat_map(|chosen| array_at(chosen, "options"));
    let typed = options.filter(|option| option["focused"] == true);
    let typed = typed.filter_map(|option| non_empty_str(&option["value"])).map(str::trim);
    let is_new = |typed: &&str| {
        is_length(typed) && LENGTH_CHOICES.iter().all(|(default, _)| default != typed)
    };
    let default =
        LENGTH_CHOICES.iter().map(|(length, name)| choice_json(length, in_both_languages(name)));
    typed.filter(is_new).map(|typed| choice_json(typed, [typed, typed])).chain(default).collect()
}

fn is_length(typed: &str) -> bool {
    let command = SlashCommands::parse(&format!("mute {typed}"));
    let is_mute = matches!(command, Command::Mute { length: Some(_), scope: MuteScope::Channel });
    is_mute && typed.chars().count() <= MAX_LENGTH_CHARS
}

#[cfg(test)]
mod tests {
    use twilight_validate::command::command;

    use aizuchi_actions::command::PlanCommand;

    use super::*;

    /// Returns the subcommand that names a command.
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
            Command::ForgetMe | Command::ForgetMeForSure => "forget-me",
            Command::OptOut => "opt-out",
            Command::OptIn => "opt-in",
            Command::CatchUp => "catch-up",
            Command::Plan(PlanCommand::List) => "reminders",
            // These commands refer to a quoted message.
            Command::Help
            | Command::Usage(_)
            | Command::ForgetThat
            | Command::StandingOrder(_)
            | Command::ListStandingOrders
            | Command::ChangeSetting(_)
            | Command::ListSettings
            | Command::Plan(_) => "help",
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
            let names = in_both_languages(label.name);
            for called in names {
                assert_eq!(name(used(called, options.clone())), names[0], "{called}");
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
        assert_eq!(mute(json!([here])), Command::Mute { length: None, scope: MuteScope::Channel });
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
