//! What happened: talk after talk, each with the decision about it.

use aizuchi_model::decision::DecisionResult;
use aizuchi_model::decision::gate::Gate;
use aizuchi_store::StoreError;
use aizuchi_store::database::connection::Connection;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::random::Random;
use crate::seeded::Seeded;
use crate::seeded::rows::{Rows, judgment};
use crate::seeded::words;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
/// The share of the channels in each workspace, in percent.
const WORKSPACES: [(&str, usize); 3] =
    [("local", 40), ("slack:T0SEEDED", 40), ("discord:900100200", 20)];
const JUDGE: &str = "anthropic/claude-haiku-4-5";
const SPEAKER: &str = "anthropic/claude-sonnet-4-5";
/// Its newest calls all fail.
const FAILING: &str = "openai/gpt-5-mini";
/// It has no price.
const OWN: &str = "ollama/qwen3";
const MODES: [&str; 6] = ["companion", "facilitator", "mention_only", "propose", "observe", "off"];
const PERSONA: &str = "persona";
const NOBODY: &str = "";

struct Channel {
    workspace: usize,
    id: String,
    visibility: &'static str,
    is_japanese: bool,
    subject: &'static str,
    /// The newest hours in which nothing was said.
    silent_ms: i64,
    mode: &'static str,
    is_failing: bool,
    /// The newest messages.
    newest: Vec<(String, i64)>,
}

/// How a talk ended.
struct End {
    result: DecisionResult,
    gate: Option<Gate>,
    is_addressed: bool,
    was_judged: bool,
}

pub struct History<'a> {
    seeded: &'a Seeded,
    pub rows: Rows,
    pub revision: i64,
    /// The last id given.
    pub number: i64,
    random: Random,
    now_ms: i64,
    channels: Vec<Channel>,
    /// The users of each workspace.
    users: Vec<Vec<String>>,
    said: usize,
}

impl<'a> History<'a> {
    pub fn new(seeded: &'a Seeded) -> Self {
        let random = Random::new(seeded.seed, "history");
        let mut history = Self {
            seeded,
            rows: Rows::default(),
            revision: 0,
            number: 0,
            random,
            now_ms: seeded.now.as_millisecond(),
            channels: Vec::new(),
            users: Vec::new(),
            said: 0,
        };
        history.invent_users();
        history.invent_channels();
        history
    }

    /// Writes users and channels.
    pub async fn put_places(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        self.rows.put(connection).await
    }

    fn next(&mut self) -> i64 {
        self.number += 1;
        self.number
    }

    fn invent_users(&mut self) {
        for (workspace, share) in WORKSPACES {
            let count = (self.seeded.users * share / 100).max(2);
            let mut ids = Vec::new();
            self.rows.users.push(json!([workspace, PERSONA, "Aizuchi", "persona", "member"]));
            for index in 0..count {
                let given = words::NAMES[index % words::NAMES.len()];
                let family = words::FAMILIES[index / words::NAMES.len() % words::FAMILIES.len()];
                let name = format!("{given} {family}").trim().to_owned();
                // In the local room, the name is the id.
                let id = match workspace {
                    "local" => name.clone(),
                    _ => format!("U{index:05}"),
                };
                let role = if index % 40 == 24 { "admin" } else { "member" };
                let kind = if index % 97 == 96 { "bot" } else { "human" };
                self.rows.users.push(json!([workspace, id, name, kind, role]));
                ids.push(id);
            }
            self.users.push(ids);
        }
    }

    fn invent_channels(&mut self) {
        for index in 0..self.seeded.channels {
            let percent = index * 37 % 100;
            let workspace = if percent < 40 {
                0
            } else if percent < 80 {
                1
            } else {
                2
            };
            let subject = words::SUBJECTS[index % words::SUBJECTS.len()];
            let rest = index / words::SUBJECTS.len();
            let kind = words::KINDS[rest % words::KINDS.len()];
            let more = rest / words::KINDS.len();
            let number = if more == 0 { String::new() } else { format!("-{}", more + 1) };
            let name = format!("{subject}{kind}{number}");
            let is_private = workspace > 0 && self.random.chance(0.15);
            let channel = Channel {
                workspace,
                id: if workspace == 0 { name.clone() } else { format!("C{index:05}") },
                visibility: if is_private { "private" } else { "public" },
                is_japanese: !subject.is_ascii() || self.random.chance(0.2),
                subject,
                silent_ms: if index % 11 == 7 { self.random.between(8, 25) * DAY_MS } else { 0 },
                mode: MODES[[0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 4][self.random.below(12)]],
                is_failing: index % 23 == 5,
                newest: Vec::new(),
            };
            let place = WORKSPACES[workspace].0;
            self.rows.channels.push(json!([place, channel.id, name, channel.visibility]));
            self.channels.push(channel);
        }
    }

    /// The time of the next talk. Talks follow each other over the whole history, most of them by day.
    fn time(&mut self) -> i64 {
        let begin = self.now_ms - self.seeded.days * DAY_MS;
        let share = self.said as f64 / self.seeded.messages.max(1) as f64;
        let at = begin + (share * (self.seeded.days * DAY_MS) as f64) as i64;
        at - self.random.between(0, 20 * MINUTE_MS)
    }

    /// One talk, with the decision about it. Returns whether there is more to say.
    pub fn talk(&mut self) -> bool {
        if self.said >= self.seeded.messages || self.channels.is_empty() {
            return false;
        }
        let at = self.time();
        // Some channels are much busier than others.
        let spread = self.random.below(1000);
        let index = spread * spread * self.channels.len() / 1_000_000;
        if at > self.now_ms - self.channels[index].silent_ms {
            self.said += 1;
            return true;
        }
        let length = self.random.between(2, 9);
        let end = self.end(index, at);
        let decision = self.next();
        let mut last = at;
        let mut first = String::new();
        for number in 0..length {
            last = (at + number * self.random.between(9_000, 50_000)).min(self.now_ms - 1000);
            let id = self.say(index, last, NOBODY, Some(decision));
            if number == 0 {
                first = id;
            }
        }
        self.decide(index, decision, &end, (at, last), &first);
        true
    }

    /// A message of a user, or of the persona.
    fn say(&mut self, index: usize, at: i64, own: &str, decision: Option<i64>) -> String {
        self.said += 1;
        self.revision += 1;
        let id = format!("m{:09}", self.revision);
        let channel = &self.channels[index];
        let workspace = WORKSPACES[channel.workspace].0;
        let (author, kind, text) = if own.is_empty() {
            let users = &self.users[channel.workspace];
            // Few people of a workspace talk in one channel.
            let user = (index * 13 + self.random.below(14)) % users.len();
            let user = if self.random.chance(0.03) { 0 } else { user };
            let list = if channel.is_japanese { words::SAID_JA } else { words::SAID };
            let text = self.random.pick(list).replace("{}", channel.subject);
            (users[user].clone(), "human", text)
        } else {
            (PERSONA.to_owned(), "persona", own.to_owned())
        };
        let row = json!([
            workspace, channel.id, id, "", at, author, kind, text, channel.visibility, decision,
            self.revision,
        ]);
        self.rows.messages.push(row);
        let channel = &mut self.channels[index];
        channel.newest.push((id.clone(), at));
        if channel.newest.len() > 40 {
            channel.newest.remove(0);
        }
        id
    }

    fn end(&mut self, index: usize, at: i64) -> End {
        use DecisionResult::{
            ChoseSilence, Dropped, Failed, Muted, OverBudget, Proposed, Reacted, Spoke,
        };
        let channel = &self.channels[index];
        let (is_failing, mode) =
            (channel.is_failing && at > self.now_ms - 2 * DAY_MS, channel.mode);
        let is_addressed = self.random.chance(0.06);
        let draw = self.random.below(100);
        // Each is over: a decision that is not would need its step.
        let (result, gate, was_judged) = if is_failing && draw < 70 {
            (Failed, None, true)
        } else if mode == "observe" && draw < 40 {
            (ChoseSilence, Some(Gate::ChannelMode), true)
        } else if mode == "mention_only" && !is_addressed {
            (ChoseSilence, Some(Gate::ChannelMode), false)
        } else {
            match draw {
                0..12 => (if mode == "propose" { Proposed } else { Spoke }, None, true),
                12..17 => (Reacted, None, true),
                17..20 => (Dropped, None, true),
                20..22 => (Muted, Some(Gate::Muted), false),
                22..24 => (OverBudget, Some(Gate::Budget), false),
                24..26 => (Failed, None, true),
                26..58 => (ChoseSilence, None, true),
                58..70 => (ChoseSilence, Some(Gate::Unchanged), false),
                70..80 => (ChoseSilence, Some(Gate::NothingOpen), false),
                80..87 => (ChoseSilence, Some(Gate::Directed), false),
                87..92 => (ChoseSilence, Some(Gate::Cooldown), false),
                92..95 => (ChoseSilence, Some(Gate::QuietHours), false),
                _ => (ChoseSilence, Some(Gate::Share), false),
            }
        };
        let is_addressed = is_addressed || result == Spoke && self.random.chance(0.4);
        End { result, gate, is_addressed, was_judged }
    }

    fn decide(
        &mut self,
        index: usize,
        decision: i64,
        end: &End,
        (opened, last): (i64, i64),
        first: &str,
    ) {
        let closed = (last + self.random.between(4_000, 90_000)).min(self.now_ms);
        let (workspace, channel, is_japanese, subject, is_failing, mode) = {
            let it = &self.channels[index];
            (
                WORKSPACES[it.workspace].0,
                it.id.clone(),
                it.is_japanese,
                it.subject,
                it.is_failing,
                it.mode,
            )
        };
        let reasons = if is_japanese { words::SILENCES_JA } else { words::SILENCES };
        let speaks = matches!(
            end.result,
            DecisionResult::Spoke | DecisionResult::Proposed | DecisionResult::Reacted
        );
        let reason = match speaks {
            true if is_japanese => "質問に誰も答えていません。",
            true => "Somebody asked, nobody answered, and I know.",
            false => self.random.pick(reasons),
        };
        let is_failed = end.result == DecisionResult::Failed;
        let verdict = match end.was_judged && !is_failed {
            true => judgment(speaks, reason, self.random.between(40, 95) as f64 / 100.0),
            false => Value::Null,
        };
        let error = match self.random.below(3) {
            0 => "the model took longer than 60 s",
            1 => "429 too many requests, next try at the full hour",
            _ => "the answer was no JSON",
        };
        let why = match end.result {
            DecisionResult::Failed => json!(error),
            DecisionResult::Dropped => json!("the question was answered"),
            DecisionResult::Spoke
            | DecisionResult::Reacted
            | DecisionResult::Proposed
            | DecisionResult::ChoseSilence
            | DecisionResult::Muted
            | DecisionResult::OverBudget => end.was_judged.then_some(reason).into(),
        };
        self.revision += 1;
        self.rows.decisions.push(json!([
            decision,
            workspace,
            channel,
            "",
            opened,
            closed,
            i64::from(end.is_addressed),
            end.gate.map(Gate::name),
            verdict,
            end.result.name(),
            why,
            mode,
            self.revision,
        ]));
        if end.was_judged {
            let model = if is_failing {
                FAILING
            } else if index % 17 == 3 {
                OWN
            } else {
                JUDGE
            };
            let (result, told) = match is_failed {
                true => ("failed", json!(error)),
                false => ("kept", Value::Null),
            };
            self.call(index, (decision, "judge", model), last, (result, verdict, told), "");
        }
        match end.result {
            DecisionResult::Spoke => {
                let answers = if is_japanese { words::ANSWERS_JA } else { words::ANSWERS };
                let text = self.random.pick(answers).replace("{}", subject);
                let at = closed;
                self.call(
                    index,
                    (decision, "reply", SPEAKER),
                    at,
                    ("kept", Value::Null, Value::Null),
                    "",
                );
                let said = self.say(index, at, &text, None);
                let post = self.next();
                self.rows.outbox.push(json!([
                    post,
                    post,
                    workspace,
                    channel,
                    "",
                    decision,
                    "",
                    "said",
                    at,
                    said,
                    null,
                    i64::from(!end.is_addressed),
                ]));
                if self.random.chance(0.3) {
                    let user = self.users[self.channels[index].workspace][0].clone();
                    let emoji = *self.random.pick(&["👍", "🙏", "🎉"]);
                    self.rows.reactions.push(json!([
                        workspace,
                        channel,
                        said,
                        emoji,
                        user,
                        at + MINUTE_MS
                    ]));
                }
            }
            DecisionResult::Reacted => {
                let post = self.next();
                self.rows.outbox.push(json!([
                    post, post, workspace, channel, "", decision, "👍", "said", closed, first,
                    first, 1,
                ]));
            }
            DecisionResult::Proposed => {
                let text = self.random.pick(words::ANSWERS).replace("{}", subject);
                let (proposal, made) = (self.next(), closed);
                let is_open = made > self.now_ms - DAY_MS;
                let state = if is_open {
                    "open"
                } else {
                    *self.random.pick(&["declined", "lapsed", "never"])
                };
                let by = (!is_open && state != "lapsed").then_some("olga");
                self.rows.proposals.push(json!([
                    proposal,
                    workspace,
                    channel,
                    decision,
                    made,
                    made + DAY_MS,
                    state,
                    by,
                    by.map(|_| made + HOUR_MS),
                ]));
                let held = if is_open { "proposed" } else { "dropped" };
                let text = if is_open { text } else { String::new() };
                self.rows.outbox.push(json!([
                    proposal, proposal, workspace, channel, "", decision, text, held, null, null,
                    null, 1,
                ]));
            }
            DecisionResult::Failed => {
                if end.is_addressed {
                    let letter = self.next();
                    let text =
                        (letter % 2 == 0).then_some("The list is in the folder that Mia shared.");
                    self.rows.dead_letters.push(json!([
                        letter, decision, workspace, channel, "", "post", closed, error, text,
                    ]));
                }
            }
            DecisionResult::ChoseSilence
            | DecisionResult::Dropped
            | DecisionResult::Muted
            | DecisionResult::OverBudget => {}
        }
        if decision % 8 == 0 {
            let chore = format!("channel/short_term/{channel}");
            let kept = ("kept", Value::Null, Value::Null);
            self.call(index, (0, "remember", JUDGE), last, kept, &chore);
        }
    }

    fn call(
        &mut self,
        index: usize,
        (decision, verb, model): (i64, &str, &str),
        at: i64,
        (result, verdict, error): (&str, Value, Value),
        chore: &str,
    ) {
        let (input, output) = (self.random.between(900, 6000), self.random.between(30, 500));
        let (in_price, out_price) = if model == SPEAKER { (3, 15) } else { (1, 5) };
        let price = (model != OWN).then_some(input * in_price + output * out_price);
        let latency = self.random.between(300, 9000);
        let channel = &self.channels[index];
        self.rows.attempts.push(json!([
            decision,
            verb,
            at,
            model,
            input,
            if error.is_null() { output } else { 0 },
            latency,
            result,
            verdict,
            error,
            price,
            (!chore.is_empty()).then_some(chore),
            WORKSPACES[channel.workspace].0,
            channel.id,
        ]));
    }

    /// What is left at the end: memories, orders, what awaits a decision.
    pub fn conclude(&mut self) {
        for index in 0..self.channels.len() {
            self.remember(index);
            self.order(index);
        }
        for (index, (workspace, _)) in WORKSPACES.iter().enumerate() {
            for user in self.users[index].clone().iter().skip(7).step_by(60) {
                self.rows.opted_out.push(json!([workspace, user]));
            }
            let number = self.number;
            self.rows.standing_numbers.push(json!([workspace, number]));
        }
    }

    fn remember(&mut self, index: usize) {
        let channel = &self.channels[index];
        if channel.newest.len() < 8 || index % 3 == 2 {
            return;
        }
        let (workspace, id, visibility) =
            (WORKSPACES[channel.workspace].0, channel.id.clone(), channel.visibility);
        let newest = channel.newest.clone();
        let list = if channel.is_japanese { words::REMEMBERED_JA } else { words::REMEMBERED };
        let subject = channel.subject;
        for term in ["long_term", "short_term"] {
            let mut entries = Vec::new();
            let mut texts = Vec::new();
            let memory = self.next();
            for (place, words) in list.iter().enumerate() {
                let (line, at) = newest[place % newest.len()].clone();
                let date = date(at);
                let text = words.replace("{}", subject);
                self.rows.memory_sources.push(json!([workspace, id, line, "channel", id, term]));
                texts.push(format!("- {date}: {text}"));
                entries.push(json!({
                    "date": date, "text": text, "visibility": visibility, "lines": [[id, line]],
                    "pinned": place == 0, "removed": false,
                }));
            }
            let text = texts.join("\n");
            let public = (visibility == "public").then(|| text.clone());
            let made = newest.last().map_or(self.now_ms, |(_, at)| *at);
            let entries = Value::from(entries).to_string();
            self.rows.memories.push(json!([
                memory, workspace, "channel", id, term, made, entries, text, public,
            ]));
        }
        let (memo, name) = (self.next(), format!("{subject} {index}"));
        let at = date(self.now_ms - DAY_MS);
        let text = json!({
            "name": name, "content": "Mia keeps the list; ask before it is changed.", "priority": 3, "tags": ["list"],
            "detail": null, "created": format!("{at}T08:00:00Z"), "updated": format!("{at}T08:00:00Z"),
            "channel": id, "visibility": visibility, "said_by": self.users[self.channels[index].workspace][0],
        });
        let realm = if visibility == "public" { "" } else { &id };
        self.rows.memos.push(json!([
            memo,
            workspace,
            realm,
            name,
            id,
            self.now_ms - DAY_MS,
            text.to_string(),
        ]));
    }

    /// The orders in force in a channel, and how they were given.
    fn order(&mut self, index: usize) {
        let channel = &self.channels[index];
        let (workspace, id, visibility) =
            (WORKSPACES[channel.workspace].0, channel.id.clone(), channel.visibility);
        let mode = channel.mode;
        let at = self.now_ms - self.random.between(HOUR_MS, 9 * DAY_MS);
        let by = *self.random.pick(&["olga", "ravi", ""]);
        let given = |number: i64, kind: &str, until: Option<i64>, value: Option<&str>| {
            json!([number, workspace, at, by, kind, id, "", until, value])
        };
        if mode != "companion" {
            self.rows.modes.push(json!([workspace, id, mode]));
            let number = self.next();
            self.rows.orders.push(given(number, "mode", None, Some(mode)));
        }
        if index % 19 == 4 {
            let forever = Timestamp::MAX.as_millisecond();
            let until = if index.is_multiple_of(2) { self.now_ms + 6 * HOUR_MS } else { forever };
            self.rows.mutes.push(json!([workspace, id, until]));
            let number = self.next();
            self.rows.orders.push(given(number, "mute", Some(until), None));
        }
        if index % 7 == 2 {
            let value = *self.random.pick(&["0.7", "0.8", "0.9"]);
            self.rows.settings.push(json!([workspace, id, "min_confidence", value, by, at]));
            let number = self.next();
            let told = format!("min_confidence {value}");
            self.rows.orders.push(given(number, "change_setting", None, Some(&told)));
        }
        if index % 13 == 1 {
            let number = self.next();
            let text = *self.random.pick(words::ORDERS);
            self.rows.standing.push(json!([number, workspace, id, text, visibility, by, at]));
        }
        // Nobody asks for a call where nobody has spoken.
        if index % 29 == 3 && !self.channels[index].newest.is_empty() {
            self.await_consent(index);
        }
        if visibility != "public" && index.is_multiple_of(4) {
            let hour = at - at % HOUR_MS;
            self.rows.reads.push(json!([workspace, id, "olga", "messages", hour]));
        }
    }

    /// A call of a tool that somebody must allow.
    fn await_consent(&mut self, index: usize) {
        let (workspace, id) = {
            let channel = &self.channels[index];
            (WORKSPACES[channel.workspace].0, channel.id.clone())
        };
        let (consent, made) =
            (self.next(), self.now_ms - self.random.between(MINUTE_MS, 5 * HOUR_MS));
        let decision = self.next();
        let told = "I have asked whether I may put it into the calendar.";
        let said = self.say(index, made, told, None);
        // The call is announced by the answer, which ends the decision.
        self.rows.outbox.push(json!([
            consent, consent, workspace, id, "", decision, "", "said", made, said, null, 0,
        ]));
        self.rows.decisions.push(json!([
            decision, workspace, id, "", made, made, 1, null, null, "spoke", null, "companion",
            self.revision,
        ]));
        self.rows.consents.push(json!([
            consent,
            workspace,
            id,
            decision,
            consent,
            "calendar__create_event",
            json!({ "title": "Garden meeting", "day": "Thursday" }).to_string(),
            json!({ "lines": [], "memories": [] }).to_string(),
            self.revision,
            made,
            made + DAY_MS,
        ]));
    }
}

fn date(at_ms: i64) -> String {
    let at = Timestamp::UNIX_EPOCH + SignedDuration::from_millis(at_ms);
    at.to_zoned(TimeZone::UTC).date().to_string()
}
