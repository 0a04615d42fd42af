//! The access log: one line for each request, also for those that the server refuses before any script sees them.

use crate::{json, time};
use sampan_host::log::Access;
use sampan_host::trace::TraceIds;
use std::fmt::Write;
use std::str::FromStr;

/// The longest header field that a line repeats, in bytes.
const FIELD_BYTES_MAX: usize = 1024;

/// The format of the access log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessFormat {
    /// No lines.
    #[default]
    Off,
    /// The "combined" format of Apache and nginx, with more figures as `key=value` behind it.
    Common,
    /// One object of JSON per line.
    Json,
}

impl FromStr for AccessFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "off" => Ok(Self::Off),
            "common" => Ok(Self::Common),
            "json" => Ok(Self::Json),
            _ => Err(()),
        }
    }
}

/// Appends a line in the combined format, with `route`, `time`, `script`, `db` (seconds) and `id` behind it.
pub(crate) fn common(out: &mut String, access: &Access<'_>) {
    let _ = write!(out, "{} - - [", access.client);
    time::common(out, access.since_1970);
    out.push_str("] \"");
    match &access.request {
        Some(line) => {
            quoted(out, line.method.as_bytes());
            out.push(' ');
            quoted(out, line.target.as_bytes());
            out.push(' ');
            out.push_str(line.protocol);
        }
        None => out.push('-'),
    }
    let _ = write!(out, "\" {} {} \"", access.status, access.bytes);
    quoted(out, access.referer.unwrap_or(b"-"));
    out.push_str("\" \"");
    quoted(out, access.agent.unwrap_or(b"-"));
    out.push_str("\" route=\"");
    quoted(out, access.route.unwrap_or("-").as_bytes());
    let _ = write!(
        out,
        "\" time={:.6} script={:.6} db={:.6} id=",
        access.elapsed.as_secs_f64(),
        access.script.as_secs_f64(),
        access.db.as_secs_f64(),
    );
    quoted(out, access.id.unwrap_or("-").as_bytes());
    if let Some(TraceIds { trace, span }) = access.trace {
        let _ = write!(out, " trace_id={trace} span_id={span}");
    }
    if access.is_aborted {
        out.push_str(" aborted=true");
    }
    out.push('\n');
}

/// Appends what stands between quotes, escaped as Apache and nginx do it.
fn quoted(out: &mut String, bytes: &[u8]) {
    for &byte in &bytes[..bytes.len().min(FIELD_BYTES_MAX)] {
        match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f.. => {
                let _ = write!(out, "\\x{byte:02X}");
            }
            byte => out.push(char::from(byte)),
        }
    }
}

/// Appends a line as an object.
pub(crate) fn json(out: &mut String, access: &Access<'_>) {
    out.push_str("{\"time\":\"");
    time::rfc3339(out, access.since_1970);
    out.push_str("\",\"kind\":\"access\"");
    member(out, "client", Some(access.client.as_bytes()));
    member(out, "host", access.host.map(str::as_bytes));
    if let Some(line) = &access.request {
        member(out, "method", Some(line.method.as_bytes()));
        member(out, "path", Some(line.path.as_bytes()));
        member(out, "query", line.query.map(str::as_bytes));
    }
    member(out, "route", access.route.map(str::as_bytes));
    let _ = write!(
        out,
        ",\"status\":{},\"bytes\":{},\"time_ms\":{:.3},\"script_ms\":{:.3},\"db_ms\":{:.3}",
        access.status,
        access.bytes,
        access.elapsed.as_secs_f64() * 1e3,
        access.script.as_secs_f64() * 1e3,
        access.db.as_secs_f64() * 1e3,
    );
    member(out, "id", access.id.map(str::as_bytes));
    if let Some(TraceIds { trace, span }) = access.trace {
        let _ = write!(out, ",\"trace_id\":\"{trace}\",\"span_id\":\"{span}\"");
    }
    member(out, "referer", access.referer);
    member(out, "agent", access.agent);
    if access.is_aborted {
        out.push_str(",\"aborted\":true");
    }
    out.push_str("}\n");
}

/// Appends a member of text, if there is any.
fn member(out: &mut String, name: &str, value: Option<&[u8]>) {
    if let Some(value) = value {
        let _ = write!(out, ",\"{name}\":");
        json::string(out, &String::from_utf8_lossy(value), FIELD_BYTES_MAX + 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::log::RequestLine;
    use std::time::Duration;

    fn sample() -> Access<'static> {
        Access {
            since_1970: Duration::from_secs(951_782_399),
            client: "::1",
            host: Some("a\"\u{1b}.example"),
            request: Some(RequestLine {
                method: "GET",
                target: "/a?b=\"c",
                path: "/a",
                query: Some("b=\"c"),
                protocol: "HTTP/1.1",
            }),
            route: Some("/:x"),
            status: 200,
            bytes: 12,
            elapsed: Duration::from_micros(1_234),
            script: Duration::from_micros(1_000),
            db: Duration::from_micros(2),
            id: Some("r1"),
            trace: None,
            referer: Some(b"http://x/\xff\" x"),
            agent: None,
            is_aborted: false,
        }
    }

    #[test]
    fn the_combined_format_comes_first() {
        let mut out = String::new();
        common(&mut out, &sample());
        assert_eq!(
            out,
            "::1 - - [28/Feb/2000:23:59:59 +0000] \"GET /a?b=\\x22c HTTP/1.1\" 200 12 \"http://x/\\xFF\\x22 x\" \"-\" \
             route=\"/:x\" time=0.001234 script=0.001000 db=0.000002 id=r1\n"
        );
        out.clear();
        common(
            &mut out,
            &Access {
                client: "::1",
                status: 400,
                is_aborted: true,
                ..Access::default()
            },
        );
        assert_eq!(
            out,
            "::1 - - [01/Jan/1970:00:00:00 +0000] \"-\" 400 0 \"-\" \"-\" route=\"-\" time=0.000000 script=0.000000 \
             db=0.000000 id=- aborted=true\n"
        );
    }

    #[test]
    fn json_is_valid_whatever_the_client_sent() {
        let mut out = String::new();
        json(&mut out, &sample());
        let object: serde_json::Value = serde_json::from_str(&out).expect(&out);
        assert_eq!(object["host"], "a\"\u{1b}.example");
        assert_eq!(object["query"], "b=\"c");
        assert_eq!(object["referer"], "http://x/\u{fffd}\" x");
        assert_eq!(
            (&object["status"], &object["time_ms"]),
            (&200.into(), &1.234.into())
        );
        assert!(object.get("agent").is_none() && object.get("aborted").is_none());
        out.clear();
        let host = "a".repeat(100_000);
        let access = Access {
            host: Some(&host),
            ..Access::default()
        };
        json(&mut out, &access);
        assert!(out.len() < 2 * FIELD_BYTES_MAX, "{}", out.len());
    }
}
