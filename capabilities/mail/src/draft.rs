//! A mail as a script describes it.

use crate::address::{address, addresses};
use crate::limits::{ADDRESSES_MAX, FIELD_BYTES_MAX, FIELDS_MAX, FILES_MAX};
use lettre::message::Mailbox;
use sampan_host::names::snake_case;
use sampan_host::reader::Kind;
use sampan_host::{Error, Handle, Reader, refusals};

/// The members of a mail.
const MEMBERS: &[&str] = &[
    "to",
    "cc",
    "bcc",
    "from",
    "reply_to",
    "subject",
    "template",
    "data",
    "locale",
    "text",
    "html",
    "attachments",
    "inline",
    "headers",
];

/// The header fields that have members of their own, or are the server's.
const RESERVED: &[&str] = &[
    "to",
    "cc",
    "bcc",
    "from",
    "reply-to",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "sender",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
    "content-id",
    "dkim-signature",
    "return-path",
    "received",
];

/// A mail as a script describes it.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) to: Vec<Mailbox>,
    pub(crate) cc: Vec<Mailbox>,
    pub(crate) bcc: Vec<Mailbox>,
    pub(crate) from: Option<Mailbox>,
    pub(crate) reply_to: Option<Mailbox>,
    pub(crate) subject: String,
    pub(crate) template: Option<String>,
    /// The variables of the template.
    pub(crate) data: Option<Handle>,
    /// The language of the template.
    pub(crate) locale: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) html: Option<String>,
    pub(crate) attachments: Vec<MailFile>,
    pub(crate) inline: Vec<MailFile>,
    pub(crate) headers: Vec<(String, String)>,
}

/// A file in a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MailFile {
    /// The name of the file; of a picture what stands behind `cid:`.
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) content: Vec<u8>,
}

impl Draft {
    /// Reads a mail.
    ///
    /// # Errors
    /// The member, and what is wrong with it.
    pub(crate) fn read(reader: &dyn Reader, mail: Handle) -> Result<Self, Error> {
        if reader.kind(mail) != Kind::Map {
            return Err(Error::script("a mail must have names for its parts"));
        }
        let mut draft = Self::default();
        for key in reader.keys(mail)?.iter() {
            let name = snake_case(&reader.text(key).unwrap_or_default());
            let value = reader.value(mail, key)?;
            if matches!(reader.kind(value), Kind::Nothing | Kind::Null) && MEMBERS.contains(&&*name)
            {
                continue;
            }
            match name.as_str() {
                "to" => draft.to = addresses(reader, "to", value)?,
                "cc" => draft.cc = addresses(reader, "cc", value)?,
                "bcc" => draft.bcc = addresses(reader, "bcc", value)?,
                "from" => draft.from = Some(address(reader, "from", value)?),
                "reply_to" => draft.reply_to = Some(address(reader, "reply_to", value)?),
                "subject" => draft.subject = line(reader, "subject", value)?,
                "template" => draft.template = Some(text(reader, "template", value)?),
                "data" => draft.data = Some(value),
                "locale" => draft.locale = Some(text(reader, "locale", value)?),
                "text" => draft.text = Some(text(reader, "text", value)?),
                "html" => draft.html = Some(text(reader, "html", value)?),
                "attachments" => draft.attachments = files(reader, "attachments", value)?,
                "inline" => draft.inline = pictures(reader, value)?,
                "headers" => draft.headers = headers(reader, value)?,
                other => return Err(refusals::unknown_option(other, MEMBERS)),
            }
        }
        let count = draft.to.len() + draft.cc.len() + draft.bcc.len();
        if count == 0 {
            return Err(Error::script(
                "a mail must have an address in to, cc or bcc",
            ));
        }
        if count > ADDRESSES_MAX {
            return Err(Error::script(format!(
                "a mail has at most {ADDRESSES_MAX} addresses, not {count}"
            )));
        }
        if draft.attachments.len() + draft.inline.len() > FILES_MAX {
            return Err(Error::script(format!(
                "a mail has at most {FILES_MAX} files"
            )));
        }
        Ok(draft)
    }
}

/// Reads a text.
pub(crate) fn text(reader: &dyn Reader, what: &str, value: Handle) -> Result<String, Error> {
    let text = match reader.kind(value) {
        Kind::Text => reader.text(value),
        _ => None,
    };
    text.ok_or_else(|| Error::script(format!("{what} must be a string")))
}

/// Reads a text that goes into the head of a mail.
///
/// # Errors
/// It has line breaks or other control characters: they would begin a header field of the sender's choice.
pub(crate) fn line(reader: &dyn Reader, what: &str, value: Handle) -> Result<String, Error> {
    let text = text(reader, what, value)?;
    check_line(what, &text)?;
    Ok(text)
}

pub(crate) fn check_line(what: &str, text: &str) -> Result<(), Error> {
    if text.chars().any(char::is_control) {
        return Err(Error::script(format!(
            "{what} has a line break or another control character"
        )));
    }
    if text.len() > FIELD_BYTES_MAX {
        return Err(Error::script(format!(
            "{what} has {} bytes; at most {FIELD_BYTES_MAX} are possible",
            text.len()
        )));
    }
    Ok(())
}

/// Reads the header fields.
fn headers(reader: &dyn Reader, value: Handle) -> Result<Vec<(String, String)>, Error> {
    if !matches!(reader.kind(value), Kind::Map) {
        return Err(Error::script("headers must have names for its values"));
    }
    let mut fields = Vec::new();
    for key in reader.keys(value)?.iter() {
        let name = reader.text(key).unwrap_or_default();
        let is_token = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        if name.is_empty() || name.len() > 76 || !name.bytes().all(is_token) {
            return Err(Error::script(format!(
                "{name:?} is not the name of a header field"
            )));
        }
        if RESERVED.contains(&&*name.to_ascii_lowercase()) {
            return Err(Error::script(format!(
                "the header field {name} cannot be set by headers"
            )));
        }
        let field = reader.value(value, key)?;
        let field = line(reader, &format!("the header field {name}"), field)?;
        fields.push((name, field));
    }
    if fields.len() > FIELDS_MAX {
        return Err(Error::script(format!(
            "headers has at most {FIELDS_MAX} fields, not {}",
            fields.len()
        )));
    }
    Ok(fields)
}

/// Reads a list of files.
fn files(reader: &dyn Reader, what: &str, value: Handle) -> Result<Vec<MailFile>, Error> {
    let count = match reader.kind(value) {
        Kind::List => reader.len(value)?,
        // An empty table.
        Kind::Map if reader.len(value)? == 0 => 0,
        _ => return Err(Error::script(format!("{what} must be a list of files"))),
    };
    if count > FILES_MAX {
        return Err(Error::script(format!(
            "a mail has at most {FILES_MAX} files"
        )));
    }
    let mut files = Vec::with_capacity(count);
    for at in 0..count {
        let file = reader.item(value, at)?;
        let place = format!("file {} of {what}", at + 1);
        files.push(one_file(reader, &place, file)?);
    }
    Ok(files)
}

/// Reads the pictures that the HTML shows.
///
/// # Errors
/// A name that cannot be a `Content-ID` (RFC 2392), by which the HTML names the picture.
fn pictures(reader: &dyn Reader, value: Handle) -> Result<Vec<MailFile>, Error> {
    let pictures = files(reader, "inline", value)?;
    let is_refused = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"');
    for (at, MailFile { name, .. }) in pictures.iter().enumerate() {
        if name.contains(is_refused) {
            return Err(Error::script(format!(
                "the name of file {} of inline is {name:?}: it must not have blanks, <, > or \", because the HTML \
                 shows the picture as cid: and its name, such as cid:logo.png",
                at + 1
            )));
        }
    }
    Ok(pictures)
}

fn one_file(reader: &dyn Reader, place: &str, file: Handle) -> Result<MailFile, Error> {
    if !matches!(reader.kind(file), Kind::Map) {
        return Err(Error::script(format!(
            "{place} must have a name and a content"
        )));
    }
    let (mut name, mut content, mut content_type) = (None, None, None);
    for key in reader.keys(file)?.iter() {
        let member = snake_case(&reader.text(key).unwrap_or_default());
        let value = reader.value(file, key)?;
        match member.as_str() {
            "name" => name = Some(line(reader, &format!("the name of {place}"), value)?),
            "content_type" => {
                content_type = Some(line(
                    reader,
                    &format!("the content type of {place}"),
                    value,
                )?);
            }
            "content" => match reader.kind(value) {
                Kind::Text | Kind::Bytes => content = reader.with_bytes(value, <[u8]>::to_vec),
                _ => {
                    return Err(Error::script(format!(
                        "the content of {place} must be text or bytes"
                    )));
                }
            },
            other => {
                return Err(refusals::unknown_option(
                    other,
                    &["name", "content", "content_type"],
                ));
            }
        }
    }
    let missing = |what: &str| Error::script(format!("{place} has no {what}"));
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| missing("name"))?;
    Ok(MailFile {
        content: content.ok_or_else(|| missing("content"))?,
        content_type: content_type.unwrap_or_else(|| type_of(&name).to_owned()),
        name,
    })
}

/// Returns the content type of a file by its extension, for the kinds that are mailed often.
fn type_of(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "txt" | "log" => "text/plain; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "html" | "htm" => "text/html; charset=utf-8",
        "ics" => "text/calendar; charset=utf-8",
        "json" => "application/json",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
