//! Settings and standing orders are exported and imported, on both databases.

use std::path::PathBuf;

use aizuchi_harness::postgres;
use serde_json::Value;

use crate::export::{Installation, sorted};

const EXPORT: &str = r##"
{"kind":"channel","workspace":"T1","room":"C1","room_name":"garden","visibility":"public"}
{"kind":"channel","workspace":"T1","room":"C2","room_name":"shed","visibility":"private"}
{"kind":"user","workspace":"T1","id":"U1","name":"mika","is":"human","role":"member"}
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","said_in":"private","thread":null,"id":"1","ts":1767603500.0,"author":"U1","name":"mika","bot":false,"text":"the roses are ill"}
{"kind":"setting","workspace":"T1","room":null,"thread":null,"setting":"language","value":"ja","role":"admin","by":"olga","at":"2026-01-05T09:00:00Z"}
{"kind":"setting","workspace":"T1","room":"C1","thread":null,"setting":"min_confidence","value":"0.85","role":"admin","by":"olga","at":"2026-01-05T09:00:00Z"}
{"kind":"setting","workspace":"T1","room":"C1","thread":null,"setting":"min_confidence","value":"0.9","role":"member","by":"U1 1767603600000","at":"2026-01-05T09:00:00Z"}
{"kind":"setting","workspace":"T1","room":"C1","thread":"2","setting":"memory","value":"off","role":"member","by":"U1 1767603601000","at":"2026-01-05T09:00:01Z"}
{"kind":"standing_order","workspace":"T1","room":"C1","thread":null,"text":"answer in Japanese","by":"olga"}
{"kind":"standing_order","workspace":"T1","room":"C2","thread":null,"text":"never about salaries","by":"U1 1767603602000"}
"##;

/// Lines that are not valid orders.
const BAD: &str = r#"
{"kind":"setting","workspace":"T1","room":"C1","thread":null,"setting":"mood","value":"gay","role":"admin","by":"olga","at":"2026-01-05T09:00:00Z"}
{"kind":"setting","workspace":"T1","room":"C1","thread":null,"setting":"memory","value":"maybe","role":"admin","by":"olga","at":"2026-01-05T09:00:00Z"}
{"kind":"setting","workspace":"T1","room":null,"thread":"2","setting":"memory","value":"off","role":"admin","by":"olga","at":"2026-01-05T09:00:00Z"}
{"kind":"standing_order","workspace":"T1","room":"C1","thread":null,"text":"  ","by":"olga","given":"2026-01-05T09:00:00Z"}
"#;

/// Writes a file beside an installation's config.
fn written(installation: &Installation, name: &str, text: &str) -> PathBuf {
    let file = installation.file(name);
    std::fs::write(&file, text).unwrap();
    file
}

fn exported(installation: &Installation, arguments: &[&str]) -> Vec<Value> {
    undated(&installation.run(&[&["export"], arguments].concat(), 0))
}

/// Returns the lines of an export without the time at which a standing order was imported.
fn undated(lines: &str) -> Vec<Value> {
    let mut lines = sorted(lines);
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("given");
    }
    lines.sort_by_key(Value::to_string);
    lines
}

/// Adds the times that an export contains.
fn dated(export: &str) -> String {
    export.replace(r#""by":"olga"}"#, r#""by":"olga","given":"2026-01-05T09:00:00Z"}"#).replace(
        r#""by":"U1 1767603602000"}"#,
        r#""by":"U1 1767603602000","given":"2026-01-05T09:00:02Z"}"#,
    )
}

#[tokio::test]
async fn settings_and_standing_orders_are_there_after_an_import() {
    for url in ["sqlite://aizuchi.db".to_owned(), postgres::database()] {
        let installation = Installation::on(&url);
        let file = written(&installation, "export.jsonl", &format!("{}{BAD}", dated(EXPORT)));
        let report = installation.import(&file, &[], 0);
        for expected in [
            "orders    6 imported, 0 known already",
            "left out  settings: 3; this version knows no such setting, value or place",
            "left out  standing orders: 1; their text or place cannot be one",
        ] {
            assert!(report.contains(expected), "{report}");
        }
        let expected = undated(EXPORT);
        assert_eq!(exported(&installation, &[]), expected, "{url}");
        // Importing again changes nothing, and orders outside of the chosen channels are kept.
        let again = installation.import(&file, &[], 0);
        assert!(again.contains("orders    0 imported, 6 known already"), "{again}");
        let garden = exported(&installation, &["--channel", "garden"]);
        let is_order =
            |line: &&Value| line["kind"] == "setting" || line["kind"] == "standing_order";
        let rooms: Vec<&Value> = garden.iter().filter(is_order).map(|line| &line["room"]).collect();
        assert_eq!(rooms, ["C1"; 4], "{garden:?}");
        // Importing into an empty database gives the same result.
        let third = written(&installation, "third.jsonl", &installation.run(&["export"], 0));
        let other = Installation::on_file();
        other.import(&third, &[], 0);
        assert_eq!(exported(&other, &[]), expected);
    }
}

/// Orders given in private are not shown to others if the channel is public here.
#[test]
fn a_standing_order_of_a_private_channel_is_left_out_where_the_channel_is_public() {
    let installation = Installation::on_file();
    let public = r#"{"kind":"channel","workspace":"T1","room":"C2","room_name":"shed","visibility":"public"}"#;
    installation.import(&written(&installation, "public.jsonl", public), &[], 0);
    let report =
        installation.import(&written(&installation, "export.jsonl", &dated(EXPORT)), &[], 0);
    let expected =
        "left out  standing orders of private channels: 1; the channel is known as public";
    assert!(report.contains(expected), "{report}");
    assert!(!installation.run(&["export"], 0).contains("salaries"));
}
