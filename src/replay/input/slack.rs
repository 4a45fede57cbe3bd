//! An export of Slack: lists of users and channels, and for each channel, a folder with one file per day.
//!
//! <https://slack.com/help/articles/220556107>

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::replay::history::RecordedMessage;
use crate::replay::input::InputWriter;
use crate::replay::input::document::{ElementsWanted, ExportError, ExportReader, read_document};
use crate::replay::input::export_files::ExportFiles;
use aizuchi_core::chat::{ChannelId, UserId};
use aizuchi_slack::from_slack::{
    self, SlackMessage, SlackUser, non_empty_str, parse_history_message, parse_id, parse_ts,
};
use aizuchi_slack::mrkdwn::NameLookup;
use aizuchi_slack::mrkdwn::message::read_message;

/// The list of the channels that everybody can read, and the lists of the others.
const PUBLIC_LIST: &str = "channels.json";
const PRIVATE_LISTS: [&str; 3] = ["groups.json", "dms.json", "mpims.json"];
const USER_LISTS: [&str; 2] = ["users.json", "org_users.json"];

pub fn is_export(files: &ExportFiles) -> bool {
    let lists = PRIVATE_LISTS.into_iter().chain(USER_LISTS).chain([PUBLIC_LIST]);
    lists.into_iter().any(|list| files.has(list))
}

pub fn read(files: &mut ExportFiles, writer: &mut InputWriter<'_>) -> anyhow::Result<()> {
    let mut directory = Directory::default();
    for list in USER_LISTS {
        read_list(files, list, writer, &mut |entry| directory.add_user(entry))?;
    }
    read_list(files, PUBLIC_LIST, writer, &mut |entry| directory.add_channel(entry, false))?;
    for list in PRIVATE_LISTS {
        read_list(files, list, writer, &mut |entry| directory.add_channel(entry, true))?;
    }
    for (folder, days) in day_files(files) {
        let channel = directory.find_channel(&folder);
        if !writer.takes_channel(channel.id.as_str(), channel.is_private) {
            continue;
        }
        for name in days {
            writer.spool.begin_file(format!("{name}, record "));
            let mut reader =
                DayFileReader { channel: &channel, directory: &directory, writer, read: 0 };
            let end = read_document(files.open(&name)?, &mut reader);
            let read = reader.read;
            match end {
                Ok(()) => {}
                Err(ExportError::Malformed(problem)) => writer.add_bad(read + 1, problem),
                Err(ExportError::Failed(error)) => return Err(error.context(name)),
            }
        }
    }
    Ok(())
}

/// Returns the files of each channel's folder, by day.
fn day_files(files: &ExportFiles) -> BTreeMap<String, Vec<String>> {
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in files.names() {
        if let Some((folder, day)) = name.split_once('/')
            && day.ends_with(".json")
            && day.starts_with(|first: char| first.is_ascii_digit())
        {
            folders.entry(folder.to_owned()).or_default().push(name.clone());
        }
    }
    folders
}

/// The users and channels that the export names.
#[derive(Default)]
struct Directory {
    users: HashMap<UserId, SlackUser>,
    channels: HashMap<ChannelId, Arc<str>>,
    /// By the name of the folder, which is a channel's name or its id.
    folders: HashMap<String, SlackChannel>,
}

#[derive(Clone)]
struct SlackChannel {
    id: ChannelId,
    name: String,
    is_private: bool,
}

impl Directory {
    fn add_user(&mut self, user: &Value) -> Result<(), String> {
        let user = from_slack::parse_user(user).ok_or("it is not a user with an id")?;
        self.users.insert(user.id.clone(), user);
        Ok(())
    }

    fn add_channel(&mut self, channel: &Value, is_in_private_list: bool) -> Result<(), String> {
        let id = parse_id(&channel["id"]).ok_or("it is not a channel with an id")?;
        let name = non_empty_str(&channel["name"]).unwrap_or(id);
        // A channel that is shared with other workspaces counts as private, as it does live.
        let restrictions = ["is_private", "is_ext_shared", "is_pending_ext_shared"];
        let is_private =
            is_in_private_list || restrictions.into_iter().any(|key| channel[key] == true);
        let channel = SlackChannel { id: ChannelId::new(id), name: name.to_owned(), is_private };
        self.channels.insert(channel.id.clone(), name.into());
        self.folders.insert(id.to_owned(), channel.clone());
        self.folders.insert(name.to_owned(), channel);
        Ok(())
    }

    /// Returns the channel of a folder. A channel in no list is private, because nothing says that it is public.
    fn find_channel(&self, folder: &str) -> SlackChannel {
        self.folders.get(folder).cloned().unwrap_or_else(|| SlackChannel {
            id: ChannelId::new(folder),
            name: folder.to_owned(),
            is_private: true,
        })
    }

    fn user_name(&self, user: &UserId) -> Option<Arc<str>> {
        self.users.get(user).map(|user| user.name.clone())
    }

    /// Returns the name of a message's author: of the user, of the integration, or of a user of another workspace.
    fn author_name(&self, message: &SlackMessage) -> Option<String> {
        let raw = &message.raw;
        let said = [
            &raw["username"],
            &raw["bot_profile"]["name"],
            &raw["user_profile"]["display_name"],
            &raw["user_profile"]["real_name"],
        ];
        let known = self.user_name(&message.author).map(|name| name.to_string());
        known.or_else(|| said.into_iter().find_map(non_empty_str).map(str::to_owned))
    }

    fn is_bot(&self, message: &SlackMessage) -> bool {
        message.is_bot || self.users.get(&message.author).is_some_and(|user| user.is_bot)
    }

    fn text(&self, raw: &Value, writer: &InputWriter<'_>) -> String {
        let names = NameLookup {
            // No user of the export is the persona.
            persona: &UserId::new(""),
            persona_name: "",
            user: &|user| self.user_name(user),
            channel: &|channel| self.channels.get(channel).cloned(),
            group: &|_| None,
        };
        let files = raw["files"].as_array().into_iter().flatten();
        writer.with_files(&read_message(raw, &names).text, files.map(file_name))
    }
}

fn file_name(file: &Value) -> &str {
    let mut names = ["name", "title"].into_iter().filter_map(|key| file[key].as_str());
    names.find(|name| !name.is_empty()).unwrap_or_default()
}

/// Reads a file that contains an array.
fn read_list(
    files: &mut ExportFiles,
    name: &str,
    writer: &mut InputWriter<'_>,
    take: &mut dyn FnMut(&Value) -> Result<(), String>,
) -> anyhow::Result<()> {
    if !files.has(name) {
        return Ok(());
    }
    writer.spool.begin_file(format!("{name}, record "));
    let mut reader = ListReader { take, writer, read: 0 };
    let end = read_document(files.open(name)?, &mut reader);
    let read = reader.read;
    match end {
        Ok(()) => Ok(()),
        Err(ExportError::Malformed(problem)) => {
            writer.add_bad(read + 1, problem);
            Ok(())
        }
        Err(ExportError::Failed(error)) => Err(error.context(name.to_owned())),
    }
}

struct ListReader<'a, 'w> {
    take: &'a mut dyn FnMut(&Value) -> Result<(), String>,
    writer: &'a mut InputWriter<'w>,
    read: u64,
}

impl ExportReader for ListReader<'_, '_> {
    fn field(&mut self, _name: &str, _value: Value) -> anyhow::Result<()> {
        Ok(())
    }

    fn begins_elements(&mut self) -> anyhow::Result<ElementsWanted> {
        Ok(ElementsWanted::Yes)
    }

    fn element(&mut self, number: u64, value: Value) -> anyhow::Result<()> {
        self.read = number;
        if let Err(problem) = (self.take)(&value) {
            self.writer.add_bad(number, problem);
        }
        Ok(())
    }
}

/// Reads the messages of one channel and day.
struct DayFileReader<'a, 'w> {
    channel: &'a SlackChannel,
    directory: &'a Directory,
    writer: &'a mut InputWriter<'w>,
    read: u64,
}

impl ExportReader for DayFileReader<'_, '_> {
    fn field(&mut self, _name: &str, _value: Value) -> anyhow::Result<()> {
        Ok(())
    }

    fn begins_elements(&mut self) -> anyhow::Result<ElementsWanted> {
        Ok(ElementsWanted::Yes)
    }

    fn element(&mut self, number: u64, raw: Value) -> anyhow::Result<()> {
        self.read = number;
        let channel_name = &self.channel.name;
        match non_empty_str(&raw["subtype"]) {
            Some("message_changed") => {
                let changed = &raw["message"];
                if let Some(id) = parse_id(&changed["ts"]) {
                    let text = self.directory.text(changed, self.writer);
                    self.writer.spool.add_edit(number, channel_name, id, &text)?;
                }
                return Ok(());
            }
            Some("message_deleted") => {
                if let Some(id) = parse_id(&raw["deleted_ts"]) {
                    self.writer.spool.add_deletion(number, channel_name, id)?;
                }
                self.writer.left_out.deleted += 1;
                return Ok(());
            }
            Some(_) | None => {}
        }
        if parse_ts(&raw["ts"]).is_none() {
            self.writer.add_bad(number, "its ts is not a time as Slack writes it");
            return Ok(());
        }
        let is_message = raw["type"].is_null() || raw["type"] == "message";
        let message = parse_history_message(&self.channel.id, raw).filter(|_| is_message);
        let Some(message) = message else {
            self.writer.left_out.notices += 1;
            return Ok(());
        };
        if from_slack::is_tombstone(&message) {
            self.writer.left_out.deleted += 1;
            return Ok(());
        }
        let text = self.directory.text(&message.raw, self.writer);
        if text.trim().is_empty() {
            self.writer.left_out.notices += 1;
            return Ok(());
        }
        let recorded = RecordedMessage {
            channel: channel_name.clone(),
            thread: message.thread.as_ref().map(ToString::to_string),
            id: message.id.to_string(),
            ts: message.at.as_millisecond() as f64 / 1000.0,
            author: message.author.to_string(),
            name: self.directory.author_name(&message),
            text,
            // Slack does not record which message answers which at the top level, so no reply is recorded.
            reply_to: Vec::new(),
            bot: self.directory.is_bot(&message),
            opener: false,
        };
        self.writer.add(number, &recorded)
    }
}
