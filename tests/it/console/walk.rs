//! Every address that shows something of what is stored: the pages with what a database has for their parameters, and each
//! read that the description of the API has.

use serde_json::Value;

use crate::console::harness::{ADMIN, encode, get, json_of};
use crate::generated::Place;
use crate::program::{Home, Program};

/// What the addresses are about.
pub struct Walk<'a> {
    pub places: &'a [Place],
    /// What is looked for on timelines.
    search: &'a str,
    /// Somebody's id.
    person: &'a str,
    decisions: Vec<StoredDecision>,
}

/// The newest decision of a channel that was closed by this, or is open.
struct StoredDecision {
    workspace: String,
    channel: String,
    id: String,
}

const DECISIONS: &str = "
    SELECT workspace, channel, CAST(max(id) AS TEXT) FROM decisions
    GROUP BY workspace, channel, coalesce(ended, ''), coalesce(gate, '')";

/// Those without a place.
const OTHERS: [&str; 16] = [
    "/",
    "/login",
    "/live",
    "/ready",
    "/metrics",
    "/api/openapi.json",
    "/console",
    "/console/queue",
    "/console/orders",
    "/console/figures",
    "/console/memory",
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
        Self { places, search, person, decisions: decisions.collect() }
    }

    /// Every page, but for those that replay a history.
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
            format!("/console/figures?workspace={workspace}&days=7"),
            format!("/console/report?workspace={workspace}&days=1"),
            format!("/console/report?workspace={workspace}&days=1&private=true"),
            format!("{memory}&person={person}"),
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
        // An open one, and one that a judge closed.
        for id in self.decisions_of(place).take(2) {
            pages.push(format!("/console/decisions/{workspace}/{id}/judge"));
            pages.push(format!("/decisions/{id}"));
        }
        pages
    }

    fn decisions_of(&self, place: &Place) -> impl Iterator<Item = &str> {
        let decisions = self.decisions.iter().filter(move |decision| {
            (&decision.workspace, &decision.channel) == (&place.workspace, &place.channel)
        });
        decisions.map(|decision| decision.id.as_str())
    }

    /// The pages that try other settings on a channel's last day.
    pub fn trials(&self) -> Vec<String> {
        let trial = |place: &Place| {
            let [workspace, channel] = [&place.workspace, &place.channel].map(|part| encode(part));
            format!("/console/channels/{workspace}/{channel}/what-if?days=1&min_confidence=0.95")
        };
        self.places.iter().map(trial).collect()
    }

    /// Each `GET` that the program describes, for each place. A new one is among them as soon as it is described.
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

    /// A read's address, with every parameter that this knows a value for.
    fn read(&self, path: &str, parameters: &[&Value], place: &Place) -> String {
        let (mut path, mut query) = (path.to_owned(), Vec::new());
        for parameter in parameters {
            let name = parameter["name"].as_str().unwrap();
            let value = match name {
                "workspace" => place.workspace.as_str(),
                "channel" => place.channel.as_str(),
                "id" => self.decisions_of(place).next().unwrap_or("1"),
                "person" | "user" => self.person,
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

/// The routes of pages that none of these addresses leads to. Streams and files of the pages themselves are no such.
pub fn missing_routes(addresses: &[String]) -> Vec<&'static str> {
    let router = include_str!("../../../src/web.rs").split_once("\nfn router(").unwrap().1;
    let routes = router.split(".route(").skip(1).filter_map(|route| {
        let (path, handlers) = route.trim_start().strip_prefix('"')?.split_once('"')?;
        let is_page = handlers.contains("get(") && !handlers.contains("events::events");
        (is_page && !path.starts_with("/static/")).then_some(path)
    });
    let mut routes: Vec<&str> = routes.collect();
    assert!(routes.len() > 15, "{routes:?}");
    routes.retain(|route| !addresses.iter().any(|address| leads_to(address, route)));
    routes
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
}
