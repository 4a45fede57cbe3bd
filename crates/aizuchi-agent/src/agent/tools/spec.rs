//! The tools: their names and the schemas of their arguments.

use aizuchi_llm::prompt::tool::ToolSpec;
use aizuchi_model::memo::{MAX_LIST_LENGTH, MAX_NAME_LENGTH, MAX_TAGS};
use aizuchi_model::persona::Language;
use aizuchi_model::texts;
use serde_json::{Value, json};

use crate::web_access::OfferedWebTools;

/// The maximum number of messages that a search returns.
pub const MAX_RESULTS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Tool {
    AddMemo,
    EditMemo,
    RemoveMemo,
    ListMemo,
    GetMemo,
    ListMemoTags,
    SearchMessages,
    WebSearch,
    WebFetch,
    BeQuiet,
    Schedule,
}

/// All tools, in the order in which models get their definitions.
pub const TOOLS: [Tool; 11] = [
    Tool::AddMemo,
    Tool::EditMemo,
    Tool::RemoveMemo,
    Tool::ListMemo,
    Tool::GetMemo,
    Tool::ListMemoTags,
    Tool::SearchMessages,
    Tool::WebSearch,
    Tool::WebFetch,
    Tool::BeQuiet,
    Tool::Schedule,
];

impl Tool {
    pub fn from_name(name: &str) -> Option<Self> {
        TOOLS.into_iter().find(|tool| tool.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether a model gets this tool if these web tools are offered.
    pub fn is_offered(self, web: OfferedWebTools) -> bool {
        match self {
            Tool::WebSearch => web.search,
            Tool::WebFetch => web.fetch,
            Tool::AddMemo
            | Tool::EditMemo
            | Tool::RemoveMemo
            | Tool::ListMemo
            | Tool::GetMemo
            | Tool::ListMemoTags
            | Tool::SearchMessages
            | Tool::BeQuiet
            | Tool::Schedule => true,
        }
    }

    /// Whether the tool reads or writes memory.
    pub fn is_for_memory(self) -> bool {
        match self {
            Tool::AddMemo
            | Tool::EditMemo
            | Tool::RemoveMemo
            | Tool::ListMemo
            | Tool::GetMemo
            | Tool::ListMemoTags
            | Tool::SearchMessages => true,
            Tool::WebSearch | Tool::WebFetch | Tool::BeQuiet | Tool::Schedule => false,
        }
    }

    pub fn spec(self, language: Language) -> ToolSpec {
        ToolSpec {
            name: self.name().into(),
            description: self.description(language).into(),
            parameters: self.parameters(language),
        }
    }

    fn description(self, language: Language) -> &'static str {
        match self {
            Tool::AddMemo => texts::tools::add_memo(language),
            Tool::EditMemo => texts::tools::edit_memo(language),
            Tool::RemoveMemo => texts::tools::remove_memo(language),
            Tool::ListMemo => texts::tools::list_memo(language),
            Tool::GetMemo => texts::tools::get_memo(language),
            Tool::ListMemoTags => texts::tools::list_memo_tags(language),
            Tool::SearchMessages => texts::tools::search_messages(language),
            Tool::WebSearch => texts::tools::web_search(language),
            Tool::WebFetch => texts::tools::web_fetch(language),
            Tool::BeQuiet => texts::tools::be_quiet(language),
            Tool::Schedule => texts::tools::schedule(language),
        }
    }

    fn parameters(self, language: Language) -> Value {
        let text = |description: &str| json!({ "type": "string", "description": description });
        let number = |description: &str| json!({ "type": "integer", "description": description });
        let which = || text(texts::tools::memo_name(language));
        let content = || text(texts::tools::memo_content(language));
        let priority = || number(texts::tools::memo_priority(language));
        let tags = || {
            let most = texts::tools::memo_tags(language, MAX_TAGS);
            json!({ "type": "array", "items": { "type": "string" }, "description": most })
        };
        let new_name = || text(&texts::tools::new_memo_name(language, MAX_NAME_LENGTH));
        let limit = |most: usize| number(&texts::tools::limit(language, most));
        match self {
            Tool::AddMemo => object_schema(
                json!({
                    "name": new_name(), "content": content(), "priority": priority(), "tags": tags(),
                }),
                &["name", "content", "priority"],
            ),
            Tool::EditMemo => object_schema(
                json!({
                    "memo_name": which(), "content": content(), "priority": priority(),
                    "tags": tags(), "new_name": new_name(),
                    "detail": text(texts::tools::memo_detail(language)),
                }),
                &["memo_name"],
            ),
            Tool::RemoveMemo | Tool::GetMemo => {
                object_schema(json!({ "memo_name": which() }), &["memo_name"])
            }
            Tool::ListMemo => object_schema(
                json!({
                    "tag": text(texts::tools::listed_tag(language)),
                    "offset": number(texts::tools::offset(language)),
                    "limit": limit(MAX_LIST_LENGTH),
                }),
                &[],
            ),
            Tool::ListMemoTags => object_schema(json!({}), &[]),
            Tool::SearchMessages => object_schema(
                json!({
                    "query": text(texts::tools::search_query(language)),
                    "limit": limit(MAX_RESULTS),
                }),
                &["query"],
            ),
            Tool::WebSearch => object_schema(
                json!({ "query": text(texts::tools::web_query(language)) }),
                &["query"],
            ),
            Tool::WebFetch => object_schema(
                json!({ "url": text(texts::tools::page_address(language)) }),
                &["url"],
            ),
            Tool::BeQuiet => object_schema(
                json!({ "how": { "type": "string", "enum": ["stop", "less"] } }),
                &["how"],
            ),
            Tool::Schedule => object_schema(
                json!({
                    "at": text(texts::tools::schedule_at(language)),
                    "what": text(texts::tools::schedule_what(language)),
                    "who": {
                        "type": "string", "enum": ["asker", "channel"],
                        "description": texts::tools::schedule_who(language),
                    },
                }),
                &["at", "what"],
            ),
        }
    }
}

fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_a_unique_name_and_both_languages() {
        for tool in TOOLS {
            assert_eq!(Tool::from_name(tool.name()), Some(tool));
            let (en, ja) = (tool.spec(Language::En), tool.spec(Language::Ja));
            assert_ne!(en.description, ja.description);
            let names = |spec: &ToolSpec| {
                spec.parameters["properties"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .cloned()
                    .collect::<Vec<_>>()
            };
            assert_eq!(names(&en), names(&ja));
            for required in en.parameters["required"].as_array().unwrap() {
                assert!(names(&en).iter().any(|name| required == name));
            }
        }
        assert_eq!(Tool::from_name(""), None);
    }
}
