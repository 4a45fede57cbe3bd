//! All keys of the config with what is known of them.

/// A line for each key: its path, in which `*` stands for a name that the operator chooses, its range, its default, and
/// its meaning in English and Japanese. A test generates it from the schema, the example and `meanings.ja.yaml`.
const KNOWN_KEYS: &str = include_str!("known_keys.tsv");
/// The range of a section that is always there, and no setting itself.
pub const SECTION: &str = "section";

/// The path, the range, the default and the meanings of each key. What is absent is empty.
pub fn known_keys() -> impl Iterator<Item = [&'static str; 5]> {
    KNOWN_KEYS.lines().map(|line| {
        let mut cells = line.split('\t');
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    })
}

/// The paths of all keys.
pub fn keys() -> Vec<Vec<String>> {
    known_keys().map(|[key, ..]| key.split('.').map(str::to_owned).collect()).collect()
}
