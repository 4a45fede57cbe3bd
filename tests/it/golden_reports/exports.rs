//! One fictional conversation, written in each platform's export format. Each writer returns the arguments of `aizuchi
//! replay` that name the input.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::command::aizuchi;
use crate::golden_reports::conversation::{
    BEGIN, BOT, CHANNELS, Conversation, FIRST_DAY, Line, PEOPLE, PRIVATE_CHANNEL, account,
    accounts, channel_number, number,
};

/// Writes an export into a folder, and returns the arguments that name it.
pub type Writer = fn(&Path) -> Vec<String>;

pub const WRITERS: [(&str, Writer); 6] = [
    ("slack", slack),
    ("discord", discord),
    ("matrix", matrix),
    ("mattermost", mattermost),
    ("json_lines", json_lines),
    ("database", database),
];

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

/// A Matrix room is exported by one of its members. Here, the private one was not exported.
pub fn matrix(folder: &Path) -> Vec<String> {
    let conversation = Conversation::read();
    let root = folder.join("matrix");
    let user = |name: &str| format!("@{}:harbour.example", account(name));
    let event_id = |id: &str| format!("${id}:harbour.example");
    for channel in CHANNELS.into_iter().filter(|channel| *channel != PRIVATE_CHANNEL) {
        let lines: Vec<&Line> =
            conversation.lines.iter().filter(|line| line.channel == channel).collect();
        let members = accounts().filter(|(name, _)| lines.iter().any(|line| line.author == *name));
        let joins = members.map(|(name, _)| {
            json!({
                "type": "m.room.member", "sender": user(name), "state_key": user(name),
                "content": {"membership": "join", "displayname": name},
                "origin_server_ts": BEGIN * 1000, "event_id": event_id(account(name)),
            })
        });
        let said = lines.iter().map(|line| {
            let kind = if line.is_by_bot() { "m.notice" } else { "m.text" };
            // The plain text of a mention is the display name.
            let body = line.text.replace("@Priya", "Priya:");
            let mut content = json!({"msgtype": kind, "body": body});
            if line.text.contains("@Priya") {
                content["m.mentions"] = json!({"user_ids": [user("Priya")]});
            }
            if let Some(thread) = line.thread.map(event_id) {
                content["m.relates_to"] = json!({
                    "rel_type": "m.thread", "event_id": thread, "is_falling_back": true,
                    "m.in_reply_to": {"event_id": thread},
                });
            }
            if let Some(asked) = line.reply_to.map(|id| conversation.line(id)) {
                let quote = format!("> <{}> {}", user(asked.author), asked.text);
                content["body"] = json!(format!("{quote}\n\n{}", line.text));
                content["m.relates_to"] =
                    json!({"m.in_reply_to": {"event_id": event_id(asked.id)}});
            }
            if let Some(edited) = line.edits {
                content["body"] = json!(format!("* {}", line.text));
                content["m.new_content"] = json!({"msgtype": kind, "body": line.text});
                content["m.relates_to"] =
                    json!({"rel_type": "m.replace", "event_id": event_id(edited)});
            }
            json!({
                "type": "m.room.message", "sender": user(line.author),
                "content": if line.is_deleted { json!({}) } else { content },
                "origin_server_ts": line.at.as_millisecond(), "event_id": event_id(line.id),
            })
        });
        let events: Value = joins.chain(said).collect();
        // The format is recognized by the first key.
        let document = format!(r#"{{"room_name":"{channel}","messages":{events}}}"#);
        write(&root, &format!("{channel}.json"), &document);
    }
    in_folder(folder, "matrix")
}

pub fn mattermost(folder: &Path) -> Vec<String> {
    let conversation = Conversation::read();
    let mut records = vec![json!({"type": "version", "version": 1})];
    records.extend(CHANNELS.map(|channel| {
        let kind = if channel == PRIVATE_CHANNEL { "P" } else { "O" };
        json!({"type": "channel", "channel": {"team": "harbour", "name": channel, "type": kind}})
    }));
    records.extend(PEOPLE.map(
        |(name, account)| json!({"type": "user", "user": {"username": account, "nickname": name}}),
    ));
    records.push(json!({"type": "bot", "bot": {"username": BOT.1, "display_name": BOT.0}}));
    records.extend(CHANNELS.map(|channel| {
        json!({"type": "post", "post": {
            "team": "harbour", "channel": channel, "user": "nadia", "type": "system_join_channel",
            "message": "nadia joined the channel.", "create_at": BEGIN * 1000,
        }})
    }));
    let mut posts: Vec<(&str, Value)> = Vec::new();
    for (line, edit) in conversation.kept() {
        let text = edit.unwrap_or(line).text.replace("@Priya", "@priya");
        let post = json!({
            "team": "harbour", "channel": line.channel, "user": account(line.author),
            "message": text, "create_at": line.at.as_millisecond(),
            "edit_at": edit.map(|edit| edit.at.as_millisecond()), "replies": [],
        });
        match line.thread {
            None => posts.push((line.id, post)),
            Some(thread) => {
                let (_, root) = posts.iter_mut().find(|(id, _)| *id == thread).unwrap();
                root["replies"].as_array_mut().unwrap().push(post);
            }
        }
    }
    records.extend(posts.into_iter().map(|(_, post)| json!({"type": "post", "post": post})));
    vec![write_lines(folder, "mattermost.jsonl", &records)]
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
