//! The bulk export of Mattermost: JSON Lines, each with the type of its record.
//!
//! <https://docs.mattermost.com/manage/bulk-export-tool.html>

use std::collections::HashMap;
use std::io::BufRead;

use aizuchi_model::chat::to_single_line;
use serde_json::Value;

use crate::history::{RecordedMessage, describe_json_error};
use crate::input::InputWriter;
use crate::json_lines::read_lines;

/// The name of a webhook without one. Names of users have no space, so no user has the id of a webhook.
const WEBHOOK: &str = "webhook";

/// Reads a file. `label` precedes the number of a line in errors.
pub fn read(
    input: &mut dyn BufRead,
    label: &str,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    writer.begin_file(format!("{label}line "));
    let mut reader = BulkReader { channels: HashMap::new(), users: HashMap::new(), writer };
    read_lines(input, &mut |number, line| reader.line(number, line))
}

struct BulkReader<'a, 'w> {
    /// By team and name.
    channels: HashMap<(String, String), MattermostChannel>,
    users: HashMap<String, ExportUser>,
    writer: &'a mut InputWriter<'w>,
}

struct MattermostChannel {
    name: String,
    is_private: bool,
}

#[derive(Clone, Default)]
struct ExportUser {
    name: String,
    is_bot: bool,
}

impl BulkReader<'_, '_> {
    fn line(&mut self, number: u64, line: Result<&[u8], String>) -> anyhow::Result<()> {
        let parsed = line.and_then(|line| {
            serde_json::from_slice::<Value>(line).map_err(|error| describe_json_error(&error))
        });
        let record = match parsed {
            Ok(record) => record,
            Err(problem) => {
                self.writer.add_bad(number, problem);
                return Ok(());
            }
        };
        match str_at(&record, "type") {
            "channel" => self.add_channel(&record["channel"]),
            "user" => self.add_user(&record["user"], false),
            "bot" => self.add_user(&record["bot"], true),
            "post" => {
                let post = &record["post"];
                let key = (str_at(post, "team").to_owned(), str_at(post, "channel").to_owned());
                let known = self.channels.get(&key);
                let name = known.map_or(key.1.clone(), |channel| channel.name.clone());
                // A channel that the export does not describe may be private.
                let is_private = known.is_none_or(|channel| channel.is_private);
                return self.post(number, post, name, is_private);
            }
            "direct_post" => {
                let post = &record["direct_post"];
                let members = post["channel_members"].as_array().into_iter().flatten();
                let members: Vec<&str> = members.filter_map(Value::as_str).collect();
                return self.post(number, post, members.join(", "), true);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_channel(&mut self, channel: &Value) {
        let key = (str_at(channel, "team").to_owned(), str_at(channel, "name").to_owned());
        let is_private = str_at(channel, "type") != "O";
        let is_taken = self.channels.keys().any(|(team, name)| *team != key.0 && *name == key.1);
        let name = if is_taken { format!("{}/{}", key.0, key.1) } else { key.1.clone() };
        self.channels.insert(key, MattermostChannel { name, is_private });
    }

    fn add_user(&mut self, user: &Value, is_bot: bool) {
        let full = format!("{} {}", str_at(user, "first_name"), str_at(user, "last_name"));
        let names = [str_at(user, "nickname"), str_at(user, "display_name"), &full];
        let name = names.into_iter().map(to_single_line).find(|name| !name.is_empty());
        let username = str_at(user, "username").to_owned();
        let name = name.unwrap_or_else(|| username.clone());
        self.users.insert(username, ExportUser { name, is_bot });
    }

    fn post(
        &mut self,
        number: u64,
        post: &Value,
        channel: String,
        is_private: bool,
    ) -> anyhow::Result<()> {
        if !self.writer.takes_channel(&channel, is_private) {
            return Ok(());
        }
        // The export has no ids, so a message is identified by its line, and a reply by its position in that line.
        let id = number.to_string();
        self.message(number, post, &channel, id.clone(), None)?;
        let replies = post["replies"].as_array().into_iter().flatten();
        for (index, reply) in replies.enumerate() {
            self.message(number, reply, &channel, format!("{id}.{}", index + 1), Some(id.clone()))?;
        }
        Ok(())
    }

    fn message(
        &mut self,
        number: u64,
        post: &Value,
        channel: &str,
        id: String,
        thread: Option<String>,
    ) -> anyhow::Result<()> {
        let author = str_at(post, "user");
        let Some(at) = post["create_at"].as_i64().filter(|_| !author.is_empty()) else {
            self.writer.add_bad(number, "it lacks a user or a create_at in milliseconds");
            return Ok(());
        };
        if str_at(post, "type").starts_with("system_") {
            self.writer.left_out.notices += 1;
            return Ok(());
        }
        let text = self.text(post);
        if text.trim().is_empty() {
            self.writer.left_out.notices += 1;
            return Ok(());
        }
        let (author, user) = self.sender(author, &post["props"]);
        let recorded = RecordedMessage {
            channel: channel.to_owned(),
            thread,
            id,
            ts: at as f64 / 1000.0,
            author,
            name: Some(user.name).filter(|name| !name.is_empty()),
            text,
            reply_to: Vec::new(),
            bot: user.is_bot,
            opener: false,
        };
        self.writer.add(number, &recorded)
    }

    /// Returns who sent a post: its user, or a webhook, whose posts have the user who made the webhook.
    fn sender(&self, user: &str, props: &Value) -> (String, ExportUser) {
        if props["from_webhook"] == "true" {
            let name = to_single_line(str_at(props, "override_username"));
            let name = if name.is_empty() { WEBHOOK.to_owned() } else { name };
            return (format!("{WEBHOOK} {name}"), ExportUser { name, is_bot: true });
        }
        let known = self.users.get(user).cloned().unwrap_or_default();
        let is_bot = known.is_bot || props["from_bot"] == "true";
        (user.to_owned(), ExportUser { is_bot, ..known })
    }

    fn text(&self, post: &Value) -> String {
        let files = post["attachments"].as_array().into_iter().flatten();
        let name = |file| str_at(file, "path").rsplit('/').next().unwrap_or_default();
        self.writer.with_files(str_at(post, "message"), files.map(name))
    }
}

fn str_at<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
