//! The answer to a request for a file has the whole file, the parts that were asked for, or what its conditions say:
//! an evaluation of RFC 9110 sections 13.2.2 and 14.2 that is written plainly says the same. No path leads out of the
//! folder.
//!
//! The first line of an input is a method and a target, each other line a field. `@tag` stands for the file's tag.

use sampan_host::Settings;
use sampan_http::{
    Answer, DirectAnswer, Handler, Limits, Observer, Request, Response, answer_directly,
};
use sampan_serve::files::{SECTION, StaticFiles, StaticSettings};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// Pieces of requests for files.
#[rustfmt::skip]
pub(crate) const WORDS: &[&[u8]] = &[
    b"GET /ten\n", b"GET /long\n", b"GET /empty\n", b"HEAD /ten\n", b"/docs/", b"/../secret", b"/%2e%2e/secret", b"/up/secret", b"/.hidden", b"@tag",
    b"Range: bytes=", b"\nRange: bytes=0-4", b"\nRange: bytes=-5", b"\nRange: bytes=5-", b"0-0,", b"9-9", b", ", b"-1", b"2-", b"1-2,4-5", b"999-",
    b"99999999999999999999", b"\nIf-Range: @tag", b"\nIf-Match: @tag", b"\nIf-None-Match: @tag", b"\nIf-None-Match: *", b"W/", b"\"x\"", b"*",
    b"\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", b"\nIf-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
    b"\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT", b"08:49:36", b"08:49:38", b"\nAccept-Encoding: identity;q=0", b"\nAccept-Encoding: gzip",
];

/// The bytes of files that no path names.
const SECRET: &str = "SECRET";

/// The time at which all files were changed: Sun, 06 Nov 1994 08:49:37 GMT. The dates of inputs are this one, and those
/// around it.
const MODIFIED: u64 = 784_111_777;
const DATES: [(&str, u64); 3] = [
    ("Sun, 06 Nov 1994 08:49:36 GMT", MODIFIED - 1),
    ("Sun, 06 Nov 1994 08:49:37 GMT", MODIFIED),
    ("Sun, 06 Nov 1994 08:49:38 GMT", MODIFIED + 1),
];

/// The most ranges that one request gets.
const RANGES_MAX: usize = 16;

thread_local! {
    static SITE: Site = Site::new();
}

/// A folder with files, and what serves them.
struct Site {
    files: Rc<ByPath>,
    runtime: tokio::runtime::Runtime,
    contents: [(&'static str, Vec<u8>); 3],
    _folder: tempfile::TempDir,
}

struct ByPath(Rc<StaticFiles>);

impl Handler for ByPath {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let found = self.0.answer_by_path(request).expect("it can be read");
        found.unwrap_or_else(|| Answer::Now(Response::new(404)))
    }
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let long: Vec<u8> = (0..1000_u32).map(|at| (at * at % 251) as u8).collect();
        // The last is longer than what is kept in memory.
        let contents = [
            ("/empty", Vec::new()),
            ("/ten", b"0123456789".to_vec()),
            ("/long", long),
        ];
        std::fs::create_dir_all(at("public/docs")).expect("made");
        for (name, content) in &contents {
            std::fs::write(at(&format!("public{name}")), content).expect("written");
        }
        std::fs::write(at("public/docs/index.html"), "<p>docs</p>").expect("written");
        for name in ["secret", "public/.hidden", "public/docs/.secret"] {
            std::fs::write(at(name), SECRET).expect("written");
        }
        std::os::unix::fs::symlink("..", at("public/up")).expect("linked");
        for (name, _) in &contents {
            let file = std::fs::File::options()
                .write(true)
                .open(at(&format!("public{name}")));
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED);
            file.and_then(|file| file.set_modified(time))
                .expect("a time");
        }
        let settings = StaticSettings {
            check_millis: u64::MAX,
            file_bytes_max: 100,
            compress: false,
            ..StaticSettings::from_settings(&Settings::of(&SECTION)).expect("valid")
        };
        let files = StaticFiles::open(folder.path(), None, &at("storage"), Path::new(""), settings)
            .expect("readable");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Self {
            files: Rc::new(ByPath(files)),
            runtime: runtime.enable_time().build().expect("a runtime"),
            contents,
            _folder: folder,
        }
    }

    fn ask(&self, request: &str) -> DirectAnswer {
        let peer = ([127, 0, 0, 1], 1).into();
        let limits = Limits::default();
        let answer = answer_directly(&*self.files, request.as_bytes(), peer, &limits);
        self.runtime.block_on(answer)
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    SITE.with(|site| check(site, text));
}

fn check(site: &Site, text: &str) {
    let (line, fields) = text.split_once('\n').unwrap_or((text, ""));
    let target = line.split(' ').nth(1).unwrap_or_default();
    let known = site.contents.iter().find(|(name, _)| *name == target);
    let tag = match known {
        Some((name, _)) => field(
            &site.ask(&format!("GET {name} HTTP/1.1\r\nHost: h\r\n\r\n")),
            "etag",
        )
        .expect("a tag"),
        None => String::new(),
    };
    let fields = fields.replace("@tag", &tag).replace('\n', "\r\n");
    let fields = if fields.is_empty() {
        fields
    } else {
        fields + "\r\n"
    };
    let request = format!("{line} HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
    let answer = site.ask(&request);
    let shown = String::from_utf8_lossy(&answer.body);
    assert!(
        !shown.contains(SECRET),
        "{request:?} reads a file that is not served"
    );
    let (Some((_, content)), Ok(parsed)) = (known, Request::from_bytes(request.as_bytes())) else {
        return;
    };
    let method = parsed.method_str();
    if method == "GET" || method == "HEAD" {
        check_answer(&parsed, &answer, content, &tag);
    }
}

fn field(answer: &DirectAnswer, name: &str) -> Option<String> {
    let found = answer
        .headers
        .iter()
        .find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// The answer that a request asks for.
#[derive(Debug, PartialEq)]
enum Expected {
    Status(u16),
    Whole,
    Parts(Vec<(usize, usize)>),
}

fn check_answer(request: &Request, answer: &DirectAnswer, content: &[u8], tag: &str) {
    let is_get = request.method_str() == "GET";
    let range = field(answer, "content-range");
    assert!(!answer.is_cut, "{answer:?}");
    let found = match answer.status {
        200 => {
            assert_eq!(answer.body, if is_get { content } else { b"" });
            Expected::Whole
        }
        206 => Expected::Parts(match range {
            Some(range) => vec![part(&range, &answer.body, content)],
            None => parts(answer, content),
        }),
        status => {
            assert!(
                !is_get || status != 304 || answer.body.is_empty(),
                "{answer:?}"
            );
            assert!(
                status != 416 || range == Some(format!("bytes */{}", content.len())),
                "{range:?}"
            );
            Expected::Status(status)
        }
    };
    if let Some(expected) = expected(request, content.len(), tag) {
        assert_eq!(
            found,
            expected,
            "{:?}",
            String::from_utf8_lossy(&answer.body)
        );
    }
}

/// The part that a `Content-Range` names, whose bytes these must be.
fn part(range: &str, bytes: &[u8], content: &[u8]) -> (usize, usize) {
    let (span, len) = range
        .strip_prefix("bytes ")
        .and_then(|rest| rest.split_once('/'))
        .expect("a range");
    let (first, last) = span.split_once('-').expect("a span");
    let [first, last, len] =
        [first, last, len].map(|digits| digits.parse::<usize>().expect("a number"));
    assert_eq!(len, content.len(), "{range}");
    assert_eq!(bytes, &content[first..=last], "{range}");
    (first, last)
}

/// The parts of a body of `multipart/byteranges`, which are read by their lengths.
fn parts(answer: &DirectAnswer, content: &[u8]) -> Vec<(usize, usize)> {
    let kind = field(answer, "content-type").expect("a type");
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .expect("a boundary");
    let (mut left, mut parts) = (&answer.body[..], Vec::new());
    loop {
        left = left
            .strip_prefix(format!("\r\n--{boundary}").as_bytes())
            .expect("a boundary");
        if left == b"--\r\n" {
            return parts;
        }
        let end = left
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .expect("the end of a head");
        let head = std::str::from_utf8(&left[..end]).expect("text");
        let range = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Range: "))
            .expect("a range");
        let span = range["bytes ".len()..]
            .split_once('/')
            .and_then(|(span, _)| span.split_once('-'));
        let (first, last) = span.expect("a span");
        let len = last.parse::<usize>().expect("a number") + 1
            - first.parse::<usize>().expect("a number");
        left = &left[end + 4..];
        parts.push(part(range, &left[..len], content));
        left = &left[len..];
    }
}

/// The answer by RFC 9110 section 13.2.2; `None` where a field is not of the plain kind that is understood here.
fn expected(request: &Request, len: usize, tag: &str) -> Option<Expected> {
    let mut names: Vec<String> = request
        .headers()
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    let is_other =
        |name: &String| name.starts_with("if-") || name == "range" || name == "accept-encoding";
    names.retain(is_other);
    names.sort();
    let has_twice = names.windows(2).any(|pair| pair[0] == pair[1]);
    if has_twice || names.iter().any(|name| name == "accept-encoding") {
        return None;
    }
    let text = |name: &str| {
        request
            .header(name)
            .map(|value| String::from_utf8_lossy(value).into_owned())
    };
    let date = |text: &str| {
        DATES
            .iter()
            .find(|(written, _)| *written == text)
            .map(|(_, time)| *time)
    };
    if let Some(list) = text("if-match") {
        let is_matched = tags(&list)?.iter().any(|own| own == "*" || own == tag);
        if !is_matched {
            return Some(Expected::Status(412));
        }
    } else if let Some(since) = text("if-unmodified-since")
        && date(&since)? < MODIFIED
    {
        return Some(Expected::Status(412));
    }
    if let Some(list) = text("if-none-match") {
        let weak = |text: &str| text.trim_start_matches("W/").to_owned();
        if tags(&list)?
            .iter()
            .any(|own| own == "*" || weak(own) == weak(tag))
        {
            return Some(Expected::Status(304));
        }
    } else if let Some(since) = text("if-modified-since")
        && date(&since)? >= MODIFIED
    {
        return Some(Expected::Status(304));
    }
    let Some(range) = text("range").filter(|_| request.method_str() == "GET") else {
        return Some(Expected::Whole);
    };
    if let Some(known) = text("if-range") {
        let is_same = match known.starts_with(['"', 'W']) {
            true => known == tag,
            false => date(&known)? == MODIFIED,
        };
        if !is_same {
            return Some(Expected::Whole);
        }
    }
    asked(&range, len)
}

/// The tags of a list that has nothing but tags without commas.
fn tags(list: &str) -> Option<Vec<String>> {
    if list == "*" {
        return Some(vec!["*".to_owned()]);
    }
    let tags = list.split(',').map(|tag| {
        let tag = tag.trim_matches([' ', '\t']);
        let inner = tag.strip_prefix("W/").unwrap_or(tag);
        let inner = inner.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('"')).then(|| tag.to_owned())
    });
    tags.collect()
}

/// The parts that a `Range` field asks for. One that cannot be read counts for nothing, and so does one that asks for
/// more than there is.
fn asked(range: &str, len: usize) -> Option<Expected> {
    let list = range.strip_prefix("bytes=")?;
    let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Some(
            digits
                .parse::<u128>()
                .unwrap_or(u128::MAX)
                .min(u64::MAX.into()),
        ),
        false => None,
    };
    let len = len as u128;
    let (mut parts, mut count) = (Vec::new(), 0);
    for item in list
        .split(',')
        .map(|item| item.trim_matches([' ', '\t']))
        .filter(|item| !item.is_empty())
    {
        count += 1;
        let ends = item.split_once('-').map(|(first, last)| {
            let (first, last) = (
                first.trim_matches([' ', '\t']),
                last.trim_matches([' ', '\t']),
            );
            match (first.is_empty(), last.is_empty()) {
                (true, true) => None,
                (true, false) => Some((len.saturating_sub(number(last)?), len)),
                (false, true) => Some((number(first)?, len)),
                (false, false) => {
                    let (first, last) = (number(first)?, number(last)?);
                    (first <= last).then_some((first, (last + 1).min(len)))
                }
            }
        });
        let Some((start, end)) = ends.flatten() else {
            return Some(Expected::Whole);
        };
        if start < end {
            parts.push((start as usize, end as usize - 1));
        }
    }
    let total: usize = parts.iter().map(|(first, last)| last - first + 1).sum();
    Some(match parts.len() {
        _ if count == 0 || count > RANGES_MAX => Expected::Whole,
        0 => Expected::Status(416),
        1 => Expected::Parts(parts),
        _ if total as u128 > len => Expected::Whole,
        _ => Expected::Parts(parts),
    })
}
