//! The page of channels, with as many as a large installation has: search, sort, filters and parts, and one order for
//! several channels, on either database.

use std::collections::BTreeSet;

use aizuchi_harness::postgres;
use aizuchi_harness::seeded::{Seeded, create};
use aizuchi_store::database::location::{DatabaseLocation, PostgresUrl};
use jiff::Timestamp;
use reqwest::header::LOCATION;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::browser::operator::time_zone_at_noon;
use crate::console::harness::{
    ADMIN, OPERATOR, VIEWER, client, encode, get, get_in, json_of, post, set_tokens,
};
use crate::program::{Home, Program};

const LARGEST_PAGE: usize = 100_000;

/// Creates a database with this many channels, in a file or on a server.
pub async fn seed(home: &Home, channels: usize, url: Option<&str>) {
    let now = Timestamp::now();
    let seeded = Seeded { channels, users: 60, days: 20, messages: 8_000, seed: 7, now };
    let location = match url {
        Some(url) => DatabaseLocation::Postgres(PostgresUrl::parse(url).unwrap()),
        None => DatabaseLocation::Sqlite(home.database()),
    };
    create(&location, &seeded).await.unwrap();
    if let Some(url) = url {
        home.replace(&format!("sqlite://{}", home.database().display()), url);
    }
}

async fn shown(program: &Program, token: &str, query: &str) -> String {
    let page = format!("/console/channels{query}");
    let answer = get(program, Some(token), &page).await;
    assert_eq!(answer.status(), StatusCode::OK, "{page}");
    let text = answer.text().await.unwrap();
    assert!(text.len() <= LARGEST_PAGE, "{page}: {} bytes", text.len());
    text
}

/// The rows of a page.
fn rows(page: &str) -> Vec<&str> {
    let table = page.split("</table>").next().unwrap_or_default();
    table.split("<tr data-key=").skip(1).collect()
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    text.split_once(begin).unwrap().1.split_once(end).unwrap().0
}

fn name(row: &str) -> &str {
    between(row, "<a href=\"/console/channels/", "</a>").split_once('>').unwrap().1
}

fn key(row: &str) -> &str {
    between(row, "\"", "\"")
}

fn cost(row: &str) -> f64 {
    row.split(" USD").next().unwrap().rsplit('>').next().unwrap().parse().unwrap_or(0.0)
}

async fn send(program: &Program, token: &str, path: &str, fields: &[(&str, &str)]) -> Response {
    let fields = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    let form = client().post(format!("{}{path}", program.address)).bearer_auth(token);
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    form.body(fields.collect::<Vec<_>>().join("&")).send().await.unwrap()
}

/// The newest order in the journal, after a form that led to this page.
async fn newest(program: &Program, answer: Response, page: &str) -> String {
    assert_eq!(answer.status(), StatusCode::SEE_OTHER);
    let led_to = answer.headers()[LOCATION].to_str().unwrap();
    assert!(led_to.starts_with(page), "{led_to}");
    let journal = get(program, Some(OPERATOR), "/console/orders").await.text().await.unwrap();
    between(&journal, "data-testid=\"order\"", "</tr>").to_owned()
}

/// The modes of these channels, each with its workspace.
async fn modes(program: &Program, keys: &[String]) -> Vec<String> {
    let status = json_of(get(program, Some(ADMIN), "/api/status").await).await;
    let mode = |key: &String| {
        let (workspace, id) = key.split_once(' ').unwrap();
        let mut workspaces = status["workspaces"].as_array().unwrap().iter();
        let found = workspaces.find(|it| it["workspace"] == workspace).unwrap();
        let mut channels = found["channels"].as_array().unwrap().iter();
        let channel = channels.find(|it| it["id"] == id).unwrap();
        channel["mode"].as_str().unwrap().to_owned()
    };
    keys.iter().map(mode).collect()
}

#[tokio::test]
async fn three_hundred_channels_are_searched_sorted_and_filtered() {
    for url in [None, Some(postgres::database())] {
        let home = Home::new(1000.0);
        seed(&home, 300, url.as_deref()).await;
        // What is invented is what the program could have made: a decision without a step is over.
        let open = "SELECT CAST(count(*) AS TEXT) FROM decisions WHERE closed_ms IS NULL";
        assert!(url.is_some() || home.rows(open).await == [["0"]]);
        set_tokens(&home);
        home.add(&format!("timezone: {}\n", time_zone_at_noon()));
        let program = home.start();
        let (mut query, mut seen) = (String::new(), Vec::new());
        loop {
            let page = shown(&program, ADMIN, &query).await;
            assert!(rows(&page).len() <= 50 && !rows(&page)[0].contains("<form"), "{page}");
            seen.extend(
                rows(&page).into_iter().map(|row| (name(row).to_lowercase(), key(row).to_owned())),
            );
            if !page.contains("data-testid=\"next-channels\"") {
                break;
            }
            query = format!("?channels_after={}", seen.len());
        }
        let all = seen.len();
        assert!(all >= 300, "{all}");
        assert!(seen.is_sorted_by_key(|(name, _)| name));
        seen.sort_by(|(_, one), (_, other)| one.cmp(other));
        seen.dedup();
        assert_eq!(seen.len(), all);

        let page = shown(&program, ADMIN, "?sort=cost").await;
        assert!(page.contains("aria-sort=\"descending\"><a href=\"/console/channels?sort=cost\""));
        let costs: Vec<f64> = rows(&page).into_iter().map(cost).collect();
        assert!(costs[0] > 0.0 && costs.is_sorted_by(|one, other| one >= other), "{costs:?}");
        let page = shown(&program, ADMIN, "?sort=spoke").await;
        let spoke = |row: &&str| row.matches("<time data-ago datetime=\"").count() == 2;
        assert!(rows(&page).iter().is_sorted_by_key(|row| !spoke(row)));
        for sort in ["mode", "heard"] {
            assert_eq!(rows(&shown(&program, ADMIN, &format!("?sort={sort}")).await).len(), 50);
        }

        // The page of the config leads to all channels with a mode of their own.
        let config = get(&program, Some(ADMIN), "/console/configuration").await;
        let config = config.text().await.unwrap();
        assert!(config.contains("<h2 id=\"varied\">Channels differ</h2>"), "{config}");
        assert!(config.contains("<a href=\"/console/channels?only=differs\">and "), "{config}");

        // Filters can be combined, and the links keep them.
        let part = &seen[0].0[..seen[0].0.char_indices().nth(2).unwrap().0];
        let page = shown(&program, ADMIN, &format!("?q=%23{}&only=costly", encode(part))).await;
        assert!(!rows(&page).is_empty());
        for row in rows(&page) {
            assert!(name(row).to_lowercase().contains(part) && row.contains("USD"), "{row}");
        }
        assert!(
            page.contains("only=costly&amp;sort=mode")
                || page.contains("only=costly&#38;sort=mode"),
            "{page}"
        );
        let page = shown(&program, ADMIN, "?mode=observe&workspace=slack%3AT0SEEDED").await;
        assert!(!rows(&page).is_empty());
        assert!(rows(&page).iter().all(|row| row.contains("only listens")), "{page}");
        assert!(rows(&page).iter().all(|row| key(row).starts_with("slack:T0SEEDED ")), "{page}");
        let page = shown(&program, ADMIN, "?only=silent&sort=spoke").await;
        assert!(!rows(&page).is_empty());
        let week = Timestamp::now().as_second() - 7 * 24 * 3600;
        for row in rows(&page).into_iter().filter(spoke) {
            let at = row.rsplit("datetime=\"").next().unwrap().split('"').next().unwrap();
            assert!(at.parse::<Timestamp>().unwrap().as_second() < week, "{row}");
        }
        assert!(rows(&shown(&program, ADMIN, "?only=muted&q=nowhere-at-all").await).is_empty());
        let page = shown(&program, ADMIN, "?only=failing").await;
        let has_failed = |row: &&str| row.contains("class=\"outcome failed\"");
        assert!(rows(&page).iter().all(has_failed), "{page}");

        // The channels of workspaces that cannot be heard say so.
        let page = shown(&program, ADMIN, "?only=disconnected").await;
        assert!(!rows(&page).is_empty());
        let is_told = |row: &&str| row.contains("data-testid=\"disconnected\"");
        assert!(rows(&page).iter().all(is_told), "{page}");
        let page = shown(&program, ADMIN, "?only=disconnected&workspace=local").await;
        assert!(rows(&page).is_empty(), "{page}");

        // A private channel is neither named nor found by name by those who may not know it.
        let page = shown(&program, ADMIN, "?only=private").await;
        let private: Vec<(&str, &str)> =
            rows(&page).into_iter().map(|row| (name(row), key(row))).collect();
        assert!(!private.is_empty());
        for token in [OPERATOR, VIEWER] {
            let page = shown(&program, token, "?only=private").await;
            assert_eq!(rows(&page).len(), private.len());
            for row in rows(&page) {
                assert_eq!(Some(name(row)), key(row).split(' ').nth(1), "{row}");
            }
            let (secret, id) = private[0];
            let page = shown(&program, token, &format!("?q={}", encode(secret))).await;
            assert!(rows(&page).iter().all(|row| key(row) != id), "{page}");
            assert_eq!(
                page.contains("data-testid=\"choose\""),
                token == OPERATOR && !rows(&page).is_empty()
            );
        }
        for query in ["?sort=color", "?only=loud", "?channels_after=x"] {
            let path = format!("/console/channels{query}");
            let answer = get(&program, Some(ADMIN), &path).await;
            assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{query}");
        }
        let nowhere = get(&program, Some(ADMIN), "/console/channels?workspace=slack:T9").await;
        assert_eq!(nowhere.status(), StatusCode::NOT_FOUND);
        let page = get_in(&program, Some(ADMIN), "/console/channels", "ja").await;
        let page = page.text().await.unwrap();
        assert!(page.len() <= LARGEST_PAGE && page.contains("選んだもの"), "{}", page.len());
        assert_eq!(program.stop(), Some(0));
    }
}

#[tokio::test]
async fn several_channels_are_changed_at_once_and_restored() {
    for url in [None, Some(postgres::database())] {
        let home = Home::new(1000.0);
        seed(&home, 60, url.as_deref()).await;
        set_tokens(&home);
        let program = home.start();
        let page = shown(&program, OPERATOR, "?workspace=slack%3AT0SEEDED").await;
        let chosen: Vec<String> =
            rows(&page).into_iter().take(3).map(|row| key(row).to_owned()).collect();
        let before = modes(&program, &chosen).await;
        let mut fields = vec![("whom", "chosen"), ("order", "mode off")];
        fields.extend(chosen.iter().map(|key| ("channel", &**key)));
        let filter = "/console/channels?workspace=slack%3AT0SEEDED";
        assert_eq!(send(&program, VIEWER, filter, &fields).await.status(), StatusCode::FORBIDDEN);
        assert_eq!(modes(&program, &chosen).await, before);

        // Nothing is changed if one of the workspaces is unknown.
        let stale = [&fields[..], &[("channel", "slack:TGONE C1")]].concat();
        let refused = send(&program, OPERATOR, filter, &stale).await;
        assert_eq!(refused.status(), StatusCode::NOT_FOUND);
        assert_eq!(modes(&program, &chosen).await, before);

        // What cannot be changed is told, and the rest is changed.
        fields.push(("channel", "slack:T0SEEDED C0GONE"));
        let answer = send(&program, OPERATOR, filter, &fields).await;
        let page = answer.headers()[LOCATION].to_str().unwrap().to_owned();
        let row = newest(&program, answer, &format!("{filter}&done=")).await;
        assert_eq!(modes(&program, &chosen).await, ["off", "off", "off"]);
        // The same part of the list says what was done, and undoes it there.
        let shown_after = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
        let done = between(&shown_after, "data-testid=\"done\"", "</form>");
        assert!(done.contains("mode: off · Set for 3 channels"), "{done}");
        assert!(done.contains("1 not changed: C0GONE (not there any more)"), "{done}");
        let back = between(done, "name=\"back\" value=\"", "\"").replace("&#38;", "&");
        assert_eq!(back, filter);
        let viewed = get(&program, Some(VIEWER), &page).await.text().await.unwrap();
        assert!(!viewed.contains("data-testid=\"done\""), "{viewed}");
        assert!(row.contains("mode: off") && row.contains("Set for 3 channels"), "{row}");
        assert!(row.contains("1 not changed: C0GONE"), "{row}");
        let undo = between(&row, "value=\"undo ", "\"").to_owned();

        // What was changed since stays.
        let id = chosen[0].split_once(' ').unwrap().1;
        let since = json!({ "workspace": "slack:T0SEEDED", "channel": id, "mode": "mention_only" });
        assert_eq!(post(&program, Some(OPERATOR), "/api/mode", since).await, 204);
        let form = [("order", &*format!("undo {undo}")), ("back", &back)];
        let refused = send(&program, VIEWER, "/console/orders", &form).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        let answer = send(&program, OPERATOR, "/console/orders", &form).await;
        let page = answer.headers()[LOCATION].to_str().unwrap().to_owned();
        let row = newest(&program, answer, &format!("{filter}&done=")).await;
        let shown_after = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
        let done = between(&shown_after, "data-testid=\"done\"", "</form>");
        assert!(done.contains("undid: mode off · 2 channels"), "{done}");
        assert!(done.contains("(changed since)") && !done.contains("<button"), "{done}");
        assert!(row.contains("undid: mode off") && row.contains("2 channels"), "{row}");
        assert!(row.contains("not changed: ") && !row.contains("value=\"undo"), "{row}");
        let after = modes(&program, &chosen).await;
        assert_eq!((&*after[0], &after[1..]), ("mention_only", &before[1..]));

        // All that match the filter are changed, on whatever part of the list they stand and in each workspace.
        let page = shown(&program, OPERATOR, "?mode=mention_only").await;
        let matching: Vec<String> =
            rows(&page).into_iter().map(|row| key(row).to_owned()).collect();
        let fields = [("whom", "matching"), ("whom", "sure"), ("order", "mute")];
        let answer = send(&program, OPERATOR, "/console/channels?mode=mention_only", &fields).await;
        let page = answer.headers()[LOCATION].to_str().unwrap().to_owned();
        let row = newest(&program, answer, "/console/channels?mode=mention_only&done=").await;
        let shown_after = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
        let done = between(&shown_after, "data-testid=\"done\"", "</form>");
        let undo = between(done, "value=\"undo ", "\"");
        // Several workspaces are one row, which says how many, and one order undoes it.
        assert!(done.contains(" workspaces") && undo.contains(','), "{done}");
        assert!(row.contains("mute") && row.matches("value=\"undo ").count() == 1, "{row}");
        assert!(undo.split(',').all(|number| row.contains(number)), "{row}");
        assert!(row.contains("slack:T0SEEDED") && row.contains("<details"), "{row}");
        // What had the value already is told, too.
        let again = send(&program, OPERATOR, "/console/channels?mode=mention_only", &fields).await;
        let page = again.headers()[LOCATION].to_str().unwrap().to_owned();
        let again = get(&program, Some(OPERATOR), &page).await.text().await.unwrap();
        let done = between(&again, "data-testid=\"done\"", "</form>");
        let told = format!("{} had it already", matching.len());
        assert!(done.contains("Set for 0 channels") && done.contains(&told), "{done}");
        let page = shown(&program, OPERATOR, "?mode=mention_only&only=muted").await;
        let muted: Vec<&str> = rows(&page).into_iter().map(key).collect();
        assert_eq!(muted, matching);
        let workspaces = matching.iter().filter_map(|key| key.split(' ').next());
        assert!(workspaces.collect::<BTreeSet<_>>().len() > 1, "{matching:?}");

        // The API does the same.
        let ids: Vec<&str> = chosen.iter().map(|key| key.split_once(' ').unwrap().1).collect();
        let body = json!({
            "workspace": "slack:T0SEEDED", "channels": [ids[0], ids[1], "C0GONE"],
            "order": "set min_confidence", "value": "0.95",
        });
        let path = "/api/channels/order";
        assert_eq!(post(&program, Some(VIEWER), path, body.clone()).await, 403);
        let ask = async |path: &str, body: &Value| {
            let request = client().post(format!("{}{path}", program.address)).json(body);
            json_of(request.bearer_auth(OPERATOR).send().await.unwrap()).await
        };
        let done = ask(path, &body).await;
        assert_eq!(done["changed"].as_array().unwrap().len(), 2, "{done}");
        assert_eq!(done["unchanged"], json!(["C0GONE"]));
        let least = async || {
            let path = format!("/api/settings?workspace=slack:T0SEEDED&channel={}", ids[0]);
            let settings = json_of(get(&program, Some(OPERATOR), &path).await).await;
            let settings = settings["settings"].as_array().unwrap().clone();
            let found = settings.into_iter().find(|it| it["setting"] == "min_confidence").unwrap();
            (found["value"].clone(), found["ordered"].clone())
        };
        assert_eq!(least().await, (json!("0.95"), json!(true)));
        let undo = format!("/api/orders/{}/undo", done["number"]);
        let undone = ask(&undo, &json!({})).await;
        assert_eq!(undone["changed"], done["changed"]);
        assert_eq!(least().await.1, json!(false));
        for (order, value, status) in [
            ("mode loud", None, 422),
            ("mute 0", None, 422),
            ("set min_confidence", Some("1.5"), 422),
            ("set min_confidence", None, 422),
            ("drop 7", None, 422),
            ("mute 90", None, 200),
            ("unmute", None, 200),
            ("set language", Some("ja"), 200),
        ] {
            let mut body = body.clone();
            (body["order"], body["value"]) = (json!(order), json!(value));
            assert_eq!(post(&program, Some(OPERATOR), path, body).await, status, "{order}");
        }
        // An empty name must not silence everything.
        let body = json!({ "workspace": "slack:T0SEEDED", "channels": [""], "order": "mute" });
        assert_eq!(post(&program, Some(OPERATOR), path, body).await, 422);
        let undone = format!("/api/orders/{}/undo", undone["number"]);
        for path in ["/api/orders/999999/undo", &undone] {
            assert_eq!(post(&program, Some(OPERATOR), path, json!({})).await, 404, "{path}");
        }
        // What is missing is said.
        let set = ("order", "set min_confidence");
        for (fields, why) in [
            (vec![("order", "mode off")], "no_channel_chosen"),
            (vec![("whom", "matching"), ("order", "mode off")], "no_channel_chosen"),
            (vec![set, ("channel", &*chosen[0])], "value_needed"),
            (vec![set, ("channel", &*chosen[0]), ("min_confidence", "")], "value_needed"),
            (vec![set, ("channel", &*chosen[0]), ("min_confidence", "2")], "value_needed"),
        ] {
            let refused = send(&program, OPERATOR, filter, &fields).await;
            assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
            assert_eq!(refused.headers()["aizuchi-refusal"], why);
            let told = refused.text().await.unwrap();
            assert_eq!(told.contains("so tick “Yes, change all"), fields[0].1 == "matching");
        }
        let fields = [set, ("channel", &*chosen[0]), ("min_confidence", " 0.95 ")];
        assert_eq!(send(&program, OPERATOR, filter, &fields).await.status(), StatusCode::SEE_OTHER);
        assert_eq!(least().await, (json!("0.95"), json!(true)));

        // What a channel has of its own is listed, and nothing that its workspace has, too.
        let in_all =
            json!({ "workspace": "slack:T0SEEDED", "setting": "timing", "value": "human" });
        assert_eq!(post(&program, Some(OPERATOR), "/api/settings", in_all).await, 204);
        let own = |row: &str| Some(between(row, "data-testid=\"own\">", "</small>").to_owned());
        let all = shown(&program, OPERATOR, &filter.replace("/console/channels", "")).await;
        let page = shown(&program, OPERATOR, "?workspace=slack%3AT0SEEDED&only=differs").await;
        assert!(rows(&page).len() < rows(&all).len() && !page.contains("timing human"), "{page}");
        let row = rows(&page).into_iter().find(|row| key(row) == chosen[0]);
        assert_eq!(row.and_then(own).as_deref(), Some("language ja · confidence 0.95"));

        // A mute of the whole workspace stands at each of its channels.
        let everywhere = json!({ "workspace": "slack:T0SEEDED" });
        assert_eq!(post(&program, Some(OPERATOR), "/api/mute", everywhere).await, 204);
        let page = shown(&program, OPERATOR, &filter.replace("/console/channels", "")).await;
        assert_eq!(rows(&page).len(), page.matches("data-testid=\"workspace-muted\"").count());
        assert_eq!(program.stop(), Some(0));
    }
}
