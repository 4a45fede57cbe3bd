//! The files shipped for installing and monitoring: each metric that they name exists, and each file can be parsed.

use std::collections::BTreeSet;
use std::path::Path;

use aizuchi_agent::metrics::Metrics;

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(file))
        .unwrap()
}

/// Returns the names in a text that look like metrics.
fn figures_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    words.filter(|word| word.starts_with("aizuchi_")).map(str::to_owned).collect()
}

fn is_family(figure: &str, families: &[String]) -> bool {
    let suffixes = ["", "_total", "_bucket", "_sum", "_count", "_info"];
    suffixes.iter().any(|suffix| {
        figure.strip_suffix(suffix).is_some_and(|name| families.iter().any(|family| family == name))
    })
}

#[test]
fn alerts_dashboard_and_docs_name_figures_that_there_are() {
    let metrics = Metrics::default();
    let families = metrics.families();
    let docs = include_str!("../../docs/operate/metrics.md").to_owned();
    let texts = [
        ("alerts", read("monitoring/alerts.yaml")),
        ("dashboard", read("monitoring/grafana-dashboard.json")),
        ("docs", docs.clone()),
    ];
    for (name, text) in &texts {
        let figures = figures_in(text);
        assert!(figures.len() > 5, "{name}: {figures:?}");
        let unknown: Vec<_> =
            figures.iter().filter(|figure| !is_family(figure, families)).collect();
        assert!(unknown.is_empty(), "{name} names {unknown:?}, which Aizuchi does not have");
    }
    // The docs name all metrics, in full or as a suffix of the name before.
    let missing: Vec<_> = families
        .iter()
        .filter(|family| !docs.contains(family.trim_start_matches("aizuchi_model")))
        .collect();
    assert!(missing.is_empty(), "docs/operate/metrics.md lacks {missing:?}");
}

#[test]
fn the_configs_that_are_shipped_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "debian/config.yaml",
        "container/config.yaml",
        "kubernetes/sqlite/config.yaml",
        "kubernetes/postgres/config.yaml",
        "kubernetes/from-myao2/config.yaml",
    ] {
        let config = folder.path().join("config.yaml");
        let text = read(file).replace("/var/lib/aizuchi", &folder.path().display().to_string());
        std::fs::write(&config, text).unwrap();
        let mut command = crate::command::aizuchi();
        command.arg("--config").arg(&config).args(["search", "--limit", "1", "x"]);
        command.env("AIZUCHI_TOKEN", "q7Vd2mXw9RkT4bZ8nLpY6cHs");
        command.env("AIZUCHI_DATABASE", format!("sqlite://{}/none.db", folder.path().display()));
        command.env("SLACK_BOT_TOKEN", "xoxb-x").env("SLACK_APP_TOKEN", "xapp-x");
        command.env("OPENAI_API_KEY", "x");
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        // Parsed without an error: only the database does not exist.
        assert!(error.contains("does not exist yet"), "{file}: {error}");
    }
}
