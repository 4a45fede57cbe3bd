//! The command `aizuchi slack manifest`.

use serde_json::Value;

use crate::command::aizuchi;

fn manifest(arguments: &[&str]) -> Value {
    let run = aizuchi().args(["slack", "manifest"]).args(arguments).assert().code(0);
    serde_json::from_slice(&run.get_output().stdout).unwrap()
}

#[test]
fn the_manifest_is_printed() {
    let plain = manifest(&[]);
    assert_eq!(plain["display_information"]["name"], "Aizuchi");
    assert_eq!(plain["settings"]["socket_mode_enabled"], true);
    let http = manifest(&["--name", "Mio", "--http", "https://mio.example"]);
    assert_eq!(http["display_information"]["name"], "Mio");
    assert_eq!(
        http["settings"]["event_subscriptions"]["request_url"],
        "https://mio.example/slack/events"
    );
}

#[test]
fn arguments_that_slack_would_refuse_are_rejected() {
    let long = "x".repeat(36);
    for (arguments, expected) in [
        (["--http", "http://mio.example"], "an address like https://aizuchi.example.com"),
        (["--http", "https://"], "an address like https://aizuchi.example.com"),
        (["--name", " "], "1 to 35 characters"),
        (["--name", &long], "1 to 35 characters"),
    ] {
        let run = aizuchi().args(["slack", "manifest"]).args(arguments).assert().code(1);
        let stderr = String::from_utf8(run.get_output().stderr.clone()).unwrap();
        assert!(stderr.contains(expected), "{stderr}");
    }
    aizuchi().args(["slack", "manifest", "--model", "builtin"]).assert().code(1);
}
