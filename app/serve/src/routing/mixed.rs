//! Parts of patterns that have text beside their parameters: `:id.pdf`, `@:user`, `:name.:ext`.

use super::spans::PARAMS_MAX;
use std::cmp::{Ordering, Reverse};

/// Text and parameters in turn. Texts are in the normal form of paths, and none between two parameters is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MixedPart {
    /// The text in front of the first parameter.
    head: String,
    /// The names of the parameters, each with the text behind it.
    params: Vec<(String, String)>,
}

impl MixedPart {
    /// Adds text behind what is there.
    pub(super) fn push_text(&mut self, text: &str) {
        match self.params.last_mut() {
            Some((_, behind)) => behind.push_str(text),
            None => self.head.push_str(text),
        }
    }

    /// Adds a parameter behind what is there.
    pub(super) fn push_param(&mut self, name: &str) {
        self.params.push((name.to_owned(), String::new()));
    }

    /// The text in front of the first parameter.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The names of the parameters, each with the text behind it.
    pub fn params(&self) -> impl Iterator<Item = (&str, &str)> {
        self.params
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The texts behind the parameters.
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.params().map(|(_, text)| text)
    }

    /// The text behind the last parameter.
    fn end(&self) -> &str {
        self.params.last().map_or("", |(_, text)| text)
    }

    /// The names of the parameters.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.params().map(|(name, _)| name)
    }

    /// Finds the values in a part of a path in normal form: each is as long as it can be, the first ones first. `None`
    /// where the text differs or a value would be empty.
    ///
    /// Texts are looked for from the back, each as far behind as it can stand. If they can stand anywhere they can
    /// stand there, so nothing is tried twice.
    pub(super) fn values<'a>(&self, part: &'a str) -> Option<impl Iterator<Item = &'a str>> {
        let places = self.places(part)?;
        Some(places.map(move |(start, end)| part.get(start..end).unwrap_or_default()))
    }

    /// The positions of [`MixedPart::values`], in bytes. Allocates nothing.
    pub(super) fn places(
        &self,
        part: &str,
    ) -> Option<impl Iterator<Item = (usize, usize)> + use<>> {
        if !part.starts_with(&*self.head) {
            return None;
        }
        let mut places = [(0, 0); PARAMS_MAX];
        // The end of the text that is looked for.
        let mut limit = part.len();
        for (at, (_, text)) in self.params.iter().enumerate().rev() {
            let is_last = at + 1 == self.params.len();
            let end = match is_last {
                true => limit.checked_sub(text.len())?,
                false => last_place(part, text, limit)?,
            };
            if is_last && !stands_at(part, text, end) {
                return None;
            }
            // A value has one byte at least.
            limit = end.checked_sub(1)?;
            *places.get_mut(at)? = (self.head.len(), end);
            if let Some((start, _)) = places.get_mut(at + 1).filter(|_| !is_last) {
                *start = end + text.len();
            }
        }
        let places = places.into_iter().take(self.params.len());
        (self.head.len() <= limit).then_some(places)
    }

    /// Reports whether a part of a path in normal form matches.
    pub(super) fn matches(&self, part: &str) -> bool {
        self.places(part).is_some()
    }

    /// Reports whether there may be a part of a path that both match: texts at its front and at its end do not rule
    /// that out.
    pub(super) fn may_meet(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.end(), other.end());
        (self.head.starts_with(&*other.head) || other.head.starts_with(&*self.head))
            && (ours.ends_with(theirs) || theirs.ends_with(ours))
    }

    /// Compares by which is tried first: the one with more text, of those the one with more in front. Parts that match
    /// the same are equal, whatever the names of their parameters.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let weight = |part: &Self| {
            let behind: usize = part.texts().map(str::len).sum();
            let (head, count) = (part.head.len(), part.params.len());
            (Reverse(head + behind), Reverse(head), count)
        };
        weight(self)
            .cmp(&weight(other))
            .then_with(|| self.head.cmp(&other.head))
            .then_with(|| self.texts().cmp(other.texts()))
    }
}

/// The last place where a text stands in `part` that ends at `limit` at the latest.
fn last_place(part: &str, text: &str, mut limit: usize) -> Option<usize> {
    loop {
        let at = part.get(..limit)?.rfind(text)?;
        if stands_at(part, text, at) {
            return Some(at);
        }
        limit = at + text.len() - 1;
    }
}

/// Reports whether a text stands at a place of `part`, and does not begin inside of a percent-encoded character: the
/// `F` of `%2F` is no letter.
fn stands_at(part: &str, text: &str, at: usize) -> bool {
    let before = &part.as_bytes()[..at];
    let is_inside = before.iter().rev().take(2).any(|&byte| byte == b'%');
    !is_inside && part.as_bytes()[at..].starts_with(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::segment::Segment;
    use super::*;

    fn mixed(part: &str) -> MixedPart {
        match Segment::parse(part, part) {
            Ok(Segment::Mixed(mixed)) => mixed,
            other => panic!("{part}: {other:?}"),
        }
    }

    fn values(part: &str, path: &str) -> Option<String> {
        let mixed = mixed(part);
        let values: Vec<&str> = mixed.values(path)?.collect();
        Some(values.join("|"))
    }

    #[test]
    fn values_stand_between_the_text() {
        for (part, path, expected) in [
            (":id.pdf", "7.pdf", Some("7")),
            (":id.pdf", ".pdf", None),
            (":id.pdf", "pdf", None),
            (":id.pdf", "", None),
            (":id.pdf", "7.pdfx", None),
            (":id.pdf", "7.PDF", None),
            (":id.pdf", "a.pdf.pdf", Some("a.pdf")),
            ("@:user", "@me", Some("me")),
            ("@:user", "@", None),
            ("@:user", "me", None),
            ("@:user", "@@", Some("@")),
            ("a-:x-a", "a-a", None),
            ("a-:x-a", "a--a", None),
            ("a-:x-a", "a-b-a", Some("b")),
            ("aa{:x}aa", "aaa", None),
            ("aa{:x}aa", "aaaa", None),
            ("aa{:x}aa", "aaaaa", Some("a")),
            (":name.:ext", "a.tar.gz", Some("a.tar|gz")),
            (":name.:ext", "a.", None),
            (":name.:ext", ".a", None),
            (":name.:ext", "..", None),
            (":name.:ext", "...", Some(".|.")),
            (":name.:ext", "a..", Some("a|.")),
            (":from-:to.txt", "1-2-3.txt", Some("1-2|3")),
            ("{:w}x{:h}", "640x480", Some("640|480")),
            ("{:w}x{:h}", "xx", None),
            ("{:w}x{:h}", "xxx", Some("x|x")),
            ("{:a}aa{:b}", "aaaa", Some("a|a")),
            ("{:a}aa{:b}", "aaa", None),
            (":a.:b.:c", "1.2.3.4", Some("1.2|3|4")),
            (":a.:b.:c", "1..3", None),
            (":a.:b.:c", ".....", Some(".|.|.")),
        ] {
            assert_eq!(values(part, path).as_deref(), expected, "{part} of {path}");
        }
    }

    #[test]
    fn text_is_not_found_inside_of_an_encoded_character() {
        for (part, path, expected) in [
            ("{:x}F", "a%2F", None),
            ("{:x}2F", "a%2F", None),
            ("{:x}F", "a%2FF", Some("a%2F")),
            ("{:a}2{:b}", "a%2Fb", None),
            ("{:a}2{:b}", "a2%2F", Some("a|%2F")),
            ("{:a}2{:b}", "2%222", None),
            ("{:a}2{:b}", "2%2222", Some("2%22|2")),
            ("{:a}2F{:b}", "x%2Fy", None),
            ("{:a}%2F{:b}", "x%2Fy", Some("x|y")),
            ("{:a}.{:b}", "%2E.%2E", Some("%2E|%2E")),
            ("%25{:a}", "%2541", Some("41")),
        ] {
            assert_eq!(values(part, path).as_deref(), expected, "{part} of {path}");
        }
    }

    #[test]
    fn parts_meet_unless_the_text_around_them_differs() {
        for (one, other, expected) in [
            (":x.pdf", ":x.doc", false),
            (":x.pdf", ":x.:y.doc", false),
            ("de-:x", "en-:x", false),
            ("de-:x.pdf", "de-:x.doc", false),
            (":x.gz", ":x.tar.gz", true),
            ("a-:x", "a-b-:x", true),
            (":x.pdf", "de-:x", true),
            ("@:x", ":x.:y", true),
        ] {
            let (a, b) = (mixed(one), mixed(other));
            assert_eq!(a.may_meet(&b), expected, "{one}, {other}");
            assert_eq!(b.may_meet(&a), expected, "{other}, {one}");
        }
    }

    #[test]
    fn more_text_comes_first_and_names_do_not_matter() {
        let order = |a: &str, b: &str| mixed(a).order(&mixed(b));
        for (first, second) in [
            (":id.tar.gz", ":id.gz"),
            ("a-:x", ":x.b"),
            ("ab-:x", "a-:x-"),
            (":a-", ":a.:b"),
            ("-:a", ":a-"),
            (":a.x", ":a.y"),
        ] {
            assert_eq!(order(first, second), Ordering::Less, "{first}, {second}");
            assert_eq!(order(second, first), Ordering::Greater, "{second}, {first}");
        }
        assert_eq!(order(":a.:b", ":c.:d"), Ordering::Equal);
    }
}
