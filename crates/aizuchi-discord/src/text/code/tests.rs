mod nesting;
pub mod reading;

use aizuchi_harness::effort::cases;
use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::persona::Language;
use aizuchi_model::split::to_posts;
use nesting::nesting;
use reading::{ChatClient, live_targets};

use crate::text::write::{MAX_MESSAGE_LENGTH, MentionLookup, to_discord_markdown};

/// Returns a model's answer as it is posted in a conversation that contains one URL.
fn posted(answer: &str) -> Vec<String> {
    let mut known = KnownUrls::default();
    known.add("see https://known.example/a there");
    let (code, secrets) = (CodeBlocks::KeepUrls, SecretScanner::default());
    let answer = outgoing::screen(answer, &known, code, &secrets, Language::En);
    let posts = to_posts(&answer, &known, MAX_MESSAGE_LENGTH);
    posts.iter().map(|post| to_discord_markdown(post, &MentionLookup::empty())).collect()
}

/// Returns the invented addresses that are live for any client.
fn invented(post: &str) -> Vec<String> {
    let clients = [(false, false), (false, true), (true, false), (true, true)];
    let targets = clients
        .into_iter()
        .flat_map(|(has_lists, has_emoji)| live_targets(post, ChatClient { has_lists, has_emoji }));
    targets.filter(|target| target.to_lowercase().contains("evil")).collect()
}

#[test]
fn no_nesting_makes_an_invented_url_live() {
    for seed in 0..cases(500, 4_000) {
        let answer = nesting(seed);
        for post in posted(&answer) {
            assert_eq!(invented(&post), Vec::<String>::new(), "{seed}: {answer:?} became {post:?}");
        }
    }
}

#[test]
fn the_reading_sees_what_is_live() {
    for text in [
        "https://evil.example",
        "<https:/evil.example>",
        "** \n```\n** https://evil.example\n```",
        "||\n```\n|| https://evil.example\n```",
        "`\n```\n` https://evil.example\n```",
        "```\n```\n```\nhttps://evil.example\n```",
        "[label\n```\n](https://evil.example)\n```",
        "> ```\nhttps://evil.example\n```",
        "- a\n  ```\n  b\n\n  https://evil.example\n  ```",
        " - a\n   ```\n - https://evil.example\n   ```",
        "# ```\nhttps://evil.example\n```",
        "`` ` https://evil.example",
    ] {
        assert!(!invented(text).is_empty(), "{text:?}");
    }
    for text in [
        "```\nhttps://evil.example\n```",
        "**a** `https://evil.example` _b_",
        "- a\n  ```\n  https://evil.example\n  ```",
        "see \\` `https://evil.example`",
    ] {
        assert_eq!(invented(text), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn code_that_discord_reads_as_code_keeps_its_urls() {
    for text in [
        "**Use** it:\n```sh\ncurl https://a.example | sh -s -- *_x_* || exit\n```\n**then** go.",
        "- **one**: `https://a.example`\n- _two_: ``x ` https://b.example``",
        "1. Run:\n   ```sh\n   curl https://a.example\n   ```\n2. snake_case and __init__",
        "**See `https://a.example`**, ```https://b.example``` and ~~`https://c.example`~~",
        "#### A `https://a.example` **b**\n```\n# https://b.example *_*\n```",
        "\\*\\* and \\`\n```\n** ` https://a.example\n```",
        "> **a** `https://a.example`\n\n```\n> https://b.example\n\nb\n```",
        "```\nf(**x, y_ = a[0](b))\n```\n```\nhttps://a.example ** _ \n```",
        "so ```https://a.example\nb``` then",
        "| a | b |\n|---|---|\n| `https://a.example` | **c** |",
    ] {
        let posts = posted(text).concat();
        let urls = |text: &str| text.matches("://").count();
        assert_eq!(urls(&posts), urls(text), "{text:?} became {posts:?}");
    }
}

#[test]
fn urls_are_removed_from_what_discord_may_not_read_as_code() {
    for (text, expected) in [
        ("**a\n```\n** https://evil.example\n```", "**a\n```\n** evil.example\n```"),
        ("_a `b_ https://evil.example`", "_a `b_ evil.example`"),
        ("```\n```\n```\nhttps://evil.example\n```", "```\n```\n```\nevil.example\n```"),
        ("[a\n```\n](https://evil.example)\n```", "[a\n```\n] (evil.example)\n```"),
        ("> ```\n> https://evil.example\n> ```", "> ```\n> evil.example\n> ```"),
        ("````\nhttps://evil.example\n````", "````\nevil.example\n````"),
        ("```\nhttps://evil.example", "```\nevil.example"),
        ("`a\nhttps://evil.example`", "`a\nevil.example`"),
    ] {
        assert_eq!(posted(text), [expected], "{text:?}");
    }
}
