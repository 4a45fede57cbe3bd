//! Reads the recorded chat and the invented scenes that the models are fitted to.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use aizuchi_structure::names::NameIndex;
use aizuchi_structure::utterance::Utterance;
use anyhow::Context as _;
use flate2::read::GzDecoder;
use serde_json::Value;

/// The messages of one room in order.
#[derive(Clone, Default)]
pub struct Room {
    pub name: String,
    pub messages: Vec<RoomMessage>,
    /// The users' names in lower case, by their numbers.
    pub users: Vec<String>,
}

#[derive(Clone)]
pub struct RoomMessage {
    pub at: f64,
    pub author: u32,
    pub is_bot: bool,
    pub text: String,
    /// The indexes of the messages that it may be said to reply to; its own if it begins something new. Empty if
    /// unknown.
    pub parents: Vec<usize>,
}

/// A parent further up than this many messages of the same conversation is not looked for.
const MAX_PARENTS: usize = 30;
/// After this many seconds of silence a message on Slack begins something new.
const SILENCE: f64 = 21_600.0;

/// The records of a file of JSON lines, which may be packed.
pub fn records(path: &Path) -> anyhow::Result<Vec<Value>> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let reader: Box<dyn BufRead> = match path.extension().is_some_and(|extension| extension == "gz")
    {
        true => Box::new(BufReader::new(GzDecoder::new(file))),
        false => Box::new(BufReader::new(file)),
    };
    let parse = |line: std::io::Result<String>| Ok(serde_json::from_str(&line?)?);
    let records: anyhow::Result<Vec<Value>> = reader.lines().map(parse).collect();
    records.with_context(|| format!("{} holds a line that is no JSON", path.display()))
}

#[derive(Default)]
struct Rooms {
    rooms: Vec<Room>,
    numbers: HashMap<String, usize>,
    users: HashMap<(usize, String), u32>,
}

impl Rooms {
    /// Adds a message and returns its room's number and its own index.
    fn push(&mut self, record: &Value) -> (usize, usize) {
        let text = |field: &str| record[field].as_str().unwrap_or_default();
        let next = self.rooms.len();
        let number = *self.numbers.entry(text("room").to_owned()).or_insert(next);
        if number == next {
            self.rooms.push(Room { name: text("room").to_owned(), ..Room::default() });
        }
        let room = &mut self.rooms[number];
        let author = *self.users.entry((number, text("author").to_owned())).or_insert_with(|| {
            let name = record["name"].as_str().unwrap_or(text("author"));
            room.users.push(name.trim().to_lowercase());
            room.users.len() as u32 - 1
        });
        room.messages.push(RoomMessage {
            at: record["ts"].as_f64().unwrap_or_default(),
            author,
            is_bot: record["bot"].as_bool() == Some(true),
            text: text("text").to_owned(),
            parents: Vec::new(),
        });
        (number, room.messages.len() - 1)
    }
}

/// IRC with links that people made.
pub fn irc(path: &Path) -> anyhow::Result<Vec<Room>> {
    let mut rooms = Rooms::default();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    for record in records(path)? {
        let (room, index) = rooms.push(&record);
        indexes.insert(record["id"].as_str().unwrap_or_default().to_owned(), index);
        if record["annotated"].as_bool() != Some(true) {
            continue;
        }
        let parents = record["reply_to"].as_array().into_iter().flatten();
        let parents = parents.filter_map(|id| indexes.get(id.as_str()?).copied());
        let own = (record["opener"].as_bool() == Some(true)).then_some(index);
        rooms.rooms[room].messages[index].parents = parents.chain(own).collect();
    }
    Ok(rooms.rooms)
}

/// Slack with conversations that a program made: a message may reply to any earlier one of its conversation.
pub fn slack(path: &Path) -> anyhow::Result<Vec<Room>> {
    let mut rooms = Rooms::default();
    let mut conversations: HashMap<(usize, String), Vec<usize>> = HashMap::new();
    for record in records(path)? {
        let (room, index) = rooms.push(&record);
        let Some(conversation) = record["auto_conv"].as_str() else { continue };
        let earlier = conversations.entry((room, conversation.to_owned())).or_default();
        let parents = match earlier.is_empty() {
            true => vec![index],
            false => earlier.iter().rev().take(MAX_PARENTS).copied().collect(),
        };
        rooms.rooms[room].messages[index].parents = parents;
        earlier.push(index);
    }
    Ok(rooms.rooms)
}

/// Slack with its threads among the channel's messages: a message of a thread replies to an earlier one of it. The
/// message above a thread, and one after a long silence, begin something new.
pub fn threads(path: &Path) -> anyhow::Result<Vec<Room>> {
    let mut records = records(path)?;
    records.sort_by(|one, other| {
        one["ts"].as_f64().unwrap_or_default().total_cmp(&other["ts"].as_f64().unwrap_or_default())
    });
    let above: HashSet<String> =
        records.iter().filter_map(|record| record["thread"].as_str().map(str::to_owned)).collect();
    let mut rooms = Rooms::default();
    let mut threads: HashMap<(usize, String), Vec<usize>> = HashMap::new();
    for record in &records {
        let (room, index) = rooms.push(record);
        let id = record["id"].as_str().unwrap_or_default();
        let messages = &mut rooms.rooms[room].messages;
        if let Some(thread) = record["thread"].as_str() {
            let earlier = threads.entry((room, thread.to_owned())).or_default();
            messages[index].parents = earlier.iter().rev().take(MAX_PARENTS).copied().collect();
            earlier.push(index);
            continue;
        }
        if above.contains(id) {
            threads.entry((room, id.to_owned())).or_default().push(index);
        }
        let is_late = index > 0 && messages[index].at - messages[index - 1].at > SILENCE;
        if index > 0 && (above.contains(id) || is_late) {
            messages[index].parents = vec![index];
        }
    }
    Ok(rooms.rooms)
}

/// The utterances of a room. Without names, the words stay and whom they address is unknown.
pub fn utterances(room: &Room, has_names: bool) -> Vec<Utterance> {
    let (mut names, none) = (NameIndex::default(), NameIndex::default());
    let utterances = room.messages.iter().map(|message| {
        let lower = message.text.to_lowercase();
        let utterance = match has_names {
            true => Utterance::new(message.author, message.at, &message.text, &[], &names),
            false => {
                let body = names.find_addressee(&lower, message.author).body;
                Utterance::new(message.author, message.at, body, &[], &none)
            }
        };
        names.insert(message.author, &room.users[message.author as usize]);
        Utterance { is_bot: message.is_bot, ..utterance }
    });
    utterances.collect()
}

/// What a message of a scene is to the scene's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    TakesUp,
    Content,
    Waits,
    Other,
}

/// A short invented conversation about one question.
pub struct Scene {
    pub is_japanese: bool,
    pub room: Room,
    pub asked: usize,
    pub is_answered: bool,
    /// Whether the answer is beyond doubt, if the scene says so.
    pub is_plain: bool,
    /// For each message, if the scene says so.
    pub roles: Vec<Role>,
}

/// All scenes but those that are kept apart.
pub fn fitted_scenes(folder: &Path) -> anyhow::Result<Vec<Scene>> {
    let mut paths = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_fitted = name.starts_with("en") || name.starts_with("ja");
        if is_fitted && name.ends_with(".jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    let scenes: anyhow::Result<Vec<Vec<Scene>>> = paths.iter().map(|path| scenes(path)).collect();
    Ok(scenes?.into_iter().flatten().collect())
}

pub fn scenes(path: &Path) -> anyhow::Result<Vec<Scene>> {
    records(path)?.iter().map(scene).collect()
}

fn scene(record: &Value) -> anyhow::Result<Scene> {
    let messages = record["messages"].as_array().context("a scene has no messages")?;
    let mut room = Room::default();
    let mut roles = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let name = message["author"].as_str().context("a message has no author")?.to_lowercase();
        let known = room.users.iter().position(|user| *user == name);
        let author = known.unwrap_or(room.users.len());
        if known.is_none() {
            room.users.push(name);
        }
        let goes_on = message["role"] == "more"
            && record["status"] == "open"
            && room.messages.len() > record["asked"].as_u64().unwrap_or_default() as usize + 1
            && room.messages.last().is_some_and(|last: &RoomMessage| last.author != author as u32);
        let parent = message["to"].as_u64().map_or(index, |parent| parent as usize);
        let role = message["role"].as_str();
        room.messages.push(RoomMessage {
            at: message["at"].as_f64().unwrap_or_default(),
            author: author as u32,
            is_bot: false,
            text: message["text"].as_str().unwrap_or_default().to_owned(),
            parents: if role.is_some() { vec![parent] } else { Vec::new() },
        });
        roles.extend(role.map(|role| match role {
            "answers" | "engages" | "back" => Role::TakesUp,
            "content" | "thanks" => Role::Content,
            "again" => Role::Waits,
            "more" if goes_on => Role::Waits,
            _ => Role::Other,
        }));
    }
    Ok(Scene {
        is_japanese: record["language"] == "ja",
        asked: record["asked"].as_u64().context("a scene has no question")? as usize,
        is_answered: record["status"] == "answered",
        is_plain: record["plain"].as_bool() == Some(true),
        room,
        roles,
    })
}

/// A moment at which a companion has to decide whether to speak.
pub struct LabeledMoment {
    pub room: String,
    /// `SPEAK`, `SILENT`, or in doubt.
    pub label: String,
    pub kind: String,
    /// Which half of its set it belongs to, if the set says so.
    pub half: String,
    /// The message that calls for a word, and the persona's own.
    pub about: Option<usize>,
    pub own: Vec<usize>,
    pub context: Room,
}

pub fn moments(path: &Path) -> anyhow::Result<Vec<LabeledMoment>> {
    let moment = |record: &Value| {
        let mut rooms = Rooms::default();
        let (mut about, mut own) = (None, Vec::new());
        let context = || record["context"].as_array().into_iter().flatten();
        let thread = record["about"].as_u64().and_then(|about| context().nth(about as usize));
        let thread = thread.and_then(|message| message["thread"].as_u64());
        for (number, message) in (0..).zip(context()) {
            // The moment is in a thread, or at the top level.
            if message["thread"].as_u64() != thread && Some(number) != thread {
                continue;
            }
            let mut message = message.clone();
            message["ts"] = message["t"].take();
            let (_, index) = rooms.push(&message);
            if record["about"].as_u64() == Some(number) {
                about = Some(index);
            }
            if message["own"] == true {
                own.push(index);
            }
        }
        let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
        let context = rooms.rooms.into_iter().next().unwrap_or_default();
        let (room, label, kind, half) = (text("room"), text("label"), text("kind"), text("half"));
        LabeledMoment { room, label, kind, half, about, own, context }
    };
    Ok(records(path)?.iter().map(moment).collect())
}
