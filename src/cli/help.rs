//! The help of the command line: its verbs, grouped by purpose.

use std::fmt::Write as _;

use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Error};

use crate::cli::Cli;

/// The verbs by purpose. A build may lack some of them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run it", &["run", "check", "set", "reload"]),
    ("Look inside", &["status", "health", "why", "report", "search", "prompt"]),
    ("Try before", &["demo", "replay", "tune", "eval"]),
    ("Move in and out", &["import", "export", "forget"]),
    ("Keep it", &["backup", "restore", "migrate"]),
    ("Set up", &["config", "console", "slack", "discord", "completions", "man"]),
    ("Develop", &["dev"]),
];

/// Options that are gone, and what there is instead.
const GONE: [(&str, &str); 4] = [
    ("--against", "two policies in one replay compare settings"),
    ("--companions", "a replay is of one Aizuchi alone"),
    ("--task", "decisions are what is measured"),
    ("--resume", "a replay begins anew, and the answers of a model are kept (--cache)"),
];

/// Replaces the error about an option that is gone with a sentence about what there is instead.
pub fn with_replacement(error: Error) -> Error {
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(named)) => GONE.iter().find(|(option, _)| named == option),
        Some(_) | None => None,
    };
    named.map_or(error, |(option, instead)| {
        command().error(ErrorKind::UnknownArgument, format!("{option} is gone: {instead}"))
    })
}

/// The command line with its grouped help.
pub fn command() -> Command {
    let command = Cli::command();
    let verbs = grouped_verbs(&command);
    let header = Styles::styled().get_header().to_owned();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}{header}Options:{header:#}\n{{options}}\n\n\
         `aizuchi COMMAND --help` says more about a command."
    ))
}

fn grouped_verbs(command: &Command) -> String {
    let styles = Styles::styled();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let widest = command.get_subcommands().map(|verb| verb.get_name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let verbs = names.iter().filter_map(|name| command.find_subcommand(name));
        let lines: String = verbs
            .map(|verb| {
                let (name, about) =
                    (verb.get_name(), verb.get_about().cloned().unwrap_or_default());
                format!("  {literal}{name:<widest$}{literal:#}  {about}\n")
            })
            .collect();
        if !lines.is_empty() {
            // Writing to a string never fails.
            let _ = writeln!(text, "{header}{heading}:{header:#}\n{lines}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_verb_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let once: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(once.len(), grouped.len(), "a command is in two groups: {grouped:?}");
        for verb in Cli::command().get_subcommands().map(Command::get_name) {
            assert!(once.contains(verb), "`{verb}` is in no group of src/cli/help.rs");
        }
    }

    #[test]
    fn an_option_that_is_gone_is_refused_with_what_there_is_instead() {
        for (line, option) in [
            ("aizuchi replay a.jsonl --against b.yaml", "--against"),
            ("aizuchi replay a.jsonl --companions 2", "--companions"),
            ("aizuchi replay a.jsonl --resume", "--resume"),
            ("aizuchi eval a.jsonl --task state", "--task"),
        ] {
            let error = command().try_get_matches_from(line.split(' ')).unwrap_err();
            let told = with_replacement(error).to_string();
            assert!(told.contains(&format!("{option} is gone: ")), "{told}");
        }
        let error = command().try_get_matches_from(["aizuchi", "replay", "--never"]).unwrap_err();
        assert!(!with_replacement(error).to_string().contains("is gone"));
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }
}
