//! The one file of settings: what variables do to it, and what it means.

use aizuchi::config::environment::Environment;

#[test]
fn the_process_outranks_the_file_of_variables() {
    let file =
        "\u{feff}A=file # why\nB='two $words'\nexport C=\"x\\ny\"\nD=a$b\nE=\"$b\"\nF=${D}!\n";
    let environment = environment(&[("A", "process")], file);
    let values = ["A", "B", "C", "D", "E", "F", "G"].map(|name| environment.get(name));
    let expected = ["process", "two $words", "x\ny", "a$b", "$b", "a$b!"].map(Some);
    assert_eq!(values[..6], expected);
    assert_eq!(values[6], None);
    assert!(!format!("{environment:?}").contains("words"));
}

#[test]
fn a_broken_line_of_variables_is_named_and_not_shown() {
    for (text, place) in [
        ("A=1\nB two hunter2\n", ".env:2"),
        ("A=1\n\n# x\nhunter2=hunter2 hunter2\n", ".env:4"),
        ("A='hunter2\nhunter2\n", ".env:1"),
    ] {
        let error = Environment::new([], text, ".env").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{place}: this line cannot be read")), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

fn environment(pairs: &[(&str, &str)], file: &str) -> Environment {
    let pairs = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
    Environment::new(pairs, file, ".env").unwrap()
}
