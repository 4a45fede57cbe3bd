//! The command that made a report, from which further commands are built for the reader to paste into a shell.

use std::path::Path;

/// An argument of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An option, or a value that contains no path.
    Plain(String),
    /// A path. A page without private data shows a placeholder instead.
    File { path: Option<String>, stands_for_it: &'static str },
}

/// The arguments of a `replay` command that further commands need, too. Each list may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayCommand {
    /// The options before the subcommand: which config.
    pub config: Vec<Argument>,
    /// The options that select messages.
    pub history: Vec<Argument>,
    /// The options that change settings, besides those of the config.
    pub policies: Vec<Argument>,
    /// The options that say how to replay and what to show.
    pub others: Vec<Argument>,
}

/// The placeholder for the path of the history.
pub const INPUT: &str = "INPUT";
/// The placeholder for the path of a file with settings.
pub const POLICY: &str = "POLICY.yaml";

impl Argument {
    pub fn plain(word: impl Into<String>) -> Self {
        Argument::Plain(word.into())
    }

    /// Creates an argument from a path. A path that a shell cannot take is replaced with the placeholder.
    pub fn file(path: &Path, stands_for_it: &'static str) -> Self {
        let path = path.to_str().filter(|path| !path.chars().any(char::is_control));
        let path = path.map(|path| match path.starts_with('-') {
            // It is no option.
            true => format!("./{path}"),
            false => path.to_owned(),
        });
        Argument::File { path, stands_for_it }
    }

    /// Creates an argument that is never shown, because a URL may contain a password.
    pub fn secret(stands_for_it: &'static str) -> Self {
        Argument::File { path: None, stands_for_it }
    }

    fn anonymous(self) -> Self {
        match self {
            Argument::Plain(_) => self,
            Argument::File { stands_for_it, .. } => Argument::secret(stands_for_it),
        }
    }

    fn shown(&self) -> String {
        match self {
            Argument::Plain(word) | Argument::File { path: Some(word), .. } => quoted(word),
            Argument::File { path: None, stands_for_it } => (*stands_for_it).to_owned(),
        }
    }

    fn is_placeholder(&self) -> bool {
        matches!(self, Argument::File { path: None, .. })
    }
}

impl ReplayCommand {
    /// Creates the command of a replay about which nothing is known.
    pub fn unknown() -> Self {
        Self { history: vec![Argument::secret(INPUT)], ..Self::default() }
    }

    /// Returns the command with placeholders for all paths.
    pub fn anonymous(self) -> Self {
        let anonymous = |words: Vec<Argument>| words.into_iter().map(Argument::anonymous).collect();
        Self {
            config: anonymous(self.config),
            history: anonymous(self.history),
            policies: anonymous(self.policies),
            others: anonymous(self.others),
        }
    }

    /// Returns the command with these arguments added.
    pub fn replay_with(&self, more: &[&str]) -> String {
        let words = [&self.history, &self.policies, &self.others].into_iter().flatten();
        self.command("replay", words, more)
    }

    /// Returns the command that replays the same history with these settings. `None` if the config says where the
    /// history is, since it excludes other settings.
    pub fn replay_policies(&self, files: &[&str], more: &[&str]) -> Option<String> {
        let needs_config = !self.config.is_empty() && self.is_of_database();
        let policies = files.iter().flat_map(|file| ["--policy", *file]);
        let more: Vec<&str> = policies.chain(more.iter().copied()).collect();
        let words = [&self.history, &self.others].into_iter().flatten();
        let without_config = Self { config: Vec::new(), ..self.clone() };
        (!needs_config).then(|| without_config.command("replay", words, &more))
    }

    /// Returns the command that searches for settings on the same history, starting from the only policy.
    pub fn tune(&self) -> String {
        let is_only = self.policies.len() <= 2;
        let policies = self.policies.iter().filter(|_| is_only);
        self.command("tune", self.history.iter().chain(policies), &[])
    }

    /// Whether the command takes only messages from a time on.
    pub fn has_begin(&self) -> bool {
        self.history.contains(&Argument::plain("--from"))
    }

    /// Whether the command names a config, which is then its policy.
    pub fn has_config(&self) -> bool {
        !self.config.is_empty()
    }

    /// Whether the command contains a placeholder that the reader has to replace.
    pub fn has_placeholders(&self) -> bool {
        let parts = [&self.config, &self.history, &self.policies, &self.others];
        parts.into_iter().flatten().any(Argument::is_placeholder)
    }

    fn is_of_database(&self) -> bool {
        self.history.contains(&Argument::plain("--from-store"))
    }

    fn command<'a>(
        &self,
        verb: &str,
        words: impl Iterator<Item = &'a Argument>,
        more: &[&str],
    ) -> String {
        let config = self.config.iter().map(Argument::shown);
        let begin = ["aizuchi".to_owned()].into_iter().chain(config).chain([verb.to_owned()]);
        let words = words.map(Argument::shown);
        let more = more.iter().map(|word| (*word).to_owned());
        begin.chain(words).chain(more).collect::<Vec<_>>().join(" ")
    }
}

/// Quotes an argument for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "_-./:=,@%+".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(input: &str) -> ReplayCommand {
        let file = |path: &str, stands_for_it| Argument::file(Path::new(path), stands_for_it);
        ReplayCommand {
            config: Vec::new(),
            history: vec![file(input, INPUT), Argument::plain("--private")],
            policies: vec![Argument::plain("--policy"), file("my quiet.yaml", POLICY)],
            others: vec![Argument::plain("--language"), Argument::plain("ja")],
        }
    }

    #[test]
    fn a_command_can_be_pasted() {
        for (input, shown) in [
            ("export.zip", "export.zip"),
            ("/srv/Ida’s chat/$(reboot).zip", "'/srv/Ida’s chat/$(reboot).zip'"),
            ("it's `here`; rm", r"'it'\''s `here`; rm'"),
            ("-rf", "./-rf"),
            ("履歴.jsonl", "'履歴.jsonl'"),
            ("two\nlines", "INPUT"),
        ] {
            assert_eq!(
                command(input).replay_with(&["--judge", "model"]),
                format!(
                    "aizuchi replay {shown} --private --policy 'my quiet.yaml' --language ja --judge model"
                )
            );
        }
        assert_eq!(
            command("a.zip").tune(),
            "aizuchi tune a.zip --private --policy 'my quiet.yaml'"
        );
        assert_eq!(
            command("a.zip").replay_policies(&["one.yaml"], &["--report", "page.html"]).unwrap(),
            "aizuchi replay a.zip --private --language ja --policy one.yaml --report page.html"
        );
    }

    #[test]
    fn no_place_of_a_file_is_on_an_anonymous_page() {
        let anonymous = command("/home/ida/secret-firm.zip").anonymous();
        assert_eq!(
            anonymous.replay_with(&[]),
            "aizuchi replay INPUT --private --policy POLICY.yaml --language ja"
        );
        assert!(anonymous.has_placeholders() && !command("a.zip").has_placeholders());
    }

    #[test]
    fn a_database_of_the_config_needs_the_config() {
        let config = Argument::file(Path::new("room.yaml"), "CONFIG.yaml");
        let command = ReplayCommand {
            config: vec![Argument::plain("--config"), config],
            history: vec![Argument::plain("--from-store")],
            ..ReplayCommand::default()
        };
        assert!(command.has_config() && !ReplayCommand::unknown().has_config());
        assert_eq!(command.tune(), "aizuchi --config room.yaml tune --from-store");
        assert_eq!(command.replay_policies(&["one.yaml"], &[]), None);
    }
}
