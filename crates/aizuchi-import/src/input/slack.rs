//! An export of Slack: lists of users and channels, and for each channel, a folder with one file per day.
//!
//! <https://slack.com/help/articles/220556107>

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use aizuchi_model::chat::{ChannelId, UserId, Visibility};
use aizuchi_model::recall::terms::normalize_unicode;
use aizuchi_platform::parsed_text::ParsedText;
use aizuchi_slack::from_slack::{
    self, SlackMessage, SlackUser, non_empty_str, parse_history_message, parse_id, parse_ts,
};
use aizuchi_slack::mrkdwn::NameLookup;
use aizuchi_slack::mrkdwn::message::read_message;
use anyhow::Context as _;
use serde_json::{Value, json};

use crate::history::RecordedMessage;
use crate::input::InputWriter;
use crate::input::document::{ExportReader, read_document};
use crate::input::export_files::{ExportFiles, JSON_ENDINGS, has_ending};

/// The list of the channels that everybody can read, and the lists of the others.
const PUBLIC_LIST: &str = "channels.json";
const PRIVATE_LISTS: [&str; 3] = ["groups.json", "dms.json", "mpims.json"];
const USER_LISTS: [&str; 2] = ["users.json", "org_users.json"];
/// Ids begin with a capital letter. Shorter words in the name of a folder are no ids.
const MIN_ID_LETTERS: usize = 8;
/// What an export holds besides messages, and where people's own files may lie.
const OTHER_FILES: [&str; 7] = [
    "integration_logs.json",
    "canvases.json",
    "canvas_in_the_conversation.json",
    "file_conversations.json",
    "huddle_transcripts.json",
    "lists.json",
    "channel_canvas.json",
];
const FILE_FOLDERS: [&str; 3] = ["attachments", "__uploads", "files"];

pub fn is_export(files: &ExportFiles) -> bool {
    !roots(files).is_empty()
}

/// Returns the folders with lists of channels and users, each with a trailing slash. The export of an organization has
/// one for each of its workspaces, in `teams`.
fn roots(files: &ExportFiles) -> BTreeSet<String> {
    let split = files.names().map(|name| name.rsplit_once('/').unwrap_or(("", name)));
    let lists = split.filter(|(folder, file)| match folder.is_empty() {
        true => is_list(file),
        false => *file == PUBLIC_LIST || PRIVATE_LISTS.contains(file),
    });
    lists.map(|(folder, _)| format!("{folder}/").trim_start_matches('/').to_owned()).collect()
}

fn is_list(file: &str) -> bool {
    file == PUBLIC_LIST || PRIVATE_LISTS.contains(&file) || USER_LISTS.contains(&file)
}

pub fn read(files: &mut ExportFiles, writer: &mut InputWriter<'_>) -> anyhow::Result<()> {
    let roots = roots(files);
    anyhow::ensure!(
        writer.lines.is_none() || roots.len() == 1,
        "it has several workspaces of an organization; name the folder of one"
    );
    let mut directory = Directory::default();
    for root in &roots {
        for list in USER_LISTS.map(|list| format!("{root}{list}")) {
            read_list(files, &list, writer, &mut |entry| directory.add_user(entry))?;
        }
        let list = format!("{root}{PUBLIC_LIST}");
        let lists = [Visibility::Private, Visibility::Direct, Visibility::Private];
        let lists = PRIVATE_LISTS.map(|list| format!("{root}{list}")).into_iter().zip(lists);
        for (list, listed) in [(list, Visibility::Public)].into_iter().chain(lists) {
            let mut add = |entry: &Value| directory.add_channel(root, entry, listed);
            read_list(files, &list, writer, &mut add)?;
        }
    }
    let ExportParts { days, unrecognized } = parts(files, &roots);
    for ((root, folder), days) in days {
        let channel = directory.find_channel(root, &folder);
        let is_private = channel.visibility != Some(Visibility::Public);
        if !writer.takes_channel(channel.id.as_str(), is_private) {
            continue;
        }
        for name in days {
            writer.begin_file(format!("{name}, record "));
            let mut reader = DayFileReader { channel: &channel, directory: &directory, writer };
            let end = read_document(files.open(&name)?, &mut reader);
            writer.end_document(end).context(name)?;
        }
    }
    unrecognized.iter().for_each(|name| writer.add_unrecognized(name));
    Ok(())
}

/// The files of an export besides its lists.
#[derive(Default)]
struct ExportParts<'a> {
    /// The files of each channel, by day, by the root and the folder that they are in.
    days: BTreeMap<(&'a str, String), Vec<String>>,
    unrecognized: Vec<String>,
}

fn is_day(file: &str) -> bool {
    has_ending(file, &[".json", ".json.gz"])
        && file.starts_with(|first: char| first.is_ascii_digit())
}

fn parts<'a>(files: &ExportFiles, roots: &'a BTreeSet<String>) -> ExportParts<'a> {
    let mut parts = ExportParts::default();
    for name in files.names().filter(|name| has_ending(name, &JSON_ENDINGS)) {
        // The longest root comes last.
        let Some(root) = roots.iter().rfind(|root| name.starts_with(root.as_str())) else {
            parts.unrecognized.push(name.to_owned());
            continue;
        };
        let path: Vec<&str> = name[root.len()..].split('/').collect();
        match path[..] {
            [folder, day] if is_day(day) => {
                let place = (root.as_str(), folder.to_owned());
                parts.days.entry(place).or_default().push(name.to_owned());
            }
            [list] if is_list(list) => {}
            [.., file] if OTHER_FILES.contains(&file) => {}
            _ if path.iter().any(|part| FILE_FOLDERS.contains(part)) => {}
            _ => parts.unrecognized.push(name.to_owned()),
        }
    }
    parts
}

/// The users and channels that the export names.
#[derive(Default)]
struct Directory {
    users: HashMap<UserId, SlackUser>,
    /// The teams that users belong to.
    teams: BTreeSet<String>,
    channels: HashMap<ChannelId, Arc<str>>,
    /// By the root, and the normalized name or the id of the channel.
    folders: HashMap<(String, String), SlackChannel>,
    /// The names under which channels are replayed, each with the channel's id.
    labels: HashMap<String, ChannelId>,
}

#[derive(Clone)]
struct SlackChannel {
    id: ChannelId,
    name: String,
    /// `None` if the export does not say who may read it.
    visibility: Option<Visibility>,
}

impl Directory {
    fn add_user(&mut self, user: &Value) -> Result<(), String> {
        self.teams.extend(parse_id(&user["team_id"]).map(str::to_owned));
        let user = from_slack::parse_user(user).ok_or("it is not a user with an id")?;
        self.users.insert(user.id.clone(), user);
        Ok(())
    }

    fn add_channel(
        &mut self,
        root: &str,
        channel: &Value,
        listed: Visibility,
    ) -> Result<(), String> {
        let id = parse_id(&channel["id"]).ok_or("it is not a channel with an id")?;
        let name = non_empty_str(&channel["name"]).unwrap_or(id);
        // A channel that is shared with other workspaces counts as private, as it does live.
        let restrictions = ["is_private", "is_ext_shared", "is_pending_ext_shared"];
        let is_restricted = restrictions.into_iter().any(|key| channel[key] == true);
        let is_public = listed == Visibility::Public;
        let visibility =
            Some(if is_public && is_restricted { Visibility::Private } else { listed });
        let channel_id = ChannelId::new(id);
        // Two workspaces of an organization may have channels with the same name.
        let taken = self.labels.get(name).is_some_and(|other| *other != channel_id);
        let team = root.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let place = if team.is_empty() { id } else { team };
        let label = if taken { format!("{place}/{name}") } else { name.to_owned() };
        self.labels.insert(label.clone(), channel_id.clone());
        // The names of the others are nothing for those who cannot read them.
        if visibility == Some(Visibility::Public) {
            self.channels.insert(channel_id.clone(), name.into());
        }
        let channel = SlackChannel { id: channel_id, name: label, visibility };
        self.folders.insert((root.to_owned(), id.to_owned()), channel.clone());
        self.folders.insert((root.to_owned(), normalize(name)), channel);
        Ok(())
    }

    /// Returns the channel of a folder: by its name, or by an id in it. A channel in no list is private, because nothing
    /// says that it is public.
    fn find_channel(&self, root: &str, folder: &str) -> SlackChannel {
        // Names have no capital letters, so no name is taken for an id.
        let is_of_id = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit();
        let words = folder.split(|letter| !is_of_id(letter));
        let ids = words.filter(|word| word.len() >= MIN_ID_LETTERS);
        let ids = ids.filter(|word| word.starts_with(|first: char| first.is_ascii_uppercase()));
        let mut names =
            [normalize(folder), folder.to_owned()].into_iter().chain(ids.map(str::to_owned));
        let found = names.find_map(|name| self.folders.get(&(root.to_owned(), name)));
        found.cloned().unwrap_or_else(|| SlackChannel {
            id: ChannelId::new(format!("{root}{folder}")),
            name: format!("{root}{folder}"),
            visibility: None,
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

    fn text(&self, raw: &Value, writer: &InputWriter<'_>) -> ParsedText {
        let names = NameLookup {
            // No user of the export is the persona.
            persona: &UserId::new(""),
            persona_name: "",
            user: &|user| self.user_name(user),
            channel: &|channel| self.channels.get(channel).cloned(),
            group: &|_| None,
        };
        let files = raw["files"].as_array().into_iter().flatten();
        let read = read_message(raw, &names);
        ParsedText { text: writer.with_files(&read.text, files.map(file_name)), ..read }
    }
}

/// Normalizes a folder's name: systems differ in how they write marked letters, and in whether they keep capital ones.
fn normalize(name: &str) -> String {
    normalize_unicode(name.trim()).to_lowercase()
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
    writer.begin_file(format!("{name}, record "));
    let mut reader = ListReader { take, writer };
    let end = read_document(files.open(name)?, &mut reader);
    writer.end_document(end).with_context(|| name.to_owned())
}

struct ListReader<'a, 'w> {
    take: &'a mut dyn FnMut(&Value) -> Result<(), String>,
    writer: &'a mut InputWriter<'w>,
}

impl ExportReader for ListReader<'_, '_> {
    fn element(&mut self, number: u64, value: Value) -> anyhow::Result<()> {
        if !value.is_null()
            && let Err(problem) = (self.take)(&value)
        {
            self.writer.add_bad(number, problem);
        }
        Ok(())
    }
}

/// Whether a message only tells that its author joined or left. Not every program keeps the subtype that says so.
fn is_notice(raw: &Value) -> bool {
    let (user, text) = (&raw["user"], raw["text"].as_str().unwrap_or_default());
    let told = user.as_str().and_then(|user| text.strip_prefix("<@")?.strip_prefix(user));
    let told = told.and_then(|rest| Some(rest.split_once("> has ")?.1.trim_end_matches('.')));
    matches!(
        told,
        Some("joined the channel" | "left the channel" | "joined the group" | "left the group")
    )
}

/// Reads the messages of one channel and day.
struct DayFileReader<'a, 'w> {
    channel: &'a SlackChannel,
    directory: &'a Directory,
    writer: &'a mut InputWriter<'w>,
}

impl ExportReader for DayFileReader<'_, '_> {
    fn element(&mut self, number: u64, mut raw: Value) -> anyhow::Result<()> {
        let channel_name = &self.channel.name;
        let is_line = self.writer.lines.is_some();
        match non_empty_str(&raw["subtype"]) {
            Some("message_changed") if is_line => {
                return self.element(number, raw["message"].take());
            }
            Some("message_deleted") if is_line => raw = json!({ "ts": raw["deleted_ts"] }),
            Some("tombstone") if is_line => raw = json!({ "ts": raw["ts"] }),
            Some("message_changed") => {
                let changed = &raw["message"];
                if let Some(id) = parse_id(&changed["ts"]) {
                    let ParsedText { text, .. } = self.directory.text(changed, self.writer);
                    self.writer.channel(channel_name).change(id, Some(text));
                }
                return Ok(());
            }
            Some("message_deleted") => {
                if let Some(id) = parse_id(&raw["deleted_ts"]) {
                    self.writer.channel(channel_name).change(id, None);
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
        let is_message = (raw["type"].is_null() || raw["type"] == "message") && !is_notice(&raw);
        let message = parse_history_message(&self.channel.id, raw).filter(|_| is_message);
        let Some(message) = message else {
            self.writer.left_out.notices += 1;
            return Ok(());
        };
        if from_slack::is_tombstone(&message) {
            self.writer.left_out.deleted += 1;
            return Ok(());
        }
        let ParsedText { text, mentions } = self.directory.text(&message.raw, self.writer);
        if text.trim().is_empty() && !is_line {
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
        let teams = &self.directory.teams;
        let place = json!({
            "workspace": teams.first().filter(|_| teams.len() == 1).map_or("", String::as_str),
            "room": self.channel.id,
            "room_name": channel_name,
            "visibility": self.channel.visibility,
            "mentions": mentions,
        });
        self.writer.add_placed(number, &recorded, place)
    }
}
