//! JSON of JavaScript as text that every reader takes.

use std::ops::RangeInclusive;

const HIGH: RangeInclusive<u32> = 0xd800..=0xdbff;
const LOW: RangeInclusive<u32> = 0xdc00..=0xdfff;

/// Replaces surrogates without a partner by U+FFFD. JavaScript writes them as escapes (`\ud83d`), which stand for no
/// character: readers of JSON in other languages refuse them.
pub(crate) fn well_formed(json: String) -> String {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json.as_str();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        // The first character behind a backslash belongs to it: that may be another backslash.
        let mut length = escape.len().min(2);
        if let Some(unit) = unit(escape) {
            length = 6;
            let has_partner = HIGH.contains(&unit)
                && escape
                    .get(6..)
                    .and_then(self::unit)
                    .is_some_and(|low| LOW.contains(&low));
            if has_partner {
                length = 12;
            } else if HIGH.contains(&unit) || LOW.contains(&unit) {
                out.push(char::REPLACEMENT_CHARACTER);
                rest = &escape[length..];
                continue;
            }
        }
        let (escape, after) = escape.split_at(length);
        out.push_str(escape);
        rest = after;
    }
    out + rest
}

/// Reads the escape at the beginning of a text, `\uXXXX`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates_without_a_partner_are_replaced() {
        for (json, wanted) in [
            (r#"{"a":"caf\ud83d"}"#, "{\"a\":\"caf\u{fffd}\"}"),
            (r#""\ude00\ud83d\ud83dx""#, "\"\u{fffd}\u{fffd}\u{fffd}x\""),
            (r#""\uD83D\n""#, "\"\u{fffd}\\n\""),
        ] {
            assert_eq!(well_formed(json.to_owned()), wanted);
        }
    }

    #[test]
    fn other_text_is_as_it_was() {
        for json in [
            r#""plain""#,
            r#""\\ud83d""#,
            r#""\\\\ud83d \u00e9 é""#,
            r#""\ud83d\ude00 \uD83D\uDE00""#,
            r#"{"\ud7ff":"\ue000"}"#,
        ] {
            assert_eq!(well_formed(json.to_owned()), json);
        }
    }
}
