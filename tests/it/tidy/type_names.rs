//! A type name has one meaning: no two types of the program share a name, except for those listed here. A private type
//! counts as well: who searches for a name finds it, too. A type within a function, such as a serde visitor, and an
//! associated type are not a module's.

use std::collections::BTreeMap;

use super::sources;

const SHOWN: &str = "what a prompt, the API and a page show of a thing are different things";
const OF_ONE_PAGE: &str = "each page has its own for its template, and names no other's";
const FILLED_IN: &str =
    "the stand-ins name the shared generic type with their own errors filled in";

/// The names that several types share on purpose, with their number and the reason.
const SHARED: &[(&str, usize, &str)] = &[
    ("ChannelView", 3, SHOWN),
    ("DecisionView", 2, SHOWN),
    ("EntryView", 2, SHOWN),
    ("MemoView", 2, SHOWN),
    ("MessageView", 3, SHOWN),
    ("PersonaView", 3, SHOWN),
    ("StandingOrderView", 2, SHOWN),
    ("CallRow", 2, OF_ONE_PAGE),
    ("CallView", 2, OF_ONE_PAGE),
    ("ChannelRow", 2, OF_ONE_PAGE),
    ("DecisionPage", 2, OF_ONE_PAGE),
    ("GroupView", 2, OF_ONE_PAGE),
    ("MomentView", 2, OF_ONE_PAGE),
    ("ResultView", 3, OF_ONE_PAGE),
    ("SpanView", 2, OF_ONE_PAGE),
    ("ViewBuilder", 4, OF_ONE_PAGE),
    ("WorkspaceView", 2, OF_ONE_PAGE),
    ("Fault", 3, FILLED_IN),
    ("Faults", 3, FILLED_IN),
    ("ServerContext", 3, FILLED_IN),
];

#[test]
fn no_two_types_share_a_name() {
    let all = sources();
    let mut homes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in &all {
        for name in source.lines().filter_map(|(_, line)| defined_type(line)) {
            homes.entry(name).or_default().push(source.path.display().to_string());
        }
    }
    assert!(homes.len() > 1500, "most types are found: {}", homes.len());
    let mut wrong = Vec::new();
    for (name, homes) in &homes {
        let shared = SHARED.iter().find(|(shared, ..)| shared == name);
        let expected = shared.map_or(1, |(_, number, _)| *number);
        if homes.len() != expected && !is_of_both_platforms(homes) {
            wrong.push(format!("`{name}` stands in {}", homes.join(", ")));
        }
    }
    let gone = SHARED.iter().filter(|(name, ..)| !homes.contains_key(name));
    wrong.extend(gone.map(|(name, _, why)| format!("`{name}` is no more: {why}")));
    assert!(
        wrong.is_empty(),
        "one name for one thing, or a reason in SHARED:\n{}\n",
        wrong.join("\n")
    );
}

#[test]
fn defined_types_are_told_from_others() {
    let lines =
        ["pub struct A<'a> {", "    pub enum B {", "pub(super) type C = D;", "trait E: F {"];
    assert_eq!(lines.map(defined_type), [Some("A"), Some("B"), Some("C"), Some("E")]);
    let others = [
        "    struct Visitor;",
        "    type Err = A;",
        "pub fn a() {",
        "    pub structure: A,",
        "    pub struct $name(pub f64);",
    ];
    assert_eq!(others.map(defined_type), [None; 5]);
    let paths = |all: &[&str]| all.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    assert!(is_of_both_platforms(&paths(&["a-slack/b.rs", "a-discord/b.rs"])));
    assert!(!is_of_both_platforms(&paths(&["a-slack/b.rs", "a-slack/c.rs"])));
    assert!(!is_of_both_platforms(&paths(&["a-slack/b.rs", "a-discord/b.rs", "c.rs"])));
}

/// Returns the type that a line defines, if it is a module's.
fn defined_type(line: &str) -> Option<&str> {
    let public = line.trim_start().strip_prefix("pub ");
    let restricted = || Some(line.strip_prefix("pub(")?.split_once(") ")?.1);
    let (kind, rest) = public.or_else(restricted).unwrap_or(line).split_once(' ')?;
    let end = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
    let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
    // A macro that declares types has a parameter there.
    is_type.then_some(&rest[..end]).filter(|name| !name.is_empty())
}

/// Whether the homes are Slack's and Discord's counterparts, which share a name on purpose: no module uses both, and a
/// reader finds the other one.
fn is_of_both_platforms(homes: &[String]) -> bool {
    let on = |platform: &str| homes.iter().filter(|path| path.contains(platform)).count();
    homes.len() == 2 && on("slack") == 1 && on("discord") == 1
}
