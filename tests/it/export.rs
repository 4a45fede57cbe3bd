//! The command `aizuchi export`, and importing its output with `aizuchi import`.

use std::path::{Path, PathBuf};

use aizuchi_harness::postgres;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::aizuchi;
use crate::program::Home;

/// An export of two workspaces of fictional users, whose channels and messages have the same ids.
const EXPORT: &str = r##"
{"kind":"channel","workspace":"T1","room":"C1","room_name":"garden","visibility":"public"}
{"kind":"channel","workspace":"T1","room":"C2","room_name":"shed","visibility":"private"}
{"kind":"channel","workspace":"T1","room":"C3","room_name":"unused","visibility":"public"}
{"kind":"user","workspace":"T1","id":"U1","name":"mika","is":"human","role":"member"}
{"kind":"user","workspace":"T1","id":"U2","name":"ren","is":"human","role":"admin"}
{"kind":"user","workspace":"T1","id":"UB","name":"Mio","is":"persona","role":"member"}
{"kind":"user","workspace":"T1","id":"U9","name":"clock","is":"bot","role":"member"}
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","said_in":"private","thread":null,"id":"1","ts":1767603500.5,"author":"U1","name":"mika","bot":false,"text":"the gift is under the bench"}
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","thread":null,"id":"2","ts":1767603600.25,"author":"U1","name":"mika","bot":false,"text":"@Mio where is the can, @ren?","mentions":["persona",{"user":"U2"}],"reactions":[{"emoji":"👍","users":[{"id":"U2","is":"human"},{"id":"UB","is":"persona"}]},{"emoji":"🌱","users":[{"id":"U9","is":"bot"}]}]}
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","thread":"2","id":"3","ts":1767603610.75,"author":"UB","name":"Mio","bot":true,"persona":true,"text":"In the shed.\nOn the left."}
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","thread":null,"id":"4","ts":1767603620.5,"author":"U9","name":"clock","bot":true,"text":"tick"}
{"workspace":"T1","room":"C2","room_name":"shed","visibility":"private","thread":null,"id":"2","ts":1767603630.5,"author":"U2","name":"ren","bot":false,"text":"a surprise for mika"}
{"kind":"memory","workspace":"T1","room":null,"thread":null,"term":"long_term","newest":"2026-01-05T09:00:00.25Z","entries":[{"date":"2026-01-05","text":"the garden has a can","visibility":"public","lines":[["C1","2"]]}]}
{"kind":"memory","workspace":"T1","room":"C1","thread":null,"term":"long_term","newest":"2026-01-05T09:00:00.25Z","entries":[{"date":"2026-01-04","text":"a gift is hidden","visibility":"private","lines":[["C1","1"]]},{"date":"2026-01-05","text":"the can is missed","visibility":"public","lines":[["C1","2"]],"pinned":true}]}
{"kind":"memory","workspace":"T1","room":"C1","thread":"2","term":"short_term","newest":"2026-01-05T09:00:10.75Z","entries":[{"date":"2026-01-05","text":"the can is in the shed","visibility":"public","lines":[["C1","3"]]}]}
{"kind":"memo","workspace":"T1","memo":{"name":"can","content":"in the shed","priority":4,"tags":["tools"],"detail":"on the left","created":"2026-01-05T09:00:11Z","updated":"2026-01-05T09:00:12Z","channel":"C1","visibility":"public","said_by":"U1"},"lines":[["C1","2"]]}
{"kind":"mute","workspace":"T1","room":"C2","until":"2099-01-01T00:00:00Z","by":"admin"}
{"kind":"mode","workspace":"T1","room":"C1","mode":"observe"}
{"kind":"opt_out","workspace":"T1","user":"U7"}
{"kind":"channel","workspace":"discord:77","room":"C1","room_name":"porch","visibility":"public"}
{"kind":"user","workspace":"discord:77","id":"U1","name":"hana","is":"human","role":"member"}
{"workspace":"discord:77","room":"C1","room_name":"porch","visibility":"public","thread":null,"id":"2","ts":1767603700.5,"author":"U1","name":"hana","bot":false,"text":"who waters the porch?"}
"##;

/// Lines that are not imported: decisions of another installation, data that is in no prompt, and malformed lines.
const MORE: &str = r#"
{"workspace":"T1","room":"C1","room_name":"garden","visibility":"public","thread":null,"id":"9","ts":1767603650.5,"author":"U1","name":"mika","bot":false,"text":"@Mio mute","withheld":true}
{"kind":"decision","workspace":"T1","decision":5,"room":"C1","thread":null,"opened":"2026-01-05T09:00:01Z","closed":"2026-01-05T09:00:10Z","messages":["2"],"addressed":true,"ended":"spoke","gate":null,"why":"asked","reason":null,"confidence":null,"posted":["3"],"reaction":null}
{"kind":"mark","workspace":"T1","decision":5,"mark":"right","by":"ren","at":"2026-01-06T09:00:00Z"}
{"kind":"dance","workspace":"T1"}
{"workspace":"T1","room":"C1"}
"#;

/// A config with a database of its own.
pub struct Installation {
    folder: TempDir,
}

impl Installation {
    pub fn on(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("persona: {{name: Mio}}\nstorage: {{url: '{url}'}}\n");
        std::fs::write(folder.path().join("config.yaml"), text).unwrap();
        Self { folder }
    }

    pub fn on_file() -> Self {
        Self::on("sqlite://aizuchi.db")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, arguments: &[&str], code: i32) -> String {
        let mut command = aizuchi();
        let run = command.arg("--config").arg(self.file("config.yaml")).args(arguments);
        let run = run.assert().code(code);
        let output = run.get_output();
        let bytes = if code == 0 { &output.stdout } else { &output.stderr };
        String::from_utf8(bytes.clone()).unwrap()
    }

    pub fn import(&self, file: &Path, more: &[&str], code: i32) -> String {
        self.run(&[&["import", file.to_str().unwrap()], more].concat(), code)
    }

    fn export(&self) -> Vec<Value> {
        sorted(&self.run(&["export"], 0))
    }
}

pub fn sorted(lines: &str) -> Vec<Value> {
    let lines = lines.lines().filter(|line| !line.is_empty());
    let mut lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(Value::to_string);
    lines
}

#[tokio::test]
async fn what_was_exported_is_there_after_an_import() {
    for url in ["sqlite://aizuchi.db".to_owned(), postgres::database()] {
        let installation = Installation::on(&url);
        let file = installation.file("export.jsonl");
        std::fs::write(&file, format!("{EXPORT}{MORE}")).unwrap();
        let report = installation.import(&file, &[], 0);
        for expected in [
            "workspace T1\nchannels  3 imported, 0 known already\npeople    4 imported, 0 known already\n\
             messages  5 imported, 0 known already\nmemories  3 imported, 0 known already\n\
             memos     1 imported, 0 known already\nreactions 3 imported, 0 known already\n\
             orders    3 imported, 0 known already\nworkspace discord:77\n",
            "left out  lines: 1; they cannot be read (line 29)",
            "left out  decisions: 1; Aizuchi makes its own",
            "left out  marks: 1; Aizuchi makes its own",
            "left out  lines of another kind: 1; this version does not know it",
            "left out  withheld messages: 1; they are in no prompt",
        ] {
            assert!(report.contains(expected), "{report}");
        }
        let exported = installation.export();
        let expected = sorted(EXPORT);
        for (exported, expected) in exported.iter().zip(&expected) {
            assert_eq!(exported, expected, "{url}");
        }
        assert_eq!(exported.len(), expected.len());
        // Importing again changes nothing, and importing into an empty database gives the same result.
        let again = installation.import(&file, &[], 0);
        assert!(again.contains("messages  0 imported, 5 known already"), "{again}");
        assert!(again.contains("reactions 0 imported, 3 known already"), "{again}");
        assert!(again.contains("orders    0 imported, 3 known already"), "{again}");
        assert_eq!(installation.export(), expected);
        let third = installation.file("third.jsonl");
        installation.run(&["export", third.to_str().unwrap()], 0);
        let other = Installation::on_file();
        other.import(&third, &[], 0);
        assert_eq!(other.export(), expected);
    }
}

#[test]
fn a_workspace_of_an_export_can_be_chosen_or_renamed() {
    let installation = Installation::on_file();
    let file = installation.file("export.jsonl");
    std::fs::write(&file, EXPORT).unwrap();
    let refused = installation.import(&file, &["--workspace", "T9"], 1);
    assert!(
        refused.contains("holds several workspaces (T1, discord:77), and T9 is none of them"),
        "{refused}"
    );
    installation.import(&file, &["--workspace", "discord:77"], 0);
    let workspaces = |lines: &[Value]| {
        lines.iter().map(|line| line["workspace"].clone()).collect::<std::collections::HashSet<_>>()
    };
    let exported = installation.export();
    assert_eq!(workspaces(&exported), [json!("discord:77")].into());
    // An export of one workspace is imported into the given workspace.
    let one = installation.file("one.jsonl");
    installation.run(&["export", one.to_str().unwrap()], 0);
    let other = Installation::on_file();
    other.import(&one, &["--workspace", "T5"], 0);
    let exported = other.export();
    assert_eq!(workspaces(&exported), [json!("T5")].into());
    assert_eq!(exported.len(), 3);
}

/// Imports the export while one of its channels is known as public: one message is skipped.
fn import_where_known_as_public(installation: &Installation, channel: &str) {
    let file = installation.file("export.jsonl");
    std::fs::write(&file, channel).unwrap();
    installation.import(&file, &[], 0);
    std::fs::write(&file, EXPORT).unwrap();
    let report = installation.import(&file, &["--workspace", "T1"], 0);
    let expected =
        "left out  messages from when their channel was private: 1; the channel is known as public";
    assert!(report.contains(expected), "{report}");
}

/// The visibility here counts: what was private does not become public.
#[test]
fn what_was_private_does_not_get_into_a_public_channel() {
    let installation = Installation::on_file();
    import_where_known_as_public(&installation, EXPORT.lines().nth(1).unwrap());
    assert!(!installation.run(&["search", "gift"], 0).contains("under the bench"));
}

/// The channel was private where the export was made.
#[test]
fn a_private_channel_is_not_imported_into_a_public_one() {
    let installation = Installation::on_file();
    let public = r#"{"kind":"channel","workspace":"T1","room":"C2","room_name":"shed","visibility":"public"}"#;
    import_where_known_as_public(&installation, public);
    let exported = installation.export();
    assert!(!exported.iter().any(|line| line["room"] == "C2" && line.get("kind").is_none()));
}

/// A memo and a memory are visible to users who may read their channel in both installations.
#[test]
fn memos_and_memories_do_not_get_wider_by_an_import() {
    let channel = |room: &str, visibility: &str| json!({"kind": "channel", "workspace": "T1", "room": room, "room_name": room, "visibility": visibility});
    let memo = |name: &str, room: &str, visibility: &str| {
        let memo = json!({"name": name, "content": "blue", "priority": 3, "tags": [], "detail": null,
            "created": "2026-01-05T09:00:11Z", "updated": "2026-01-05T09:00:11Z", "channel": room,
            "visibility": visibility, "said_by": null});
        json!({"kind": "memo", "workspace": "T1", "memo": memo})
    };
    let memory = json!({"kind": "memory", "workspace": "T1", "room": "opened", "thread": null,
        "term": "long_term", "newest": "2026-01-05T09:00:00Z", "entries":
        [{"date": "2026-01-05", "text": "a surprise", "visibility": "private", "lines": []}]});
    let lines = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let installation = Installation::on_file();
    let file = installation.file("export.jsonl");
    let here = [
        channel("closed", "private"),
        channel("opened", "public"),
        channel("same", "public"),
        json!({"kind": "user", "workspace": "T1", "id": "U1", "name": "mika", "is": "human", "role": "member"}),
        json!({"workspace": "T1", "room": "same", "room_name": "same", "visibility": "public", "thread": null,
            "id": "1", "ts": 1767603500.5, "author": "U1", "name": "mika", "bot": false, "text": "hello"}),
    ];
    std::fs::write(&file, lines(&here)).unwrap();
    installation.import(&file, &[], 0);
    let exported = [
        channel("closed", "public"),
        channel("opened", "private"),
        channel("same", "public"),
        memo("one", "closed", "public"),
        memo("two", "opened", "private"),
        memo("three", "same", "private"),
        memo("four", "same", "public"),
        memory,
    ];
    std::fs::write(&file, lines(&exported)).unwrap();
    let report = installation.import(&file, &[], 0);
    for expected in ["memos of private channels: 1;", "memories of private channels: 1;"] {
        assert!(report.contains(expected), "{report}");
    }
    let [_, _, _, _, _, three, four, _] = exported;
    let mut expected = here.to_vec();
    expected.extend([memo("one", "closed", "private"), three, four]);
    assert_eq!(installation.export(), sorted(&lines(&expected)));
    let again = installation.import(&file, &[], 0);
    assert!(again.contains("memos     0 imported, 3 known already"), "{again}");
}

/// An export from before a user was forgotten does not restore the user's data.
#[test]
fn who_was_forgotten_is_not_imported() {
    let installation = Installation::on_file();
    let file = installation.file("export.jsonl");
    let line = |number: usize| EXPORT.lines().nth(number).unwrap();
    std::fs::write(&file, format!("{}\n{}\n{}", line(1), line(4), line(8))).unwrap();
    installation.import(&file, &[], 0);
    installation.run(&["forget", "--user", "mika"], 0);
    let later = line(9)
        .replace(r#""id":"2""#, r#""id":"8""#)
        .replace("1767603600.25", "4070908800.5")
        .replace("where is the can", "what is new");
    std::fs::write(&file, format!("{EXPORT}{later}")).unwrap();
    let report = installation.import(&file, &["--workspace", "T1"], 0);
    for expected in [
        "left out  messages: 2; the people who wrote them were forgotten since",
        "left out  memos: 1; the people who wrote them were forgotten since",
        "left out  entries of memories: 3; the people who wrote them were forgotten since",
    ] {
        assert!(report.contains(expected), "{report}");
    }
    let exported = installation.export();
    let of_mika = exported.iter().filter(|line| line["author"] == "U1");
    assert_eq!(of_mika.map(|line| &line["id"]).collect::<Vec<_>>(), ["8"]);
    assert!(!exported.iter().any(|line| line.to_string().contains("the garden has a can")));
}

/// What another installation remembers of somebody who has opted out here stays there.
#[test]
fn what_is_remembered_of_who_opted_out_here_is_not_imported() {
    let installation = Installation::on_file();
    let file = installation.file("export.jsonl");
    let line = |number: usize| EXPORT.lines().nth(number).unwrap();
    let opt_out = line(19).replace("U7", "U1");
    std::fs::write(&file, format!("{}\n{}\n{opt_out}\n", line(1), line(4))).unwrap();
    installation.import(&file, &[], 0);
    std::fs::write(&file, EXPORT).unwrap();
    let report = installation.import(&file, &["--workspace", "T1"], 0);
    for expected in [
        "left out  memos: 1; the people whom they come from have opted out",
        "left out  entries of memories: 3; the people whom they come from have opted out",
    ] {
        assert!(report.contains(expected), "{report}");
    }
    let exported = installation.export();
    let remembered = exported.iter().filter(|line| line["kind"] == "memory");
    let texts = remembered.flat_map(|line| line["entries"].as_array().unwrap());
    let texts: Vec<&Value> = texts.map(|entry| &entry["text"]).collect();
    assert_eq!(texts, ["the can is in the shed"]);
}

/// A row that changes while an export is written is in it twice.
#[test]
fn the_later_line_of_a_message_counts() {
    let installation = Installation::on_file();
    let file = installation.file("export.jsonl");
    let line = |part: &str| EXPORT.lines().find(|line| line.contains(part)).unwrap();
    let edited = line("tick").replace("tick", "tock");
    let deleted = line("a surprise").replace("\"bot\":false", "\"bot\":false,\"withheld\":true");
    std::fs::write(&file, format!("{EXPORT}{edited}\n{deleted}\n")).unwrap();
    let report = installation.import(&file, &[], 0);
    assert!(!report.contains("cannot be read"), "{report}");
    let expected = EXPORT.replace(line("a surprise"), "").replace(line("tick"), &edited);
    assert_eq!(installation.export(), sorted(&expected));
}

#[test]
fn a_replay_reads_the_messages_of_an_export() {
    let installation = Installation::on_file();
    let file = installation.file("export.jsonl");
    std::fs::write(&file, format!("{EXPORT}{}", MORE.lines().nth(1).unwrap())).unwrap();
    let file = file.to_str().unwrap();
    let replay = |more: &[&str]| -> Value {
        let mut command = aizuchi();
        command.args(["replay", file, "--strict", "--json"]).args(more);
        serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap()
    };
    let replayed = replay(&["--private"]);
    assert_eq!(replayed["bad_lines"], 0, "{replayed}");
    assert_eq!(replayed["input"]["messages"], 6, "{replayed}");
    // A report may be shown to a whole team.
    let replayed = replay(&[]);
    assert_eq!(replayed["input"]["messages"], 4, "{replayed}");
    let left_out = &replayed["input"]["left_out"];
    assert_eq!(
        (&left_out["private_channels"], &left_out["private_messages"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(replayed["report"]["left_out"]["private_channels"], 1);
}

#[tokio::test]
async fn what_is_known_of_a_person_has_their_reactions_and_what_was_decided() {
    let home = Home::new(1000.0);
    let program = home.start();
    let asked = program.says("alice", "@Aizuchi what is the time?").await;
    program.wait_for(0, |kind, data| kind == "message" && data["persona"] == true).await;
    let other = program.says("bob", "the pump key hangs behind the green door").await;
    let reaction = json!({ "channel": "general", "message": other, "user": "alice", "emoji": "👍", "remove": false });
    let (status, answer) = program.send("POST", "/api/reactions", Some(&reaction)).await;
    assert!(status < 300, "{status} {answer}");
    let run = |arguments: &[&str]| {
        let mut command = aizuchi();
        command.arg("--config").arg(home.config()).args(arguments);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    let alice = run(&["export", "--user", "alice"]);
    assert!(alice.contains("\n## Their reactions\n\n- 👍 to a message of "), "{alice}");
    assert!(!alice.contains("green door"), "{alice}");
    let decided = alice.split("## Decisions about their messages").nth(1).unwrap();
    assert!(decided.contains("#general: "), "{alice}");
    let bob = run(&["export", "--user", "bob"]);
    assert!(bob.contains("## Their reactions\n\nNone."), "{bob}");
    // The same decision is in the full export.
    let everything = sorted(&run(&["export"]));
    let decisions = everything.iter().filter(|line| line["kind"] == "decision");
    let mut decisions = decisions.filter(|line| line["messages"].to_string().contains(&asked));
    assert!(decisions.next().is_some(), "{everything:?}");
    assert_eq!(program.stop(), Some(0));
}
