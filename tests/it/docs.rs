//! The documentation: links resolve, commands and settings are accepted, generated pages are current, and both
//! languages have the same pages.

mod examples;
mod length;
mod links;
mod reference;
mod security;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A Markdown file of the repository.
struct Page {
    /// The path from the root of the repository.
    path: PathBuf,
    text: String,
}

/// A fenced block of code.
struct CodeBlock {
    language: String,
    text: String,
}

impl Page {
    fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path)).unwrap();
        Self { path: path.into(), text }
    }

    fn events(&self) -> Parser<'_> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES)
    }

    /// Returns the headings, with their levels.
    fn headings(&self) -> Vec<(u8, String)> {
        let mut headings = Vec::new();
        let mut open: Option<(u8, String)> = None;
        for event in self.events() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    open = Some((level as u8, String::new()));
                }
                Event::End(TagEnd::Heading(_)) => headings.extend(open.take()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some((_, title)) = &mut open {
                        title.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        headings
    }

    fn code_blocks(&self) -> Vec<CodeBlock> {
        let mut blocks = Vec::new();
        let mut open: Option<CodeBlock> = None;
        for event in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                    open = Some(CodeBlock { language: language.to_string(), text: String::new() });
                }
                Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
                Event::Text(text) => {
                    if let Some(block) = &mut open {
                        block.text.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        blocks
    }
}

#[test]
fn readmes_are_short_and_alike() {
    let [english, japanese] = ["README.md", "README.ja.md"].map(Page::read);
    for page in [&english, &japanese] {
        let lines = page.text.lines().count();
        assert!(lines <= 120, "{} has {lines} lines", page.path.display());
    }
    assert_eq!(levels(&english), levels(&japanese));
}

#[test]
fn the_guide_is_the_same_in_both_languages() {
    let names = |folder: &str| -> Vec<String> {
        let pages = markdown_below(Path::new(folder));
        let pages = pages.iter().filter(|page| page.parent() == Some(Path::new(folder)));
        pages.map(|page| page.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let english = names("docs/guide");
    assert!(english.len() > 3, "{english:?}");
    assert_eq!(english, names("docs/guide/ja"));
    for name in english {
        let english = Page::read(&format!("docs/guide/{name}"));
        let japanese = Page::read(&format!("docs/guide/ja/{name}"));
        assert_eq!(levels(&english), levels(&japanese), "the headings of docs/guide/{name}");
    }
}

fn levels(page: &Page) -> Vec<u8> {
    page.headings().into_iter().map(|(level, _)| level).collect()
}

/// Returns the documentation pages outside of folders with code.
fn pages() -> Vec<Page> {
    let at_root = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name());
    let at_root = at_root.map(|name| name.into_string().unwrap());
    let at_root = at_root.filter(|name| name.ends_with(".md"));
    let below = markdown_below(Path::new("docs"));
    let below = below.iter().map(|path| path.to_str().unwrap().to_owned());
    let pages: Vec<Page> = at_root.chain(below).map(|path| Page::read(&path)).collect();
    assert!(pages.len() > 20, "only {} pages were found", pages.len());
    pages
}

/// Returns the Markdown files below a folder, relative to the root of the repository, sorted.
fn markdown_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            found.extend(markdown_below(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
