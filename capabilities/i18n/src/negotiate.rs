//! The locale that a client gets: RFC 9110 section 12.5.4, and the lookup of RFC 4647 section 3.4.

use crate::catalog::Catalogs;
use crate::limits::{LANGUAGES_MAX, TAG_BYTES_MAX};
use sampan_host::request::{FULL_QUALITY, Quality, quality};

/// A name and its more general ones: `zh-Hant-TW`, `zh-Hant`, `zh`.
pub(crate) fn parents(tag: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(tag), |tag| Some(tag.rsplit_once(['-', '_'])?.0))
}

/// The locale with this name, or the next more general one.
pub(crate) fn named(catalogs: &Catalogs, tag: &str) -> Option<usize> {
    if tag.len() > TAG_BYTES_MAX {
        return None;
    }
    parents(tag).find_map(|tag| catalogs.position(tag))
}

/// The locale for an `Accept-Language`; nothing if none of its languages is there. What is malformed counts for
/// nothing.
pub(crate) fn accepted(catalogs: &Catalogs, field: &str) -> Option<usize> {
    let entries = field.split(',').take(LANGUAGES_MAX).filter_map(entry);
    let ranges: Vec<(Quality, &str)> = entries.collect();
    let mut wanted = ranges.clone();
    wanted.retain(|(quality, _)| *quality > 0);
    wanted.sort_by_key(|(quality, _)| std::cmp::Reverse(*quality));
    let find = |tag: &str| match tag {
        "*" => unnamed(catalogs, &ranges),
        tag => named(catalogs, tag),
    };
    let exact = wanted.iter().find_map(|(_, tag)| find(tag));
    // A reader of `pt` understands `pt-BR` better than a foreign language.
    exact.or_else(|| wanted.iter().find_map(|(_, tag)| related(catalogs, tag)))
}

/// Returns the locale that `*` stands for: the default, else the first, that no other range matches. A range that the
/// client refuses with `q=0` counts too. A range matches the locales that begin with it (RFC 4647 section 3.3.1).
fn unnamed(catalogs: &Catalogs, ranges: &[(Quality, &str)]) -> Option<usize> {
    let is_free = |at: &usize| {
        let is_matched = |(_, range): &(Quality, &str)| {
            parents(&catalogs.all[*at].tag).any(|tag| tag.eq_ignore_ascii_case(range))
        };
        !ranges.iter().any(is_matched)
    };
    let mut all = std::iter::once(catalogs.default).chain(0..catalogs.all.len());
    all.find(is_free)
}

/// The first locale of the same language.
fn related(catalogs: &Catalogs, tag: &str) -> Option<usize> {
    let language = |tag: &str| parents(tag).last().unwrap_or_default().to_ascii_lowercase();
    let wanted = language(tag);
    let mut all = catalogs.all.iter();
    all.position(|catalog| language(&catalog.tag) == wanted)
}

/// A language and its quality in thousandths.
fn entry(text: &str) -> Option<(Quality, &str)> {
    let mut parts = text.split(';');
    let tag = parts.next()?.trim();
    let is_tag = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    if tag != "*" && (tag.is_empty() || tag.len() > TAG_BYTES_MAX || !tag.bytes().all(is_tag)) {
        return None;
    }
    let quality = match parts.next() {
        None => FULL_QUALITY,
        Some(weight) => quality(weight.as_bytes())?,
    };
    parts.next().is_none().then_some((quality, tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::I18nSettings;

    #[test]
    fn clients_get_what_they_read() {
        let names = ["en", "de", "de-AT", "pt-BR", "zh-Hant", "fa"];
        let files = names.map(|name| (format!("locales/{name}.toml"), Vec::new()));
        let catalogs = Catalogs::read(&files, &I18nSettings::default()).expect("catalogues");
        for (field, expected) in [
            ("de", Some("de")),
            ("de-AT", Some("de-AT")),
            ("DE-at", Some("de-AT")),
            ("de-CH", Some("de")),
            ("zh-Hant-TW,en;q=0.1", Some("zh-Hant")),
            ("en;q=0.5,fa;q=0.8", Some("fa")),
            ("fr, de ; q = 0.5", Some("de")),
            ("fr,pt", Some("pt-BR")),
            ("fr,pt,de;q=0.1", Some("de")),
            ("*", Some("en")),
            ("fr,*;q=0.1", Some("en")),
            ("en;q=0,*", Some("de")),
            ("*,EN;q=0", Some("de")),
            ("en;q=0.5,*", Some("de")),
            ("en,*;q=0.5", Some("en")),
            ("en-GB;q=0,*", Some("en")),
            ("en;q=0,de;q=0,*", Some("fa")),
            ("de-AT;q=0.1,en;q=0,*;q=0.2", Some("de")),
            ("en;q=0,de;q=0,fa;q=0,pt;q=0,zh;q=0,*", None),
            ("*;q=0", None),
            ("de;q=0,fa;q=0.001", Some("fa")),
            ("de;q=0", None),
            ("fr", None),
            ("", None),
            (",,;,;q=1,=,de_AT", None),
            ("de;q=1.5,fa;q=0.1", Some("fa")),
            ("de;q=0.1234,fa;q=0.1", Some("fa")),
            ("de;q=-1,fa;q=.5,en;q=0.1", Some("en")),
            ("de;level=1,fa", Some("fa")),
            ("de;q=1;q=1,fa", Some("fa")),
            ("d\u{e9},fa", Some("fa")),
            (
                "de-AT-x-very-long-name-that-nobody-has-at-all,fa",
                Some("fa"),
            ),
        ] {
            let found = accepted(&catalogs, field).map(|at| catalogs.all[at].tag.as_str());
            assert_eq!(found, expected, "{field:?}");
        }
        let flood = format!("{}de", "xx,".repeat(10_000));
        assert_eq!(accepted(&catalogs, &flood), None);
        let parts = "a-".repeat(20_000);
        assert_eq!(accepted(&catalogs, &parts), None);
    }
}
