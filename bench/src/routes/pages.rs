//! The pages of examples/bench_template, as every server must send them.

/// A title and a heading.
pub(super) const SIMPLE: &str = page(include_str!("../../pages/simple.html"));

/// A list of 50 items.
pub(super) const LOOP: &str = page(include_str!("../../pages/loop.html"));

/// A base with two blocks, navigation, and a table of 50 rows.
pub(super) const FULL: &str = page(include_str!("../../pages/full.html"));

/// The text of a file without its last newline, which templates drop.
const fn page(file: &'static str) -> &'static str {
    file.split_at(file.len() - 1).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_whole_and_have_something_to_escape() {
        for page in [SIMPLE, LOOP, FULL] {
            assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>"));
        }
        assert!(SIMPLE.contains("Hello, &lt;world&gt;"));
        assert_eq!(LOOP.matches("<li>").count(), 50);
        assert_eq!(FULL.matches("<tr>").count(), 50);
        assert_eq!(FULL.matches("NUTS &amp; BOLTS").count(), 5);
        assert!((2_800..3_000).contains(&FULL.len()), "{}", FULL.len());
    }
}
