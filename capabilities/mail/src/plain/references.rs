//! Character references, such as `&amp;` and `&#169;`.

/// The longest name of a character, in bytes.
const NAME_BYTES_MAX: usize = 8;

/// Replaces the character references that mails use.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // No further than a name is long: a text may have a `&` at each byte, and no `;`.
        let mut bytes = rest.bytes().take(NAME_BYTES_MAX + 2);
        let end = bytes.position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&rest[1..end])?, end + 1))) {
            Some((c, behind)) => {
                out.push(c);
                rest = &rest[behind..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "hellip" => '…',
        "ndash" => '–',
        "mdash" => '—',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "euro" => '€',
        "times" => '×',
        "rarr" => '→',
        _ => return None,
    })
}
