//! The tools of a reply: what it may look up and note down while it is thought of. A model's calls
//! are data of the worst kind: each is answered, and none can do more than is offered here.

mod search;
mod spec;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use tracing::warn;

use crate::agent::Agent;
use crate::agent::tools::search::{Question, Shown, line};
use crate::agent::tools::spec::{TOOLS, Tool};
use crate::chat::{ConversationId, Message, UserId, one_line};
use crate::context::Context;
use crate::llm::Answer;
use crate::memo::notebook::{Notebook, Place};
use crate::memo::{Amendment, Entry, MemoChange};
use crate::memory::{LineId, Lineage};
use crate::persona::Language;
use crate::prompt::tokens::estimate;
use crate::prompt::tool::{ToolCall, ToolRound, ToolSpec, ToolUse};
use crate::store::{Store, StoreError};

/// Further calls of one answer are left out.
const MOST_CALLS: usize = 8;
/// Of a sentence about arguments, in characters.
const LONGEST_PROBLEM: usize = 200;

/// How replies may use tools.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Where the dates on memos are of.
    pub zone: TimeZone,
}

impl Tools {
    /// What models are told of them.
    pub fn specs(language: Language) -> Vec<ToolSpec> {
        TOOLS.into_iter().map(|tool| tool.spec(language)).collect()
    }
}

impl Agent {
    /// What one reply has to work with, if replies have anything.
    pub(super) async fn toolbox(
        &self,
        context: &Context,
        language: Language,
        began: Timestamp,
    ) -> Result<Option<Toolbox>, StoreError> {
        let Some(tools) = &self.tools else { return Ok(None) };
        let conversation = context.conversation.clone();
        let memos = self.store.memos(&conversation.workspace, &conversation.channel).await?;
        let place = Place {
            channel: conversation.channel.clone(),
            visibility: context.visibility,
            said_by: asker(context),
        };
        Ok(Some(Toolbox {
            notebook: Notebook::new(place, memos, language, tools.zone.clone()),
            store: self.store.clone(),
            conversation,
            began,
            known: context.lineage().lines,
            heard: context.lines().cloned().collect(),
            language,
            zone: tools.zone.clone(),
            persona: self.persona.name.clone(),
        }))
    }
}

/// Who says what a reply to this may note down.
fn asker(context: &Context) -> Option<UserId> {
    let owed = context.owed.iter().rev().find_map(|id| context.message(id));
    let about = context.motive.as_ref().and_then(|motive| context.message(motive.about.as_ref()?));
    let line = owed.or(about).or_else(|| context.newest_human())?;
    Some(line.author.id.clone())
}

/// The tools of one reply, with what it has changed by them.
pub(super) struct Toolbox {
    notebook: Notebook,
    store: Arc<dyn Store>,
    conversation: ConversationId,
    /// When the thought began. What was said since then is not found: if it were taken back, nobody
    /// would know that this has seen it.
    began: Timestamp,
    /// What the prompt holds anyway.
    known: Vec<LineId>,
    /// Those lines, and what was found besides.
    heard: Vec<Arc<Message>>,
    language: Language,
    zone: TimeZone,
    /// What the persona is called.
    persona: String,
}

/// Why a call comes to nothing.
enum Misuse {
    NoSuchTool,
    Arguments(String),
}

#[derive(Deserialize)]
struct Named {
    memo_name: String,
}

#[derive(Deserialize)]
struct Edited {
    memo_name: String,
    #[serde(flatten)]
    amendment: Amendment,
}

#[derive(Deserialize)]
struct Page {
    tag: Option<String>,
    offset: Option<i64>,
    limit: Option<i64>,
}

impl Toolbox {
    pub(super) fn specs(&self) -> Vec<ToolSpec> {
        Tools::specs(self.language)
    }

    /// Does what an answer asks for, one after the other, as long as there is room for what comes of it,
    /// in tokens.
    pub(super) async fn use_all(
        &mut self,
        answer: Answer,
        now: Timestamp,
        mut room: u64,
    ) -> ToolRound {
        let left_out = answer.calls.len().saturating_sub(MOST_CALLS);
        let mut uses = Vec::new();
        for call in answer.calls.into_iter().take(MOST_CALLS) {
            let (result, tells_of) = self.answer(&call, now).await;
            let size = estimate(&result);
            let fits = size <= room;
            room -= if fits { size } else { 0 };
            let result = if fits { result } else { self.no_room() };
            uses.push(ToolUse { call, result, tells_of });
        }
        if let Some(last) = uses.last_mut().filter(|_| left_out > 0) {
            last.result.push('\n');
            last.result.push_str(&self.left_out(left_out));
        }
        ToolRound { said: answer.text, uses, echo: answer.echo }
    }

    fn no_room(&self) -> String {
        let text = self.language.pick(
            "It was done, but there is no room left for what came of it. Answer with what you have.",
            "実行しましたが、結果を載せる余地がありません。いまある情報で答えてください。",
        );
        text.to_owned()
    }

    pub(super) fn changes(&self) -> Vec<MemoChange> {
        self.notebook.changes(&self.heard)
    }

    /// The result for the model, and what it tells of.
    async fn answer(&mut self, call: &ToolCall, now: Timestamp) -> (String, Lineage) {
        let mut lines = Vec::new();
        let result = match self.run(call, now, &mut lines).await {
            Ok(result) => result,
            Err(Misuse::NoSuchTool) => {
                let names: Vec<&str> = self.specs().into_iter().map(|tool| tool.name).collect();
                let text = self.language.pick(
                    "There is no tool of this name. There are: {}",
                    "その名前のツールはありません。使えるツール: {}",
                );
                text.replace("{}", &names.join(", "))
            }
            Err(Misuse::Arguments(problem)) => {
                let text = self
                    .language
                    .pick("The arguments cannot be used: {}", "引数が正しくありません: {}");
                text.replace("{}", &problem)
            }
        };
        (result, Lineage { lines, memories: self.notebook.take_told() })
    }

    async fn run(
        &mut self,
        call: &ToolCall,
        now: Timestamp,
        lines: &mut Vec<LineId>,
    ) -> Result<String, Misuse> {
        let tool = Tool::named(&call.name).ok_or(Misuse::NoSuchTool)?;
        let arguments = &call.arguments;
        Ok(match tool {
            Tool::AddMemo => self.notebook.add(read::<Entry>(arguments)?, now),
            Tool::EditMemo => {
                let Edited { memo_name, amendment } = read(arguments)?;
                self.notebook.edit(&memo_name, amendment, now)
            }
            Tool::RemoveMemo => self.notebook.remove(&read::<Named>(arguments)?.memo_name),
            Tool::ListMemo => {
                let Page { tag, offset, limit } = read(arguments)?;
                let (offset, limit) = (offset.unwrap_or(0), limit.unwrap_or(10));
                self.notebook.list(tag.as_deref(), offset, limit)
            }
            Tool::GetMemo => self.notebook.get(&read::<Named>(arguments)?.memo_name),
            Tool::ListMemoTags => self.notebook.tags(),
            Tool::SearchMessages => self.search(&read(arguments)?, lines).await,
        })
    }

    async fn search(&mut self, question: &Question, lines: &mut Vec<LineId>) -> String {
        if question.query.trim().is_empty() {
            let text =
                self.language.pick("Give words to search for.", "検索クエリを入力してください");
            return text.to_owned();
        }
        let query = question.asked_from(&self.conversation, self.began, self.known.len());
        let mut found = match self.store.recall(&query).await {
            Ok(found) => found,
            Err(error) => {
                warn!("a search for a reply failed: {error}");
                let text = self
                    .language
                    .pick("The search does not work right now.", "いまは検索できません。");
                return text.to_owned();
            }
        };
        found.retain(|found| !self.known.contains(&line(found)));
        found.truncate(question.limit());
        self.heard.extend(found.iter().map(|found| found.message.clone()));
        lines.extend(found.iter().map(line));
        let (language, zone, persona) = (self.language, &self.zone, self.persona.as_str());
        Shown { language, zone, persona }.told(&found)
    }

    fn left_out(&self, number: usize) -> String {
        let text = self.language.pick(
            "Further calls were left out: {}. At most {most} are made at a time.",
            "一度に実行できるのは {most} 件までなので、残りの {} 件は実行していません。",
        );
        text.replace("{}", &number.to_string()).replace("{most}", &MOST_CALLS.to_string())
    }
}

/// Arguments as models write them: an object, which may have been written as a text, with numbers
/// that may have been written as texts or with a fraction of nothing.
fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, Misuse> {
    let object = match arguments {
        Value::Object(object) => object.clone(),
        Value::Null => Map::new(),
        Value::String(text) => serde_json::from_str(text).map_err(|_| no_object())?,
        Value::Array(_) | Value::Bool(_) | Value::Number(_) => return Err(no_object()),
    };
    let settled = object.into_iter().map(|(key, value)| {
        let value = if ["priority", "offset", "limit"].contains(&key.as_str()) {
            whole(value)
        } else {
            value
        };
        (key, value)
    });
    serde_json::from_value(Value::Object(settled.collect())).map_err(|error| {
        let problem = one_line(&error.to_string());
        Misuse::Arguments(problem.chars().take(LONGEST_PROBLEM).collect())
    })
}

fn whole(value: Value) -> Value {
    let number = match &value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < 1e15;
    let number = number.filter(is_whole).map(|number| Value::Number(Number::from(number as i64)));
    number.unwrap_or(value)
}

fn no_object() -> Misuse {
    Misuse::Arguments("not a JSON object".to_owned())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::chat::{ChannelId, Visibility, WorkspaceId};
    use crate::store::volatile::VolatileStore;

    fn toolbox() -> Toolbox {
        let channel = ChannelId::new("garden");
        let workspace = WorkspaceId::new("w");
        let place =
            Place { channel: channel.clone(), visibility: Visibility::Public, said_by: None };
        Toolbox {
            notebook: Notebook::new(place, Vec::new(), Language::En, TimeZone::UTC),
            store: Arc::new(VolatileStore::new()),
            began: now(),
            known: Vec::new(),
            heard: Vec::new(),
            conversation: ConversationId { workspace, channel, thread: None },
            zone: TimeZone::UTC,
            persona: "Aizuchi".to_owned(),
            language: Language::En,
        }
    }

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall { id: String::new(), name: name.to_owned(), arguments }
    }

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    #[test]
    fn every_call_is_answered_with_a_sentence() {
        let mut tools = toolbox();
        let none = "There is no tool of this name. There are: add_memo, edit_memo, remove_memo, \
            list_memo, get_memo, list_memo_tags, search_messages";
        let tea = json!({ "name": "tea", "content": "green", "priority": "4.0", "tags": null });
        for (name, arguments, expected) in [
            ("add_memo", tea, "Added the memo “tea”."),
            (
                "edit_memo",
                json!({ "memo_name": "tea", "priority": 5.0 }),
                "Changed the memo “tea”.",
            ),
            ("list_memo", json!({ "limit": "3" }), "Memos 1-1 of 1\n- [tea] priority 5 green"),
            ("list_memo", json!(null), "Memos 1-1 of 1\n- [tea] priority 5 green"),
            ("list_memo_tags", json!("garbage"), "No memo has a tag."),
            ("remove_memo", json!(r#"{"memo_name": "tea"}"#), "Removed the memo “tea”."),
            ("get_memo", json!({ "memo_name": "tea" }), "There is no memo named “tea”."),
            ("add_memo", json!({}), "The arguments cannot be used: missing field `name`"),
            ("get_memo", json!("{"), "The arguments cannot be used: not a JSON object"),
            ("get_memo", json!([1]), "The arguments cannot be used: not a JSON object"),
            (
                "list_memo",
                json!({ "limit": "many" }),
                "The arguments cannot be used: invalid type: string \"many\", expected i64",
            ),
            ("search_messages", json!({ "query": " " }), "Give words to search for."),
            ("search_messages", json!({ "query": "tea" }), "Nothing was found."),
            ("rm -rf\n", json!({}), none),
            ("", json!({}), none),
        ] {
            let answer = tools.answer(&call(name, arguments), now()).now_or_never();
            assert_eq!(answer, Some((expected.to_owned(), Lineage::default())), "{name}");
        }
        assert_eq!(tools.changes(), []);
    }

    #[test]
    fn what_there_is_no_room_for_is_not_told() {
        let mut tools = toolbox();
        let call = call("list_memo", json!({}));
        let answer = Answer { calls: vec![call], ..Answer::of(String::new(), Default::default()) };
        let round = tools.use_all(answer, now(), 2).now_or_never().unwrap();
        assert!(round.uses[0].result.contains("no room left"));
    }

    #[test]
    fn of_too_many_calls_the_first_are_made() {
        let mut tools = toolbox();
        let calls = (0..300).map(|n| {
            call("add_memo", json!({ "name": format!("m{n}"), "content": "x", "priority": 1 }))
        });
        let answer =
            Answer { calls: calls.collect(), ..Answer::of(String::new(), Default::default()) };
        let round = tools.use_all(answer, now(), 10_000).now_or_never().unwrap();
        assert_eq!((round.uses.len(), tools.changes().len()), (8, 8));
        let last = "Added the memo “m7”.\n\
            Further calls were left out: 292. At most 8 are made at a time.";
        assert_eq!(round.uses[7].result, last);
    }
}
