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
        // The first base with an address counts, wherever it leads.
        ("<base><base href=/1/><base href=2/><a href=y>z", "[z](<https://example.com/1/y>)"),
        ("<base href='data:,'><base href=/2/><a href=y>z", "[z](<https://example.com/docs/y>)"),
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

/// Pages for which the standard's tree grows with the square of their length, or becomes as deep as they are long: a
/// prefix, the part that is repeated, and a suffix.
const HOSTILE: [(&str, &str, &str); 17] = [
    ("", "<div>", ""),
    ("", "<blockquote><ul><li>x", ""),
    ("", "<table><td>", ""),
    ("<a ", "b ", ">x"),
    ("<a ", "href=a ", ">x"),
    ("", "<a href=x>", ""),
    ("", "<a href=x>y", ""),
    ("", "<base href=x/>", "<a href=x>y"),
    ("", "<!--", ""),
    ("", "</script", ""),
    ("", "<script>", ""),
    ("", "&", ""),
    ("", "&a;", ""),
    ("", "<h1>", ""),
    ("", "<nav>", ""),
    ("", "<main><article>", ""),
    ("", "< ", ""),
];

/// Whether a page that is four times as long takes at most five times the work.
fn grows_with_its_length(page: impl Fn(usize) -> String) -> bool {
    let work = |count| write_html(&page(count), &base()).work.get();
    work(8_000) <= 5 * work(2_000)
}

#[test]
fn a_hostile_page_takes_work_that_grows_with_its_length() {
    for (before, part, behind) in HOSTILE {
        let page = |count| format!("{before}{}{behind}", part.repeat(count));
        assert!(grows_with_its_length(page), "{part}");
        let text = read_html(&page(1_000_000 / part.len()), &base());
        assert!(text.markdown.len() <= 2 * MAX_TEXT_BYTES, "{part}");
    }
    let formatted = |count: usize| {
        let formats: String = (0..count).map(|number| format!("<b a={number}>")).collect();
        format!("{formats}{}", "<p>x".repeat(count))
    };
    assert!(grows_with_its_length(formatted));
    let cut = read_html(&"word ".repeat(200_000), &base());
    assert!(cut.is_cut);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_page_is_too_strange(page in "[<>/=\"' a-hpul&;#!-]{0,80}") {
        read_html(&page, &base());
    }
}
