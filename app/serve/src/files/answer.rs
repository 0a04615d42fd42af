//! From a file and a request to an answer: which form of it, whether the client has it already, which parts of it.

use super::conditions::{self, ConditionResult, Validators};
use super::multipart::{MultipartParts, content_range};
use super::ranges::{Ranges, Span, ranges};
use super::stored::{Content, Form, StoredFile};
use crate::answer::errors;
use sampan_host::request::{AcceptedCodings, Coding, NotAcceptable};
use sampan_http::{Answer, Body, FilePart, Method, Precomputed, Request, Response};
use std::rc::Rc;
use std::sync::Arc;

/// The longest time that a client may use what it has without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The time that the settings say.
    Ordinary,
    /// An unlimited time: the name changes with the content.
    Forever,
    /// The time that the settings say, for the page that answers browsers where no file is: others get an error there.
    Fallback,
}

/// A file that answers a request.
pub(crate) struct ServedFile {
    /// The path in the project's folder.
    pub(crate) path: String,
    pub(super) file: Rc<StoredFile>,
    /// The `Cache-Control` that it gets, if any.
    pub(super) cache_control: Option<String>,
    pub(super) freshness: Freshness,
}

impl ServedFile {
    pub(crate) fn content_type(&self) -> &str {
        &self.file.content_type
    }

    /// Completes an answer whose body is this file. What the script set stays.
    pub(crate) fn complete(&self, response: &mut Response, request: &Request) {
        complete(response, &self.file, request, self.cache_control.as_deref());
        vary_for(self.freshness, response);
    }
}

/// The answer to a request that no script sees.
pub(super) fn answer(
    file: &StoredFile,
    request: &Request,
    freshness: Freshness,
    cache_control: Option<&str>,
) -> Answer {
    let Ok(form) = form_for(file, request) else {
        return Answer::Now(refused(Response::new(406), file, request));
    };
    if conditions::has_any(request) {
        let mut response = Response::new(200);
        complete(&mut response, file, request, cache_control);
        vary_for(freshness, &mut response);
        return Answer::Now(response);
    }
    let known = &form.answers[freshness as usize];
    let whole = match known.get() {
        Some(whole) => Arc::clone(whole),
        None => {
            let mut response = Response::new(200);
            describe(&mut response, file, form, cache_control);
            vary_for(freshness, &mut response);
            send(&mut response, file, form);
            match Precomputed::new(response) {
                Ok(whole) => Arc::clone(known.get_or_init(|| whole)),
                Err(response) => return Answer::Now(response),
            }
        }
    };
    Answer::Precomputed(whole)
}

/// The form of a file that the client accepts.
fn form_for<'a>(file: &'a StoredFile, request: &Request) -> Result<&'a Form, NotAcceptable> {
    if request.header(AcceptedCodings::FIELD).is_none() {
        return Ok(&file.plain);
    }
    let accepted = AcceptedCodings::of(request.headers());
    let mut there = [Coding::Brotli; Coding::ALL.len()];
    let mut count = 0;
    for (coding, _) in &file.encoded {
        there[count] = *coding;
        count += 1;
    }
    let chosen = accepted.choose(&there[..count])?;
    Ok(chosen
        .and_then(|coding| file.form_in(coding))
        .unwrap_or(&file.plain))
}

fn complete(
    response: &mut Response,
    file: &StoredFile,
    request: &Request,
    cache_control: Option<&str>,
) {
    let is_get = request.method() == Method::Get;
    // The page of an error, or the answer to something else than a question for the file, is sent as it is. It has no
    // ranges, so that it is compressed as other answers are.
    if response.status() != 200 || !(is_get || request.method() == Method::Head) {
        return send_without_ranges(response, file, &file.plain);
    }
    let form = if response.has_header("content-encoding") {
        &file.plain
    } else {
        match form_for(file, request) {
            Ok(form) => form,
            Err(NotAcceptable) => {
                response.set_status(406);
                *response = refused(
                    std::mem::replace(response, Response::new(406)),
                    file,
                    request,
                );
                return;
            }
        }
    };
    let own = OwnValidators::take(response, !std::ptr::eq(form, &file.plain));
    describe(response, file, form, cache_control);
    let validators = own.over(file.validators(form));
    match conditions::verdict(request, validators) {
        ConditionResult::Send => {}
        ConditionResult::NotModified => {
            response.set_status(304);
            return without_body(response);
        }
        ConditionResult::Failed => return fail(response, 412, request),
    }
    let field = request.header("range").filter(|_| is_get);
    let field = field.filter(|_| conditions::range_counts(request, validators));
    let len = form.content.len();
    match field.map_or(Ranges::Whole, |field| ranges(field, len)) {
        Ranges::Whole => send(response, file, form),
        Ranges::One(span) => {
            send(response, file, form);
            response.set_status(206);
            set(response, "Content-Range", &content_range(span, len));
            response.set_body(part(&form.content, span));
        }
        Ranges::Several(spans) => {
            send(response, file, form);
            response.set_status(206);
            let content_type = response.get_header("content-type").unwrap_or_default();
            let content_type = String::from_utf8_lossy(content_type).into_owned();
            let parts = MultipartParts::new(&form.content, &content_type, spans);
            set(response, "Content-Type", &parts.content_type());
            response.set_body(Body::Stream(Box::new(parts)));
            response.forget_length();
        }
        Ranges::None => {
            fail(response, 416, request);
            set(response, "Content-Range", &format!("bytes */{len}"));
        }
    }
}

/// The validators that a script has set, which then count instead of the file's.
struct OwnValidators {
    tag: Option<String>,
    /// A date, or what is none.
    modified: Option<Option<u64>>,
}

impl OwnValidators {
    /// Reads them, for a form of the file.
    fn take(response: &mut Response, is_encoded: bool) -> Self {
        let tag = response.get_header("etag");
        let mut tag = tag.map(|tag| String::from_utf8_lossy(tag).into_owned());
        if let Some(tag) = &mut tag
            && is_encoded
            && tag.starts_with('"')
        {
            // It may be the tag of other forms too, whose bytes are others (RFC 9110 section 8.8.3.3).
            tag.insert_str(0, "W/");
            set(response, "ETag", tag);
        }
        let modified = response.get_header("last-modified");
        Self {
            tag,
            modified: modified.map(conditions::seconds),
        }
    }

    fn over<'a>(&'a self, file: Validators<'a>) -> Validators<'a> {
        Validators {
            tag: self.tag.as_deref().unwrap_or(file.tag),
            modified: self.modified.unwrap_or(file.modified),
        }
    }
}

/// Writes the fields that describe a file whether its bytes are sent or not.
fn describe(response: &mut Response, file: &StoredFile, form: &Form, cache_control: Option<&str>) {
    add(response, "ETag", &form.tag);
    if let Some(last_modified) = &file.last_modified {
        add(response, "Last-Modified", last_modified);
    }
    if let Some(cache_control) = cache_control {
        add(response, "Cache-Control", cache_control);
    }
    vary(response, file);
}

fn vary(response: &mut Response, file: &StoredFile) {
    if !file.encoded.is_empty() {
        set_line(response, "Vary", "Accept-Encoding");
    }
}

/// Takes the directives for shared caches out of a `Cache-Control` and lets only the client keep the answer (RFC 9111
/// section 5.2.2).
pub(super) fn private(cache_control: &str) -> String {
    let is_shared = |one: &str| {
        let name = one.split('=').next().unwrap_or_default().trim();
        ["private", "public", "s-maxage", "proxy-revalidate"]
            .iter()
            .any(|shared| name.eq_ignore_ascii_case(shared))
    };
    let rest = cache_control.split(',').map(str::trim);
    let rest = rest.filter(|one| !one.is_empty() && !is_shared(one));
    ["private"]
        .into_iter()
        .chain(rest)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Tells caches that the page for browsers depends on `Accept`.
fn vary_for(freshness: Freshness, response: &mut Response) {
    if freshness == Freshness::Fallback {
        set_line(response, "Vary", "Accept");
    }
}

/// Sends all of a file, of which clients may ask for parts.
fn send(response: &mut Response, file: &StoredFile, form: &Form) {
    send_without_ranges(response, file, form);
    add(response, "Accept-Ranges", "bytes");
}

/// Sends all of a file.
fn send_without_ranges(response: &mut Response, file: &StoredFile, form: &Form) {
    add(response, "Content-Type", &file.content_type);
    if let Some((coding, _)) = file
        .encoded
        .iter()
        .find(|(_, other)| std::ptr::eq(other, form))
    {
        add(response, "Content-Encoding", coding.name());
    }
    response.set_body(match &form.content {
        Content::Memory(bytes) => Body::Shared(Arc::clone(bytes)),
        Content::Open(part) => Body::File(part.clone()),
    });
}

fn part(content: &Content, Span { start, end }: Span) -> Body {
    match content {
        Content::Memory(bytes) => Body::Bytes(bytes[start as usize..end as usize].to_vec()),
        Content::Open(part) => Body::File(FilePart {
            file: Arc::clone(&part.file),
            start: part.start + start,
            len: end - start,
        }),
    }
}

/// An answer without the file, and without what was said about its bytes.
pub(super) fn without_body(response: &mut Response) {
    for name in ["content-type", "content-encoding", "content-disposition"] {
        response.remove_header(name);
    }
    response.set_body(Body::Empty);
}

fn fail(response: &mut Response, status: u16, request: &Request) {
    response.set_status(status);
    without_body(response);
    for name in ["etag", "last-modified", "cache-control"] {
        response.remove_header(name);
    }
    errors::fill(response, request);
}

/// The client accepts none of the forms that there are.
fn refused(mut response: Response, file: &StoredFile, request: &Request) -> Response {
    fail(&mut response, 406, request);
    vary(&mut response, file);
    response
}

/// Adds a field unless there is one.
fn add(response: &mut Response, name: &str, value: &str) {
    if !response.has_header(name) {
        set_line(response, name, value);
    }
}

/// Adds a field line. One that has no room is left out.
fn set_line(response: &mut Response, name: &str, value: &str) {
    let _ = response.header(name.as_bytes(), value.as_bytes());
}

fn set(response: &mut Response, name: &str, value: &str) {
    let _ = response.set_header(name.as_bytes(), value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::private;

    #[test]
    fn a_private_answer_has_no_directives_for_shared_caches() {
        for (given, told) in [
            ("no-cache", "private, no-cache"),
            ("public, max-age=3600", "private, max-age=3600"),
            (
                "Public,S-MaxAge=9 , max-age=60,proxy-revalidate",
                "private, max-age=60",
            ),
            ("private, no-store", "private, no-store"),
            ("", "private"),
        ] {
            assert_eq!(private(given), told, "{given}");
        }
    }
}
