//! The text of HTML.

use super::plain;

#[test]
fn paragraphs_lists_and_links_stay_readable() {
    let html = "<!doctype html><html><head><title>T</title><style>p { a: '<b>' }</style></head><body>\
        <h1>Hello &amp; welcome</h1>\n<p>Please\n  <b>confirm</b> <a href=\"https://example.org/c?a=1&amp;b=2\">your \
        address</a>.</p><ul><li>one</li><li>two<ol><li>inner</li></ol></li></ul>\
        <p>Ann<br>Example &copy; 2026</p><!-- no <p> --></body></html>";
    assert_eq!(
        plain(html),
        "Hello & welcome\n\nPlease confirm your address (https://example.org/c?a=1&b=2).\n\n- one\n- two\n  1. \
         inner\n\nAnn\nExample © 2026\n"
    );
}

#[test]
fn a_link_that_shows_its_address_stands_once() {
    let html = "<a href='https://example.org'>https://example.org</a> <a href=\"mailto:a@b.c\">a@b.c</a> <a \
        href=\"#top\">up</a> <a href=\"https://x.org\"><img src=x alt=\"A > B\"></a>";
    assert_eq!(
        plain(html),
        "https://example.org a@b.c up A > B (https://x.org)\n"
    );
}

#[test]
fn text_that_is_no_html_stays() {
    assert_eq!(plain("1 < 2 & 3 > 2"), "1 < 2 & 3 > 2\n");
    assert_eq!(plain("<pre>a\n  b</pre>c"), "a\n  b\n\nc\n");
    assert_eq!(plain("<script>x</script"), "");
    assert_eq!(plain("<p"), "<p\n");
    assert_eq!(plain(""), "");
}

#[test]
fn long_lines_are_broken_between_words() {
    let text = plain(&format!("<p>{}</p>", "word ".repeat(40)));
    assert!(text.lines().all(|line| line.len() <= 78), "{text}");
    assert_eq!(text.split_whitespace().count(), 40);
}

#[test]
fn a_quote_that_is_not_closed_is_text_of_its_tag() {
    assert_eq!(plain("a <b isn't <p>c</p> d"), "a c\n\nd\n");
    assert_eq!(plain("<a \"x>y\" '><i>b</i>"), "b\n");
    assert_eq!(plain("a <b <i>c"), "a c\n");
    assert_eq!(plain("a <b 'x <i"), "a <b 'x <i\n");
    assert_eq!(plain("<style>a </STYLE x='>'>b"), "b\n");
    assert_eq!(plain("<style>a </styles> </style/>b"), "b\n");
    assert_eq!(
        plain("&ampamp;&;&#x00a9;&12345678;"),
        "&ampamp;&;©&12345678;\n"
    );
}

/// Takes minutes for each text if the work grows by the square of its length.
#[test]
fn work_is_in_proportion_to_the_length_of_a_text() {
    let pieces = [
        ("", "<a", ""),
        ("", "</a", ""),
        ("", "<!", ""),
        ("", "<a \"", ""),
        ("", "<a '\"", ""),
        ("", "<a \">\" ", "'"),
        ("", "<a '>' \">\" ", "'x\""),
        ("", "&", ""),
        ("", "&amp", ""),
        ("", "<!--", ""),
        ("<script>", "</a", ""),
        ("<script>", "</a", ">"),
        ("<script>", "</script", ""),
        ("<script>", "</script ", ""),
        ("", "<script></script ", ""),
        ("", "<a href='https://example.org'>", ""),
        ("<img ", "a ", ">"),
        ("<img ", "a=\"", ">"),
    ];
    for (before, piece, after) in pieces {
        let html = format!("{before}{}{after}", piece.repeat((1 << 20) / piece.len()));
        assert!(plain(&html).len() <= 2 * html.len(), "{piece}");
    }
    let deep = format!("{}{}", "<ul>".repeat(100_000), "<li>a".repeat(100_000));
    assert!(plain(&deep).len() < 10 * deep.len());
}
