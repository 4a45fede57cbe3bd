//! The tools: their names, their descriptions and the schemas of their arguments.

use serde_json::{Value, json};

use crate::memo::{MAX_LIST_LENGTH, MAX_NAME_LENGTH, MAX_TAGS};
use crate::persona::Language;
use crate::prompt::tool::ToolSpec;

/// How many messages a search returns at most.
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
}

/// All tools, in the order in which models are told of them.
pub const TOOLS: [Tool; 7] = [
    Tool::AddMemo,
    Tool::EditMemo,
    Tool::RemoveMemo,
    Tool::ListMemo,
    Tool::GetMemo,
    Tool::ListMemoTags,
    Tool::SearchMessages,
];

impl Tool {
    pub fn from_name(name: &str) -> Option<Self> {
        TOOLS.into_iter().find(|tool| tool.name() == name)
    }

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn spec(self, language: Language) -> ToolSpec {
        ToolSpec {
            name: self.name(),
            description: self.description(language),
            parameters: self.parameters(language),
        }
    }

    fn description(self, language: Language) -> &'static str {
        match self {
            Tool::AddMemo => language.pick(
                "Keeps a new memo: something about people, plans or promises that will matter later. \
                 Look first whether there is one already.",
                "新しいメモを残します。人や予定、約束など、あとで必要になることを書きます。\
                 先に同じ内容のメモがないか確かめてください。",
            ),
            Tool::EditMemo => language.pick(
                "Changes a memo. What is left out stays as it is; detail replaces the old detail.",
                "メモを書き換えます。省略した項目は変わりません。detail は前の内容と置き換わります。",
            ),
            Tool::RemoveMemo => language.pick(
                "Throws a memo away that is no longer true or needed.",
                "正しくなくなったメモや、いらなくなったメモを削除します。",
            ),
            Tool::ListMemo => language.pick(
                "Lists memos on one line each, the most important first.",
                "メモを重要なものから順に一行ずつ一覧します。",
            ),
            Tool::GetMemo => language.pick(
                "Shows one memo with everything that is written in it.",
                "一つのメモを、詳細を含めてすべて表示します。",
            ),
            Tool::ListMemoTags => language.pick(
                "Lists the tags that memos have, and how many have each.",
                "メモに付いているタグと、その件数を一覧します。",
            ),
            Tool::SearchMessages => language.pick(
                "Searches what has been said here for words, also long ago.",
                "これまでの発言を、古いものも含めて言葉で検索します。",
            ),
        }
    }

    fn parameters(self, language: Language) -> Value {
        let text =
            |en: &str, ja: &str| json!({ "type": "string", "description": language.pick(en, ja) });
        let number =
            |en: &str, ja: &str| json!({ "type": "integer", "description": language.pick(en, ja) });
        let which = || text("The memo's name.", "メモの名前。");
        let content =
            || text("What is to be kept, in a sentence or two.", "残す内容。一、二文で。");
        let priority = || {
            number(
                "From 1 (it hardly matters) to 5 (never forget).",
                "1（低い）から 5（忘れてはいけない）。",
            )
        };
        let tags = || {
            let most = language
                .pick("At most {} words to find it by.", "分類のための言葉。{} つまで。")
                .replace("{}", &MAX_TAGS.to_string());
            json!({ "type": "array", "items": { "type": "string" }, "description": most })
        };
        let new_name = || {
            let longest = language
                .pick(
                    "A name of its own, at most {} characters.",
                    "ほかと重ならない名前。{} 文字まで。",
                )
                .replace("{}", &MAX_NAME_LENGTH.to_string());
            json!({ "type": "string", "description": longest })
        };
        let limit = |most: usize| {
            let most = language.pick("At most {}.", "最大 {}。").replace("{}", &most.to_string());
            json!({ "type": "integer", "description": most })
        };
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
                    "detail": text("What is too long for the content.", "content に収まらない詳しい内容。"),
                }),
                &["memo_name"],
            ),
            Tool::RemoveMemo | Tool::GetMemo => {
                object_schema(json!({ "memo_name": which() }), &["memo_name"])
            }
            Tool::ListMemo => object_schema(
                json!({
                    "tag": text("Only memos with this tag.", "このタグの付いたメモだけ。"),
                    "offset": number("How many to pass over.", "先頭から飛ばす件数。"),
                    "limit": limit(MAX_LIST_LENGTH),
                }),
                &[],
            ),
            Tool::ListMemoTags => object_schema(json!({}), &[]),
            Tool::SearchMessages => object_schema(
                json!({
                    "query": text("The words to look for.", "探す言葉。"),
                    "limit": limit(MAX_RESULTS),
                }),
                &["query"],
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
