//! Every address that shows stored data: the pages, with parameters from a database; the pages that respond to a form;
//! and each read in the description of the API.

use reqwest::Response;
use serde_json::Value;

use crate::console::harness::{ADMIN, client, encode, get, json_of};
use crate::generated::Place;
use crate::program::{Home, Program};

/// The parameters of the addresses.
pub struct Walk<'a> {
    pub places: &'a [Place],
    /// The search term for timelines.
    search: &'a str,
    /// The id of a user.
    person: &'a str,
    decisions: Vec<StoredDecision>,
    drafts: Vec<StoredDraft>,
}

/// A form that responds with a page and changes nothing: it only tries something out.
pub struct PageForm {
    pub path: String,
    pub fields: Vec<(&'static str, String)>,
}

/// The newest decision of a channel that was closed by this gate, or is open.
struct StoredDecision {
    workspace: String,
    channel: String,
    id: String,
}

/// A standing order of a channel that is not in effect yet.
struct StoredDraft {
    workspace: String,
    channel: String,
    number: String,
}

const DRAFTS: &str =
    "SELECT workspace, channel, CAST(number AS TEXT) FROM standing_orders WHERE is_draft = 1";
const DECISIONS: &str = "
    SELECT workspace, channel, CAST(max(id) AS TEXT) FROM decisions
    GROUP BY workspace, channel, coalesce(ended, ''), coalesce(gate, '')";

/// Forms that redirect to a page that a `GET` shows.
const ACTIONS: [&str; 7] = [
    "console::people::forget",
    "console::queue::decide",
    "console::channels::order",
    "console::memory::order",
    "console::orders::order",
    "sign_in::sign_in",
    "sign_in::sign_out",
];
/// The pages without a place.
const OTHERS: [&str; 21] = [
    "/console/plans",
    "/",
    "/login",
    "/live",
    "/ready",
    "/metrics",
    "/api/openapi.json",
    "/console",
    "/console/channels",
    "/console/queue",
    "/console/failures",
    "/console/orders",
    "/console/figures",
    "/console/memory",
    "/console/people",
    "/console/configuration",
    "/console/report",
    "/console/report.css",
    "/console/persona",
    "/console/api",
    "/console/figures?days=90",
];

impl<'a> Walk<'a> {
    /// Reads the parameters from the program's database.
    pub async fn new(home: &Home, places: &'a [Place], search: &'a str, person: &'a str) -> Self {
        let decisions = home.rows(DECISIONS).await.into_iter().map(|row| {
            let [workspace, channel, id]: [String; 3] = row.try_into().unwrap();
            StoredDecision { workspace, channel, id }
        });
        let drafts = home.rows(DRAFTS).await.into_iter().map(|row| {
            let [workspace, channel, number]: [String; 3] = row.try_into().unwrap();
            StoredDraft { workspace, channel, number }
        });
        Self { places, search, person, decisions: decisions.collect(), drafts: drafts.collect() }
    }

    /// Returns every page, except for those that replay a history.
    pub fn pages(&self) -> Vec<String> {
        let others = OTHERS.map(str::to_owned).into_iter();
        others.chain(self.places.iter().flat_map(|place| self.pages_of(place))).collect()
    }

    fn pages_of(&self, place: &Place) -> Vec<String> {
        let Self { search, person, .. } = self;
        let [workspace, channel] = [&place.workspace, &place.channel].map(|part| encode(part));
        let (search, person) = (encode(search), encode(person));
        let timeline = format!("/console/channels/{workspace}/{channel}");
        let memory = format!("/console/memory?workspace={workspace}");
        let mut pages = vec![
            format!("/console?workspace={workspace}&channel={channel}&result=held_back"),
            format!("/console/figures?workspace={workspace}&days=7"),
            format!("/console/report?workspace={workspace}&days=1"),
            format!("/console/report?workspace={workspace}&days=1&private=true"),
            format!("/console/people?workspace={workspace}&person={person}"),
            format!("/console/people/{workspace}/U1"),
            format!("{memory}&channel={channel}"),
            format!("{timeline}?q={search}"),
            format!("{timeline}?person={person}"),
            format!("{timeline}?outcome=spoke"),
            format!("{timeline}/what-if"),
            timeline,
            memory,
        ];
        for term in ["short_term", "long_term"] {
            pages.push(format!(
                "/console/memory/versions?workspace={workspace}&scope=channel&channel={channel}&term={term}"
            ));
        }
        for id in self.decisions_of(place) {
            pages.push(format!("/console/decisions/{workspace}/{id}"));
        }
        // An open decision, and one that a judge closed.
        for id in self.decisions_of(place).take(2) {
            pages.push(format!("/console/decisions/{workspace}/{id}/judge"));
            pages.push(format!("/decisions/{id}"));
        }
        pages
    }

    /// Returns the forms that respond with a page. Instead of a model, the built-in rules answer, which costs nothing.
    pub fn forms(&self) -> Vec<PageForm> {
        self.places.iter().flat_map(|place| self.forms_of(place)).collect()
    }

    fn forms_of(&self, place: &Place) -> Vec<PageForm> {
        let search = self.search.to_owned();
        let cap = || ("cap", "0.10".to_owned());
        let [workspace, channel] = [&place.workspace, &place.channel].map(|part| encode(part));
        let timeline = format!("/console/channels/{workspace}/{channel}");
        let trial = |field| PageForm {
            path: format!("{timeline}/order-trial"),
            fields: vec![field, ("channel", place.channel.clone()), ("action", "price".to_owned())],
        };
        let mut forms = vec![
            trial(("text", search.clone())),
            PageForm { path: "/console/configuration".to_owned(), fields: Vec::new() },
            PageForm {
                path: format!("{timeline}/what-if"),
                fields: vec![
                    ("days", "1".to_owned()),
                    ("min_confidence", "0.95".to_owned()),
                    cap(),
                ],
            },
            PageForm {
                path: "/console/persona".to_owned(),
                fields: vec![
                    ("channel", format!("{workspace}/{channel}")),
                    ("name", "Hilda<b>".to_owned()),
                    ("system_prompt", search),
                    ("action", "ask".to_owned()),
                    cap(),
                ],
            },
        ];
        let drafts = self.drafts.iter().filter(|draft| {
            (&draft.workspace, &draft.channel) == (&place.workspace, &place.channel)
        });
        forms.extend(drafts.map(|draft| trial(("number", draft.number.clone()))));
        forms.extend(self.decisions_of(place).take(2).map(|id| PageForm {
            path: format!("/console/decisions/{workspace}/{id}/judge"),
            fields: vec![cap()],
        }));
        forms
    }

    fn decisions_of(&self, place: &Place) -> impl Iterator<Item = &str> {
        let decisions = self.decisions.iter().filter(move |decision| {
            (&decision.workspace, &decision.channel) == (&place.workspace, &place.channel)
        });
        decisions.map(|decision| decision.id.as_str())
    }

    /// Returns the pages that try other settings on a channel's last day.
    pub fn trials(&self) -> Vec<String> {
        let trial = |place: &Place| {
            let [workspace, channel] = [&place.workspace, &place.channel].map(|part| encode(part));
            format!("/console/channels/{workspace}/{channel}/what-if?days=1&min_confidence=0.95")
        };
        self.places.iter().map(trial).collect()
    }

    /// Returns each `GET` that the program describes, for each place. A new one is included as soon as it is described.
    pub async fn api_reads(&self, program: &Program) -> Vec<String> {
        let description = json_of(get(program, Some(ADMIN), "/api/openapi.json").await).await;
        let mut reads = Vec::new();
        for (path, operations) in description["paths"].as_object().unwrap() {
            let Some(operation) = operations.get("get") else { continue };
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters: Vec<&Value> = parameters.collect();
            for place in self.places {
                reads.push(self.read(path, &parameters, place));
            }
            if !path.contains('{') {
                reads.push(path.clone());
            }
        }
        reads
    }

    /// Returns a read's address, with every parameter that has a known value.
    fn read(&self, path: &str, parameters: &[&Value], place: &Place) -> String {
        let (mut path, mut query) = (path.to_owned(), Vec::new());
        for parameter in parameters {
            let name = parameter["name"].as_str().unwrap();
            let value = match name {
                "workspace" => place.workspace.as_str(),
                "channel" => place.channel.as_str(),
                "id" => self.decisions_of(place).next().unwrap_or("1"),
                "person" => self.person,
                "user" => "U1",
                "q" | "query" => self.search,
                "decisions" => "true",
                "days" => "30",
                "scope" => "channel",
                "term" => "long_term",
                _ => continue,
            };
            match parameter["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &encode(value)),
                _ => query.push(format!("{name}={}", encode(value))),
            }
        }
        format!("{path}?{}", query.join("&"))
    }
}

impl PageForm {
    pub async fn send(&self, program: &Program, token: &str, language: &str) -> Response {
        let pairs = self.fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
        client()
            .post(format!("{}{}", program.address, self.path))
            .bearer_auth(token)
            .header("accept", "text/html")
            .header("accept-language", language)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(pairs.collect::<Vec<_>>().join("&"))
            .send()
            .await
            .unwrap()
    }
}

/// Returns the routes of pages that none of these addresses covers. Streams and static files are excluded.
pub fn missing_routes(addresses: &[String]) -> Vec<&'static str> {
    let pages = routes().into_iter().filter(|(path, handlers)| {
        let is_page = handlers.contains("get(") && !handlers.contains("events::events");
        is_page && !path.starts_with("/static/")
    });
    let mut pages: Vec<&str> = pages.map(|(path, _)| path).collect();
    assert!(pages.len() > 15, "{pages:?}");
    pages.retain(|route| !addresses.iter().any(|address| leads_to(address, route)));
    pages
}

/// Returns the routes that respond to a form with a page, and that none of these forms covers.
pub fn missing_forms(forms: &[PageForm]) -> Vec<&'static str> {
    let answered = routes().into_iter().filter(|(path, handlers)| {
        let handler = handlers.split_once("post(").and_then(|(_, rest)| rest.split_once(')'));
        let is_page = handler.is_some_and(|(handler, _)| !ACTIONS.contains(&handler));
        // Requests from platforms are not forms.
        is_page && !path.starts_with("/slack/")
    });
    let mut answered: Vec<&str> = answered.map(|(path, _)| path).collect();
    assert!(answered.len() >= 4, "{answered:?}");
    answered.retain(|route| !forms.iter().any(|form| leads_to(&form.path, route)));
    answered
}

/// Returns the program's routes, each with its handler.
fn routes() -> Vec<(&'static str, &'static str)> {
    let router = include_str!("../../../crates/aizuchi-web/src/lib.rs")
        .split_once("\nfn routes(")
        .unwrap()
        .1;
    let router = router.split_once("\n}\n").unwrap().0;
    let routes = router.split(".route(").skip(1);
    routes.filter_map(|route| route.trim_start().strip_prefix('"')?.split_once('"')).collect()
}

fn leads_to(address: &str, route: &str) -> bool {
    let path = address.split('?').next().unwrap();
    let (path, route) = (path.split('/'), route.split('/'));
    path.clone().count() == route.clone().count()
        && path.zip(route).all(|(part, expected)| expected.starts_with('{') || part == expected)
}

#[test]
fn an_address_leads_to_one_kind_of_page() {
    for (address, route, expected) in [
        ("/console/channels/a/b?q=1", "/console/channels/{workspace}/{channel}", true),
        ("/console/channels/a/b/what-if", "/console/channels/{workspace}/{channel}", false),
        ("/console", "/console/queue", false),
        ("/", "/", true),
    ] {
        assert_eq!(leads_to(address, route), expected, "{address} {route}");
    }
    assert!(missing_routes(&["/console".to_owned()]).contains(&"/console/queue"));
    let persona = PageForm { path: "/console/persona".to_owned(), fields: Vec::new() };
    let missing = missing_forms(&[persona]);
    assert!(missing.contains(&"/console/channels/{workspace}/{channel}/order-trial"));
    assert!(!missing.contains(&"/console/persona") && !missing.contains(&"/console/queue"));
}
