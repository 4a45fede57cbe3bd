//! The templates: built in for each language, and any of them overridden by a file of the same name.
//! They are Jinja2 as Python has it, with `trim_blocks` and `lstrip_blocks`, and are checked before
//! anything is asked.

mod check;
mod message_cache;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};
use tracing::{error, warn};

use crate::persona::Language;
use crate::prompt::PromptVerb;
use crate::prompt::view::PromptView;

/// A file's name, and its text in one language.
pub type TemplateFile = (&'static str, &'static str);

const ENGLISH: [TemplateFile; 7] = [
    ("judge.j2", include_str!("en/judge.j2")),
    ("reply.j2", include_str!("en/reply.j2")),
    ("remember.j2", include_str!("en/remember.j2")),
    ("state.j2", include_str!("en/state.j2")),
    ("background.j2", include_str!("en/background.j2")),
    ("floor.j2", include_str!("en/floor.j2")),
    ("parts.j2", include_str!("en/parts.j2")),
];
const JAPANESE: [TemplateFile; 7] = [
    ("judge.j2", include_str!("ja/judge.j2")),
    ("reply.j2", include_str!("ja/reply.j2")),
    ("remember.j2", include_str!("ja/remember.j2")),
    ("state.j2", include_str!("ja/state.j2")),
    ("background.j2", include_str!("ja/background.j2")),
    ("floor.j2", include_str!("ja/floor.j2")),
    ("parts.j2", include_str!("ja/parts.j2")),
];

/// Steps that an operator's template may take: some hundred times what the largest prompt needs, and
/// far less than a second.
const FUEL: u64 = 5_000_000;

#[derive(Debug)]
pub struct Templates {
    builtin: Environment<'static>,
    custom: Option<CustomTemplates>,
}

/// With an operator's files among them.
#[derive(Debug)]
struct CustomTemplates {
    environment: Environment<'static>,
    folder: PathBuf,
    /// The overridden templates by file name.
    files: BTreeMap<String, String>,
}

impl Templates {
    /// The built-in templates of a language, and whatever a folder overrides. Fails with a sentence that
    /// names the file and the line.
    pub fn load(language: Language, folder: Option<&Path>) -> anyhow::Result<Self> {
        let own = folder.map(|folder| CustomTemplates::load(language, folder)).transpose()?;
        if let Some(own) = &own {
            check::check_templates(own, language)?;
        }
        let mut builtin = environment(language)?;
        let parts = template_files(language).iter().find(|(name, _)| *name == "parts.j2");
        let (_, parts) = parts.context("reading the built-in prompts")?;
        message_cache::install(&mut builtin, parts).context("reading the built-in prompts")?;
        Ok(Self { builtin, custom: own })
    }

    /// The text of a prompt. An operator's template that fails after all gives way to the built-in one.
    pub fn render(&self, verb: PromptVerb, view: &PromptView) -> String {
        let values = Value::from(Serde(view));
        if let Some(own) = &self.custom {
            match render(&own.environment, verb, values.clone()) {
                Ok(text) => return text,
                Err(error) => {
                    let place = own.location(&error);
                    let kind = error.kind();
                    warn!("{place}: {kind}; the built-in template is used instead");
                }
            }
        }
        render(&self.builtin, verb, values).unwrap_or_else(|error| {
            // Tests render every branch of it, so this cannot be; and a prompt has no way to fail.
            let (file, line) = (error.name().unwrap_or_default(), error.line().unwrap_or(0));
            error!("the built-in template {file} fails in line {line}: {}", error.kind());
            String::new()
        })
    }
}

impl CustomTemplates {
    fn load(language: Language, folder: &Path) -> anyhow::Result<Self> {
        let unreadable = || format!("the folder of prompts {} cannot be read", folder.display());
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let Some(name) = name.filter(|name| !name.starts_with('.') && !path.is_dir()) else {
                continue;
            };
            anyhow::ensure!(
                template_files(language).iter().any(|(known, _)| *known == name),
                "{} is none of the prompts; did you mean {}?",
                path.display(),
                nearest_name(&name)
            );
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("the prompt {} cannot be read", path.display()))?;
            files.insert(name, text);
        }
        let mut own =
            Self { environment: environment(language)?, folder: folder.to_owned(), files };
        own.environment.set_fuel(Some(FUEL));
        for (name, text) in own.files.clone() {
            let added = own.environment.add_template_owned(name, text);
            added.map_err(|error| anyhow::anyhow!("{}", own.describe(&error)))?;
        }
        Ok(own)
    }

    /// What is wrong, and where.
    fn describe(&self, error: &Error) -> String {
        let cause = root_cause(error);
        let what = match cause.detail() {
            Some(detail) => format!("{}: {detail}", cause.kind()),
            None => cause.kind().to_string(),
        };
        format!("{}: {what}", self.location(error))
    }

    fn location(&self, error: &Error) -> String {
        let cause = root_cause(error);
        let (file, line) = (cause.name().unwrap_or("a prompt"), cause.line().unwrap_or(1));
        self.location_of(file, line)
    }

    fn location_of(&self, file: &str, line: usize) -> String {
        match self.files.contains_key(file) {
            true => format!("{}, line {line}", self.folder.join(file).display()),
            false => format!("the built-in {file}, line {line}, beside {}", self.folder.display()),
        }
    }
}

/// Where it all began, within templates that are included.
fn root_cause(error: &Error) -> &Error {
    let mut cause = error;
    while let Some(inner) = std::error::Error::source(cause).and_then(|inner| inner.downcast_ref())
    {
        cause = inner;
    }
    cause
}

pub fn template_files(language: Language) -> &'static [TemplateFile; 7] {
    match language {
        Language::En => &ENGLISH,
        Language::Ja => &JAPANESE,
    }
}

fn environment(language: Language) -> anyhow::Result<Environment<'static>> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    // The seeds' templates format times themselves; here they come formatted.
    environment.add_filter("format_timestamp", |time: String| time);
    for (name, text) in template_files(language) {
        environment.add_template(name, text).context("reading the built-in prompts")?;
    }
    Ok(environment)
}

fn render(
    environment: &Environment<'_>,
    verb: PromptVerb,
    values: Value,
) -> Result<String, minijinja::Error> {
    environment.get_template(&format!("{}.j2", verb.name()))?.render(values)
}

/// The prompt that was probably meant.
fn nearest_name(name: &str) -> &'static str {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let names = ENGLISH.iter().map(|(known, _)| *known);
    names.max_by(|one, other| likeness(one).total_cmp(&likeness(other))).unwrap_or("judge.j2")
}
