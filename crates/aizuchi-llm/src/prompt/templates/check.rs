//! Checks an operator's templates at startup: each is rendered with samples that have everything, and with samples
//! that have nothing.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::value::{Serde, Value};

use crate::prompt::PromptVerb;
use crate::prompt::builder::sample::SAMPLE_TEXT;
use crate::prompt::templates::{CustomTemplates, render};
use crate::prompt::view::PromptView;

/// Checks the overrides. The error names the file and the line.
pub fn check_templates(
    custom: &CustomTemplates,
    samples: &[(PromptVerb, PromptView)],
) -> anyhow::Result<()> {
    let samples: Vec<(PromptVerb, Value)> =
        samples.iter().map(|(verb, view)| (*verb, Value::from(Serde(view)))).collect();
    for (file, text) in &custom.files {
        let of_verb = |verb: PromptVerb| format!("{}.j2", verb.name()) == *file;
        let is_shared = !samples.iter().any(|(verb, _)| of_verb(*verb));
        let samples_of_file = samples.iter().filter(|(verb, _)| is_shared || of_verb(*verb));
        let samples_of_file: Vec<&Value> = samples_of_file.map(|(_, values)| values).collect();
        for name in undeclared_variables(custom, file)? {
            if !is_known_variable(&name, &samples_of_file) {
                let location = custom.location_of(file, line_of(text, &name));
                anyhow::bail!("{location}: unknown variable {name}");
            }
        }
    }
    let mut shows_messages: BTreeMap<&str, bool> = BTreeMap::new();
    for (verb, values) in samples {
        let rendered = render(&custom.environment, verb, values)
            .map_err(|error| anyhow::anyhow!("{}", custom.describe(&error)))?;
        *shows_messages.entry(verb.name()).or_default() |= rendered.contains(SAMPLE_TEXT);
    }
    // Without the messages, a model would judge and answer from nothing.
    if let Some((verb, _)) = shows_messages.into_iter().find(|(_, shows)| !shows) {
        let file = custom.folder.join(format!("{verb}.j2"));
        anyhow::bail!(
            "{} (with the files that it includes) shows none of the messages; `aizuchi prompt` prints the built-in \
             one, which does",
            file.display()
        );
    }
    Ok(())
}

/// The variables that a template uses and does not define.
fn undeclared_variables(custom: &CustomTemplates, file: &str) -> anyhow::Result<BTreeSet<String>> {
    let template = custom.environment.get_template(file)?;
    let globals: Vec<&str> = custom.environment.globals().map(|(name, _)| name).collect();
    let names = template.undeclared_variables(true).into_iter();
    Ok(names.filter(|name| !globals.contains(&root_name(name))).collect())
}

/// Whether a sample has this variable. Maps that are keyed by id are not checked.
fn is_known_variable(name: &str, samples_of_file: &[&Value]) -> bool {
    let has =
        |value: &Value, key: &str| value.get_attr(key).is_ok_and(|value| !value.is_undefined());
    let is_in = |value: &&Value| match name.split_once('.') {
        Some(("persona", key)) => {
            let key = key.split('.').next().unwrap_or(key);
            value.get_attr("persona").is_ok_and(|persona| has(&persona, key))
        }
        Some((root, _)) => has(value, root),
        None => has(value, name),
    };
    samples_of_file.iter().any(is_in)
}

fn root_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The first line that contains the name.
fn line_of(text: &str, name: &str) -> usize {
    let is_word_character =
        |character: char| character.is_alphanumeric() || character == '_' || character == '.';
    let has_name = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            !line[..at].ends_with(is_word_character)
                && !line[at + name.len()..].starts_with(is_word_character)
        })
    };
    text.lines().position(has_name).map_or(1, |location| location + 1)
}
