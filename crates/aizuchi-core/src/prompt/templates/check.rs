//! Finds what is wrong with an operator's templates before anybody waits for an answer: each is
//! rendered with samples in which everything is there, and with samples in which nothing is.

use std::collections::BTreeSet;

use minijinja::value::{Serde, Value};

use crate::persona::Language;
use crate::prompt::templates::{CustomTemplates, render};
use crate::prompt::{PromptVerb, sample};

/// Fails with a sentence that names the file and the line.
pub fn check_templates(own: &CustomTemplates, language: Language) -> anyhow::Result<()> {
    let samples = sample::sample_views(language);
    let samples: Vec<(PromptVerb, Value)> =
        samples.iter().map(|(verb, view)| (*verb, Value::from(Serde(view)))).collect();
    for (file, text) in &own.files {
        let of_verb = |verb: PromptVerb| format!("{}.j2", verb.name()) == *file;
        let is_shared = !samples.iter().any(|(verb, _)| of_verb(*verb));
        let given = samples.iter().filter(|(verb, _)| is_shared || of_verb(*verb));
        let given: Vec<&Value> = given.map(|(_, values)| values).collect();
        for name in undeclared_variables(own, file)? {
            if !is_known_variable(&name, &given) {
                let place = own.location_of(file, line_of(text, &name));
                anyhow::bail!("{place}: unknown variable {name}");
            }
        }
    }
    for (verb, values) in samples {
        let rendered = render(&own.environment, verb, values);
        rendered.map_err(|error| anyhow::anyhow!("{}", own.describe(&error)))?;
    }
    Ok(())
}

/// What a template asks for, wherever in it.
fn undeclared_variables(own: &CustomTemplates, file: &str) -> anyhow::Result<BTreeSet<String>> {
    let template = own.environment.get_template(file)?;
    let globals: Vec<&str> = own.environment.globals().map(|(name, _)| name).collect();
    let names = template.undeclared_variables(true).into_iter();
    Ok(names.filter(|name| !globals.contains(&root_name(name))).collect())
}

/// There are such values. What stands in maps by ids is not looked at.
fn is_known_variable(name: &str, given: &[&Value]) -> bool {
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
    given.iter().any(is_in)
}

fn root_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// The line that the name stands in first.
fn line_of(text: &str, name: &str) -> usize {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let has_name = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            !line[..at].ends_with(is_letter) && !line[at + name.len()..].starts_with(is_letter)
        })
    };
    text.lines().position(has_name).map_or(1, |place| place + 1)
}
