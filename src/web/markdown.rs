//! Models write Markdown; the room shows it as HTML that can do nothing but look like text. What is
//! HTML in the Markdown stays text, pictures become links, and links lead to the web or to mail.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use pulldown_cmark_escape::escape_href;

/// Safe HTML for a Markdown text.
pub fn html(text: &str) -> String {
    let parser = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES);
    // Links that are open, and whether they lead anywhere.
    let mut links = Vec::new();
    let safe = parser.flat_map(|event| tame(event, &mut links));
    let mut shown = String::with_capacity(text.len() * 2);
    html::push_html(&mut shown, safe);
    shown
}

fn tame<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Vec<Event<'a>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => vec![Event::Text(text)],
        // A chat's line break is one.
        Event::SoftBreak => vec![Event::HardBreak],
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let leads = is_web(&dest_url) && !links.contains(&true);
            links.push(leads);
            if leads { vec![Event::InlineHtml(anchor(&dest_url))] } else { Vec::new() }
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
    fn markdown_looks_like_text_and_does_nothing_else() {
        let link = r#"target="_blank" rel="noopener noreferrer nofollow""#;
        for (text, expected) in [
            ("plain", "<p>plain</p>\n".to_owned()),
            ("one\ntwo", "<p>one<br />\ntwo</p>\n".to_owned()),
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
