//! The tools: their names and parameters.

use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// The default and the maximum number of results of a search.
pub const SEARCH_LIMIT: ResultLimit = ResultLimit { usual: 10, most: 50 };
/// The default and the maximum number of decisions.
pub const DECISIONS_LIMIT: ResultLimit = ResultLimit { usual: 10, most: 50 };

/// The number of results in an answer.
pub struct ResultLimit {
    pub usual: usize,
    pub most: usize,
}

impl ResultLimit {
    pub fn of(&self, asked: Option<f64>) -> usize {
        asked.map_or(self.usual, |asked| asked.clamp(1.0, self.most as f64) as usize)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LookupTool {
    SearchMessages,
    Recall,
    Why,
    Decisions,
    Status,
}

impl LookupTool {
    pub const ALL: [LookupTool; 5] = [
        LookupTool::SearchMessages,
        LookupTool::Recall,
        LookupTool::Why,
        LookupTool::Decisions,
        LookupTool::Status,
    ];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn definition(self, language: Language) -> Tool {
        let annotations = ToolAnnotations::new().read_only(true).open_world(false);
        Tool::new(self.name(), self.description(language), self.arguments(language))
            .with_annotations(annotations)
    }

    fn description(self, language: Language) -> &'static str {
        match self {
            LookupTool::SearchMessages => texts::mcp::search_messages(language),
            LookupTool::Recall => texts::mcp::recall(language),
            LookupTool::Why => texts::mcp::why(language),
            LookupTool::Decisions => texts::mcp::decisions(language),
            LookupTool::Status => texts::mcp::status(language),
        }
    }

    fn arguments(self, language: Language) -> Map<String, Value> {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let number = |description: &str| json!({ "type": "integer", "description": description });
        let limit = |limit: ResultLimit| number(&texts::mcp::limit(language, limit.most));
        let workspace = || ("workspace", text(texts::mcp::workspace(language)));
        let channel = || ("channel", text(texts::mcp::channel(language)));
        match self {
            LookupTool::SearchMessages => schema(
                vec![
                    ("query", text(texts::mcp::query(language))),
                    workspace(),
                    channel(),
                    ("limit", limit(SEARCH_LIMIT)),
                ],
                &["query"],
            ),
            LookupTool::Recall => schema(
                vec![("about", text(texts::mcp::subject(language))), workspace(), channel()],
                &[],
            ),
            LookupTool::Why => schema(
                vec![
                    ("message", text(texts::mcp::message(language))),
                    ("decision", number(texts::mcp::decision(language))),
                    workspace(),
                    channel(),
                ],
                &[],
            ),
            LookupTool::Decisions => schema(
                vec![
                    ("channel", text(texts::mcp::of_channel(language))),
                    workspace(),
                    ("limit", limit(DECISIONS_LIMIT)),
                    ("before", number(texts::mcp::before(language))),
                ],
                &["channel"],
            ),
            LookupTool::Status => schema(vec![workspace()], &[]),
        }
    }
}

fn schema(properties: Vec<(&str, Value)>, required: &[&str]) -> Map<String, Value> {
    let properties = properties.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    let properties: Map<String, Value> = properties.collect();
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), json!(required)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_found_by_its_name_and_only_reads() {
        for tool in LookupTool::ALL {
            assert_eq!(LookupTool::from_name(tool.name()), Some(tool));
            let (en, ja) = (tool.definition(Language::En), tool.definition(Language::Ja));
            assert_ne!(en.description, ja.description);
            assert_eq!(en.annotations.unwrap().read_only_hint, Some(true));
            for required in en.input_schema["required"].as_array().unwrap() {
                assert!(en.input_schema["properties"].get(required.as_str().unwrap()).is_some());
            }
        }
        assert_eq!(LookupTool::from_name("post_message"), None);
    }

    #[test]
    fn a_limit_keeps_within_its_bounds() {
        for (asked, expected) in [
            (None, 10),
            (Some(3.0), 3),
            (Some(2.9), 2),
            (Some(0.0), 1),
            (Some(-5.0), 1),
            (Some(1e9), 50),
        ] {
            assert_eq!(SEARCH_LIMIT.of(asked), expected, "{asked:?}");
        }
    }
}
