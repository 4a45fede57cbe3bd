//! A generated history, written directly into a program's database: of any length, with any workspaces, and with chosen
//! words in every text.

use jiff::Timestamp;
use serde_json::json;
use sqlx::{SqliteConnection, query, raw_sql};

use crate::program::Home;

/// A channel.
#[derive(Clone, Debug)]
pub struct Place {
    pub workspace: String,
    pub channel: String,
    pub name: String,
    /// The visibility, in the stored form.
    pub visibility: &'static str,
}

pub struct GeneratedHistory {
    pub places: Vec<Place>,
    /// The words of messages, reasons, memories, notes, reactions and names in public channels, used in turn.
    pub public_words: Vec<String>,
    /// The same for all other channels.
    pub private_words: Vec<String>,
    pub messages: i64,
    /// The approximate number of messages that a judge was asked about. They include the newest of each place, and
    /// every outcome.
    pub decisions: i64,
}

/// The tables that `history.sql` is generated from.
const TABLES: &str = "
    CREATE TEMP TABLE size (messages INTEGER, decisions INTEGER, now_ms INTEGER);
    CREATE TEMP TABLE places
        (number INTEGER PRIMARY KEY, workspace TEXT, channel TEXT, name TEXT, visibility TEXT);
    CREATE TEMP TABLE words
        (visibility TEXT, number INTEGER, word TEXT, PRIMARY KEY (visibility, number)) WITHOUT ROWID;";
const HISTORY: &str = include_str!("generated/history.sql");

impl Place {
    pub fn new(workspace: &str, channel: &str, name: &str, visibility: &'static str) -> Self {
        let [workspace, channel, name] = [workspace, channel, name].map(str::to_owned);
        Self { workspace, channel, name, visibility }
    }
}

impl GeneratedHistory {
    /// Writes the history. The program has run in this home, and is not running now.
    pub async fn write(&self, home: &Home) {
        let mut database = home.lock_database().await;
        raw_sql(TABLES).execute(&mut database).await.unwrap();
        let size = query("INSERT INTO size VALUES (?1, ?2, ?3)").bind(self.messages);
        let size = size.bind(self.decisions).bind(Timestamp::now().as_millisecond());
        size.execute(&mut database).await.unwrap();
        for (number, place) in self.places.iter().enumerate() {
            let Place { workspace, channel, name, visibility } = place;
            let put = query("INSERT INTO places VALUES (?1, ?2, ?3, ?4, ?5)").bind(number as i64);
            let put = put.bind(workspace).bind(channel).bind(name).bind(*visibility);
            put.execute(&mut database).await.unwrap();
        }
        put_words(&mut database, "public", &self.public_words).await;
        put_words(&mut database, "private", &self.private_words).await;
        raw_sql(HISTORY).execute(&mut database).await.unwrap();
        raw_sql("COMMIT").execute(&mut database).await.unwrap();
        self.lend_tools(home);
    }

    /// Lends the tools: a call that waits for permission lapses unless its tool is lent, and the tools of a missing
    /// server are unknown.
    fn lend_tools(&self, home: &Home) {
        let channels: Vec<&str> = self.places.iter().map(|place| &*place.channel).collect();
        let channels = json!(channels);
        home.add(&format!(
            "tools:\n  mcp:\n    servers:\n      garden: {{command: ./no-such-program, channels: {channels}}}\n"
        ));
    }
}

async fn put_words(database: &mut SqliteConnection, visibility: &str, words: &[String]) {
    for (number, word) in words.iter().enumerate() {
        let put = query("INSERT INTO words VALUES (?1, ?2, ?3)").bind(visibility);
        put.bind(number as i64).bind(word).execute(&mut *database).await.unwrap();
    }
}
