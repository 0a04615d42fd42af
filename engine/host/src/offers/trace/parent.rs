//! The header fields `traceparent` and `tracestate` (W3C Trace Context, level 2).

use super::ids::{SpanId, TraceId};

/// The most members of a `tracestate` (section 3.3.1.1).
const MEMBERS_MAX: usize = 32;
/// The longest `tracestate` that is passed on, in bytes; the least that the specification asks for (section 3.3.1.5).
const STATE_BYTES_MAX: usize = 512;
/// Members above this size are dropped first where a `tracestate` is too long, in bytes.
const LARGE_MEMBER_BYTES: usize = 128;
/// The longest key, and the longest value, of a member, in bytes.
const PART_BYTES_MAX: usize = 256;

/// The span of another server, or of an earlier run, that caused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteParent {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// True if the caller records the trace.
    pub is_sampled: bool,
    /// The state of other systems, as it is passed on.
    pub state: Option<Box<str>>,
}

impl RemoteParent {
    /// Reads a `traceparent`, and the field lines `tracestate`. `None` for one that is malformed: the trace begins
    /// here then. A malformed `tracestate` is dropped alone.
    pub fn read<'a>(traceparent: &[u8], states: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let text = std::str::from_utf8(traceparent).ok()?;
        let version = hex(text, 0..2)?;
        let (length, rest) = (text.len(), text.as_bytes().get(55));
        // Later versions may have more behind the flags (section 4.3).
        let fits = match version {
            0xff => false,
            0 => length == 55,
            _ => rest.is_none_or(|byte| *byte == b'-'),
        };
        let bytes = text.as_bytes();
        let has_dashes = [2, 35, 52].iter().all(|at| bytes.get(*at) == Some(&b'-'));
        if !fits || !has_dashes {
            return None;
        }
        let trace = hex(text, 3..35).filter(|id| *id != 0)?;
        let span = hex(text, 36..52).filter(|id| *id != 0)?;
        let flags = hex(text, 53..55)?;
        Some(Self {
            trace: TraceId(trace),
            span: SpanId(span as u64),
            is_sampled: flags & 1 == 1,
            state: state(states),
        })
    }

    /// Returns the value of `traceparent`.
    pub fn traceparent(&self) -> String {
        let flags = u8::from(self.is_sampled);
        format!("00-{}-{}-{flags:02x}", self.trace, self.span)
    }

    /// Returns the parent as one text, for work that is kept and runs later: [`RemoteParent::from_text`] reads it.
    pub fn to_text(&self) -> String {
        let parent = self.traceparent();
        match &self.state {
            Some(state) => format!("{parent} {state}"),
            None => parent,
        }
    }

    /// Reads what [`RemoteParent::to_text`] has written. `None` for another text.
    pub fn from_text(text: &str) -> Option<Self> {
        let (parent, state) = match text.split_once(' ') {
            Some((parent, state)) => (parent, Some(state.as_bytes())),
            None => (text, None),
        };
        Self::read(parent.as_bytes(), state.into_iter())
    }
}

/// Reads hexadecimal digits in lower case; others are malformed.
fn hex(text: &str, range: std::ops::Range<usize>) -> Option<u128> {
    let digits = text.get(range)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_hex = digits.bytes().all(is_digit);
    u128::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// Joins the field lines `tracestate`. `None` if there is none, or a malformed one.
fn state<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<Box<str>> {
    let mut members: Vec<(&str, &str)> = Vec::new();
    for line in lines {
        let line = std::str::from_utf8(line).ok()?;
        for member in line
            .split(',')
            .map(|member| member.trim_matches([' ', '\t']))
        {
            if member.is_empty() {
                continue;
            }
            let (key, value) = member.split_once('=')?;
            let is_known = members.iter().any(|(known, _)| *known == key);
            if !is_key(key) || !is_value(value) || is_known || members.len() == MEMBERS_MAX {
                return None;
            }
            members.push((key, value));
        }
    }
    let bytes = |members: &[(&str, &str)]| -> usize {
        let all = members
            .iter()
            .map(|(key, value)| key.len() + value.len() + 2);
        all.sum::<usize>().saturating_sub(1)
    };
    if bytes(&members) > STATE_BYTES_MAX {
        members.retain(|(key, value)| key.len() + value.len() < LARGE_MEMBER_BYTES);
    }
    while bytes(&members) > STATE_BYTES_MAX {
        members.pop();
    }
    let joined: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    (!joined.is_empty()).then(|| joined.join(",").into())
}

fn is_key(key: &str) -> bool {
    let fits = |byte: u8| {
        byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || matches!(byte, b'_' | b'-' | b'*' | b'/' | b'@')
    };
    let begins = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    key.len() <= PART_BYTES_MAX
        && key.bytes().all(fits)
        && key.as_bytes().first().is_some_and(begins)
}

fn is_value(value: &str) -> bool {
    let fits = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
    (1..=PART_BYTES_MAX).contains(&value.len()) && value.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(text: &str) -> Option<RemoteParent> {
        RemoteParent::read(text.as_bytes(), std::iter::empty())
    }

    #[test]
    fn reads_what_the_specification_allows() {
        let parent = read(GOOD).expect("a parent");
        assert_eq!(parent.traceparent(), GOOD);
        assert!(parent.is_sampled);
        let unsampled = read(&GOOD.replace("-01", "-00")).expect("a parent");
        assert!(!unsampled.is_sampled);
        for later in [
            GOOD.replacen("00", "cc", 1),
            GOOD.replacen("00", "cc", 1) + "-what-the-future-has",
            GOOD.replace("-01", "-09"),
        ] {
            let parent = read(&later).expect(&later);
            assert_eq!(parent.traceparent(), GOOD, "{later}");
        }
    }

    #[test]
    fn is_kept_as_text() {
        for state in [None, Some("congo=t61"), Some("rojo=a b,x@y=1")] {
            let states = state.iter().map(|state| state.as_bytes());
            let parent = RemoteParent::read(GOOD.as_bytes(), states).expect("a parent");
            assert_eq!(parent.state.as_deref(), state);
            assert_eq!(RemoteParent::from_text(&parent.to_text()), Some(parent));
        }
        for other in ["", " ", "x", "congo=t61"] {
            assert_eq!(RemoteParent::from_text(other), None, "{other}");
        }
    }

    #[test]
    fn ignores_a_malformed_parent() {
        for bad in [
            String::new(),
            "00".to_owned(),
            GOOD[..54].to_owned(),
            GOOD.to_owned() + "-extra",
            GOOD.to_owned() + " ",
            GOOD.replacen("00", "ff", 1),
            GOOD.replacen("00", "0x", 1),
            GOOD.replacen("00", "cc", 1) + ".",
            GOOD.to_uppercase(),
            GOOD.replace('-', "_"),
            GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            GOOD.replace("b7ad", "b7é"),
            GOOD.replace("-01", "-0g"),
            GOOD.replace("-01", "-+1"),
            "0".repeat(100_000),
        ] {
            assert_eq!(read(&bad), None, "{bad:.80}");
        }
        assert_eq!(RemoteParent::read(&[0xff; 55], std::iter::empty()), None);
    }

    #[test]
    fn a_state_is_passed_on_within_its_limits() {
        let state_of = |lines: &[&str]| {
            let lines = lines.iter().map(|line| line.as_bytes());
            let parent = RemoteParent::read(GOOD.as_bytes(), lines).expect("a parent");
            parent.state.map(String::from)
        };
        let given = state_of(&["rojo=00f067aa0ba902b7 , congo=t61", "", "x@y=1"]);
        assert_eq!(
            given.as_deref(),
            Some("rojo=00f067aa0ba902b7,congo=t61,x@y=1")
        );
        for bad in ["a", "=b", "A=1", "a=", "a=1,a=2", "a=b=c", "a=\u{7}"] {
            assert_eq!(state_of(&[bad]), None, "{bad}");
        }
        let many: Vec<String> = (0..33).map(|n| format!("k{n}=1")).collect();
        assert_eq!(state_of(&[&many.join(",")]), None);
        let large = format!("big={},small=1", "x".repeat(250));
        let larger = format!("{large},big2={},big3={}", "y".repeat(250), "z".repeat(250));
        assert_eq!(state_of(&[&larger]).as_deref(), Some("small=1"));
        assert_eq!(state_of(&[&large]), Some(large));
        let huge = "h".repeat(1 << 20) + "=1";
        assert_eq!(state_of(&[&huge]), None);
        let full: Vec<String> = (0..32)
            .map(|n| format!("k{n:02}={}", "v".repeat(20)))
            .collect();
        let kept = state_of(&[&full.join(",")]).expect("some");
        assert!(
            kept.len() <= STATE_BYTES_MAX && kept.starts_with("k00="),
            "{kept}"
        );
    }
}
