//! Converts the settings of kotonoha, a bot that is configured by environment variables, to a config file. Secrets are
//! not copied: the config refers to their variables.

use std::collections::BTreeMap;

use aizuchi_core::llm::model::ModelId;

/// Variables that are not converted: the prefix of their names, and the reason.
const UNSUPPORTED_VARIABLES: [(&str, &str); 13] = [
    ("BOT_PREFIX", "there are no commands with a prefix"),
    ("LLM_RETRY_DELAY_BASE", "the waits between tries are fixed"),
    ("SESSION_TIMEOUT_HOURS", "talk is remembered in layers; see memory and retention"),
    ("MAX_SESSIONS", "there are no sessions to limit"),
    ("RATE_LIMIT_", "the limits are in budget"),
    ("DATABASE_URL", "it keeps a file of its own; see storage"),
    ("POSTGRES_", "it keeps a file of its own; see storage"),
    ("DB_", "it keeps a file of its own; see storage"),
    ("KB_", "all that was said can be searched without being set up"),
    ("LOG_FILE", "the log goes to stderr"),
    ("LOG_MAX_SIZE", "the log goes to stderr"),
    ("LOG_BACKUP_COUNT", "the log goes to stderr"),
    ("WATCHTOWER_", "it does not update itself"),
];

/// Variables that are converted or read as they are, and the keys of the config that they are in.
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
    /// A file of kotonoha: the config says of each of its variables what became of it.
    File,
    /// The environment of a process, most of which has nothing to do with kotonoha.
    Process,
}

/// The default model of kotonoha.
const DEFAULT_MODEL: &str = "claude-sonnet-4-5";

/// Writes a config file with the settings of these variables. Comments list what could not be converted and, for a
/// file, where each other variable went.
pub fn from_env(
    variables: &BTreeMap<String, String>,
    source: VariableSource,
) -> anyhow::Result<String> {
    anyhow::ensure!(
        non_empty_variable(variables, "DISCORD_TOKEN").is_some(),
        "DISCORD_TOKEN is not set, so this is no .env of kotonoha; name the file: aizuchi config \
         from-env FILE"
    );
    let mut writer = ConfigWriter { variables, lines: Vec::new(), unsupported: Vec::new() };
    writer.push_line("# Made from the variables of kotonoha by `aizuchi config from-env`. Keep its .env beside this file:");
    writer.push_line("# the token and the keys are read from there. `aizuchi config example` has everything that can be set.");
    writer.write_persona();
    writer.write_agents();
    writer.write_response();
    writer.write_discord();
    writer.write_health_and_log();
    if source == VariableSource::File {
        writer.list_unknown();
    }
    writer.write_unsupported();
    if source == VariableSource::File {
        writer.write_converted();
    }
    Ok(writer.lines.join("\n"))
}

struct ConfigWriter<'a> {
    variables: &'a BTreeMap<String, String>,
    lines: Vec<String>,
    /// Comments on variables that could not be converted.
    unsupported: Vec<String>,
}

impl ConfigWriter<'_> {
    fn push_line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn variable(&self, name: &str) -> Option<String> {
        non_empty_variable(self.variables, name).map(str::to_owned)
    }

    fn push_unsupported(&mut self, name: &str, why: &str) {
        self.unsupported.push(format!("# {name}: {why}."));
    }

    /// Writes a number if it is within the bounds, and lists the variable as unsupported otherwise.
    fn write_number(&mut self, key: &str, name: &str, (min, max): (f64, f64)) {
        let Some(value) = self.variable(name) else { return };
        match value.parse::<f64>() {
            Ok(number) if (min..=max).contains(&number) => {
                self.push_line(format!("{key}: {number}"));
            }
            Ok(_) | Err(_) => self.push_unsupported(name, "its value cannot be set here"),
        }
    }

    fn write_persona(&mut self) {
        let zone = self.variable("TZ").filter(|zone| zone.contains('/'));
        self.push_line("");
        self.push_line("persona:");
        self.push_line("  name: コトノハ");
        self.push_line("  # What stood in prompts/system_prompt.md goes here.");
        self.push_line("  system_prompt: \"\"");
        self.push_line("");
        self.push_line("language: ja");
        self.push_line(format!(
            "timezone: {}",
            yaml_quoted(zone.as_deref().unwrap_or("Asia/Tokyo"))
        ));
    }

    fn write_agents(&mut self) {
        let model = self.variable("LLM_MODEL").unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        let (model, judge) =
            (self.model_id("LLM_MODEL", &model), self.variable("EAVESDROP_JUDGE_MODEL"));
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

    fn model_id(&mut self, name: &str, model: &str) -> Option<String> {
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

    fn write_health_and_log(&mut self) {
        let is_off = self.variable("HEALTH_CHECK_ENABLED");
        let is_off =
            is_off.is_some_and(|value| matches!(&*value.to_lowercase(), "false" | "0" | "no"));
        let port = self.variable("HEALTH_CHECK_PORT").filter(|_| !is_off);
        match port.as_deref().map(str::parse::<u16>) {
            None => {}
            Some(Ok(port @ 1..)) => {
                self.push_line("");
                self.push_line("# GET /live and /ready, for all who can reach the machine.");
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
            Some(Ok(0) | Err(_)) => self.push_unsupported("HEALTH_CHECK_PORT", "it is not a port"),
        }
        if let Some(level) = self.variable("LOG_LEVEL") {
            match level.to_uppercase().as_str() {
                known @ ("DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL") => {
                    self.push_line("");
                    self.push_line("logging:");
                    self.push_line(format!("  level: {known}"));
                }
                _ => self.push_unsupported("LOG_LEVEL", "it is not a level"),
            }
        }
        let names: Vec<String> = self.variables.keys().cloned().collect();
        for name in names {
            let why = UNSUPPORTED_VARIABLES.iter().find(|(prefix, _)| name.starts_with(prefix));
            if let Some((_, why)) = why {
                self.push_unsupported(&name, why);
            }
        }
    }

    /// Lists the variables that are none of kotonoha's.
    fn list_unknown(&mut self) {
        for name in self.variables.keys() {
            let is_converted = CONVERTED_VARIABLES.iter().any(|(known, _)| known == name);
            let is_unsupported =
                UNSUPPORTED_VARIABLES.iter().any(|(prefix, _)| name.starts_with(prefix));
            if !is_converted && !is_unsupported {
                let why = "kotonoha has no such setting; nothing here reads it";
                self.unsupported.push(format!("# {name}: {why}."));
            }
        }
    }

    /// Says where each variable is now that was not listed before.
    fn write_converted(&mut self) {
        let is_listed = |name: &str| {
            let prefix = format!("# {name}: ");
            self.lines.iter().any(|line| line.starts_with(&prefix))
        };
        let converted = CONVERTED_VARIABLES.iter().filter(|(name, _)| {
            non_empty_variable(self.variables, name).is_some() && !is_listed(name)
        });
        let converted: Vec<String> =
            converted.map(|(name, key)| format!("# {name}: {key}.")).collect();
        self.push_line("");
        self.push_line("# Where the other variables are now:");
        self.lines.extend(converted);
        let empty = self.variables.iter().filter(|(_, value)| value.trim().is_empty());
        let empty: Vec<&str> = empty.map(|(name, _)| name.as_str()).collect();
        if !empty.is_empty() {
            self.lines.push(format!("# Not set: {}.", empty.join(", ")));
        }
    }

    fn write_unsupported(&mut self) {
        if self.unsupported.is_empty() {
            return;
        }
        self.push_line("");
        self.push_line("# What has no counterpart here:");
        let notes = std::mem::take(&mut self.unsupported);
        self.lines.extend(notes);
    }
}

/// Converts kotonoha's name of a model to a model id. kotonoha omits the provider or names it differently.
pub fn to_model_id(model: &str) -> String {
    let providers = [("claude", "anthropic"), ("gpt", "openai"), ("gemini", "gemini")];
    let is_short = |prefix: &str| model.starts_with(prefix) && !model.contains('/');
    match providers.into_iter().find(|(prefix, _)| is_short(prefix)) {
        Some((_, provider)) => format!("{provider}/{model}"),
        None => model.replacen("google/", "gemini/", 1),
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
