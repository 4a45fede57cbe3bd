//! The JSON of DiscordChatExporter: a file for each channel and each thread.
//!
//! <https://github.com/Tyrrrz/DiscordChatExporter>

use std::collections::{BTreeSet, HashMap};
use std::io::BufRead;
use std::sync::Arc;

use aizuchi_discord::from_discord::message::{MAX_WEBHOOK_NAME_CHARS, forwarded_message};
use aizuchi_discord::identity::direct_workspace;
use aizuchi_discord::message_text::read_message_text;
use aizuchi_discord::text::NameLookup;
use aizuchi_model::chat::{Mention, UserId, Visibility, to_single_line};
use aizuchi_platform::parsed_text::ParsedText;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::history::RecordedMessage;
use crate::input::InputWriter;
use crate::input::document::{ElementsWanted, ExportError, ExportReader, read_document};
use crate::input::export_files::ExportFiles;

/// The types of messages that users and bots write. The exporter names the first two types, and gives the numbers of
/// the responses to commands. All other types are notices of joins, pins, calls and the like.
const MESSAGE_TYPES: [&str; 4] = ["Default", "Reply", "20", "23"];

/// The description of a channel that precedes its messages in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportChannel {
    id: String,
    name: String,
    /// The parent of a thread, which the exporter calls the category.
    parent: Option<(String, String)>,
    /// Empty for direct messages.
    server: String,
    is_private: bool,
    /// The keys of a [`MessageLine`](crate::export_lines::MessageLine) that tell where its messages stand.
    place: Value,
}

impl ExportChannel {
    fn parse(guild: &Value, channel: &Value) -> Option<Self> {
        let id = id_at(channel, "id")?;
        let kind = str_at(channel, "type");
        let name = to_single_line(str_at(channel, "name"));
        let parent = id_at(channel, "categoryId")
            .filter(|_| kind.contains("Thread"))
            .map(|parent| (parent, to_single_line(str_at(channel, "category"))));
        let is_direct = kind.starts_with("Direct");
        let visibility = match kind {
            "DirectTextChat" => Some(Visibility::Direct),
            "GuildPrivateThread" => Some(Visibility::Private),
            // It depends on the roles that may see the channel.
            _ => None,
        };
        let server = format!("discord:{}", id_at(guild, "id").unwrap_or_default());
        // A private thread is a channel of its own.
        let within = parent.as_ref().filter(|_| visibility.is_none());
        let (channel, shown) = within.map_or((&id, &name), |(id, name)| (id, name));
        let place = json!({
            "workspace": if is_direct { direct_workspace().to_string() } else { server },
            "room": channel,
            "room_name": shown,
            "visibility": visibility,
            "thread": within.map(|_| &id),
        });
        Some(Self {
            name: if name.is_empty() { id.clone() } else { name },
            place,
            id,
            parent,
            server: to_single_line(if is_direct { "" } else { str_at(guild, "name") }),
            is_private: is_direct || kind.contains("Private"),
        })
    }

    /// Returns the id of the channel that the messages belong to: for a thread, that of its parent.
    fn channel_id(&self) -> &str {
        self.parent.as_ref().map_or(&self.id, |(id, _)| id)
    }

    /// Returns the name of that channel, or its id if the name is empty.
    pub fn name(&self) -> String {
        let name = self.parent.as_ref().map_or(&self.name, |(_, name)| name);
        if name.is_empty() { self.channel_id().to_owned() } else { name.clone() }
    }
}

/// Reads several files. Channels with the same name are told apart by their server or their id.
pub fn read_files(
    files: &mut ExportFiles,
    names: &[String],
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    let mut channels = Vec::new();
    for name in names {
        channels.extend(read_head(&mut *files.open(name)?)?);
    }
    let servers = channels.iter().map(|channel| &*channel.server);
    let servers: BTreeSet<&str> = servers.filter(|server| !server.is_empty()).collect();
    let label = |channel: &ExportChannel| match servers.len() {
        _ if channel.server.is_empty() => channel.name(),
        0 | 1 => channel.name(),
        _ => format!("{}/{}", channel.server, channel.name()),
    };
    let mut ids: HashMap<String, BTreeSet<&str>> = HashMap::new();
    for channel in &channels {
        ids.entry(label(channel)).or_default().insert(channel.channel_id());
    }
    let channel_name = |channel: &ExportChannel| {
        let label = label(channel);
        match ids.get(&label).map_or(0, BTreeSet::len) {
            0 | 1 => label,
            _ => format!("{label} ({})", channel.channel_id()),
        }
    };
    for name in names {
        read_file(&mut *files.open(name)?, &format!("{name}, "), &channel_name, writer)?;
    }
    Ok(())
}

/// Reads one file. `label` precedes the number of a record in errors, and `channel_name` returns the name under which a
/// channel is replayed.
pub fn read_file(
    input: &mut dyn BufRead,
    label: &str,
    channel_name: &dyn Fn(&ExportChannel) -> String,
    writer: &mut InputWriter<'_>,
) -> anyhow::Result<()> {
    writer.begin_file(format!("{label}message "));
    let mut reader = FileReader {
        head: HeadReader::default(),
        channel_name,
        channel: None,
        names: HashMap::new(),
        writer,
    };
    let end = read_document(input, &mut reader);
    writer.end_document(end)
}

fn read_head(input: &mut dyn BufRead) -> anyhow::Result<Option<ExportChannel>> {
    let mut head = HeadReader::default();
    match read_document(input, &mut head) {
        // A malformed file is reported when its messages are read.
        Ok(()) | Err(ExportError::Malformed { .. }) => Ok(head.channel()),
        Err(ExportError::Failed(error)) => Err(error),
    }
}

/// Reads the part of a file before its messages.
#[derive(Default)]
struct HeadReader {
    guild: Value,
    channel: Value,
}

impl HeadReader {
    fn channel(&self) -> Option<ExportChannel> {
        ExportChannel::parse(&self.guild, &self.channel)
    }
}

impl ExportReader for HeadReader {
    fn field(&mut self, name: &str, value: Value) -> anyhow::Result<()> {
        match name {
            "guild" => self.guild = value,
            "channel" => self.channel = value,
            _ => {}
        }
        Ok(())
    }

    fn begins_elements(&mut self) -> anyhow::Result<ElementsWanted> {
        Ok(ElementsWanted::No)
    }

    fn element(&mut self, _number: u64, _value: Value) -> anyhow::Result<()> {
        Ok(())
    }
}

struct FileReader<'a, 'w> {
    head: HeadReader,
    channel_name: &'a dyn Fn(&ExportChannel) -> String,
    /// The channel and the name under which it is replayed, once the messages begin.
    channel: Option<(ExportChannel, String)>,
    /// The names of the authors so far.
    names: HashMap<UserId, Arc<str>>,
    writer: &'a mut InputWriter<'w>,
}

impl ExportReader for FileReader<'_, '_> {
    fn field(&mut self, name: &str, value: Value) -> anyhow::Result<()> {
        self.head.field(name, value)
    }

    fn begins_elements(&mut self) -> anyhow::Result<ElementsWanted> {
        let Some(channel) = self.head.channel() else {
            self.writer.add_bad(1, "the file does not name its channel before its messages");
            return Ok(ElementsWanted::No);
        };
        if !self.writer.takes_channel(&channel.id, channel.is_private) {
            return Ok(ElementsWanted::No);
        }
        let channel_name = (self.channel_name)(&channel);
        self.channel = Some((channel, channel_name));
        Ok(ElementsWanted::Yes)
    }

    fn element(&mut self, number: u64, message: Value) -> anyhow::Result<()> {
        let Some((channel, channel_name)) = self.channel.clone() else { return Ok(()) };
        let at = str_at(&message, "timestamp").parse::<Timestamp>();
        let (Some(id), Ok(at)) = (id_at(&message, "id"), at) else {
            self.writer.add_bad(number, "it lacks an id or a timestamp");
            return Ok(());
        };
        let author = &message["author"];
        let Some(mut author_id) = id_at(author, "id") else {
            self.writer.add_bad(number, "it lacks an author with an id");
            return Ok(());
        };
        // Each post of a webhook may have a different name, as it has live.
        if author["isBot"] == true && author["discriminator"] == "0000" {
            let name: String =
                str_at(author, "name").chars().take(MAX_WEBHOOK_NAME_CHARS).collect();
            author_id = format!("{author_id}:{name}");
        }
        let name = [str_at(author, "nickname"), str_at(author, "name")].map(to_single_line);
        let name = name.into_iter().find(|name| !name.is_empty());
        if let Some(name) = &name {
            self.names.insert(UserId::new(author_id.as_str()), name.as_str().into());
        }
        if !MESSAGE_TYPES.contains(&str_at(&message, "type")) {
            self.writer.left_out.notices += 1;
            return Ok(());
        }
        let ParsedText { text, mentions } = self.text(&message);
        if text.trim().is_empty() {
            self.writer.left_out.notices += 1;
            return Ok(());
        }
        let reference = &message["reference"];
        let answered =
            id_at(reference, "messageId").filter(|_| str_at(&message, "type") == "Reply");
        let recorded = RecordedMessage {
            channel: channel_name,
            thread: channel.parent.is_some().then(|| channel.id.clone()),
            id,
            ts: at.as_millisecond() as f64 / 1000.0,
            author: author_id,
            name,
            text,
            reply_to: answered.into_iter().collect(),
            bot: author["isBot"] == true,
            opener: false,
        };
        let mut place = channel.place;
        place["mentions"] = json!(mentions);
        self.writer.add_placed(number, &recorded, place)
    }
}

impl FileReader<'_, '_> {
    fn text(&self, message: &Value) -> ParsedText {
        let mentioned = |id: &UserId| {
            let mentions = message["mentions"].as_array().into_iter().flatten();
            let mention = mentions.into_iter().find(|user| user["id"] == id.as_str())?;
            let names = [str_at(mention, "nickname"), str_at(mention, "name")];
            names.into_iter().find(|name| !name.is_empty()).map(Arc::from)
        };
        let names = NameLookup {
            // No user of the export is the persona.
            persona: &UserId::new(""),
            persona_name: "",
            user: &|id| mentioned(id).or_else(|| self.names.get(id).cloned()),
            channel: &|_| None,
            role: &|_| None,
            time_zone: &TimeZone::UTC,
        };
        let language = self.writer.options.language;
        let api = to_api(message);
        let mut read = read_message_text(&api, &names, language);
        let forwarded = &message["forwardedMessage"];
        let files =
            [message, forwarded].into_iter().filter_map(|from| from["attachments"].as_array());
        let files = files.flatten().map(|file| str_at(file, "fileName"));
        read.text = self.writer.with_files(&read.text, files);
        read.mentions.extend(forwarded_message(&api).map(Mention::Quote));
        read
    }
}

/// Converts the parts of a message that make up its text to the format of Discord's own API.
fn to_api(message: &Value) -> Value {
    let forwarded = Some(&message["forwardedMessage"]).filter(|it| it.is_object());
    let reference = &message["reference"];
    json!({
        "content": message["content"],
        "author": { "bot": message["author"]["isBot"] },
        "sticker_items": message["stickers"],
        "embeds": message["embeds"],
        "message_reference": {
            "message_id": id_at(reference, "messageId"),
            "channel_id": id_at(reference, "channelId"),
        },
        "message_snapshots": forwarded.map(|it| [json!({"message": {
            "content": it["content"],
            "embeds": it["embeds"],
            "sticker_items": it["stickers"],
        }})]),
    })
}

/// Ids are strings; some exporters write them as numbers.
fn id_at(object: &Value, key: &str) -> Option<String> {
    match &object[key] {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

fn str_at<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}
