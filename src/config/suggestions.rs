//! The key or the word that was probably meant.

use crate::config::schema::keys;
use crate::config::secret::displayable;

/// What to say about a key that nothing knows, in the section that `path` leads to.
pub fn describe_unknown_key(path: &[String], key: &str, known: &[String]) -> String {
    let where_it_stands = match path {
        [] => "at the top level".to_owned(),
        path => format!("in {}", path.join(".")),
    };
    let shown = match displayable(key) {
        Some(key) => format!("unknown key \"{key}\" {where_it_stands}"),
        None => format!("a key that is unknown stands {where_it_stands}"),
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    if let Some(meant) = misspelled_word(key, &known) {
        return format!("{shown}; did you mean \"{meant}\"?");
    }
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let homes = sections_with_key(&path, key, &keys());
    if !homes.is_empty() {
        let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
        return format!("{shown}; it belongs {}", join_list(&homes, "or"));
    }
    match similar_word(key, &known) {
        Some(meant) => format!("{shown}; did you mean \"{meant}\"?"),
        None => format!("{shown}; known keys are {}", join_list(&known, "and")),
    }
}

/// Where a key is known: the places that are closest to where it stands, at most two.
fn sections_with_key(path: &[&str], key: &str, keys: &[Vec<String>]) -> Vec<String> {
    let sections = keys.iter().filter_map(|path| path.split_last());
    let sections = sections.filter(|(last, _)| *last == key);
    let distance = |section: &[String]| {
        let is_shared = |(one, other): &(&&str, &String)| *one == *other || *other == "*";
        let shared = path.iter().zip(section).take_while(is_shared).count();
        section.len() + path.len() - 2 * shared
    };
    // Agents are alike, unless it stands in one of them.
    let is_in_agents = path.first() == Some(&"agents");
    let name = |section: &[String]| match section {
        [] => "at the top level".to_owned(),
        [agents, _, rest @ ..] if agents == "agents" && !is_in_agents => {
            rest.iter().fold("in agents.NAME".to_owned(), |path, key| format!("{path}.{key}"))
        }
        section => format!("in {}", section.join(".").replace('*', "NAME")),
    };
    let mut homes: Vec<_> =
        sections.map(|(_, section)| (distance(section), name(section))).collect();
    homes.sort();
    homes.dedup();
    let nearest = homes.first().map(|(distance, _)| *distance);
    homes.retain(|(distance, _)| Some(*distance) == nearest);
    homes.truncate(2);
    homes.into_iter().map(|(_, section)| section).collect()
}

/// The word that begins or sounds like this one, if there is one.
pub fn similar_word<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |other: &str| strsim::jaro_winkler(word, other);
    let best = known.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(best) >= 0.88).then_some(best)
}

/// The word that is a slip of the fingers away, if there is one.
pub fn misspelled_word<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    let slips = (word.chars().count() / 3).max(1);
    let distance = |other: &str| strsim::osa_distance(&word, other);
    let nearest = known.iter().map(|&other| (distance(other), other)).min()?;
    (nearest.0 <= slips).then_some(nearest.1)
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
    fn a_slip_is_understood_and_another_word_is_not() {
        let known = ["bot_token", "app_token", "api_base"];
        for (word, meant) in [
            ("bot_tokn", Some("bot_token")),
            ("bot-token", Some("bot_token")),
            ("BOT_TOKEN", Some("bot_token")),
            ("apitoken", Some("app_token")),
            ("token", None),
            ("x", None),
        ] {
            assert_eq!(misspelled_word(word, &known), meant, "{word}");
        }
        assert_eq!(misspelled_word("a", &[]), None);
    }

    #[test]
    fn a_key_in_the_wrong_place_is_sent_home() {
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
    fn another_form_of_a_word_is_understood() {
        assert_eq!(similar_word("judge", &["response", "judgment", "memory"]), Some("judgment"));
        assert_eq!(
            similar_word("min_wait", &["wait", "min_wait_seconds"]),
            Some("min_wait_seconds")
        );
        assert_eq!(similar_word("summarizer", &["response", "judgment", "memory"]), None);
    }

    #[test]
    fn words_are_listed_as_people_write_them() {
        assert_eq!(join_list(&[], "or"), "none");
        assert_eq!(join_list(&["a"], "or"), "a");
        assert_eq!(join_list(&["a", "b", "c"], "or"), "a, b or c");
    }
}
