//! Renders a model's Markdown as safe HTML. HTML in the Markdown is escaped, images become links, and links may only
//! use `http`, `https` and `mailto`.

use aizuchi_model::emphasis::{
    has_emphasis_marks, mark_emphasis, restore_asterisks, restore_event, to_events,
};
use pulldown_cmark::{Alignment, CowStr, Event, Options, Parser, Tag, TagEnd, html};
use pulldown_cmark_escape::escape_href;

/// Renders a Markdown text as safe HTML.
pub fn html(text: &str) -> String {
    let text = mark_emphasis(text);
    let parser = Parser::new_ext(&text, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES);
    // The open links, and whether each is rendered as a link.
    let mut links = Vec::new();
    let mut is_code = false;
    let safe = parser.flat_map(|event| {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            _ => {}
        }
        if is_code { vec![restore_event(event)] } else { sanitize(event, &mut links) }
    });
    let mut rendered = String::with_capacity(text.len() * 2);
    html::push_html(&mut rendered, safe);
    rendered
}

fn sanitize<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Vec<Event<'a>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(restore_asterisks(&text))],
        event @ Event::Code(_) => vec![restore_event(event)],
        Event::Text(text) if has_emphasis_marks(&text) => to_events(&text),
        // Alignment would need inline styles, which the content security policy forbids.
        Event::Start(Tag::Table(columns)) => {
            vec![Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))]
        }
        // Chat users expect a line break to stay one.
        Event::SoftBreak => vec![Event::HardBreak],
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let address = restore_asterisks(&dest_url);
            // HTML has no links within links.
            let is_link = is_web(&address) && !links.contains(&true);
            links.push(is_link);
            if is_link { vec![Event::InlineHtml(anchor(&address))] } else { Vec::new() }
        }
        Event::End(TagEnd::Link | TagEnd::Image) => match links.pop() {
            Some(true) => vec![Event::InlineHtml("</a>".into())],
            Some(false) | None => Vec::new(),
        },
        Event::Start(Tag::Heading { .. }) => {
            vec![Event::Start(Tag::Paragraph), Event::Start(Tag::Strong)]
        }
        Event::End(TagEnd::Heading(_)) => {
            vec![Event::End(TagEnd::Strong), Event::End(TagEnd::Paragraph)]
        }
        other => vec![other],
    }
}

fn anchor(address: &str) -> CowStr<'static> {
    let mut href = String::with_capacity(address.len());
    escape_href(&mut href, address).expect("writing to a string does not fail");
    format!(r#"<a href="{href}" target="_blank" rel="noopener noreferrer nofollow">"#).into()
}

fn is_web(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_safe_html() {
        let link = r#"target="_blank" rel="noopener noreferrer nofollow""#;
        for (text, expected) in [
            ("plain", "<p>plain</p>\n".to_owned()),
            ("one\ntwo", "<p>one<br />\ntwo</p>\n".to_owned()),
            ("**「大事」**です", "<p><strong>「大事」</strong>です</p>\n".to_owned()),
            (
                "`**「x」**y`と**テスト。**次",
                "<p><code>**「x」**y</code>と**テスト。**次</p>\n".to_owned(),
            ),
            (
                "**テスト。**次、**[名](https://example.org)。**",
                format!(
                    "<p><strong>テスト。</strong>次、<strong><a href=\"https://example.org\" {link}>名</a>。</strong></p>\n"
                ),
            ),
            ("五 ** 六、**七", "<p>五 ** 六、**七</p>\n".to_owned()),
            ("~~~\n**「x」**y\n~~~", "<pre><code>**「x」**y\n</code></pre>\n".to_owned()),
            ("<b>**「x」**y</b>", "<p>&lt;b&gt;<strong>「x」</strong>y&lt;/b&gt;</p>\n".to_owned()),
            (
                "[名](https://example.org/**あ**)",
                format!("<p><a href=\"https://example.org/**%E3%81%82**\" {link}>名</a></p>\n"),
            ),
            ("\u{e001}a\u{e000}", "<p>a</p>\n".to_owned()),
            ("# Big **news**", "<p><strong>Big <strong>news</strong></strong></p>\n".to_owned()),
            ("`a < b`", "<p><code>a &lt; b</code></p>\n".to_owned()),
            ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n".to_owned()),
            ("hi <b onclick=x>you</b>", "<p>hi &lt;b onclick=x&gt;you&lt;/b&gt;</p>\n".to_owned()),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;".to_owned()),
            (
                "[a](https://example.org/?b=1&c=\"2\")",
                format!(r#"<p><a href="https://example.org/?b=1&amp;c=%222%22" {link}>a</a></p>"#)
                    + "\n",
            ),
            (
                "|a|b|\n|:-|-:|\n|1|2|",
                "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>\n\
                 <tr><td>1</td><td>2</td></tr>\n</tbody></table>\n"
                    .to_owned(),
            ),
            ("[a](javascript:alert(1))", "<p>a</p>\n".to_owned()),
            ("[a](JavaScript:alert(1))", "<p>a</p>\n".to_owned()),
            ("[a](data:text/html,x)", "<p>a</p>\n".to_owned()),
            ("[a](/decisions/1)", "<p>a</p>\n".to_owned()),
            (
                "[![cat](https://example.org/cat.png)](https://example.org)",
                format!(r#"<p><a href="https://example.org" {link}>cat</a></p>"#) + "\n",
            ),
        ] {
            assert_eq!(html(text), expected, "{text}");
        }
    }
}
