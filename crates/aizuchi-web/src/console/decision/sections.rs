//! Splits a prompt at its headings, so that it can be read.

use aizuchi_llm::prompt::tokens::estimate;

/// A section of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub struct ShownSection {
    /// Empty for the text before the first heading.
    pub title: String,
    pub tokens: u64,
    pub text: String,
}

/// The prefix of a heading. Chat text is fenced, so no message can begin a section.
const HEADING: &str = "## ";

/// Splits a prompt into its sections, in order. Together they are the whole prompt.
pub fn sections(prompt: &str) -> Vec<ShownSection> {
    let mut sections: Vec<(&str, String)> = vec![("", String::new())];
    for line in prompt.split_inclusive('\n') {
        if let Some(title) = line.strip_prefix(HEADING) {
            sections.push((title.trim(), String::new()));
        }
        if let Some((_, text)) = sections.last_mut() {
            text.push_str(line);
        }
    }
    sections.retain(|(_, text)| !text.trim().is_empty());
    let section = |(title, text): (&str, String)| ShownSection {
        title: title.to_owned(),
        tokens: estimate(&text),
        text,
    };
    sections.into_iter().map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_falls_apart_at_its_headings_and_loses_nothing() {
        let prompt = "You are Mia.\n\n## Memory\n### Lately\nTea.\n\n## To be judged\n\\## no heading\nann: hi";
        let found = sections(prompt);
        let titles: Vec<&str> = found.iter().map(|section| &*section.title).collect();
        assert_eq!(titles, ["", "Memory", "To be judged"]);
        assert_eq!(found.iter().map(|section| &*section.text).collect::<String>(), prompt);
        assert!(found.iter().all(|section| section.tokens > 0), "{found:?}");
        assert_eq!(sections(""), []);
    }
}
