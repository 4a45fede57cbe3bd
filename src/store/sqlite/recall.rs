//! Finding lines by their words in SQLite: the index first, then what it does not hold yet. Both
//! only choose candidates; these are ranked by what they say now.

pub mod index;
pub mod sql;

use std::collections::HashMap;

use serde_json::{Value, json};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{SqliteConnection, query};

use crate::chat::ChannelId;
use crate::recall::terms::{Wanted, terms};
use crate::recall::{CANDIDATES, COMMON, RecallQuery, Recalled, Search};
use crate::store::StoreError;
use crate::store::sqlite::{rows, stored};

/// The most lines that are looked through one by one. There are more only while an old database is
/// being indexed.
const TAIL: i64 = 20_000;

type Statement<'q> = sqlx::query::Query<'q, sqlx::Sqlite, SqliteArguments>;

/// The best answers to a query, best first. The connection stands in a transaction, so that all
/// statements see the same moment.
pub async fn recall(
    connection: &mut SqliteConnection,
    which: &RecallQuery,
) -> Result<Vec<Recalled>, StoreError> {
    let mut search = Search::new(which);
    if search.wanted.is_empty() || which.limit == 0 {
        return Ok(Vec::new());
    }
    let rooms = rooms(connection, which).await?;
    let tail = tail(connection, which).await?;
    let postings = postings(connection, &search, &rooms).await?;
    let in_tail =
        |wanted: usize| tail.iter().filter(|line| search.wanted[wanted].is_in(&line.terms)).count();
    let having: Vec<usize> = postings
        .iter()
        .enumerate()
        .map(|(wanted, numbers)| numbers.len() + in_tail(wanted))
        .collect();
    let lines = rooms.iter().map(|room| room.lines).sum::<usize>() + tail.len();
    search.weigh(lines, &having);
    let numbers = match Search::is_common(&having) {
        true => common(connection, &search, &rooms).await?,
        false => telling(&search, &rooms, &having, postings),
    };
    let mut found = read_tail(connection, which, &search, tail).await?;
    let enough = which.limit.max(CANDIDATES / 4);
    for numbers in numbers.chunks(CANDIDATES) {
        found.extend(read(connection, sql::RECALLED_BY_NUMBER, which, json!(numbers)).await?);
        if found.len() >= enough {
            break;
        }
    }
    Ok(search.rank(found, which.limit))
}

/// Lines of a channel that were heard with the same visibility.
struct Room {
    number: i64,
    channel: ChannelId,
    lines: usize,
}

impl Room {
    /// The numbers of its lines.
    fn first(&self) -> i64 {
        self.number << 32
    }

    fn last(&self) -> i64 {
        ((self.number + 1) << 32) - 1
    }
}

/// A line that the index does not hold as it stands.
struct Fresh {
    place: i64,
    at_ms: i64,
    terms: Vec<String>,
}

async fn rooms(
    connection: &mut SqliteConnection,
    which: &RecallQuery,
) -> Result<Vec<Room>, StoreError> {
    let rows = seen(query(sql::ROOMS), which).fetch_all(connection).await.map_err(stored)?;
    let room = |row: &SqliteRow| {
        Ok(Room {
            number: rows::column(row, "number")?,
            channel: ChannelId::new(rows::column::<String>(row, "channel")?),
            lines: rows::column::<i64>(row, "lines")?.max(0) as usize,
        })
    };
    rows.iter().map(room).collect()
}

async fn tail(
    connection: &mut SqliteConnection,
    which: &RecallQuery,
) -> Result<Vec<Fresh>, StoreError> {
    let row = seen(query(sql::TAIL), which).bind(TAIL).fetch_one(connection).await;
    let lines: Vec<(i64, i64, String)> = listed(&row.map_err(stored)?, "lines")?;
    let fresh =
        |(place, at_ms, text): (i64, i64, String)| Fresh { place, at_ms, terms: terms(&text) };
    Ok(lines.into_iter().map(fresh).filter(|line| !line.terms.is_empty()).collect())
}

/// The indexed lines that have each thing that is looked for; of what is common, not all.
async fn postings(
    connection: &mut SqliteConnection,
    search: &Search,
    rooms: &[Room],
) -> Result<Vec<Vec<i64>>, StoreError> {
    let first = rooms.iter().map(Room::first).min().unwrap_or(0);
    let last = rooms.iter().map(Room::last).max().unwrap_or(0);
    let asked =
        search.wanted.iter().map(|wanted| json!([expression(wanted), first, last])).collect();
    look_up(connection, asked, rooms, COMMON + 1).await
}

/// Lines where there are only common words: the newest with all of them, then with any of them.
/// Those of the channel that the query comes from are taken first.
async fn common(
    connection: &mut SqliteConnection,
    search: &Search,
    rooms: &[Room],
) -> Result<Vec<i64>, StoreError> {
    let each: Vec<String> = search.wanted.iter().map(expression).collect();
    let (mut here, elsewhere): (Vec<&Room>, Vec<&Room>) =
        rooms.iter().partition(|room| search.nearness(&room.channel) > 1.0);
    here.extend(elsewhere);
    let spans = here.iter().take(1).map(|room| (room.first(), room.last()));
    let everywhere = (
        rooms.iter().map(Room::first).min().unwrap_or(0),
        rooms.iter().map(Room::last).max().unwrap_or(0),
    );
    let asked = spans.chain([everywhere]).flat_map(|(first, last)| {
        [" AND ", " OR "].map(|between| json!([each.join(between), first, last]))
    });
    let found = look_up(connection, asked.collect(), rooms, CANDIDATES).await?;
    let mut taken = std::collections::HashSet::new();
    Ok(found.into_iter().flatten().filter(|number| taken.insert(*number)).collect())
}

/// The lines that have something telling, the most promising first.
fn telling(search: &Search, rooms: &[Room], having: &[usize], postings: Vec<Vec<i64>>) -> Vec<i64> {
    let nearness: HashMap<i64, f64> =
        rooms.iter().map(|room| (room.number, search.nearness(&room.channel))).collect();
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for (wanted, numbers) in postings.iter().enumerate().filter(|(at, _)| having[*at] <= COMMON) {
        for number in numbers {
            *scores.entry(*number).or_default() += search.weight(wanted);
        }
    }
    let mut numbers: Vec<(f64, i64)> = scores
        .into_iter()
        .map(|(number, score)| (score * nearness.get(&(number >> 32)).unwrap_or(&1.0), number))
        .collect();
    // Of equals the newer ones, whatever their room.
    let age = |number: i64| number & 0xffff_ffff;
    numbers.sort_by(|(a_score, a), (b_score, b)| {
        b_score.total_cmp(a_score).then_with(|| (age(*b), b).cmp(&(age(*a), a)))
    });
    numbers.into_iter().map(|(_, number)| number).collect()
}

async fn look_up(
    connection: &mut SqliteConnection,
    asked: Vec<Value>,
    rooms: &[Room],
    most: usize,
) -> Result<Vec<Vec<i64>>, StoreError> {
    let rooms: Vec<i64> = rooms.iter().map(|room| room.number).collect();
    let rows = query(sql::POSTINGS)
        .bind(Value::Array(asked).to_string())
        .bind(json!(rooms).to_string())
        .bind(most as i64)
        .fetch_all(connection)
        .await
        .map_err(stored)?;
    rows.iter().map(|row| listed(row, "numbers")).collect()
}

/// What is looked for, in the words of the index. Terms have no quotation marks.
fn expression(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Term(term) => format!("\"{term}\""),
        Wanted::Beginning(letter) => format!("\"{letter}\" *"),
    }
}

async fn read_tail(
    connection: &mut SqliteConnection,
    which: &RecallQuery,
    search: &Search,
    tail: Vec<Fresh>,
) -> Result<Vec<Recalled>, StoreError> {
    let before = which.before.map(|before| before.as_millisecond());
    let score = |line: &Fresh| -> f64 {
        let found =
            search.wanted.iter().enumerate().filter(|(_, wanted)| wanted.is_in(&line.terms));
        found.map(|(at, _)| search.weight(at)).sum()
    };
    let old_enough = tail.iter().filter(|line| before.is_none_or(|before| line.at_ms < before));
    let mut scored: Vec<(f64, i64)> = old_enough.map(|line| (score(line), line.place)).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(CANDIDATES.max(which.limit));
    if scored.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<i64> = scored.into_iter().map(|(_, place)| place).collect();
    read(connection, sql::RECALLED_BY_PLACE, which, json!(places)).await
}

async fn read(
    connection: &mut SqliteConnection,
    statement: &'static str,
    which: &RecallQuery,
    list: Value,
) -> Result<Vec<Recalled>, StoreError> {
    let rows = seen(query(statement), which)
        .bind(which.before.map(|before| before.as_millisecond()))
        .bind(list.to_string())
        .fetch_all(connection)
        .await
        .map_err(stored)?;
    rows.iter().map(rows::recalled).collect()
}

/// Binds where lines are looked for.
fn seen<'q>(statement: Statement<'q>, which: &'q RecallQuery) -> Statement<'q> {
    statement
        .bind(which.workspace.as_str())
        .bind(which.channel.as_ref().map(ChannelId::as_str))
        .bind(which.visible_from.as_ref().map(ChannelId::as_str))
}

fn listed<T: serde::de::DeserializeOwned>(row: &SqliteRow, column: &str) -> Result<T, StoreError> {
    rows::parsed(&rows::column::<String>(row, column)?)
}
