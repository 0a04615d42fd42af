//! The origin of the page that sends a request, as browsers tell it in the field `Origin` (RFC 6454 section 7).

use super::RequestView;

/// Reports whether an origin is the host that was asked, also as a trusted proxy calls it. The default port of a scheme
/// does not count: one side may have it and the other not. `null` is never the host.
pub fn is_own_origin(request: &dyn RequestView, origin: &[u8]) -> bool {
    let Some(at) = origin.windows(3).position(|three| three == b"://") else {
        return false;
    };
    let origin = without_port(&origin[at + 3..]);
    let is_own = |host: &[u8]| !host.is_empty() && without_port(host).eq_ignore_ascii_case(origin);
    if is_own(request.header("host").unwrap_or_default()) {
        return true;
    }
    // A proxy need not keep `Host`.
    let url = request.url();
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let named = rest.split(['/', '?']).next().unwrap_or_default();
    is_own(named.as_bytes())
}

fn without_port(host: &[u8]) -> &[u8] {
    let short = host.strip_suffix(b":80");
    short.unwrap_or_else(|| host.strip_suffix(b":443").unwrap_or(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_ports_do_not_count() {
        assert_eq!(without_port(b"a.example:443"), b"a.example");
        assert_eq!(without_port(b"a.example:80"), b"a.example");
        assert_eq!(without_port(b"a.example:8080"), b"a.example:8080");
    }
}
