use proptest::prelude::*;

use super::*;

fn base() -> Url {
    Url::parse("https://example.com/docs/page").unwrap()
}

fn markdown(page: &str) -> String {
    read_html(page, &base()).markdown
}

#[test]
fn a_page_is_read_as_markdown() {
    for (page, expected) in [
        ("", ""),
        ("plain", "plain"),
        ("<p>one\n  two<p>three", "one two\n\nthree"),
        ("a<br>b<hr>c", "a\nb\n\nc"),
        ("<h1>Roses</h1>text<h3>More <b>of</b> it</h3>x", "# Roses\n\ntext\n\n### More of it\n\nx"),
        ("<h2></h2><p>x", "x"),
        ("<ul><li>a<li>b<ol><li>c</li><li>d</ol></ul>e", "- a\n- b\n  1. c\n  2. d\n\ne"),
        ("<ul><li><p>a</p></li><li><h3>b</h3></li></ul>", "- a\n\n- ### b"),
        ("<pre><code>a\n  &lt;b&gt;</code></pre>x", "```\na\n  <b>\n```\n\nx"),
        ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n\n> b\n\nc"),
        ("<table><tr><th>a<th>b</tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"),
        ("<b>a</b> <i>b</i><em> c</em>", "a b c"),
        ("<img src=x alt='a red rose'> x", "a red rose x"),
        ("&copy; 2027 &mdash; caf&eacute;", "© 2027 — café"),
    ] {
        assert_eq!(markdown(page), expected, "{page}");
    }
}

#[test]
fn links_have_their_whole_address() {
    for (page, expected) in [
        ("see <a href='/a'>the docs</a>.", "see [the docs](<https://example.com/a>)."),
        ("<a href=b?x=1&amp;y=2>b</a>", "[b](<https://example.com/docs/b?x=1&y=2>)"),
        ("<a href='//other.example/'>c</a>", "[c](<https://other.example/>)"),
        ("<a href='#top'>up</a> <a>here</a>", "up here"),
        ("<a href='javascript:x()'>d</a><a href='mailto:a@b.example'>e</a>", "de"),
        ("<a href=/f></a>g", "g"),
        (
            "<a href=/h><img alt=''><h2>Title</h2><p>text</a>",
            "## [Title](<https://example.com/h>)\n\ntext",
        ),
        (
            "<a href=/i>one<a href=/j>two</a>",
            "[one](<https://example.com/i>)[two](<https://example.com/j>)",
        ),
        ("<base href='https://other.example/x/'><a href=y>z", "[z](<https://other.example/x/y>)"),
        ("<a href='http://[::'>broken</a>", "broken"),
    ] {
        assert_eq!(markdown(page), expected, "{page}");
    }
}

#[test]
fn what_surrounds_the_text_is_left_out() {
    let long = "The roses bloom. ".repeat(20);
    let long = long.trim();
    let in_main = format!("menu<main><h1>x</h1><p>{long}</main>more");
    let main = format!("# x\n\n{long}");
    let in_articles = format!("menu<article>{long}</article><article>b</article>more");
    let articles = format!("{long}\n\nb");
    for (page, expected) in [
        ("<script>a</script><style>b</style>c<textarea>d</textarea>", "c"),
        ("<nav><ul><li>a</ul></nav>b<footer>c</footer><aside>d<aside>e</aside>f</aside>", "b"),
        ("<div hidden>a<div>b</div></div>c", "c"),
        ("a <span style='display: NONE'>b</span><i aria-hidden=true>c</i>", "a c"),
        (in_main.as_str(), main.as_str()),
        (in_articles.as_str(), articles.as_str()),
        ("menu<main>short</main>more", "menu\n\nshort\n\nmore"),
    ] {
        assert_eq!(markdown(page), expected, "{page}");
    }
    let titled =
        read_html("<title> Roses &amp;\n more </title><svg><title>x</title></svg>", &base());
    assert_eq!(titled.title.as_deref(), Some("Roses & more"));
}

/// What makes the tree of the standard grow with the square of the page, or as deep as it is long.
#[test]
fn a_hostile_page_is_read_in_time() {
    let formatting: String = (0..20_000).map(|n| format!("<b a={n}>")).collect();
    let many = |part: &str| part.repeat(1_000_000 / part.len());
    for page in [
        format!("{formatting}{}", many("<p>x")),
        many("<div>"),
        many("<blockquote><ul><li>x"),
        many("<table><td>"),
        format!("<a {}>x", many("b ")),
        format!("<a {}>x", many("href=a ")),
        many("<a href=x>"),
        many("<a href=x>y"),
        many("<!--"),
        many("</script"),
        many("<script>"),
        many("&"),
        many("<h1>"),
        many("<nav>"),
        many("<main><article>"),
        many("< "),
    ] {
        let text = read_html(&page, &base());
        assert!(text.markdown.len() <= 2 * MAX_TEXT_BYTES, "{}", &page[..40]);
    }
    let cut = read_html(&many("word "), &base());
    assert!(cut.is_cut);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_page_is_too_strange(page in "[<>/=\"' a-hpul&;#!-]{0,80}") {
        read_html(&page, &base());
    }
}
