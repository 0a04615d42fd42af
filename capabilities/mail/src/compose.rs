//! From a draft to a mail as it is sent: header fields, parts, and the envelope.

use crate::dkim::Signer;
use crate::draft::{Draft, MailFile};
use crate::plain::plain;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lettre::Message;
use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Body, Mailbox, MultiPart, SinglePart};
use sampan_host::mails::CaughtMail;
use sampan_host::{Error, ErrorKind, clock};
use std::time::UNIX_EPOCH;

/// A mail that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    /// The address of the sender in the envelope.
    pub(crate) from: String,
    /// The addresses in the envelope.
    pub(crate) to: Vec<String>,
    pub(crate) source: Vec<u8>,
}

/// The text and the HTML of a mail, once templates have been rendered.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) text: Option<String>,
    pub(crate) html: Option<String>,
}

/// The body of a mail while parts are added to it.
enum Part {
    Single(SinglePart),
    Multi(MultiPart),
}

/// Builds a mail.
///
/// # Errors
/// The draft has neither text nor HTML, a part has a content type that is none, or the mail is too large.
pub(crate) fn compose(
    draft: &Draft,
    content: Content,
    from: Mailbox,
    signer: Option<&Signer>,
    bytes_max: usize,
) -> Result<(Mail, CaughtMail), Error> {
    let text = match (&content.text, &content.html) {
        (Some(text), _) => text.clone(),
        (None, Some(html)) if html.len() > bytes_max => {
            return Err(Error::script(format!(
                "the HTML of the mail has {} bytes; message_bytes_max in [mail] allows {bytes_max}",
                html.len()
            )));
        }
        (None, Some(html)) => plain(html),
        (None, None) => {
            return Err(Error::script("a mail must have text, html or template"));
        }
    };
    let time = UNIX_EPOCH + clock::since_1970();
    let mut builder = Message::builder()
        .from(from.clone())
        .subject(draft.subject.clone())
        .date(time)
        .message_id(Some(message_id(&from)?));
    for (name, value) in &draft.headers {
        let name = HeaderName::new_from_ascii(name.clone())
            .map_err(|_| Error::script(format!("{name:?} is not the name of a header field")))?;
        builder = builder.raw_header(HeaderValue::new(name, value.clone()));
    }
    if let Some(reply_to) = &draft.reply_to {
        builder = builder.reply_to(reply_to.clone());
    }
    for to in &draft.to {
        builder = builder.to(to.clone());
    }
    for cc in &draft.cc {
        builder = builder.cc(cc.clone());
    }
    for bcc in &draft.bcc {
        builder = builder.bcc(bcc.clone());
    }
    let body = body(draft, &text, content.html.as_deref())?;
    let message = match body {
        Part::Single(part) => builder.singlepart(part),
        Part::Multi(part) => builder.multipart(part),
    };
    let message = message.map_err(|error| Error::script(format!("the mail: {error}")))?;
    let mut source = message.formatted();
    if let Some(signer) = signer {
        source = signer.signed(&source, time)?;
    }
    if source.len() > bytes_max {
        return Err(Error::script(format!(
            "the mail has {} bytes; message_bytes_max in [mail] allows {bytes_max}",
            source.len()
        )));
    }
    let envelope = message.envelope();
    let mail = Mail {
        from: from.email.to_string(),
        to: envelope.to().iter().map(ToString::to_string).collect(),
        source: source.clone(),
    };
    let shown = |all: &[Mailbox]| all.iter().map(ToString::to_string).collect();
    let caught = CaughtMail {
        number: 0,
        time,
        from: from.to_string(),
        to: shown(&draft.to),
        cc: shown(&draft.cc),
        bcc: shown(&draft.bcc),
        reply_to: draft.reply_to.as_ref().map(ToString::to_string),
        subject: draft.subject.clone(),
        text,
        html: content
            .html
            .map(|html| with_pictures(html, &draft.inline, 2 * bytes_max)),
        attachments: draft
            .attachments
            .iter()
            .map(|file| file.name.clone())
            .collect(),
        source,
    };
    Ok((mail, caught))
}

/// Puts the parts together: text and HTML, its pictures, the files.
fn body(draft: &Draft, text: &str, html: Option<&str>) -> Result<Part, Error> {
    let plain = written(text, ContentType::TEXT_PLAIN);
    let Some(html) = html else {
        let files = draft.inline.iter().chain(&draft.attachments);
        return mixed(Part::Single(plain), files);
    };
    let html = written(html, ContentType::TEXT_HTML);
    let alternative = MultiPart::alternative().singlepart(plain);
    let alternative = match draft.inline.is_empty() {
        true => alternative.singlepart(html),
        false => {
            let mut related = MultiPart::related().singlepart(html);
            for picture in &draft.inline {
                let part =
                    Attachment::new_inline_with_name(picture.name.clone(), picture.name.clone());
                related = related.singlepart(part.body(encoded(picture)?, type_of(picture)?));
            }
            alternative.multipart(related)
        }
    };
    mixed(Part::Multi(alternative), draft.attachments.iter())
}

/// Adds the files behind what is read.
fn mixed<'a>(body: Part, files: impl Iterator<Item = &'a MailFile>) -> Result<Part, Error> {
    let mut files = files.peekable();
    if files.peek().is_none() {
        return Ok(body);
    }
    let mixed = MultiPart::mixed();
    let mut mixed = match body {
        Part::Single(part) => mixed.singlepart(part),
        Part::Multi(part) => mixed.multipart(part),
    };
    for file in files {
        let part = Attachment::new(file.name.clone());
        mixed = mixed.singlepart(part.body(encoded(file)?, type_of(file)?));
    }
    Ok(Part::Multi(mixed))
}

/// Makes a part of a text. Line ends of all kinds become those of mails: a server may take a bare CR or LF for one, and
/// with it the rest of the text for commands. Mails have no NUL.
fn written(text: &str, content_type: ContentType) -> SinglePart {
    let part = SinglePart::builder().header(content_type);
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    part.body(lines.replace('\0', "\u{fffd}"))
}

/// Encodes a file such that its bytes arrive as they are, whatever lines they have.
fn encoded(file: &MailFile) -> Result<Body, Error> {
    Body::new_with_encoding(file.content.clone(), ContentTransferEncoding::Base64)
        .map_err(|_| Error::new(ErrorKind::Internal, "a file that Base64 cannot encode"))
}

fn type_of(file: &MailFile) -> Result<ContentType, Error> {
    ContentType::parse(&file.content_type).map_err(|_| {
        Error::script(format!(
            "{:?} is not a content type, such as \"image/png\"",
            file.content_type
        ))
    })
}

/// Returns an identifier that no other mail has.
fn message_id(from: &Mailbox) -> Result<String, Error> {
    let mut random = [0; 16];
    aws_lc_rs::rand::fill(&mut random)
        .map_err(|_| Error::new(ErrorKind::Internal, "the system has no random numbers"))?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("<{digits}@{}>", from.email.domain()))
}

/// Shows the pictures of a mail in a page: by URLs of their data in place of `cid:`. A picture is left out if the page
/// has so many places for it that it would be larger than `bytes_max`.
fn with_pictures(mut html: String, pictures: &[MailFile], bytes_max: usize) -> String {
    for picture in pictures {
        let kind = picture.content_type.split(';').next().unwrap_or_default();
        let data = format!("data:{kind};base64,{}", STANDARD.encode(&picture.content));
        for quote in ['"', '\''] {
            let place = format!("{quote}cid:{}{quote}", picture.name);
            let bytes = html.matches(&place).count().saturating_mul(data.len());
            if html.len().saturating_add(bytes) <= bytes_max {
                html = html.replace(&place, &format!("{quote}{data}{quote}"));
            }
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        Draft {
            to: vec!["Ann <ann@example.org>".parse().expect("an address")],
            bcc: vec!["bob@example.org".parse().expect("an address")],
            subject: "Grüße".to_owned(),
            ..Draft::default()
        }
    }

    fn composed(
        draft: &Draft,
        text: Option<&str>,
        html: Option<&str>,
    ) -> (Mail, CaughtMail, String) {
        let content = Content {
            text: text.map(str::to_owned),
            html: html.map(str::to_owned),
        };
        let from = "App <app@example.com>".parse().expect("an address");
        let (mail, caught) = compose(draft, content, from, None, 1 << 20).expect("a mail");
        let source = String::from_utf8(mail.source.clone()).expect("ASCII");
        (mail, caught, source)
    }

    fn place(source: &str, part: &str) -> usize {
        source
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {source}"))
    }

    #[test]
    fn a_blind_copy_stands_in_the_envelope_only() {
        let (mail, caught, source) = composed(&draft(), Some("hi"), None);
        assert_eq!(mail.to, ["ann@example.org", "bob@example.org"]);
        assert_eq!(mail.from, "app@example.com");
        assert_eq!(caught.bcc, ["bob@example.org"]);
        assert!(!source.contains("bob") && source.is_ascii(), "{source}");
        place(&source, "To: Ann <ann@example.org>\r\n");
        place(&source, "Subject: =?utf-8?b?R3LDvMOfZQ==?=\r\n");
        place(&source, "@example.com>\r\n");
    }

    #[test]
    fn no_content_has_a_line_end_that_is_none_of_a_mail() {
        let odd = "a\n.\nMAIL FROM:<x@y.z>\rb\r.\r\nc\0d";
        let file = || MailFile {
            name: "odd.csv".to_owned(),
            content_type: "text/csv".to_owned(),
            content: odd.into(),
        };
        let draft = Draft {
            attachments: vec![file()],
            inline: vec![file()],
            ..draft()
        };
        for html in [None, Some(odd)] {
            let (_, _, source) = composed(&draft, Some(odd), html);
            let bare = source.replace("\r\n", "");
            assert!(!bare.contains(['\r', '\n', '\0']), "{source:?}");
            place(&source, &STANDARD.encode(odd)[..40]);
        }
    }

    #[test]
    fn parts_stand_in_the_order_that_readers_want() {
        let file = |name: &str, content_type: &str| MailFile {
            name: name.to_owned(),
            content_type: content_type.to_owned(),
            content: vec![1, 2, 3],
        };
        let draft = Draft {
            attachments: vec![file("größe.pdf", "application/pdf")],
            inline: vec![file("logo", "image/png")],
            ..draft()
        };
        let html = "<p>Hello</p><img src=\"cid:logo\">";
        let (_, caught, source) = composed(&draft, None, Some(html));
        let order = [
            "Content-Type: multipart/mixed",
            "Content-Type: multipart/alternative",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Type: multipart/related",
            "Content-Type: text/html; charset=utf-8",
            "Content-ID: <logo>",
            "Content-Type: application/pdf",
        ];
        // The order of the fields of a part is the library's.
        let places: Vec<_> = order.iter().map(|part| place(&source, part)).collect();
        assert!(places.is_sorted(), "{places:?} {source}");
        assert_eq!(caught.text, "Hello\n");
        let shown = caught.html.expect("HTML");
        assert_eq!(
            shown,
            "<p>Hello</p><img src=\"data:image/png;base64,AQID\">"
        );
        assert_eq!(caught.attachments, ["größe.pdf"]);
    }

    #[test]
    fn pictures_do_not_make_a_page_larger_than_it_may_be() {
        let picture = |name: &str, bytes: usize| MailFile {
            name: name.to_owned(),
            content_type: "image/png".to_owned(),
            content: vec![0; bytes],
        };
        let html = "<img src=\"cid:a\"><img src=\"cid:a\"><img src='cid:b'>";
        let pictures = [picture("a", 3000), picture("b", 3)];
        let page = with_pictures(html.to_owned(), &pictures, 8000);
        let small = "<img src='data:image/png;base64,AAAA'>";
        assert_eq!(
            page,
            format!("<img src=\"cid:a\"><img src=\"cid:a\">{small}")
        );
        let page = with_pictures(html.to_owned(), &pictures, 9000);
        assert!(!page.contains("cid:") && page.ends_with(small));
    }

    #[test]
    fn a_mail_that_is_too_large_is_refused() {
        let content = || Content {
            text: Some("x".repeat(1000)),
            html: None,
        };
        let from = || "app@example.com".parse().expect("an address");
        assert!(compose(&draft(), content(), from(), None, 2000).is_ok());
        let error = compose(&draft(), content(), from(), None, 1000).expect_err("too large");
        assert!(error.message().contains("message_bytes_max"), "{error:?}");
        // Before a text is made from it.
        let html = || Content {
            text: None,
            html: Some("<br>".repeat(300)),
        };
        let error = compose(&draft(), html(), from(), None, 1000).expect_err("too large");
        let expected =
            "the HTML of the mail has 1200 bytes; message_bytes_max in [mail] allows 1000";
        assert_eq!(error.message(), expected);
        let empty = compose(&draft(), Content::default(), from(), None, 1000);
        assert!(empty.is_err());
    }
}
