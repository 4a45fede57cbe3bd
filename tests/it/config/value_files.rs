//! Secrets in files of their own, as container platforms mount them.

use std::path::Path;

use aizuchi_config::Config;
use aizuchi_config::environment::Environment;

const CONFIG: &str =
    "agents: {response: {model_id: openai/gpt-4.1-mini}}\nhttp: {token: '${ROOM_TOKEN}'}\n";
const TOKEN: &str = "a-long-and-random-token-of-31-chars";

fn environment(process: &[(&str, &str)], env_file: &str, folder: &Path) -> Environment {
    let process = process.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Environment::new(process, env_file, ".env").unwrap().with_files_in(folder)
}

fn read(environment: &Environment) -> Result<Config, String> {
    let loaded = Config::read(CONFIG, "config.yaml", environment);
    loaded.map(|loaded| loaded.config).map_err(|error| format!("{error:#}"))
}

fn key_of(config: &Config) -> String {
    config.minds.response.model.endpoint.as_ref().unwrap().key.as_ref().unwrap().expose().to_owned()
}

fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_value_stands_in_the_file_that_the_process_or_the_env_file_names() {
    let folder = folder_with(&[("key", "sk-in-a-file\n"), ("token", &format!("{TOKEN}\r\n"))]);
    let absolute = folder.path().join("key").display().to_string();
    for (process, env_file) in [
        (vec![("OPENAI_API_KEY_FILE", "key"), ("ROOM_TOKEN_FILE", "token")], String::new()),
        (vec![("OPENAI_API_KEY_FILE", absolute.as_str())], "ROOM_TOKEN_FILE=token\n".to_owned()),
        // An empty variable counts as unset.
        (
            vec![("OPENAI_API_KEY", ""), ("OPENAI_API_KEY_FILE", "key")],
            "ROOM_TOKEN_FILE=token".to_owned(),
        ),
    ] {
        let environment = environment(&process, &env_file, folder.path());
        let config = read(&environment).unwrap();
        assert_eq!(key_of(&config), "sk-in-a-file", "{process:?}");
        assert_eq!(config.http.token.as_ref().unwrap().0.expose(), TOKEN);
    }
}

#[test]
fn a_variable_comes_before_its_file() {
    let folder = folder_with(&[("key", "sk-in-a-file"), ("token", TOKEN)]);
    let process = [
        ("OPENAI_API_KEY", "sk-in-the-process"),
        ("OPENAI_API_KEY_FILE", "missing"),
        ("ROOM_TOKEN_FILE", "token"),
    ];
    let environment = environment(&process, "", folder.path());
    assert_eq!(key_of(&read(&environment).unwrap()), "sk-in-the-process");
}

#[test]
fn what_cannot_be_read_is_named_without_what_it_holds() {
    let folder = folder_with(&[("token", TOKEN), ("empty", "\n"), ("long", &"x".repeat(70_000))]);
    let read_with = |file: &str| {
        let process = [("OPENAI_API_KEY_FILE", file), ("ROOM_TOKEN_FILE", "token")];
        read(&environment(&process, "", folder.path())).unwrap_err()
    };
    let path = |file: &str| folder.path().join(file).display().to_string();
    assert_eq!(
        read_with("missing"),
        format!(
            "OPENAI_API_KEY_FILE names {}, which cannot be read: No such file or directory (os error 2)",
            path("missing")
        )
    );
    let device = read_with("/dev/zero");
    let expected =
        "OPENAI_API_KEY_FILE names /dev/zero, which cannot be read: it is not a regular file";
    assert_eq!(device, expected);
    assert!(read_with(".").ends_with("which cannot be read: Is a directory (os error 21)"));
    assert_eq!(
        read_with("empty"),
        format!("OPENAI_API_KEY_FILE names {}, which is empty", path("empty"))
    );
    assert_eq!(
        read_with("long"),
        format!(
            "OPENAI_API_KEY_FILE names {}, which cannot be read: it is refused, because it is longer than 64 KB",
            path("long")
        )
    );
}

#[test]
fn a_file_that_nobody_asks_for_is_not_read() {
    let folder = folder_with(&[("key", "sk-in-a-file"), ("token", TOKEN)]);
    let process = [
        ("OPENAI_API_KEY_FILE", "key"),
        ("ROOM_TOKEN_FILE", "token"),
        ("SSL_CERT_FILE", "/nowhere/certificates.pem"),
        ("_FILE", "/nowhere"),
    ];
    read(&environment(&process, "", folder.path())).unwrap();
}

#[test]
fn a_file_of_the_process_is_the_process_s() {
    let folder = folder_with(&[("key", "sk-in-a-file")]);
    let of_process = environment(&[("OPENAI_API_KEY_FILE", "key")], "", folder.path());
    assert!(of_process.is_from_process("OPENAI_API_KEY"));
    let of_env_file = environment(&[], "OPENAI_API_KEY_FILE=key", folder.path());
    assert!(!of_env_file.is_from_process("OPENAI_API_KEY"));
    assert_eq!(of_env_file.get("OPENAI_API_KEY"), Some("sk-in-a-file"));
}
