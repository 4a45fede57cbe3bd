//! Generates `docs/reference/cli.md` from the command line, and `docs/reference/config-keys.md` and the table of known
//! keys from the schema of the config. With `AIZUCHI_WRITE_DOCS=1` the tests rewrite them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use aizuchi::cli::Cli;
use aizuchi_config::EXAMPLE;
use aizuchi_config::schema::schema;
use clap::{Command, CommandFactory as _};
use serde_json::Value;

use crate::config::example::uncommented;
use crate::docs::root;

const COMMAND_LINE_INTRODUCTION: &str = "# The command line

This page is generated from the help of the program.

- `aizuchi` without a command runs it. SIGTERM or Ctrl-C finishes the work in flight and exits with 0; a second signal
  stops at once. SIGHUP [reads the config again](../operate/upgrade.md#change-the-config-while-it-runs).
- `why`, `report`, `search` and `prompt` only read, and work while Aizuchi runs. They show private messages, too, so treat what they print as confidential.
- Stop Aizuchi before `import`, `restore` and `migrate`. `forget` also works while it runs; it asks nothing before it deletes.
- An error is one line on stderr that begins with `aizuchi:`, and the exit code is 1. Once `run` has a log in JSON, it is a line of that log.
  `check` exits with 1 if it finds a problem.
";
const WRITE_VARIABLE: &str = "AIZUCHI_WRITE_DOCS";

#[test]
fn the_command_line_reference_is_current() {
    assert_current("docs/reference/cli.md", &command_line_reference());
}

#[test]
fn the_config_reference_is_current() {
    assert_current("docs/reference/config-keys.md", &config_reference());
}

#[test]
fn the_known_keys_are_current() {
    assert_current("crates/aizuchi-config/src/known_keys.tsv", &known_keys());
}

fn assert_current(path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var_os(WRITE_VARIABLE).is_some_and(|value| value == "1") {
        fs::write(&file, text).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == text,
        "{path} is out of date; `{WRITE_VARIABLE}=1 cargo test --test program docs::reference` writes it anew"
    );
}

fn command_line_reference() -> String {
    let mut program = Cli::command();
    program.build();
    let mut text = COMMAND_LINE_INTRODUCTION.to_owned();
    describe_command(&program, "aizuchi", &mut text);
    text
}

/// Describes a command, or its subcommands if it does nothing by itself.
fn describe_command(command: &Command, name: &str, text: &mut String) {
    let is_group = command.is_subcommand_required_set();
    if !is_group {
        let help = command.clone().render_long_help().to_string();
        let help: Vec<&str> = help.trim().lines().map(str::trim_end).collect();
        writeln!(text, "\n## {name}\n\n```text\n{}\n```", help.join("\n")).unwrap();
    }
    for below in command.get_subcommands() {
        if below.get_name() != "help" && !below.is_hide_set() {
            describe_command(below, &format!("{name} {}", below.get_name()), text);
        }
    }
}

fn config_reference() -> String {
    let schema = schema();
    let mut defaults: Value = serde_saphyr::from_str(EXAMPLE).unwrap();
    // If omitted, these sections are disabled. If present, the example shows the defaults of the omitted keys.
    let whole: Value = serde_saphyr::from_str(&uncommented()).unwrap();
    for section in ["slack", "discord"] {
        defaults[section] = whole[section].clone();
    }
    let mut table = KeyTable {
        schema: &schema,
        defaults: &defaults,
        rows: String::new(),
        known: BTreeMap::new(),
    };
    let mut sections = String::new();
    for (key, part) in schema["properties"].as_object().unwrap() {
        let target = table.resolve(part);
        if !has_keys(target) {
            table.add(key, part);
            continue;
        }
        let mut below = KeyTable { rows: String::new(), known: table.known.clone(), ..table };
        below.add_keys(key, target);
        below.known.extend(reference(part).map(|name| (name.to_owned(), key.clone())));
        let meaning = description(part).or(description(target)).unwrap_or_default();
        write!(sections, "\n## {key}\n\n{meaning}\n\n{HEAD}{}", below.rows).unwrap();
        table.known = below.known;
    }
    format!(
        "# Config keys\n\n\
         This page is generated from the schema of the config (`aizuchi config schema`). `aizuchi config example` prints the\n\
         same as a file. A key without a default is left out by default; its meaning says what applies then. `*` stands for\n\
         a name of your own. Every value may be a variable, like `${{NAME}}`: [the config](../operate/config.md#secrets).\n\n\
         ## Without a section\n\n{HEAD}{}{sections}",
        table.rows
    )
}

const HEAD: &str = "| key | value | default | meaning |\n|---|---|---|---|\n";

/// The keys of one section as rows of a table.
struct KeyTable<'a> {
    schema: &'a Value,
    defaults: &'a Value,
    rows: String,
    /// The section in which the keys of a definition were first shown.
    known: BTreeMap<String, String>,
}

impl<'a> KeyTable<'a> {
    fn add_keys(&mut self, path: &str, part: &'a Value) {
        for (key, part) in part["properties"].as_object().into_iter().flatten() {
            self.add(&format!("{path}.{key}"), part);
        }
        let named = &part["additionalProperties"];
        if named.is_object() {
            self.add(&format!("{path}.*"), named);
        }
    }

    /// Adds a key, and the keys below it unless they were shown before.
    fn add(&mut self, path: &str, part: &'a Value) {
        let target = self.resolve(part);
        let meaning = description(part).or(description(target)).unwrap_or_default();
        let values = values(part, self.schema);
        let pointer = format!("/{}", path.replace('.', "/"));
        let is_shown = |value: &&Value| !value.is_object() && part["format"] != "password";
        let default = self.defaults.pointer(&pointer).filter(is_shown);
        let default = default.filter(|_| !meaning.contains("Left out"));
        let default = default.map_or("–".to_owned(), |value| format!("`{}`", plain(value)));
        let meaning = std::iter::once(meaning)
            .chain(choices(part, self.schema))
            .collect::<Vec<_>>()
            .join(" ");
        let definition = reference(part).filter(|_| has_keys(target));
        let first = definition.and_then(|name| self.known.get(name).cloned());
        let values = match (&first, has_keys(target)) {
            (Some(first), _) => format!("the same keys as `{first}`"),
            (None, true) => "a section".to_owned(),
            (None, false) => values.join(" or "),
        };
        let cells = [values, default, meaning].map(|cell| cell.replace('|', "\\|"));
        writeln!(self.rows, "| `{path}` | {} |", cells.join(" | ")).unwrap();
        if first.is_none() && has_keys(target) {
            let name = definition.map(str::to_owned);
            self.known.extend(name.map(|name| (name, path.to_owned())));
            self.add_keys(path, target);
        }
    }

    /// Returns the definition that a part of the schema refers to, or the part itself.
    fn resolve(&self, part: &'a Value) -> &'a Value {
        reference(part).map_or(part, |name| &self.schema["$defs"][name])
    }
}

/// Returns a line for each key: its path, its range, its default, and its meaning in English and Japanese.
fn known_keys() -> String {
    let mut schema = schema();
    let meanings = root().join("crates/aizuchi-config/src/meanings.ja.yaml");
    let meanings: BTreeMap<String, BTreeMap<String, String>> =
        serde_saphyr::from_str(&fs::read_to_string(meanings).unwrap()).unwrap();
    for (section, meanings) in meanings {
        let keys = match &*section {
            "Config" => &mut schema["properties"],
            section => &mut schema["$defs"][section]["properties"],
        };
        for (key, meaning) in meanings {
            assert!(keys[&key].is_object(), "there is no {section}.{key}");
            keys[key]["meaning_ja"] = meaning.into();
        }
    }
    let examples = [EXAMPLE, &uncommented()].map(|text| serde_saphyr::from_str(text).unwrap());
    let mut lines = String::new();
    add_known_keys(&schema, &schema, &examples, &mut Vec::new(), &mut lines);
    lines
}

fn add_known_keys(
    part: &Value,
    schema: &Value,
    examples: &[Value; 2],
    path: &mut Vec<String>,
    lines: &mut String,
) {
    for kind in alternatives(part, schema) {
        let named = kind["properties"].as_object().into_iter().flatten();
        let named = named.map(|(key, part)| (key.clone(), part));
        let chosen = Some(&kind["additionalProperties"]).filter(|part| part.is_object());
        for (key, part) in named.chain(chosen.map(|part| ("*".to_owned(), part))) {
            path.push(key);
            writeln!(lines, "{}", known_key(part, schema, examples, path)).unwrap();
            add_known_keys(part, schema, examples, path, lines);
            path.pop();
        }
    }
}

fn known_key(
    part: &Value,
    schema: &Value,
    [example, whole]: &[Value; 2],
    path: &[String],
) -> String {
    let kinds = alternatives(part, schema);
    let is_optional = kinds.iter().any(|kind| is_of_type(kind, "null"));
    // The example shows the defaults of numbers and choices in sections that are commented out.
    let is_choice = kinds.iter().all(|kind| {
        let is_word = kind["enum"].is_array() || kind["const"].is_string();
        let is_number = ["integer", "number", "boolean", "null"];
        let is_number = is_number.iter().any(|name| is_of_type(kind, name));
        is_word || is_number && !is_of_type(kind, "string")
    });
    let pointer = format!("/{}", path.join("/"));
    let default = example.pointer(&pointer);
    let default = default.or_else(|| whole.pointer(&pointer).filter(|_| is_choice && !is_optional));
    let is_section = kinds.iter().any(|kind| kind["properties"].is_object()) && !is_optional;
    let (range, default) = match is_section {
        true => ("section".to_owned(), String::new()),
        false => (range(&kinds), default.map(on_one_line).unwrap_or_default()),
    };
    let meaning = |name: &str| {
        let mut parts = [part].into_iter().chain(kinds.iter().copied());
        in_short(parts.find_map(|part| part[name].as_str()).unwrap_or_default())
    };
    let [english, japanese] = ["description", "meaning_ja"].map(meaning);
    // Where the meaning names the value that applies, that is the default.
    let applied =
        english.split_once("If omitted: ").and_then(|(_, applied)| applied.strip_suffix('.'));
    let is_value =
        |it: &&str| it.parse::<f64>().is_ok() || range.split(" | ").any(|word| word == *it);
    let default = match applied.filter(is_value) {
        Some(applied) if default.is_empty() => applied.to_owned(),
        _ => default,
    };
    let path = path.join(".");
    assert!(path.ends_with('*') || !japanese.is_empty(), "meanings.ja.yaml lacks {path}");
    [path, range, default, english, japanese].join("\t")
}

/// Returns the kinds of values that a part of the schema allows, apart from variables.
fn alternatives<'a>(part: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(reference) = part["$ref"].as_str() {
        return alternatives(schema.pointer(&reference[1..]).unwrap(), schema);
    }
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|key| part[key].as_array()).flatten();
    let choices = choices.filter(|choice| choice["pattern"] != r"\$\{");
    let found: Vec<_> = choices.flat_map(|choice| alternatives(choice, schema)).collect();
    if found.is_empty() { vec![part] } else { found }
}

fn is_of_type(kind: &Value, name: &str) -> bool {
    let mut names = kind["type"].as_array().into_iter().flatten();
    kind["type"] == name || names.any(|kind| kind == name)
}

fn range(kinds: &[&Value]) -> String {
    let told = kinds.iter().flat_map(|kind| match (&kind["minimum"], &kind["maximum"]) {
        (Value::Null, Value::Null) if is_of_type(kind, "boolean") => {
            vec!["true | false".to_owned()]
        }
        (Value::Null, Value::Null) => {
            let words = kind["enum"].as_array().into_iter().flatten().chain([&kind["const"]]);
            words.filter_map(Value::as_str).map(str::to_owned).collect()
        }
        (least, Value::Null) => vec![format!("≥ {}", number(least))],
        (Value::Null, most) => vec![format!("≤ {}", number(most))],
        (least, most) => vec![format!("{}–{}", number(least), number(most))],
    });
    told.collect::<Vec<_>>().join(" | ")
}

/// Returns the first sentence, and what applies if the key is omitted.
fn in_short(text: &str) -> String {
    let text = text.replace('\n', " ").replace('`', "");
    let sentences = text.split_inclusive(". ").enumerate();
    let kept = sentences.filter(|(at, sentence)| *at == 0 || sentence.starts_with("If omitted"));
    kept.map(|(_, sentence)| sentence).collect::<String>().trim_end().to_owned()
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Null | Value::Object(_) => String::new(),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        value => plain(value),
    }
}

/// Returns the name of the definition that a part refers to, possibly as an alternative to `null`.
fn reference(part: &Value) -> Option<&str> {
    let choices = part["anyOf"].as_array().into_iter().flatten();
    let mut references =
        std::iter::once(part).chain(choices).filter_map(|part| part["$ref"].as_str());
    references.find_map(|reference| reference.strip_prefix("#/$defs/"))
}

fn has_keys(part: &Value) -> bool {
    part["properties"].is_object() || part["additionalProperties"].is_object()
}

fn description(part: &Value) -> Option<String> {
    part["description"].as_str().map(|text| text.replace('\n', " "))
}

/// Returns the meanings of a key's values, as far as they are documented.
fn choices(part: &Value, schema: &Value) -> Vec<String> {
    if let Some(name) = part["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return choices(&schema["$defs"][name], schema);
    }
    if let (Some(value), Some(meaning)) = (part["const"].as_str(), description(part)) {
        return vec![format!("`{value}`: {meaning}")];
    }
    let parts = ["anyOf", "oneOf"].into_iter().filter_map(|kind| part[kind].as_array()).flatten();
    parts.flat_map(|part| choices(part, schema)).collect()
}

/// Formats a value as in a config.
fn plain(value: &Value) -> String {
    match value.as_str() {
        Some("") | None => value.to_string(),
        Some(text) => text.to_owned(),
    }
}

/// Returns the types of values that a key accepts, without variables.
fn values(part: &Value, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_values(part, schema, &mut found);
    let mut once = Vec::new();
    found.retain(|value| {
        !once.contains(value) && {
            once.push(value.clone());
            true
        }
    });
    found
}

fn collect_values(part: &Value, schema: &Value, found: &mut Vec<String>) {
    if part["pattern"] == r"\$\{" {
        return;
    }
    if let Some(name) = part["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return collect_values(&schema["$defs"][name], schema, found);
    }
    for choices in ["anyOf", "oneOf"] {
        for choice in part[choices].as_array().into_iter().flatten() {
            collect_values(choice, schema, found);
        }
    }
    if part["const"].is_string() {
        found.push(format!("`{}`", part["const"].as_str().unwrap()));
    } else if let Some(words) = part["enum"].as_array() {
        let words = words.iter().filter(|word| !word.is_null());
        found.extend(words.map(|word| format!("`{}`", plain(word))));
    } else {
        let kinds = match &part["type"] {
            Value::Array(kinds) => kinds.iter().collect(),
            kind => vec![kind],
        };
        found.extend(kinds.into_iter().filter_map(|kind| kind_of_value(kind.as_str()?, part)));
    }
}

fn kind_of_value(kind: &str, part: &Value) -> Option<String> {
    let range = match (&part["minimum"], &part["maximum"]) {
        (Value::Null, Value::Null) => String::new(),
        (least, Value::Null) => format!(", at least {}", number(least)),
        (Value::Null, most) => format!(", at most {}", number(most)),
        (least, most) => format!(", {} to {}", number(least), number(most)),
    };
    Some(match kind {
        "integer" => format!("a whole number{range}"),
        "number" => format!("a number{range}"),
        "boolean" => "`true` or `false`".to_owned(),
        "string" if part["format"] == "password" => "a secret".to_owned(),
        "string" if part["format"] == "uri" => "an address".to_owned(),
        "string" => "text".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "a section".to_owned(),
        _ => return None,
    })
}

fn number(value: &Value) -> String {
    value.to_string().trim_end_matches(".0").to_owned()
}
