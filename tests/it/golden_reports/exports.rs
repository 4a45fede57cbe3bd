//! One fictional conversation, written in each platform's export format. Each writer returns the arguments of `aizuchi
//! replay` that name the input.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::golden_reports::conversation::{
    BEGIN, BOT, CHANNELS, Conversation, FIRST_DAY, PRIVATE_CHANNEL, account, accounts,
    channel_number, number,
};

/// Writes an export into a folder, and returns the arguments that name it.
pub type Writer = fn(&Path) -> Vec<String>;

pub const WRITERS: [(&str, Writer); 4] =
    [("slack", slack), ("discord", discord), ("json_lines", json_lines), ("database", database)];

fn write(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn write_lines(folder: &Path, name: &str, lines: &[Value]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    write(folder, name, &lines.concat())
}

fn in_folder(folder: &Path, name: &str) -> Vec<String> {
    vec![folder.join(name).to_str().unwrap().to_owned()]
}

pub fn slack(folder: &Path) -> Vec<String> {
    let conversation = Conversation::read();
    let root = folder.join("slack");
    let user = |name: &str| format!("U0{}", number(name));
    let users: Vec<Value> = accounts()
        .map(|(name, account)| {
            json!({
                "id": user(name), "name": account, "is_bot": name == BOT.0,
                "profile": {"display_name": name},
            })
        })
        .collect();
    let channels = |is_private: bool| -> Value {
        let channels = CHANNELS.iter().filter(|name| (**name == PRIVATE_CHANNEL) == is_private);
        channels
            .map(|name| json!({"id": format!("C0{}", channel_number(name)), "name": name}))
            .collect()
    };
    write(&root, "users.json", &json!(users).to_string());
    write(&root, "channels.json", &channels(false).to_string());
    write(&root, "groups.json", &channels(true).to_string());
    let mut days: BTreeMap<(&str, String), Vec<Value>> = BTreeMap::new();
    for channel in CHANNELS {
        days.entry((channel, FIRST_DAY.to_owned())).or_default().push(json!({
            "type": "message", "subtype": "channel_join", "user": "U01",
            "ts": format!("{BEGIN}.000000"), "text": "<@U01> has joined the channel",
        }));
    }
    for (line, edit) in conversation.messages() {
        let id = conversation.slack_id(line.id);
        let text = edit.unwrap_or(line).text.replace('&', "&amp;");
        let text = text.replace("@Priya", &format!("<@{}>", user("Priya")));
        let mut message =
            json!({"type": "message", "user": user(line.author), "ts": id, "text": text});
        if line.is_deleted {
            message = json!({
                "type": "message", "subtype": "tombstone", "user": "USLACKBOT", "ts": id,
                "text": "This message was deleted.",
            });
        }
        if line.is_by_bot() {
            message["subtype"] = json!("bot_message");
            message["bot_id"] = json!("B08");
        }
        if let Some(thread) = line.thread {
            message["thread_ts"] = json!(conversation.slack_id(thread));
        } else if conversation.is_thread(line.id) {
            message["thread_ts"] = json!(id);
        }
        if let Some(edit) = edit {
            message["edited"] =
                json!({"user": user(edit.author), "ts": conversation.slack_id(edit.id)});
        }
        let day = line.at.strftime("%Y-%m-%d").to_string();
        days.entry((line.channel, day)).or_default().push(message);
    }
    for ((channel, day), messages) in days {
        write(&root, &format!("{channel}/{day}.json"), &json!(messages).to_string());
    }
    in_folder(folder, "slack")
}

/// Discord's export marks only threads and direct messages as private, so the private channel is a thread.
pub fn discord(folder: &Path) -> Vec<String> {
    let conversation = Conversation::read();
    let root = folder.join("discord");
    let user = |name: &str| {
        json!({
            "id": (100 + number(name)).to_string(), "name": account(name), "nickname": name,
            "isBot": name == BOT.0,
        })
    };
    let mut files: BTreeMap<String, (Value, Vec<Value>)> = BTreeMap::new();
    for channel in CHANNELS {
        let id = format!("50{}", channel_number(channel));
        let (kind, category, category_id) = match channel {
            PRIVATE_CHANNEL => ("GuildPrivateThread", "harbour-desk", "502"),
            _ => ("GuildTextChat", "Text", "400"),
        };
        let head = json!({
            "id": id, "type": kind, "categoryId": category_id, "category": category, "name": channel,
        });
        let join = json!({
            "id": format!("800{}", channel_number(channel)), "type": "GuildMemberJoin",
            "timestamp": format!("{FIRST_DAY}T06:00:00+00:00"), "content": "Joined the server.",
            "author": user("Nadia"),
        });
        files.insert(channel.to_owned(), (head, vec![join]));
    }
    for (line, edit) in conversation.kept() {
        let file = match line.thread {
            None => line.channel.to_owned(),
            Some(thread) => format!("{} - {thread}", line.channel),
        };
        let thread = || {
            json!({
                "id": conversation.snowflake(line.thread.unwrap()), "type": "GuildPublicThread",
                "categoryId": format!("50{}", channel_number(line.channel)),
                "category": line.channel, "name": line.thread,
            })
        };
        let text = edit.unwrap_or(line).text;
        let mentions: Vec<Value> =
            text.contains("@Priya").then(|| user("Priya")).into_iter().collect();
        let mut message = json!({
            "id": conversation.snowflake(line.id),
            "type": if line.reply_to.is_some() { "Reply" } else { "Default" },
            "timestamp": line.at, "timestampEdited": edit.map(|edit| edit.at),
            "content": text.replace("@Priya", &format!("<@{}>", 100 + number("Priya"))),
            "author": user(line.author), "mentions": mentions,
        });
        if let Some(asked) = line.reply_to {
            message["reference"] = json!({"messageId": conversation.snowflake(asked)});
        }
        files.entry(file).or_insert_with(|| (thread(), Vec::new())).1.push(message);
    }
    for (name, (channel, messages)) in files {
        // The format is recognized by the first key.
        let (channel, messages) = (channel.to_string(), json!(messages));
        let guild = r#"{"id":"1","name":"The Harbour"}"#;
        let document = format!(r#"{{"guild":{guild},"channel":{channel},"messages":{messages}}}"#);
        write(&root, &format!("{name}.json"), &document);
    }
    in_folder(folder, "discord")
}

/// Uses the ids that Slack assigns, so that prompts are as long as those of its export.
pub fn json_lines(folder: &Path) -> Vec<String> {
    let conversation = Conversation::read();
    let records = conversation.kept().map(|(line, edit)| {
        let reply_to = line.reply_to.map(|id| conversation.slack_id(id));
        json!({
            "workspace": "T01",
            "room": format!("C0{}", channel_number(line.channel)),
            "room_name": line.channel,
            "visibility": if line.is_private() { "private" } else { "public" },
            "thread": line.thread.map(|id| conversation.slack_id(id)),
            "id": conversation.slack_id(line.id),
            "ts": line.at.as_second(),
            "author": format!("U0{}", number(line.author)),
            "name": line.author,
            "bot": line.is_by_bot(),
            "text": edit.unwrap_or(line).text,
            "reply_to": reply_to.into_iter().collect::<Vec<_>>(),
        })
    });
    vec![write_lines(folder, "lines.jsonl", &records.collect::<Vec<_>>())]
}

/// Returns the database of an installation that has imported the lines.
pub fn database(folder: &Path) -> Vec<String> {
    let lines = json_lines(folder);
    let url = format!("sqlite://{}", folder.join("room.db").display());
    let config = write(folder, "import.yaml", &format!("storage: {{url: '{url}'}}\n"));
    aizuchi().args(["--config", &config, "import"]).args(lines).assert().success();
    vec!["--from-store".to_owned(), url]
}
