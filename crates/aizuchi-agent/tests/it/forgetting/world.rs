//! Generated workspaces: users with odd names, channels of all kinds, and everything that the store derives from
//! messages. Each item contains a unique word by which it is found in the bytes of the database.

use std::collections::BTreeSet;

use aizuchi_harness::fixtures::{at, workspace};
use aizuchi_harness::random::Random;
use aizuchi_harness::test_store::TestStore;
use aizuchi_model::chat::{
    Arrival, Author, AuthorKind, Channel, ChannelId, ConversationId, Heard, Mention, Message,
    MessageId, Reaction, ReactionChange, Role, User, UserId, Visibility,
};
use aizuchi_model::decision::gate::Gate;
use aizuchi_model::flow::Disposition;
use aizuchi_store::InboxEntry;
use aizuchi_store::database::connection::{Connection, query};
use futures_util::future::join_all;
use serde_json::json;

const NAMES: [&str; 13] = [
    "the", "です", "Ann Smith", "Ann Lee", "花子", "田中花子", "O'Neil", "Will", "a", "null",
    "]}\"", "%", RARE_WORD,
];
/// A name that a user wrote as a word before its bearer joined.
const RARE_WORD: &str = "Compost";
const WORDS: [&str; 8] = [
    "the roof", "of the shed", "leaks", "雨です", "tea with milk", "null and void", "will it rain",
    "100 %",
];
const PERSONA: &str = "UPERSONA";

pub struct SentMessage {
    pub id: MessageId,
    pub at: i64,
    pub channel: usize,
    /// The author; `None` for the persona.
    pub user: Option<usize>,
    pub word: String,
    pub text: String,
}

/// An item that the store keeps: the word by which it is found, and its source messages.
pub struct Thing {
    pub word: String,
    pub what: &'static str,
    pub sources: Vec<usize>,
    /// A user whom the item is about, though only the name reveals it.
    pub names: Option<usize>,
    /// Whether the name is written as “@name”.
    pub is_mention: bool,
    pub channel: usize,
}

pub struct World {
    pub users: Vec<(UserId, String)>,
    pub channels: Vec<(ChannelId, Visibility, BTreeSet<usize>)>,
    pub sent: Vec<SentMessage>,
    pub things: Vec<Thing>,
    pub person: usize,
}

impl World {
    pub fn generate(random: &mut Random) -> Self {
        let count = 4 + random.below(4);
        let mut names = NAMES.to_vec();
        let users = (0..count).map(|index| {
            let name = match index {
                // The only user whose name identifies them.
                0 => format!("Quirin {}", random.word()),
                _ => names.remove(random.below(names.len())).to_owned(),
            };
            (UserId::new(format!("U{}", random.word().to_uppercase())), name)
        });
        let users: Vec<_> = users.collect();
        let person = random.below(count);
        let everybody: BTreeSet<usize> = (0..count).collect();
        let mut channels = Vec::new();
        for name in ["garden", "kitchen"] {
            channels.push((ChannelId::new(name), Visibility::Public, everybody.clone()));
        }
        for name in ["attic", "cellar"] {
            let members = (0..count).filter(|_| random.below(2) == 0).collect();
            channels.push((ChannelId::new(name), Visibility::Private, members));
        }
        for user in 0..count {
            let id = ChannelId::new(format!("D{user}"));
            channels.push((id, Visibility::Direct, BTreeSet::from([user])));
        }
        let mut world = Self { users, channels, sent: Vec::new(), things: Vec::new(), person };
        if let Some(bearer) = world.users.iter().position(|(_, name)| name == RARE_WORD) {
            let (user, word) = ((bearer + 1) % count, random.word());
            let text = format!("{word} the compost smells");
            let id = MessageId::new("early");
            world.sent.push(SentMessage { id, at: -9, channel: 0, user: Some(user), word, text });
        }
        for number in 0..30 + random.below(30) {
            world.say(random, number);
        }
        world
    }

    fn say(&mut self, random: &mut Random, number: usize) {
        let user = random.below(self.users.len());
        let open: Vec<usize> = (0..self.channels.len())
            .filter(|channel| self.channels[*channel].2.contains(&user))
            .collect();
        let channel = *random.pick(&open);
        let word = random.word();
        let text = format!("{} {word} {}", random.pick(&WORDS), random.pick(&WORDS));
        let id = MessageId::new(format!("m{number:03}"));
        let at = number as i64;
        self.sent.push(SentMessage { id, at, channel, user: Some(user), word, text });
    }

    /// Picks messages of one channel as sources.
    fn sources(&self, random: &mut Random) -> Vec<usize> {
        let first = random.below(self.sent.len());
        let channel = self.sent[first].channel;
        let same: Vec<usize> = (0..self.sent.len())
            .filter(|index| {
                self.sent[*index].channel == channel && self.sent[*index].user.is_some()
            })
            .collect();
        let mut sources: BTreeSet<usize> =
            (0..random.below(3)).map(|_| *random.pick(&same)).collect();
        if self.sent[first].user.is_some() {
            sources.insert(first);
        }
        sources.into_iter().collect()
    }

    fn thing(&mut self, random: &mut Random, what: &'static str, sources: Vec<usize>) -> String {
        let word = random.word();
        let channel = sources.first().map_or(0, |first| self.sent[*first].channel);
        let quotes: Vec<&str> = sources.iter().map(|source| &*self.sent[*source].text).collect();
        // The separator occurs in no text, so that only whole texts are quoted.
        let text = format!("{word} / {}", quotes.join(" / "));
        self.things.push(Thing { word, what, sources, names: None, is_mention: false, channel });
        text
    }

    fn refs(&self, sources: &[usize]) -> serde_json::Value {
        let channel = |sent: &SentMessage| self.channels[sent.channel].0.clone();
        sources
            .iter()
            .map(|index| json!([channel(&self.sent[*index]), self.sent[*index].id]))
            .collect()
    }

    /// Whether the user's name identifies them: it is not a common word, and not part of another user's name.
    pub fn is_known_by_name(&self) -> bool {
        let has_other = |name: &str| self.users.iter().any(|(_, other)| other == name);
        match self.users[self.person].1.as_str() {
            "Ann Smith" | "Ann Lee" | "O'Neil" | "田中花子" => true,
            "花子" => !has_other("田中花子"),
            _ => self.person == 0,
        }
    }

    /// Whether an item is about the user because it names them.
    pub fn names_person(&self, thing: &Thing) -> bool {
        let is_rare_word = self.users[self.person].1 == RARE_WORD;
        thing.names == Some(self.person)
            && (self.is_known_by_name() || (is_rare_word && thing.is_mention))
    }

    pub fn is_theirs(&self, message: usize) -> bool {
        self.sent[message].user == Some(self.person)
    }

    pub fn wrote_in(&self, channel: usize) -> bool {
        self.sent.iter().any(|sent| sent.channel == channel && sent.user == Some(self.person))
    }

    /// Stores the world: through the port, or directly in the tables if only a model could create it.
    pub async fn store(&mut self, random: &mut Random, store: &TestStore) {
        self.hear(random, store).await;
        let mut connection = store.database.as_ref().unwrap().connect().await;
        // One transaction, since each commit waits for the disk.
        query("BEGIN").execute(&mut connection).await.unwrap();
        self.add_decisions(random, &mut connection).await;
        self.add_memories(random, &mut connection).await;
        self.add_memos(random, &mut connection).await;
        self.add_outbox(random, &mut connection).await;
        self.add_own_reactions(random, &mut connection).await;
        query("COMMIT").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn hear(&self, random: &mut Random, store: &TestStore) {
        let hear = async |heard, disposition| {
            store.store.hear(InboxEntry::new(heard, disposition, at(0))).await.unwrap();
        };
        for (id, visibility, members) in &self.channels {
            let name = match visibility {
                Visibility::Direct => self.users[*members.first().unwrap()].0.to_string(),
                Visibility::Public | Visibility::Private => id.to_string(),
            };
            let channel = Channel {
                workspace: workspace(),
                id: id.clone(),
                name: name.into(),
                visibility: *visibility,
                topic: None,
            };
            hear(Heard::Channel(channel), Disposition::NotAMessage).await;
        }
        for (id, name) in &self.users {
            let (workspace, id, name) = (workspace(), id.clone(), name.as_str().into());
            let user = User {
                workspace,
                id,
                name,
                kind: AuthorKind::Human,
                role: Role::Member,
                zone: None,
            };
            hear(Heard::User(user), Disposition::NotAMessage).await;
        }
        let messages = self.sent.iter().map(|sent| {
            let mentions = match random.below(4) {
                0 => vec![Mention::User(self.users[random.below(self.users.len())].0.clone())],
                _ => Vec::new(),
            };
            Message {
                conversation: self.conversation(sent.channel),
                id: sent.id.clone(),
                at: at(sent.at),
                author: Author {
                    id: self.users[sent.user.unwrap()].0.clone(),
                    kind: AuthorKind::Human,
                },
                text: sent.text.as_str().into(),
                mentions,
                attachments: Vec::new(),
                edits: 0,
            }
        });
        let messages: Vec<Message> = messages.collect();
        let heard = messages.iter().map(|message| {
            let heard = Heard::Message(message.clone(), Arrival::Live);
            hear(heard, Disposition::Settled(Gate::Backfilled))
        });
        join_all(heard).await;
        let reactions = messages.iter().map(|message| Reaction {
            workspace: workspace(),
            channel: message.conversation.channel.clone(),
            message: message.id.clone(),
            user: self.users[random.below(self.users.len())].0.clone(),
            kind: AuthorKind::Human,
            emoji: "🎉".into(),
            at: at(100),
            change: ReactionChange::Added,
        });
        let reactions: Vec<_> = reactions.collect();
        join_all(
            reactions
                .into_iter()
                .map(|reaction| hear(Heard::Reaction(reaction), Disposition::NotAMessage)),
        )
        .await;
    }

    pub fn conversation(&self, channel: usize) -> ConversationId {
        let channel = self.channels[channel].0.clone();
        ConversationId { workspace: workspace(), channel, thread: None }
    }

    fn channel_of(&self, sources: &[usize]) -> String {
        self.channels[self.sent[sources[0]].channel].0.to_string()
    }

    /// Adds decisions about messages, with prompts that contained more of them.
    async fn add_decisions(&mut self, random: &mut Random, connection: &mut Connection) {
        // Each message is covered by one decision.
        let mut settled = BTreeSet::new();
        for number in 0..8_i64 {
            let mut covered = self.sources(random);
            covered.retain(|source| settled.insert(*source));
            if covered.is_empty() {
                continue;
            }
            let held = self.sources(random);
            let id = 1000 + number;
            let reason = self.thing(random, "reason", [covered.clone(), held.clone()].concat());
            let prompt = self.thing(random, "prompt", held.clone());
            let answer = self.thing(random, "answer", held.clone());
            let verdict = json!({"should_respond": false, "reason": reason}).to_string();
            query("INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, judgment, ended, revision) VALUES ($1, $2, $3, '', 0, 1, 0, $4, 'chose_silence', 1)")
                .bind(id).bind(workspace().as_str()).bind(self.channel_of(&covered)).bind(&verdict)
                .execute(connection).await.unwrap();
            for source in &covered {
                query("UPDATE messages SET decision = $1 WHERE id = $2")
                    .bind(id)
                    .bind(self.sent[*source].id.as_str())
                    .execute(connection)
                    .await
                    .unwrap();
            }
            query("INSERT INTO attempts (id, decision, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens, cached_tokens, output_tokens, latency_ms, result, judgment) VALUES ($1, $1, 'judge', 0, 'm', 'h', 0, 0, 0, 0, 0, 'kept', $2)")
                .bind(id).bind(&verdict).execute(connection).await.unwrap();
            query("INSERT INTO exchanges (attempt, at_ms, prompt, answer) VALUES ($1, 0, $2, $3)")
                .bind(id)
                .bind(prompt)
                .bind(answer)
                .execute(connection)
                .await
                .unwrap();
            for source in held {
                query("INSERT INTO exchange_lines (workspace, channel, line, attempt) VALUES ($1, $2, $3, $4)")
                    .bind(workspace().as_str()).bind(self.channel_of(&[source])).bind(self.sent[source].id.as_str()).bind(id)
                    .execute(connection).await.unwrap();
            }
        }
        query("UPDATE counters SET last_number = 9000").execute(connection).await.unwrap();
    }

    async fn add_memories(&mut self, random: &mut Random, connection: &mut Connection) {
        for number in 0..self.channels.len() {
            let channel = self.channels[number].0.to_string();
            let mut entries = Vec::new();
            let mut lines = BTreeSet::new();
            for _ in 0..4 {
                let sources = self.sources(random);
                if self.sent[sources[0]].channel != number {
                    continue;
                }
                let text = self.thing(random, "entry", sources.clone());
                let refs = self.refs(&sources);
                lines.extend(sources);
                entries.push(json!({"date": "2027-01-05", "text": text, "visibility": "private", "lines": refs}));
            }
            query("INSERT INTO memories (id, workspace, scope, channel, thread, term, is_current, made_ms, newest_ms, entries, lost) VALUES ($1, $2, 'channel', $3, '', 'long_term', 1, 0, 0, $4, '[]')")
                .bind(2000 + number as i64).bind(workspace().as_str()).bind(&channel).bind(json!(entries).to_string())
                .execute(connection).await.unwrap();
            for line in lines {
                query("INSERT INTO memory_sources (workspace, channel, line, scope, of_channel, of_thread, term) VALUES ($1, $2, $3, 'channel', $2, '', 'long_term')")
                    .bind(workspace().as_str()).bind(&channel).bind(self.sent[line].id.as_str())
                    .execute(connection).await.unwrap();
            }
        }
    }

    /// Memos from messages, and imported ones that name a user.
    async fn add_memos(&mut self, random: &mut Random, connection: &mut Connection) {
        for number in 0..8_i64 {
            let mut sources = self.sources(random);
            let channel = self.channel_of(&sources);
            let text = if number < 4 {
                self.thing(random, "memo", sources.clone())
            } else {
                let named = random.below(self.users.len());
                let word = random.word();
                let channel = self.sent[sources[0]].channel;
                sources.clear();
                self.things.push(Thing {
                    word: word.clone(),
                    what: "imported memo",
                    sources: Vec::new(),
                    names: Some(named),
                    is_mention: number % 2 == 0,
                    channel,
                });
                let mark = if number % 2 == 0 { "@" } else { "" };
                format!("{word} {mark}{} likes the rain です", self.users[named].1)
            };
            let memo = json!({"name": format!("memo {number}"), "content": text, "priority": 3, "tags": [], "detail": null, "created": "2027-01-05T00:00:00Z", "updated": "2027-01-05T00:00:00Z", "channel": channel, "visibility": "private", "said_by": null});
            query("INSERT INTO memos (id, workspace, realm, name, channel, priority, updated_ms, touched, memo) VALUES ($1, $2, $3, $4, $3, 3, 0, 0, $5)")
                .bind(3000 + number).bind(workspace().as_str()).bind(&channel).bind(format!("memo {number}")).bind(memo.to_string())
                .execute(connection).await.unwrap();
            for source in sources {
                query("INSERT INTO memo_lines (workspace, channel, line, memo) VALUES ($1, $2, $3, $4)")
                    .bind(workspace().as_str()).bind(&channel).bind(self.sent[source].id.as_str()).bind(3000 + number)
                    .execute(connection).await.unwrap();
            }
        }
    }

    /// Adds the persona's posts, in its own words, and pending ones.
    async fn add_outbox(&mut self, random: &mut Random, connection: &mut Connection) {
        for number in 0..10_i64 {
            let made_from = self.sources(random);
            let owed = *made_from.last().unwrap();
            let channel = self.channel_of(&made_from);
            let is_said = number < 7;
            let word = random.word();
            let what = if is_said { "own message" } else { "draft" };
            let place = self.sent[owed].channel;
            self.things.push(Thing {
                word: word.clone(),
                what,
                sources: made_from.clone(),
                names: None,
                is_mention: false,
                channel: place,
            });
            let asker = &self.users[self.sent[owed].user.unwrap()].0;
            let notes = json!({"owed": [self.sent[owed].id], "about": null, "made_from": {"lines": self.refs(&made_from), "memories": []}, "considered": 1, "ends": "spoke", "why": "asked", "only_for": asker});
            let (state, text) = if is_said { ("said", "") } else { ("draft", word.as_str()) };
            let message = is_said.then(|| format!("p{number}"));
            query("INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state, message) VALUES ($1, $1, $2, $3, '', $1, 'k', $4, $5, $6, $7)")
                .bind(4000 + number).bind(workspace().as_str()).bind(&channel).bind(text).bind(notes.to_string()).bind(state).bind(message.clone())
                .execute(connection).await.unwrap();
            if let Some(id) = message {
                query("INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility, heard, revision) VALUES ($1, $2, $3, '', 500, $4, 'persona', $5, '[]', 'private', $6, $6)")
                    .bind(workspace().as_str()).bind(&channel).bind(id).bind(PERSONA).bind(format!("{word} as you say")).bind(100 + number)
                    .execute(connection).await.unwrap();
            }
        }
    }

    /// Adds the persona's reactions to anyone's messages, made after reading others.
    async fn add_own_reactions(&self, random: &mut Random, connection: &mut Connection) {
        for number in 0..10_i64 {
            let made_from = self.sources(random);
            let Some(last) = made_from.last() else { continue };
            let on = self.sent[*last].id.as_str();
            let notes = json!({"owed": [on], "about": null, "made_from": {"lines": self.refs(&made_from), "memories": []}, "considered": 1, "ends": "reacted", "why": "asked"});
            // Some are not added yet.
            let (state, message) = match number % 5 {
                0 => ("draft", None),
                _ => ("said", Some(on)),
            };
            query("INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state, message, reaction_on) VALUES ($1, $1, $2, $3, '', $1, 'k', '🎉', $4, $6, $7, $5)")
                .bind(5000 + number).bind(workspace().as_str()).bind(self.channel_of(&made_from)).bind(notes.to_string()).bind(on)
                .bind(state).bind(message)
                .execute(connection).await.unwrap();
        }
    }
}
