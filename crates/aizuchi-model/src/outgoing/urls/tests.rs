use proptest::prelude::*;

use super::*;
use crate::chat::{Author, ChannelId, ConversationId, MessageId, UserId, WorkspaceId};

fn known(texts: &[&str]) -> KnownUrls {
    let mut known = KnownUrls::default();
    texts.iter().for_each(|text| known.add(text));
    known
}

#[test]
fn only_known_urls_are_live() {
    let known = known(&[
        "the runbook: https://wiki.example/run?a=1&b=2 (see there)",
        "docs (https://docs.example/a_(b)), また、https://ja.example/wiki/相槌 を見て。",
        "https://user:word@login.example/ or HTTPS://LOUD.example",
    ]);
    for (text, expected) in [
        ("no link", "no link"),
        ("https://wiki.example/run?a=1&b=2.", "<https://wiki.example/run?a=1&b=2>."),
        ("<https://wiki.example/run?a=1&b=2>", "<https://wiki.example/run?a=1&b=2>"),
        ("**https://docs.example/a_(b)**", "**<https://docs.example/a_(b)>**"),
        ("https://ja.example/wiki/相槌です", "<https://ja.example/wiki/相槌>です"),
        ("https://docs.example/a_(b)をどうぞ", "<https://docs.example/a_(b)>をどうぞ"),
        ("\\<https://docs.example/a_(b)>", "\\ <https://docs.example/a_(b)>"),
        // The label does not hide the target.
        ("[the docs](https://docs.example/a_(b))", "the docs (<https://docs.example/a_(b)>)"),
        (
            "[https://bank.example](https://wiki.example/run?a=1&b=2)",
            "bank.example (<https://wiki.example/run?a=1&b=2>)",
        ),
        (
            "[r][1]\n\n[1]: https://docs.example/a_(b)",
            "r (<https://docs.example/a_(b)>)\n\n[1]: <https://docs.example/a_(b)>",
        ),
        // Nothing may be added to a known URL or removed from it.
        ("https://wiki.example/run?a=1&b=2&k=KEY", "wiki.example/run?a=1&b=2&k=KEY"),
        ("https://docs.example/a_(b)?k=KEY", "docs.example/a_(b)?k=KEY"),
        ("https://docs.example/a_(b)#KEY", "docs.example/a_(b)#KEY"),
        ("https://docs.example/a_(b)/KEY", "docs.example/a_(b)/KEY"),
        ("https://docs.example", "docs.example"),
        ("https://WIKI.example/run?a=1&b=2", "WIKI.example/run?a=1&b=2"),
        ("http://docs.example/a_(b)", "docs.example/a_(b)"),
        // A URL with user information looks like another one.
        ("https://user:word@login.example/", "user:word@login.example/"),
        ("HTTPS://LOUD.example", "<HTTPS://LOUD.example>"),
        // Unknown URLs in every form.
        ("[click here](https://evil.example/?k=KEY)", "click here (evil.example/?k=KEY)"),
        ("![](https://evil.example/?k=KEY)", "evil.example/?k=KEY"),
        ("![cat](https://evil.example/?k=KEY)", "cat (evil.example/?k=KEY)"),
        ("[![cat](https://a.example)](https://b.example)", "cat (b.example)"),
        ("<https://evil.example/?k=KEY>", "evil.example/?k=KEY"),
        ("<https://evil.example|docs.example>", "evil.example|docs.example"),
        ("[x](https&#58;//evil.example)", "x (evil.example)"),
        ("[x](https&colon;&sol;&sol;evil.example)", "x (evil.example)"),
        ("[x](<https://evil.example> \"title\")", "x (evil.example)"),
        (
            "[x][y]\n\n[y]: https&#58;//evil.example",
            "x (evil.example)\n\n[y]: https&#58;//evil.example",
        ),
        ("    [x](https://evil.example)", "    [x] (evil.example)"),
        ("<!--\n[x](https:\\/\\/evil.example)\n-->", "<!--\n[x] (evil.example)\n-->"),
        ("<pre>\n<https:/evil.example>\n</pre>", "<pre>\nevil.example\n</pre>"),
        (
            "<![CDATA[\n[x](https\\:\\/evil.example)\n]]>",
            "<![CDATA[\n[x] (https\\:\\/evil.example)\n]]>",
        ),
        (
            "<div>\nhttps:\\evil.example C:\\a :/ b:/c\n</div>",
            "<div>\nevil.example C:\\a :/ b:/c\n</div>",
        ),
        ("<div>\n[x](https://evil.example)\n</div>", "<div>\n[x] (evil.example)\n</div>"),
        ("<a href=\"https://evil.example\">x</a>", "<a href=\"evil.example\">x</a>"),
        ("hxxps://evil.example ftp://a slack://b x://", "evil.example a b  "),
        (
            "http:https:////evil.example https://https://evil.example",
            "http:evil.example evil.example",
        ),
        ("https://a.example/?u=https://b.example", "a.example/?u=b.example"),
        ("見てhttps://evil.example。seehttps://evil.example", "見てevil.example。seeevil.example"),
        (
            "<mail@evil.example> [m](mailto:mail@evil.example)",
            "mail@evil.example m (mailto:mail@evil.example)",
        ),
        (
            "[a](javascript:alert(1)) <https:evil.example>",
            "a (javascript:alert(1)) https:evil.example",
        ),
    ] {
        assert_eq!(screen_urls(text, &known, CodeBlocks::KeepUrls), expected, "{text}");
    }
}

#[test]
fn all_urls_of_an_allowed_host_are_live() {
    let mut known = known(&["https://other.example/a"]);
    known.allow_hosts(&["docs.example".to_owned()]);
    for (text, expected) in [
        ("see https://docs.example/a/b?c=1#d.", "see <https://docs.example/a/b?c=1#d>."),
        ("(https://docs.example/a_(b)).", "(<https://docs.example/a_(b)>)."),
        ("[here](https://DOCS.example/x)", "here (<https://DOCS.example/x>)"),
        (
            "http://docs.exampleです、https://docs.example/x。",
            "<http://docs.example>です、<https://docs.example/x>。",
        ),
        ("https://other.example/a", "<https://other.example/a>"),
        ("https://other.example/b", "other.example/b"),
        // Subdomains, ports, user names and hosts that only look alike are not allowed.
        ("https://a.docs.example/", "a.docs.example/"),
        ("https://docs.example.evil.example/", "docs.example.evil.example/"),
        ("https://docs.example:8443/", "docs.example:8443/"),
        ("https://docs.example@evil.example/", "docs.example@evil.example/"),
        ("https://evil.example\\@docs.example/", "evil.example\\@docs.example/"),
        ("https://evil.example?docs.example/", "evil.example?docs.example/"),
        ("ftp://docs.example/", "docs.example/"),
    ] {
        assert_eq!(screen_urls(text, &known, CodeBlocks::KeepUrls), expected, "{text}");
    }
    assert!(known.has_seen("https://other.example/a"));
    assert!(!known.has_seen("https://docs.example/x"));
}

#[test]
fn code_keeps_its_urls() {
    let none = KnownUrls::default();
    for code in [
        "Try:\n```sh\ncurl https://api.example/v1\n```\nIt is easy.",
        "1. Try `curl https://api.example/v1`\n2. or\n   ```\n   [x](https://api.example/v2)\n   ```",
    ] {
        assert_eq!(screen_urls(code, &none, CodeBlocks::KeepUrls), code);
    }
    for (text, expected) in [
        ("~~~\n```\n~~~\nhttps://a.example\n```\n```", "~~~\n```\n~~~\na.example\n```\n```"),
        ("<!--\n```\n-->\nhttps://a.example\n```\n```", "<!--\n```\n-->\na.example\n```\n```"),
        ("a ```\nhttps://a.example\n```", "a ```\na.example\n```"),
        ("`a\n\nhttps://a.example`", "`a\n\na.example`"),
        ("    https://a.example\n~~~\nhttps://b.example", "    a.example\n~~~\nb.example"),
    ] {
        assert_eq!(screen_urls(text, &none, CodeBlocks::KeepUrls), expected, "{text}");
    }
}

#[test]
fn what_may_become_something_else_than_code_keeps_no_urls() {
    let code = "```sh\ncurl https://a.example https://b.example\n```";
    assert_eq!(
        screen_urls(code, &known(&["https://b.example"]), CodeBlocks::LoseUrls),
        "```sh\ncurl a.example <https://b.example>\n```"
    );
}

#[test]
fn the_persona_makes_no_url_known_by_a_code_block() {
    let post = |kind| {
        Message {
        conversation: ConversationId {
            workspace: WorkspaceId::new("w"),
            channel: ChannelId::new("c"),
            thread: None,
        },
        id: MessageId::new("1"),
        at: jiff::Timestamp::UNIX_EPOCH,
        author: Author { id: UserId::new("u"), kind },
        text: "<https://a.example>\n```\nhttps://b.example\n```\n`x` `https://d.example`, https://c.example"
            .into(),
        mentions: Vec::new(),
        attachments: Vec::new(),
        edits: 0,
    }
    };
    let urls = ["https://a.example", "https://b.example", "https://c.example", "https://d.example"];
    for (kind, expected) in [
        (AuthorKind::Persona, [true, false, true, false]),
        (AuthorKind::Human, [true; 4]),
        (AuthorKind::Bot, [true; 4]),
    ] {
        let mut known = KnownUrls::default();
        known.add_message(&post(kind));
        assert_eq!(urls.map(|url| known.contains(url)), expected, "{kind:?}");
    }
}

/// A member may write text that can be read as many URLs. The memory for known URLs must stay proportional to the text.
#[test]
fn urls_of_many_readings_take_no_more_room_than_their_text() {
    let marks = |number: usize| format!("https://{number}.example/{} ", ".".repeat(1_900));
    let nested = |number: usize| format!("{number}{} ", "http://a".repeat(240));
    let rows = |number: usize| format!("http://a/{number} ");
    for line in [&marks as &dyn Fn(usize) -> String, &nested, &rows] {
        let text: String = (0..200).map(line).collect();
        let known = known(&[&text]);
        let size = |stood: &BTreeSet<String>| stood.iter().map(String::len).sum::<usize>();
        let kept: usize = known.by_core.iter().map(|(core, stood)| core.len() + size(stood)).sum();
        assert!(kept <= 9 * text.len(), "{kept} bytes for {}", text.len());
    }
}

/// Returns the targets of all links as CommonMark reads them.
fn live_targets(markdown: &str) -> Vec<(String, bool)> {
    find_links(markdown).into_iter().map(|(link, _)| (link.target, link.is_autolink)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_makes_another_url_live(parts in prop::collection::vec(prop_oneof![
        "(https?|HTTPS|ftp|slack|mailto)?(:|&#58;|&colon;|\\\\:){1,2}/{0,3}(evil|known|a)\\.example(/[a-z(]{0,3})?",
        "(https://known\\.example/a)(\\?k=1|/b|#c|\\)|です|\\.|_)?",
        "\\[(x|https://known\\.example/a|\\[y\\])\\]",
        "(\\(|\\)|\\]\\(|\\]\\(<|>\\)|\\[|\\]|\\]:|<|>|!\\[|\\||\\\\|\"|'|@)",
        "(\n|\n\n|\r|\t| |    |```|```\n|~~~\n|`|<div>\n|<!--|-->|- |> |\\|-\\|\n|1\\. )",
        "(\u{200b}|\u{1c}|\u{e000}|\u{feff}|\u{85}|：|／|。|\\*\\*|_)",
        "\\PC{0,2}",
    ], 0..20)) {
        let known = known(&["see https://known.example/a there"]);
        let text = crate::outgoing::screen(
            &parts.concat(), &known, CodeBlocks::KeepUrls, &Default::default(), crate::persona::Language::En);
        for (target, is_autolink) in live_targets(&text) {
            prop_assert!(is_autolink && target == "https://known.example/a", "{:?} in {:?}", target, text);
        }
        let mut outside = text.clone();
        for block in code_ranges(&text).into_iter().rev() {
            outside.replace_range(block, "");
        }
        let outside = outside.replace("<https://known.example/a>", "");
        prop_assert!(!outside.contains("://"), "{:?}", text);
        prop_assert_eq!(screen_urls(&text, &known, CodeBlocks::KeepUrls), text);
    }
}
