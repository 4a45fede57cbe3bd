use aizuchi_model::outgoing;
use aizuchi_model::outgoing::secrets::SecretScanner;
use aizuchi_model::outgoing::urls::{CodeBlocks, KnownUrls};
use aizuchi_model::persona::Language;
use proptest::prelude::*;

use super::*;

fn find_user(name: &str) -> Option<UserId> {
    let id = match name {
        "Bob" => "U1",
        "Bob Smith" => "U2",
        "花子" => "U3",
        "山田 太郎" => "U4",
        "はな" => "U5",
        "odd" => "U1>|<!here",
        _ => return None,
    };
    Some(UserId::new(id))
}

#[test]
fn markdown_becomes_mrkdwn() {
    for (markdown, expected) in [
        ("plain\ntext\n\nmore", "plain\ntext\n\nmore"),
        ("**bold** *it* _it_ ~~no~~ ***both***", "*bold* _it_ _it_ ~no~ _*both*_"),
        ("# Big **news**\ntext", "*Big news*\n\ntext"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("これは**大事**です", "これは\u{200b}*大事*\u{200b}です"),
        ("**「大事」**です。", "*「大事」*\u{200b}です。"),
        ("値は`x`です", "値は\u{200b}`x`\u{200b}です"),
        ("(**a**), **b**_c_ **d**", "(*a*), *b*\u{200b}_c_ *d*"),
        ("- a\n  - b\n    - c\n- d\n\nend", "• a\n    ◦ b\n        ▪ c\n• d\n\nend"),
        ("3. a\n4. b\n   more", "3. a\n4. b\n    more"),
        ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
        ("1. a\n\n   second\n\n2. b", "1. a\n    second\n2. b"),
        ("> a\n> b\n>\n> c\n\nd", "> a\n> b\n> c\n\nd"),
        ("> - a\n>   - b", "> • a\n>     ◦ b"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("```rust\nlet a = &b;\n\n  c\n```\nend", "```\nlet a = &amp;b;\n\n  c\n```\n\nend"),
        ("- x\n  ```\n  y\n  ```\n  z", "• x\n```\ny\n```\n    z"),
        ("````\n```\n````", "```\n`\u{200b}``\n```"),
        ("``a`b`` \\`\\`\\`", "`a\u{2cb}b` `\u{200b}``"),
        ("[a & b](https://x.example/?a=1&b=2)", "<https://x.example/?a=1&amp;b=2|a &amp; b>"),
        (
            "<https://x.example> <a@b.example>",
            "<https://x.example> <mailto:a@b.example|a@b.example>",
        ),
        ("[**x**|y](https://x.example/a|b\\>c)", "<https://x.example/a%7Cb%3Ec|x¦y>"),
        ("**[x](https://x.example)**", "*<https://x.example|x>*"),
        ("[a](javascript:alert(1)) [b](/c)", "a (javascript:alert(1)) b (/c)"),
        ("![a cat](https://x.example/cat.png)!", "a cat!"),
        (
            "|a|数|\n|-|-:|\n|長い|1|\n|`x`|[y](https://z.example)|",
            "```\na                        数\n----  ---------------------\n長い                      1\nx     y (https://z.example)\n```",
        ),
        (
            "a <b>c</b> & d\n\n<div>\n@Bob\n</div>",
            "a &lt;b&gt;c&lt;/b&gt; &amp; d\n\n&lt;div&gt;\n<@U1>\n&lt;/div&gt;",
        ),
    ] {
        assert_eq!(to_mrkdwn(markdown, &find_user), expected, "{markdown}");
    }
}

#[test]
fn exact_names_become_mentions() {
    for (markdown, expected) in [
        ("@Bob: see", "<@U1>: see"),
        ("@Bob Smith, @Bob Smithson and @Bobby", "<@U2>, <@U1> Smithson and @Bobby"),
        ("@Bob's @Bob-Lee @Bob.Lee @Bob.", "<@U1>'s @Bob-Lee @Bob.Lee <@U1>."),
        ("こんにちは＠花子さん、@山田 太郎様", "こんにちは<@U3>さん、<@U4>様"),
        ("@花子今日 @花子は @花子先生", "@花子今日 <@U3>は <@U3>先生"),
        ("@はなこさん @はなさん", "@はなこさん <@U5>さん"),
        ("**@Bob**さん", "*<@U1>*\u{200b}さん"),
        ("a@Bob https://x.example/@Bob @@Bob", "a@Bob https://x.example/@Bob @@Bob"),
        ("`@Bob` [@Bob](https://x.example) ![@Bob](x)", "`@Bob` <https://x.example|@Bob> @Bob"),
        ("```\n@Bob\n```", "```\n@Bob\n```"),
        ("|a|\n|-|\n|@Bob|", "```\na\n----\n@Bob\n```"),
        ("@odd @ @here", "@odd @ @here"),
    ] {
        assert_eq!(to_mrkdwn(markdown, &find_user), expected, "{markdown}");
    }
}

/// Returns the contents of all brackets as Slack parses them: from `<` to the next `>`.
fn brackets(text: &str) -> Vec<&str> {
    let parts = text.split('<').skip(1);
    parts.map(|part| part.split_once('>').map_or(part, |(inner, _)| inner)).collect()
}

#[test]
fn a_known_url_is_live() {
    let expected = "a (<https://known.example/a>) evil.example";
    assert_eq!(screened("[a](https://known.example/a) https://evil.example"), expected);
}

fn is_harmless(inner: &str) -> bool {
    let is_known = matches!(inner, "@U1" | "@U2" | "@U3" | "@U4" | "@U5");
    let is_link = ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| inner.to_lowercase().starts_with(scheme));
    is_known || (is_link && !inner.contains(['\n', '<']) && inner.matches('|').count() < 2)
}

#[test]
fn the_harmlessness_check_detects_live_brackets() {
    for live in ["<!here>", "a <@U9> b", "<#C1|x>", "<!subteam^S1>", "<https://x|a|b>", "<x"] {
        assert!(!brackets(live).into_iter().all(is_harmless), "{live}");
    }
}

/// Returns a model's answer as rendered in a conversation that contains one URL.
fn screened(answer: &str) -> String {
    let mut known = KnownUrls::default();
    known.add("see https://known.example/a there");
    let (code, secrets) = (CodeBlocks::KeepUrls, SecretScanner::default());
    let answer = outgoing::screen(answer, &known, code, &secrets, Language::En);
    to_mrkdwn(&answer, &find_user)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_models_answer_links_only_to_urls_of_the_conversation(parts in prop::collection::vec(prop_oneof![
        "\\[(x|here)\\](\\(|\\[1\\])?(<)?(https?|HTTPS)?(:|&#58;|&colon;)//(evil|known)\\.example/[a-z]{0,2}(>)?\\)?",
        "(https://known\\.example/a|\n\\[1\\]: |\n\n|<|>|\\||`|```\n|\n    |<div>|\u{e000}|\u{1c})",
        "\\PC{0,2}",
    ], 0..16)) {
        let text = screened(&parts.concat());
        for inner in brackets(&text) {
            prop_assert!(inner == "https://known.example/a", "{:?} in {:?}", inner, text);
        }
    }

    #[test]
    fn no_input_makes_another_mention_live(parts in prop::collection::vec(prop_oneof![
        "(<|>|&lt;|&gt;|&#60;|&#x3c;|&amp;lt;|\u{200b}|\u{feff}|\u{ad}|＜|＞|!|\\||\\\\|&#10;|&#13;){1,3}",
        "(<!channel>|<!here>|<!everyone|x>|<!subteam\\^S1>|<@U9>|<@U1>|<#C1>|<!date\\^1\\^x\\|y>)",
        "(!here|!channel|@U9|#C1|@Bob|＠花子|@odd|@Bob Smith|mailto:|https://x.example)",
        "(`|``|```|~~~|\n|\n\n|\\*|\\*\\*|_|~|#|- |> |1\\. |\\[|\\]|\\]\\(|\\)|!\\[| |\\||\n\\|-\\|-\\|\n|<div>)",
        "\\[(!here|<!here>|a\\|b|>)\\]\\((https?://|mailto:|)(!here|<!here>|a>b|a\\|!here|&gt;)\\)",
        "\\PC{0,3}",
    ], 0..24)) {
        let text = to_mrkdwn(&parts.concat(), &find_user);
        for inner in brackets(&text) {
            prop_assert!(is_harmless(inner), "{:?} in {:?}", inner, text);
        }
        prop_assert!(!text.contains(|character: char| character.is_control() && !matches!(character, '\n' | '\t')));
    }
}
