//! The `Cookie` field, read as RFC 6265 section 5.4 writes it.

/// The cookies of one field value, in order. Of two with one name the first counts: it is the more specific one
/// (RFC 6265 section 5.4). Pairs without `=` are passed over; a pair of double quotes around a
/// value is removed.
pub(crate) fn pairs(field: &str) -> impl Iterator<Item = (&str, &str)> {
    field.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = value.trim_matches([' ', '\t']);
        let value = value
            .strip_prefix('"')
            .and_then(|v| v.strip_suffix('"'))
            .unwrap_or(value);
        let name = name.trim_matches([' ', '\t']);
        (!name.is_empty()).then_some((name, value))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn pairs_are_split_and_unquoted() {
        let all: Vec<_> = super::pairs("a=1; b=\"two\"; nonsense; c=x=y;=z; d=").collect();
        assert_eq!(all, [("a", "1"), ("b", "two"), ("c", "x=y"), ("d", "")]);
    }
}
