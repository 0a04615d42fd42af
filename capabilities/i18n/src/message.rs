//! One text of a catalogue: literal parts, places for values in braces, and forms by number.

use icu_plurals::PluralCategory;

/// The text of one key.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    /// One text for all numbers.
    Plain(Text),
    /// A text for each category that the locale's numbers fall into; `other` is always among them.
    Plural(Vec<(PluralCategory, Text)>),
}

/// Literal parts and places.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Text(Vec<Piece>);

#[derive(Debug, PartialEq)]
enum Piece {
    Literal(String),
    /// The name of a value.
    Place(String),
}

/// The names of the categories in files, as CLDR has them.
pub(crate) const CATEGORIES: [(&str, PluralCategory); 6] = [
    ("zero", PluralCategory::Zero),
    ("one", PluralCategory::One),
    ("two", PluralCategory::Two),
    ("few", PluralCategory::Few),
    ("many", PluralCategory::Many),
    ("other", PluralCategory::Other),
];

impl Message {
    /// The text for a number's category.
    pub(crate) fn text(&self, category: impl FnOnce() -> PluralCategory) -> &Text {
        match self {
            Self::Plain(text) => text,
            Self::Plural(forms) => {
                let category = category();
                let form = |wanted| forms.iter().find(|(it, _)| *it == wanted);
                let found = form(category).or_else(|| form(PluralCategory::Other));
                found.map_or(&forms[0].1, |(_, text)| text)
            }
        }
    }

    /// All its texts.
    pub(crate) fn texts(&self) -> Vec<&Text> {
        match self {
            Self::Plain(text) => vec![text],
            Self::Plural(forms) => forms.iter().map(|(_, text)| text).collect(),
        }
    }

    /// Reports whether a value of this name stands in any of them. The number that decides the form may.
    pub(crate) fn has_place(&self, name: &str) -> bool {
        let is_counted = name == "n" && matches!(self, Self::Plural(_));
        is_counted
            || self
                .texts()
                .iter()
                .any(|text| text.places().any(|place| place == name))
    }
}

impl Text {
    /// Reads a text: `{name}` is a place, `{{` and `}}` are braces.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let (mut pieces, mut literal) = (Vec::new(), String::new());
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            literal.push_str(before);
            let doubled = ["{{", "}}"]
                .iter()
                .find(|double| brace.starts_with(**double));
            if let Some(double) = doubled {
                literal.push_str(&double[1..]);
                rest = &brace[2..];
                continue;
            }
            let inner = brace
                .strip_prefix('{')
                .and_then(|after| after.split_once('}'));
            let Some((name, after)) = inner else {
                return Err("a brace that stands alone is written twice: {{ or }}".to_owned());
            };
            let name = name.trim();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(format!(
                    "{{{name}}} is no place: write {{name}}, or {{{{ for a brace"
                ));
            }
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(Piece::Place(name.to_owned()));
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self(pieces))
    }

    /// The names of its values.
    pub(crate) fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// The text with `value` put in for each name.
    pub(crate) fn filled<E>(&self, value: impl Fn(&str) -> Result<String, E>) -> Result<String, E> {
        if let [Piece::Literal(literal)] = &self.0[..] {
            return Ok(literal.clone());
        }
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Place(name) => text.push_str(&value(name)?),
            }
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(source: &str) -> Result<String, String> {
        Text::parse(source)?.filled(|name| Ok(format!("<{name}>")))
    }

    #[test]
    fn braces_are_places_and_double_ones_themselves() {
        for (source, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("{a}{ b }", "<a><b>"),
            ("x {name} y", "x <name> y"),
            ("{{a}} {{{a}}}", "{a} {<a>}"),
            ("\u{6cc}{n}\u{6cc}", "\u{6cc}<n>\u{6cc}"),
        ] {
            assert_eq!(filled(source).as_deref(), Ok(expected), "{source}");
        }
        for source in ["{", "}", "a {b", "a } b", "{}", "{a b}", "{a-b}", "{{a}"] {
            assert!(filled(source).is_err(), "{source}");
        }
    }
}
