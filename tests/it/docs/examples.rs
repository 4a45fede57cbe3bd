//! The command lines in the documentation parse, and its settings are accepted.

use aizuchi::cli::Cli;
use aizuchi_config::Config;
use aizuchi_config::environment::Environment;
use clap::Parser as _;
use clap::error::ErrorKind;
use pulldown_cmark::Event;

use crate::docs::{Page, pages};

#[test]
fn every_command_line_is_understood() {
    let pages = pages();
    let wrong: Vec<String> = pages.iter().flat_map(wrong_commands).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    let found: usize = pages.iter().map(|page| command_lines(page).len()).sum();
    assert!(found > 20, "only {found} command lines were found");
}

#[test]
fn wrong_command_lines_are_noticed() {
    let text = "```console\n$ aizuchi chek\nchecking\n$ aizuchi check > out  # as above\n\
                $ KEY=x cargo run --release -- \\\n    check --fast\n```\n`aizuchi search` or `aizuchi chekk`";
    let page = Page { path: "page.md".into(), text: text.to_owned() };
    let lines: Vec<String> = command_lines(&page).iter().map(|words| words.join(" ")).collect();
    assert_eq!(lines, ["aizuchi chek", "aizuchi check", "aizuchi check --fast"]);
    assert_eq!(
        wrong_commands(&page),
        [
            "page.md: aizuchi chek: error: unrecognized subcommand 'chek'",
            "page.md: aizuchi check --fast: error: unexpected argument '--fast' found",
            "page.md: aizuchi chekk: error: unrecognized subcommand 'chekk'",
        ]
    );
}

/// A fenced block in YAML is a config, or a part of one.
#[test]
fn every_example_of_a_config_is_accepted() {
    let secrets = [
        ("SLACK_BOT_TOKEN", "xoxb-x"),
        ("SLACK_APP_TOKEN", "xapp-x"),
        ("DISCORD_TOKEN", "x"),
        ("DATABASE_PASSWORD", "x"),
        ("OPENAI_API_KEY", "x"),
        ("AIZUCHI_TOKEN", "9f86d081884c7d65"),
        ("OLGA_TOKEN", "a1b2f7e4409cc318"),
        ("GRAFANA_TOKEN", "5b0e9ad27f13c648"),
    ];
    let secrets = secrets.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = Environment::new(secrets, "", ".env").unwrap();
    let mut wrong = Vec::new();
    let mut accepted = 0;
    for page in pages() {
        for block in page.code_blocks().iter().filter(|block| block.language == "yaml") {
            match Config::read(&block.text, "config.yaml", &environment) {
                Ok(_) => accepted += 1,
                Err(error) => {
                    wrong.push(format!("{}: {error:#}\n{}", page.path.display(), block.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    assert!(accepted > 8, "only {accepted} examples were found");
}

/// Returns the errors in the command lines of fenced blocks, and in the commands named in sentences.
fn wrong_commands(page: &Page) -> Vec<String> {
    let named = named_commands(page);
    let typed = command_lines(page);
    let wrong = typed.iter().filter_map(|words| problem(words));
    // A sentence may omit arguments, but the arguments that it names must exist.
    let is_stale = |kind| matches!(kind, ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand);
    let stale = named.iter().filter_map(|words| problem(words).filter(|(kind, _)| is_stale(*kind)));
    let path = page.path.display();
    wrong.chain(stale).map(|(_, problem)| format!("{path}: {problem}")).collect()
}

/// Returns the program's error for a command line that does not parse.
fn problem(words: &[String]) -> Option<(ErrorKind, String)> {
    let error = Cli::try_parse_from(words).err()?;
    let is_answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let text = error.to_string();
    let why = text.lines().next().unwrap_or_default();
    (!is_answer).then(|| (error.kind(), format!("{}: {why}", words.join(" "))))
}

/// Returns the program's command lines in fenced blocks, as words, starting with its name.
fn command_lines(page: &Page) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for block in page.code_blocks() {
        let text = block.text.replace("\\\n", " ");
        let typed: Vec<&str> = match block.language.as_str() {
            "console" => text.lines().filter_map(|line| line.strip_prefix("$ ")).collect(),
            "sh" => text.lines().collect(),
            _ => Vec::new(),
        };
        lines.extend(typed.into_iter().filter_map(program_arguments));
    }
    lines
}

/// Returns the commands named in sentences, like `aizuchi check`.
fn named_commands(page: &Page) -> Vec<Vec<String>> {
    let codes = page.events().filter_map(|event| match event {
        Event::Code(code) => Some(code),
        _ => None,
    });
    codes.filter_map(|code| program_arguments(&code)).collect()
}

/// Returns the arguments after `aizuchi` or `cargo run … --`, without leading variables and shell syntax.
fn program_arguments(line: &str) -> Option<Vec<String>> {
    let words = words(line);
    let is_name = |character: char| character.is_ascii_uppercase() || character == '_';
    let is_variable =
        |word: &&String| word.split_once('=').is_some_and(|(name, _)| name.chars().all(is_name));
    let words: Vec<&String> = words.iter().skip_while(is_variable).collect();
    let rest = match words.first()?.as_str() {
        "aizuchi" => &words[1..],
        "cargo" if is_program(&words) => {
            let dashes = words.iter().position(|word| *word == "--")?;
            &words[dashes + 1..]
        }
        _ => return None,
    };
    let is_argument = |word: &&&String| !matches!(word.as_str(), ">" | "|" | "&&" | "<" | "2>");
    let rest = rest.iter().take_while(is_argument).map(|word| (*word).clone());
    Some(std::iter::once("aizuchi".to_owned()).chain(rest).collect())
}

/// Whether `cargo` runs the program, not a test or an example.
fn is_program(words: &[&String]) -> bool {
    words.get(1).is_some_and(|verb| *verb == "run") && words.iter().all(|word| *word != "--example")
}

/// Splits a line into words as a shell does, without a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), character) if open == character => quote = None,
            (Some(_), character) => word.push(character),
            (None, '\'' | '"') => quote = Some(character),
            (None, '#') if word.is_empty() => break,
            (None, character) if character.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            (None, character) => word.push(character),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}
