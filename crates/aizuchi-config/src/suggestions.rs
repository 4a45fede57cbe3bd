//! Suggestions for misspelled and misplaced keys and values.

use crate::known_keys::keys;
use crate::secret::displayable;

/// The message about an unknown key in the section at `path`.
pub fn describe_unknown_key(path: &[String], key: &str, known: &[String]) -> String {
    let location = match path {
        [] => "at the top level".to_owned(),
        path => format!("in {}", path.join(".")),
    };
    let subject = match displayable(key) {
        Some(key) => format!("unknown key \"{key}\" {location}"),
        None => format!("there is an unknown key {location}"),
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    if let Some(suggestion) = misspelled_word(key, &known) {
        return format!("{subject}; did you mean \"{suggestion}\"?");
    }
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let sections = sections_with_key(&path, key, &keys());
    if !sections.is_empty() {
        let sections: Vec<&str> = sections.iter().map(String::as_str).collect();
        return format!("{subject}; it belongs {}", join_list(&sections, "or"));
    }
    match similar_word(key, &known) {
        Some(suggestion) => format!("{subject}; did you mean \"{suggestion}\"?"),
        None => format!("{subject}; known keys are {}", join_list(&known, "and")),
    }
}

/// The sections that have this key: at most two, those closest to `path`.
fn sections_with_key(path: &[&str], key: &str, keys: &[Vec<String>]) -> Vec<String> {
    let sections = keys.iter().filter_map(|path| path.split_last());
    let sections = sections.filter(|(last, _)| *last == key);
    let distance = |section: &[String]| {
        let is_shared = |(one, other): &(&&str, &String)| *one == *other || *other == "*";
        let shared = path.iter().zip(section).take_while(is_shared).count();
        section.len() + path.len() - 2 * shared
    };
    // All agents have the same keys, so they count as one, except inside one of them.
    let is_in_agents = path.first() == Some(&"agents");
    let name = |section: &[String]| match section {
        [] => "at the top level".to_owned(),
        [agents, _, rest @ ..] if agents == "agents" && !is_in_agents => {
            rest.iter().fold("in agents.NAME".to_owned(), |path, key| format!("{path}.{key}"))
        }
        section => format!("in {}", section.join(".").replace('*', "NAME")),
    };
    let mut sections: Vec<_> =
        sections.map(|(_, section)| (distance(section), name(section))).collect();
    sections.sort();
    sections.dedup();
    let nearest = sections.first().map(|(distance, _)| *distance);
    sections.retain(|(distance, _)| Some(*distance) == nearest);
    sections.truncate(2);
    sections.into_iter().map(|(_, section)| section).collect()
}

/// The known word that is similar enough to be another form of this one.
pub fn similar_word<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let similarity = |other: &str| strsim::jaro_winkler(word, other);
    let best = known.iter().max_by(|one, other| similarity(one).total_cmp(&similarity(other)))?;
    (similarity(best) >= 0.88).then_some(best)
}

/// The known word that this one is probably a typo of.
pub fn misspelled_word<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    let max_distance = (word.chars().count() / 3).max(1);
    let distance = |other: &str| strsim::osa_distance(&word, other);
    let nearest = known.iter().map(|&other| (distance(other), other)).min()?;
    (nearest.0 <= max_distance).then_some(nearest.1)
}

/// `a, b and c`.
pub fn join_list(words: &[&str], and: &str) -> String {
    match words {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [rest @ .., last] => format!("{} {and} {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_get_a_suggestion_and_other_words_do_not() {
        let known = ["bot_token", "app_token", "api_base"];
        for (word, suggestion) in [
            ("bot_tokn", Some("bot_token")),
            ("bot-token", Some("bot_token")),
            ("BOT_TOKEN", Some("bot_token")),
            ("apitoken", Some("app_token")),
            ("token", None),
            ("x", None),
        ] {
            assert_eq!(misspelled_word(word, &known), suggestion, "{word}");
        }
        assert_eq!(misspelled_word("a", &[]), None);
    }

    #[test]
    fn misplaced_keys_get_the_right_section() {
        let keys = keys();
        for (path, key, expected) in [
            (&[][..], "bot_token", &["in slack"][..]),
            (&[], "token", &["in discord", "in http"]),
            (&[], "rest_seconds", &["in facilitator"]),
            (&[], "model_id", &["in agents.NAME"]),
            (&[], "quiet_hours", &["in response"]),
            (&["slack"], "token", &["in discord", "in http"]),
            (&["agents", "memory"], "temperature", &["in agents.memory.params"]),
            (&["agents", "memory"], "api_key", &["in agents.memory.client_args"]),
            (&["models"], "input", &["in models.prices.NAME"]),
            (&["slack"], "temperature", &["in agents.NAME.params"]),
            (&["channels", "#a"], "rest_seconds", &["in channels.NAME.facilitator"]),
            (&["response"], "budget", &["at the top level"]),
            (&["slack"], "agents", &["at the top level"]),
            (&["slack"], "xyzzy", &[]),
        ] {
            assert_eq!(sections_with_key(path, key, &keys), expected, "{key}");
        }
    }

    #[test]
    fn other_forms_of_a_word_get_a_suggestion() {
        assert_eq!(similar_word("judge", &["response", "judgment", "memory"]), Some("judgment"));
        assert_eq!(
            similar_word("min_wait", &["wait", "min_wait_seconds"]),
            Some("min_wait_seconds")
        );
        assert_eq!(similar_word("summarizer", &["response", "judgment", "memory"]), None);
    }

    #[test]
    fn lists_read_like_prose() {
        assert_eq!(join_list(&[], "or"), "none");
        assert_eq!(join_list(&["a"], "or"), "a");
        assert_eq!(join_list(&["a", "b", "c"], "or"), "a, b or c");
    }
}
