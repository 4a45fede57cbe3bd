//! How long the documentation may be, so that somebody can still read it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::docs::{markdown_below, root};

/// The most words of one page for the people who use or run Aizuchi.
const PER_PAGE: usize = 1_200;

/// The most English words of all pages that are written by hand.
const IN_ALL: usize = 45_000;

#[test]
fn each_page_for_users_and_operators_is_read_in_six_minutes() {
    let pages =
        [markdown_below(Path::new("docs/guide")), markdown_below(Path::new("docs/operate"))]
            .concat();
    assert!(pages.len() > 20, "{pages:?}");
    let long: Vec<_> = pages
        .iter()
        .map(|page| (page, words(page)))
        .filter(|&(_, words)| words > PER_PAGE)
        .collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn all_pages_are_read_in_an_afternoon() {
    let mut pages = markdown_below(Path::new("docs"));
    pages.retain(|page| !page.starts_with("docs/reference") && !page.starts_with("docs/guide/ja"));
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"].map(PathBuf::from),
    );
    let words: usize = pages.iter().map(|page| words(page)).sum();
    assert!(words <= IN_ALL, "{words} words");
}

fn words(page: &Path) -> usize {
    fs::read_to_string(root().join(page)).unwrap().split_whitespace().count()
}
