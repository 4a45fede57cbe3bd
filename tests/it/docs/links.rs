//! Every relative link resolves to a file, and to a heading in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Tag};

use crate::docs::{Page, pages, root};

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let broken = broken_links(&pages);
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
    let links: usize = pages.iter().map(|page| links(page).len()).sum();
    assert!(links > 100, "only {links} links were found");
}

#[test]
fn broken_links_are_noticed() {
    let text = "# One two\n[a](nowhere.md) [b](#one-two) [c](#three) [d](README.md#nothing) [e](https://example.com)";
    let page = Page { path: "page.md".into(), text: text.to_owned() };
    let broken = broken_links(&[page, Page::read("README.md")]);
    let of_page: Vec<&String> = broken.iter().filter(|line| line.starts_with("page.md")).collect();
    assert_eq!(of_page, ["page.md: nowhere.md", "page.md: #three", "page.md: README.md#nothing"]);
}

fn broken_links(pages: &[Page]) -> Vec<String> {
    let anchors: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_path(), anchors(page))).collect();
    let mut broken = Vec::new();
    for page in pages {
        for link in links(page) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.path.clone(),
                file => normalize(&page.path.parent().unwrap().join(file)),
            };
            let is_page = anchors.contains_key(target.as_path());
            let has_anchor =
                || anchors.get(target.as_path()).is_some_and(|known| known.contains(anchor));
            if !(is_page || root().join(&target).exists()) || !(anchor.is_empty() || has_anchor()) {
                broken.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    broken
}

/// Returns the relative links and images.
fn links(page: &Page) -> Vec<String> {
    let targets = page.events().filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url),
        _ => None,
    });
    let relative = targets.filter(|target| !target.contains("://"));
    relative.map(|target| target.to_string()).collect()
}

/// Returns the anchors that GitHub generates for the headings.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, title) in page.headings() {
        let characters = title.to_lowercase();
        let characters = characters
            .chars()
            .filter(|character| character.is_alphanumeric() || " -_".contains(*character));
        let slug: String =
            characters.map(|character| if character == ' ' { '-' } else { character }).collect();
        let numbered = (1..).map(|number| format!("{slug}-{number}"));
        let free = std::iter::once(slug.clone()).chain(numbered);
        anchors.extend(free.into_iter().find(|anchor| !anchors.contains(anchor)));
    }
    anchors
}

/// Resolves `..` in a path.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
