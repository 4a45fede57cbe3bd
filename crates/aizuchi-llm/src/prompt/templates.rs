//! The templates: built-in ones for each language, and an operator's overrides, matched by file
//! name. The syntax is Python's Jinja2 with `trim_blocks` and `lstrip_blocks`. Overrides are
//! checked at startup.

mod check;
mod message_cache;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aizuchi_model::input_file::{self, MAX_WRITTEN_BYTES};
use aizuchi_model::persona::Language;
use anyhow::Context as _;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior};
use tracing::{error, warn};

use crate::prompt::PromptVerb;
use crate::prompt::view::PromptView;

/// The file name of a template, and its text in one language.
pub type TemplateFile = (&'static str, &'static str);

const ENGLISH: [TemplateFile; 8] = [
    ("judge.j2", include_str!("en/judge.j2")),
    ("reply.j2", include_str!("en/reply.j2")),
    ("remember.j2", include_str!("en/remember.j2")),
    ("state.j2", include_str!("en/state.j2")),
    ("place.j2", include_str!("en/place.j2")),
    ("background.j2", include_str!("en/background.j2")),
    ("floor.j2", include_str!("en/floor.j2")),
    ("parts.j2", include_str!("en/parts.j2")),
];
const JAPANESE: [TemplateFile; 8] = [
    ("judge.j2", include_str!("ja/judge.j2")),
    ("reply.j2", include_str!("ja/reply.j2")),
    ("remember.j2", include_str!("ja/remember.j2")),
    ("state.j2", include_str!("ja/state.j2")),
    ("place.j2", include_str!("ja/place.j2")),
    ("background.j2", include_str!("ja/background.j2")),
    ("floor.j2", include_str!("ja/floor.j2")),
    ("parts.j2", include_str!("ja/parts.j2")),
];

/// The maximum number of instructions that an operator's template may run: about a hundred times what the largest
/// prompt needs, and far less than a second.
const FUEL: u64 = 5_000_000;

#[derive(Debug)]
pub struct Templates {
    builtin: Environment<'static>,
    custom: Option<CustomTemplates>,
}

/// The templates with an operator's overrides.
#[derive(Debug)]
struct CustomTemplates {
    environment: Environment<'static>,
    folder: PathBuf,
    /// The overrides by file name.
    files: BTreeMap<String, String>,
}

impl Templates {
    /// Loads the built-in templates of a language and the overrides in `folder`. The error names
    /// the file and the line.
    pub fn load(
        language: Language,
        folder: Option<&Path>,
        samples: &[(PromptVerb, PromptView)],
    ) -> anyhow::Result<Self> {
        let custom = folder.map(|folder| CustomTemplates::load(language, folder)).transpose()?;
        if let Some(custom) = &custom {
            check::check_templates(custom, samples)?;
        }
        let mut builtin = environment(language)?;
        let parts = template_files(language).iter().find(|(name, _)| *name == "parts.j2");
        let (_, parts) = parts.context("cannot read the built-in prompts")?;
        message_cache::install(&mut builtin, parts).context("cannot read the built-in prompts")?;
        Ok(Self { builtin, custom })
    }

    /// Renders a prompt. If an operator's template fails, the built-in one is used.
    pub fn render(&self, verb: PromptVerb, view: &PromptView) -> String {
        let values = Value::from(Serde(view));
        if let Some(custom) = &self.custom {
            match render(&custom.environment, verb, values.clone()) {
                Ok(text) => return text,
                Err(error) => {
                    let location = custom.location(&error);
                    let kind = error.kind();
                    warn!(
                        template = location,
                        error = %kind,
                        "a custom template failed; using the built-in one"
                    );
                }
            }
        }
        render(&self.builtin, verb, values).unwrap_or_else(|error| {
            // Unreachable, since tests render every branch. There is no error to return, because
            // building a prompt cannot fail.
            let (file, line) = (error.name().unwrap_or_default(), error.line().unwrap_or(0));
            error!(template = file, line, error = %error.kind(), "a built-in template failed");
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
            let text = input_file::read_text(&path, MAX_WRITTEN_BYTES)
                .with_context(|| format!("the prompt {} cannot be read", path.display()))?;
            files.insert(name, text);
        }
        let mut custom =
            Self { environment: environment(language)?, folder: folder.to_owned(), files };
        custom.environment.set_fuel(Some(FUEL));
        for (name, text) in custom.files.clone() {
            let added = custom.environment.add_template_owned(name, text);
            added.map_err(|error| anyhow::anyhow!("{}", custom.describe(&error)))?;
        }
        Ok(custom)
    }

    /// Describes an error with its location.
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

/// The innermost error, including errors in included templates.
fn root_cause(error: &Error) -> &Error {
    let mut cause = error;
    while let Some(inner) = std::error::Error::source(cause).and_then(|inner| inner.downcast_ref())
    {
        cause = inner;
    }
    cause
}

pub fn template_files(language: Language) -> &'static [TemplateFile; 8] {
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
    // Templates written for an earlier bot call this filter. Times are formatted already.
    environment.add_filter("format_timestamp", |time: String| time);
    for (name, text) in template_files(language) {
        environment.add_template(name, text).context("cannot read the built-in prompts")?;
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

/// The closest known file name.
fn nearest_name(name: &str) -> &'static str {
    let similarity = |known: &str| strsim::jaro_winkler(name, known);
    let names = ENGLISH.iter().map(|(known, _)| *known);
    names.max_by(|one, other| similarity(one).total_cmp(&similarity(other))).unwrap_or("judge.j2")
}
