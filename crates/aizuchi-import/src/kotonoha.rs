//! Converts the settings of kotonoha, a bot that is configured by environment variables, to a config file. Secrets are
//! not copied: the config refers to their variables.

pub mod copy;
mod session;
pub mod dump;
pub mod arranged;
pub mod threads;

use std::collections::BTreeMap;

use aizuchi_llm::model_id::ModelId;
use jiff::tz::TimeZone;

/// Variables that are not converted: the prefix of their names, and the reason.
const UNSUPPORTED_VARIABLES: [(&str, &str); 17] = [
    ("BACKUP_RETENTION_DAYS", "backups are in storage.backup"),
    ("BOT_PREFIX", "there are no commands with a prefix"),
    ("DATABASE_NAME", "it keeps a file of its own; see storage"),
    ("DATABASE_URL", STORED_ELSEWHERE),
    ("DB_", "its connections need no setup"),
    ("GITHUB_", "it reads nothing from GitHub"),
    ("KB_", "all that was said can be searched without being set up"),
    ("LLM_RETRY_DELAY_BASE", "the waits between tries are fixed"),
    ("LOG_BACKUP_COUNT", "the log goes to stderr"),
    ("LOG_FILE", "the log goes to stderr"),
    ("LOG_MAX_SIZE", "the log goes to stderr"),
    ("MAX_SESSIONS", "there are no sessions to limit"),
    ("MESSAGE_MAX_LENGTH", "long posts are split as Discord demands"),
    ("POSTGRES_", STORED_ELSEWHERE),
    ("RATE_LIMIT_", "the limits are in budget"),
    ("SESSION_", "talk is remembered in layers; see memory and retention"),
    ("WATCHTOWER_", "it does not update itself"),
];

/// The database is not shared because its tables are not this program's, and a backup or a move takes all tables of a
/// schema.
const STORED_ELSEWHERE: &str = "it names kotonoha's own database, which is not used; what is in it comes along by \
                                `aizuchi import` with a dump";

/// Variables that are converted or used unchanged, and the config keys that they become.
const CONVERTED_VARIABLES: [(&str, &str); 19] = [
    ("ANTHROPIC_API_KEY", "it is read from .env as it is"),
    ("DISCORD_TOKEN", "discord.token"),
    ("EAVESDROP_BUFFER_SIZE", "facilitator.buffer_size"),
    ("EAVESDROP_ENABLED_CHANNELS", "channels"),
    ("EAVESDROP_JUDGE_MODEL", "agents.judgment.model_id"),
    ("EAVESDROP_MIN_INTERVENTION_INTERVAL_MINUTES", "facilitator.cooldown_minutes"),
    ("EAVESDROP_MIN_MESSAGES", "facilitator.min_messages"),
    ("GEMINI_API_KEY", "it is read from .env as it is"),
    ("HEALTH_CHECK_ENABLED", "health_check"),
    ("HEALTH_CHECK_PORT", "health_check.port"),
    ("LLM_FALLBACK_MODEL", "agents.response.fallback.model_id"),
    ("LLM_MAX_RETRIES", "models.attempts"),
    ("LLM_MAX_TOKENS", "agents.response.params.max_tokens"),
    ("LLM_MODEL", "agents.response.model_id"),
    ("LLM_TEMPERATURE", "agents.response.params.temperature"),
    ("LOG_LEVEL", "logging.level"),
    ("OPENAI_API_KEY", "it is read from .env as it is"),
    ("OPENROUTER_API_KEY", "it is read from .env as it is"),
    ("TZ", "timezone"),
];

/// Where variables come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSource {
    /// A file of kotonoha. The config states what each of its variables has become.
    File,
    /// The environment of a process, most of which has nothing to do with kotonoha.
    Process,
}

/// The default model of kotonoha.
const DEFAULT_MODEL: &str = "claude-sonnet-4-5";
/// The default model of kotonoha's judge.
const DEFAULT_JUDGE: &str = "claude-haiku-4-5";
/// The default port of kotonoha's health check.
const DEFAULT_HEALTH_PORT: &str = "8080";

/// Writes a config file with the settings of these variables. Comments list the settings that could not be converted
/// and, for a file, where each of the other variables went.
pub fn from_env(
    variables: &BTreeMap<String, String>,
    source: VariableSource,
) -> anyhow::Result<String> {
    anyhow::ensure!(
        non_empty_variable(variables, "DISCORD_TOKEN").is_some(),
        "DISCORD_TOKEN is not set, so this is no .env of kotonoha; name the file: aizuchi config \
         from-env FILE"
    );
    let mut writer = ConfigWriter { variables, lines: Vec::new(), notes: BTreeMap::new() };
    writer.push_line("# Made from the variables of kotonoha by `aizuchi config from-env`. Keep its .env beside this file:");
    writer.push_line("# the token and the keys are read from there. `aizuchi config example` has everything that can be set.");
    writer.write_persona();
    writer.write_agents();
    writer.write_response();
    writer.write_discord();
    writer.write_storage();
    writer.write_health();
    writer.write_log_level();
    writer.write_notes(source);
    Ok(writer.lines.join("\n"))
}

struct ConfigWriter<'a> {
    variables: &'a BTreeMap<String, String>,
    lines: Vec<String>,
    /// Why a variable could not be converted, by its name.
    notes: BTreeMap<&'static str, String>,
}

/// What a variable has become.
enum VariableStatus {
    /// The variable or its value has no counterpart here.
    Dropped(String),
    /// The variable is in the config, or used unchanged.
    Kept(&'static str),
}

impl ConfigWriter<'_> {
    fn push_line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn variable(&self, name: &str) -> Option<String> {
        non_empty_variable(self.variables, name).map(str::to_owned)
    }

    fn push_unsupported(&mut self, name: &'static str, why: &str) {
        self.notes.entry(name).or_insert_with(|| why.to_owned());
    }

    /// Writes a number if it is within the bounds, and lists the variable as unsupported otherwise.
    fn write_number(&mut self, key: &str, name: &'static str, (min, max): (f64, f64)) {
        let Some(value) = self.variable(name) else { return };
        match value.parse::<f64>() {
            Ok(number) if (min..=max).contains(&number) => {
                self.push_line(format!("{key}: {number}"));
            }
            Ok(_) | Err(_) => self.push_unsupported(name, "its value cannot be set here"),
        }
    }

    fn write_persona(&mut self) {
        let zone = self.variable("TZ");
        let known = zone.clone().filter(|zone| TimeZone::get(zone).is_ok());
        if zone.is_some() && known.is_none() {
            self.push_unsupported("TZ", "it is not the name of a time zone, like Asia/Tokyo");
        }
        self.push_line("");
        self.push_line("persona:");
        self.push_line("  name: コトノハ");
        self.push_line("  # What stood in prompts/system_prompt.md goes here.");
        self.push_line("  system_prompt: \"\"");
        self.push_line("");
        self.push_line("language: ja");
        self.push_line(format!(
            "timezone: {}",
            yaml_quoted(known.as_deref().unwrap_or("Asia/Tokyo"))
        ));
    }

    fn write_agents(&mut self) {
        let model = self.variable("LLM_MODEL").unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        let model = self.model_id("LLM_MODEL", &model);
        // A config from before Anthropic's model became the default may have no key for it.
        let has_key = self.has_any(&["ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_FILE"]);
        let judge = self.variable("EAVESDROP_JUDGE_MODEL");
        let judge = judge.or_else(|| has_key.then(|| DEFAULT_JUDGE.to_owned()));
        let judge = judge.and_then(|judge| self.model_id("EAVESDROP_JUDGE_MODEL", &judge));
        let fallback = self.variable("LLM_FALLBACK_MODEL");
        let fallback = fallback.and_then(|model| self.model_id("LLM_FALLBACK_MODEL", &model));
        self.push_line("");
        self.push_line("# Keys are read from ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY.");
        self.push_line("agents:");
        self.push_line("  response:");
        self.push_line(format!("    model_id: {}", model.as_deref().unwrap_or("builtin")));
        if model.is_some() && self.has_any(&["LLM_TEMPERATURE", "LLM_MAX_TOKENS"]) {
            self.push_line("    params:");
            self.write_number("      temperature", "LLM_TEMPERATURE", (0.0, 2.0));
            self.write_number("      max_tokens", "LLM_MAX_TOKENS", (1.0, 1_000_000.0));
        }
        if model.is_none() {
            for name in ["LLM_TEMPERATURE", "LLM_MAX_TOKENS"] {
                self.push_unsupported(name, "the model of LLM_MODEL is not known here");
            }
        }
        if let Some(fallback) = fallback {
            self.push_line(format!("    fallback: {{model_id: {}}}", yaml_quoted(&fallback)));
        }
        if let Some(judge) = judge {
            self.push_line("  judgment:");
            self.push_line(format!("    model_id: {judge}"));
        }
        if let Some(retries) = self.variable("LLM_MAX_RETRIES") {
            match retries.parse::<u64>() {
                Ok(retries @ 0..=9) => {
                    self.push_line("");
                    self.push_line("models:");
                    self.push_line(format!("  attempts: {}", retries + 1));
                }
                Ok(_) | Err(_) => {
                    self.push_unsupported("LLM_MAX_RETRIES", "its value cannot be set here")
                }
            }
        }
    }

    fn model_id(&mut self, name: &'static str, model: &str) -> Option<String> {
        let full = to_model_id(model);
        match full.parse::<ModelId>() {
            Ok(_) if full.contains('/') => Some(full),
            Ok(_) | Err(_) => {
                self.push_unsupported(
                    name,
                    "this model is not known here; see agents in the example",
                );
                None
            }
        }
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| non_empty_variable(self.variables, name).is_some())
    }

    fn write_response(&mut self) {
        let channels = self.variable("EAVESDROP_ENABLED_CHANNELS").unwrap_or_default();
        let channels = channels.split(',').map(str::trim).map(str::to_owned);
        let channels: Vec<String> = channels.filter(|channel| !channel.is_empty()).collect();
        let (ids, not_ids): (Vec<_>, Vec<_>) = channels
            .into_iter()
            .partition(|channel| channel.bytes().all(|byte| byte.is_ascii_digit()));
        if !not_ids.is_empty() {
            self.push_unsupported(
                "EAVESDROP_ENABLED_CHANNELS",
                "only ids of channels can be taken over",
            );
        }
        self.push_line("");
        self.push_line(
            "# As kotonoha: it answers whoever mentions it, and listens in where that was enabled.",
        );
        self.push_line("response:");
        self.push_line("  mode: mention_only");
        let listening = [
            ("  min_messages", "EAVESDROP_MIN_MESSAGES", 1000.0),
            ("  buffer_size", "EAVESDROP_BUFFER_SIZE", 1000.0),
            ("  cooldown_minutes", "EAVESDROP_MIN_INTERVENTION_INTERVAL_MINUTES", 525_600.0),
        ];
        if self.has_any(&listening.map(|(_, name, _)| name)) {
            self.push_line("");
            self.push_line("facilitator:");
            for (key, name, max) in listening {
                let min = if key.ends_with("minutes") { 0.0 } else { 1.0 };
                self.write_number(key, name, (min, max));
            }
        }
        if !ids.is_empty() {
            self.push_line("");
            self.push_line("channels:");
            for id in ids {
                self.push_line(format!("  {}: {{mode: facilitator}}", yaml_quoted(&id)));
            }
        }
    }

    fn write_discord(&mut self) {
        self.push_line("");
        self.push_line("discord:");
        self.push_line("  token: ${DISCORD_TOKEN}");
        self.push_line("  # A mention opens a thread, in which nobody needs to mention it.");
        self.push_line("  threads: auto");
        if let Some(minutes) = self.variable("THREAD_AUTO_ARCHIVE_DURATION") {
            match minutes.as_str() {
                "60" | "1440" | "4320" | "10080" => {
                    self.push_line(format!("  auto_archive_minutes: {minutes}"));
                }
                _ => self.push_unsupported(
                    "THREAD_AUTO_ARCHIVE_DURATION",
                    "Discord has no such duration",
                ),
            }
        }
    }

    /// Suggests, in a comment, the server of kotonoha's database. The database itself has to be a different one:
    /// kotonoha's tables are in the schema that this program would use.
    fn write_storage(&mut self) {
        let Some(server) = self.database_server() else { return };
        self.push_line("");
        self.push_line("# All is stored in the file data/aizuchi.db. To keep it on kotonoha's server, make a database of its own");
        self.push_line("# there (docs/operate/database.md), and name it; kotonoha's own tables must not be in it.");
        self.push_line("# storage:");
        self.push_line(format!("#   url: postgres://{server}/aizuchi"));
    }

    /// `USER:PASSWORD@HOST:PORT` without the password. kotonoha gives precedence to the separate variables.
    fn database_server(&mut self) -> Option<String> {
        let names = ["POSTGRES_HOST", "POSTGRES_DB", "POSTGRES_USER", "POSTGRES_PASSWORD"];
        if names.iter().all(|name| self.variable(name).is_some()) {
            let (host, user) = (self.variable("POSTGRES_HOST")?, self.variable("POSTGRES_USER")?);
            let port = self.variable("POSTGRES_PORT").unwrap_or_else(|| "5432".to_owned());
            return is_plain(&[&host, &user, &port])
                .then(|| format!("{user}:PASSWORD@{host}:{port}"));
        }
        let url = self.variable("DATABASE_URL")?;
        let server = server_of_url(&url);
        if server.is_none() {
            self.push_unsupported("DATABASE_URL", "it is not the URL of a PostgreSQL server");
        }
        server
    }

    fn write_health(&mut self) {
        let is_off = self.variable("HEALTH_CHECK_ENABLED").is_some_and(|value| is_false(&value));
        if is_off {
            let why = "HEALTH_CHECK_ENABLED is off, so there is no health check here, either";
            self.push_unsupported("HEALTH_CHECK_PORT", why);
            self.push_unsupported("HEALTH_CHECK_ENABLED", "without health_check there is none");
            return;
        }
        let port = self.variable("HEALTH_CHECK_PORT");
        match port.as_deref().unwrap_or(DEFAULT_HEALTH_PORT).parse::<u16>() {
            Ok(port @ 1..) => {
                self.push_line("");
                self.push_line(
                    "# GET /health, /live and /ready, for all who can reach the machine.",
                );
                self.push_line("health_check:");
                self.push_line(format!("  port: {port}"));
                if port == 8080 {
                    self.push_line("");
                    self.push_line(
                        "# The pages for the operator, whose usual port the health check has.",
                    );
                    self.push_line("http:");
                    self.push_line("  listen: 127.0.0.1:8081");
                }
            }
            Ok(0) | Err(_) => self.push_unsupported("HEALTH_CHECK_PORT", "it is not a port"),
        }
    }

    fn write_log_level(&mut self) {
        let Some(level) = self.variable("LOG_LEVEL") else { return };
        match level.to_uppercase().as_str() {
            known @ ("DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL") => {
                self.push_line("");
                self.push_line("logging:");
                self.push_line(format!("  level: {known}"));
            }
            _ => self.push_unsupported("LOG_LEVEL", "it is not a level"),
        }
    }

    /// Lists what each variable has become, once. For a process, lists only kotonoha's variables that have no
    /// counterpart.
    fn write_notes(&mut self, source: VariableSource) {
        let (mut dropped, mut kept, mut empty) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in self.variables {
            match self.status(name) {
                _ if value.trim().is_empty() => empty.push(name.as_str()),
                Some(VariableStatus::Dropped(why)) => dropped.push(format!("# {name}: {why}.")),
                Some(VariableStatus::Kept(place)) => kept.push(format!("# {name}: {place}.")),
                None if name.starts_with("OTEL_") && source == VariableSource::File => {
                    let place = "a variable of the process, not of this file";
                    kept.push(format!("# {name}: {place}."));
                }
                None if source == VariableSource::File => {
                    let why = "kotonoha has no such setting; nothing here reads it";
                    dropped.push(format!("# {name}: {why}."));
                }
                None => {}
            }
        }
        if !dropped.is_empty() {
            self.push_line("");
            self.push_line("# What has no counterpart here:");
            self.lines.extend(dropped);
        }
        if source == VariableSource::Process {
            return;
        }
        self.push_line("");
        self.push_line("# Where the other variables are now:");
        self.lines.extend(kept);
        if !empty.is_empty() {
            self.lines.push(format!("# Not set: {}.", empty.join(", ")));
        }
    }

    /// What a variable has become. `None` if it is not one of kotonoha's.
    fn status(&self, name: &str) -> Option<VariableStatus> {
        if let Some(why) = self.notes.get(name) {
            return Some(VariableStatus::Dropped(why.clone()));
        }
        let of_file = name.strip_suffix("_FILE");
        let place = |name: &str| {
            CONVERTED_VARIABLES.iter().find(|(known, _)| *known == name).map(|(_, place)| *place)
        };
        let is_read = |place: &&str| place.starts_with("it is read");
        if let Some(place) = place(name) {
            return Some(VariableStatus::Kept(place));
        }
        if let Some(place) = of_file.and_then(place).filter(is_read) {
            return Some(VariableStatus::Kept(place));
        }
        let why = UNSUPPORTED_VARIABLES.iter().find(|(prefix, _)| name.starts_with(prefix));
        why.map(|(_, why)| VariableStatus::Dropped((*why).to_owned()))
    }
}

/// `USER:PASSWORD@HOST:PORT` of a SQLAlchemy URL, with or without the driver, and without the password.
fn server_of_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (dialect, _driver) = scheme.split_once('+').unwrap_or((scheme, ""));
    if !matches!(dialect, "postgres" | "postgresql") {
        return None;
    }
    // The password may contain an unescaped `@` or `/`.
    let (login, place) = rest.rsplit_once('@')?;
    let user = login.split(':').next()?;
    let server = place.split(['/', '?']).next()?;
    let (host, port) = server.rsplit_once(':').unwrap_or((server, "5432"));
    is_plain(&[user, host, port]).then(|| format!("{user}:PASSWORD@{host}:{port}"))
}

/// Whether these can be used in a URL without escaping.
fn is_plain(parts: &[&str]) -> bool {
    let is_known =
        |character: char| character.is_ascii_alphanumeric() || "._-%[]:".contains(character);
    parts.iter().all(|part| !part.is_empty() && part.chars().all(is_known))
}

/// Whether Python's settings parse this as false.
fn is_false(value: &str) -> bool {
    matches!(&*value.to_lowercase(), "false" | "0" | "no" | "off" | "n" | "f")
}

/// Converts the name of a model to a model id. kotonoha and LiteLLM omit the provider or name it differently.
pub fn to_model_id(model: &str) -> String {
    if model.contains('/') {
        return match model.strip_prefix("google/") {
            Some(name) => format!("gemini/{name}"),
            None => model.to_owned(),
        };
    }
    let providers =
        [("claude", "anthropic"), ("gpt", "openai"), ("chatgpt", "openai"), ("gemini", "gemini")];
    let of_provider = providers.into_iter().find(|(prefix, _)| model.starts_with(prefix));
    // o1, o3-mini, o4-mini.
    let is_reasoning = model
        .strip_prefix('o')
        .is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()));
    match of_provider {
        Some((_, provider)) => format!("{provider}/{model}"),
        None if is_reasoning => format!("openai/{model}"),
        None => model.to_owned(),
    }
}

/// The trimmed value of a variable, unless it is empty.
fn non_empty_variable<'a>(variables: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// Quotes a text for YAML. JSON strings are valid YAML.
fn yaml_quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_found_where_it_is_clear() {
        for (model, expected) in [
            ("claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
            ("gpt-4o", "openai/gpt-4o"),
            ("chatgpt-4o-latest", "openai/chatgpt-4o-latest"),
            ("o3-mini", "openai/o3-mini"),
            ("gemini-2.5-flash", "gemini/gemini-2.5-flash"),
            ("google/gemini-2.0-flash", "gemini/gemini-2.0-flash"),
            ("openrouter/google/gemini-2.0-flash", "openrouter/google/gemini-2.0-flash"),
            ("orca", "orca"),
            ("azure/gpt-4o", "azure/gpt-4o"),
        ] {
            assert_eq!(to_model_id(model), expected);
        }
    }

    #[test]
    fn the_password_of_a_server_is_left_out() {
        for (url, expected) in [
            ("postgresql+asyncpg://koto:hun@ter/2@db:5433/k", Some("koto:PASSWORD@db:5433")),
            ("postgres://koto@db/k?sslmode=require", Some("koto:PASSWORD@db:5432")),
            ("postgres://koto:x@[::1]:5432/k", Some("koto:PASSWORD@[::1]:5432")),
            ("postgres://db/k", None),
            ("mysql://koto:x@db/k", None),
            ("db", None),
        ] {
            assert_eq!(server_of_url(url).as_deref(), expected, "{url}");
        }
    }
}
