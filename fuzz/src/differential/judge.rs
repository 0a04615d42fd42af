//! The cases in which two servers disagree about a connection, and in which a difference is about something else than
//! framing.

use super::{Ours, SeenRequest};

/// Compares what we and a peer saw. `None` if the two agree or ours is the stricter one.
pub(crate) fn judge(peer: &str, ours: &Ours, theirs: &[SeenRequest]) -> Option<String> {
    for (index, (our, their)) in ours.seen.iter().zip(theirs).enumerate() {
        // Other forms than origin-form are reported in other words by some peers; where they end is what counts.
        let same_target = our.target == their.target || !our.target.starts_with(b"/");
        if our.method != their.method || our.body != their.body || !same_target {
            return Some(format!(
                "request {index} is {} to us and {} to {peer}",
                show(our),
                show(their)
            ));
        }
    }
    if theirs.len() > ours.seen.len() && !ours.ended {
        // We wait for more bytes where the peer has a whole request.
        return Some(format!(
            "{peer} saw {} where we wait",
            show(&theirs[ours.seen.len()])
        ));
    }
    if theirs.len() < ours.seen.len() {
        let at = theirs.len();
        if !is_excepted(peer, &ours.seen[at], &ours.heads[at], ours.empty_lines[at])
            && !theirs_ended(peer, ours, at)
        {
            return Some(format!(
                "we saw {} that {peer} refuses",
                show(&ours.seen[at])
            ));
        }
    }
    None
}

fn show(seen: &SeenRequest) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "{:?} {:?} with body {:?}",
        text(&seen.method),
        text(&seen.target),
        text(&seen.body)
    )
}

/// Reports whether a peer refuses this request for something that does not say where it ends.
fn is_excepted(peer: &str, request: &SeenRequest, head: &[u8], empty_line: bool) -> bool {
    // RFC 9112 section 2.2 asks servers to forgive an empty line before a request; Go does not.
    if peer == "go" && empty_line {
        return true;
    }
    // Methods: llhttp knows a fixed list; the others take any token.
    let methods: [&[u8]; 8] = [
        b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE",
    ];
    if peer == "node" && !methods.contains(&&request.method[..]) {
        return true;
    }
    // Targets: each has its own idea of which bytes and percent signs a path may have, and of absolute-form.
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~?=&+,:;*".contains(byte);
    if !request.target.starts_with(b"/")
        || !request.target.iter().all(plain)
        || request.target.starts_with(b"//")
    {
        return true;
    }
    // Field values: bytes from 0x80 on, which we allow as RFC 9110 section 5.5 does.
    if !head.is_ascii() {
        return true;
    }
    // Tabs around a value are whitespace as spaces are (RFC 9110 section 5.6.3); llhttp does not take them
    // behind a Content-Length.
    if peer == "node" && head.contains(&b'\t') {
        return true;
    }
    // Host: sub-delimiters and percent signs are in the grammar, and not all peers take them.
    let host_is_plain = fields(head)
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"host"))
        .all(|(_, value)| {
            value
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b".:-".contains(byte))
        });
    !host_is_plain
}

/// Reports whether the peer has a reason to end the connection before request `at` which we do not have.
fn theirs_ended(peer: &str, ours: &Ours, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|index| ours.heads.get(index));
    // Whether the connection goes on after a 1.0 request is each server's choice; where the request ended is not
    // in doubt then.
    if before.is_some_and(|head| {
        head.split(|&byte| byte == b'\r')
            .next()
            .is_some_and(|line| line.ends_with(b"HTTP/1.0"))
    }) {
        return true;
    }
    // Go looks for the word anywhere in a Connection value.
    let says_close = |value: &[u8]| {
        value
            .to_ascii_lowercase()
            .windows(5)
            .any(|word| word == b"close")
    };
    if peer == "go"
        && before.is_some_and(|head| {
            fields(head)
                .any(|(name, value)| name.eq_ignore_ascii_case(b"connection") && says_close(value))
        })
    {
        return true;
    }
    if peer != "node" {
        return false;
    }
    // An error in what follows, such as bytes behind `Connection: close`, makes Node drop the answers to good
    // requests that came in the same packet, so it cannot be seen that it saw them.
    let error_follows = (at..ours.seen.len())
        .any(|index| is_excepted(peer, &ours.seen[index], &ours.heads[index], false));
    if ours.has_rest || error_follows {
        return true;
    }
    // Its parser stops at a request that asks for another protocol; that one may be left unanswered, and
    // nothing behind it is a request.
    ours.heads[..=at]
        .iter()
        .any(|head| fields(head).any(|(name, _)| name.eq_ignore_ascii_case(b"upgrade")))
}

fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|&byte| byte == b'\n')
        .skip(1)
        .filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
}
