//! The mails that the project has sent: the list of them, each with its text, its HTML and its source. None of them has
//! left.

use super::browser::{PAGE_STYLE, PREFIX};
use sampan_host::mails::{CaughtMail, Mailbox};
use sampan_http::Response;
use std::fmt::Write;
use std::time::UNIX_EPOCH;

/// The path of the pages, below [`PREFIX`].
pub(in crate::dev) const MAILS: &str = "mail";

/// The path of the previews, below [`MAILS`].
pub(in crate::dev) const PREVIEWS: &str = "/previews";

/// The policy of the pages: a mail stands in a frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; \
 form-action 'none'";
/// The policy of the HTML of a mail: no scripts, nothing of other servers, an origin of its own.
const HTML_POLICY: &str = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
 frame-ancestors 'self'";

/// Answers a request. `path` follows [`MAILS`].
pub(in crate::dev) fn answer(mailbox: &Mailbox, path: &str) -> Response {
    if matches!(path, "" | "/") {
        return page(&list(&mailbox.all()));
    }
    let mut parts = path.trim_start_matches('/').splitn(2, '/');
    let number = parts.next().and_then(|number| number.parse().ok());
    let Some(mail) = number.and_then(|number| mailbox.get(number)) else {
        return plain(404, b"This mail is no longer kept.");
    };
    let place = MailPage {
        own: &format!("{PREFIX}{MAILS}/{}", mail.number),
        above: &format!("{PREFIX}{MAILS}"),
        all: "All mails",
    };
    answer_mail(&mail, &place, parts.next())
}

/// The place of the page of a mail.
pub(super) struct MailPage<'a> {
    /// The path of the page.
    pub(super) own: &'a str,
    /// The path of the page above it.
    pub(super) above: &'a str,
    /// The words of the link to that.
    pub(super) all: &'a str,
}

/// Answers a request for a mail, or for a part of it.
pub(super) fn answer_mail(mail: &CaughtMail, place: &MailPage<'_>, part: Option<&str>) -> Response {
    match part {
        None => page(&one(mail, place)),
        Some("html") => match &mail.html {
            Some(html) => {
                let mut response = response("text/html; charset=utf-8", HTML_POLICY);
                response.body_mut().extend_from_slice(html.as_bytes());
                response
            }
            None => plain(404, b"This mail has no HTML."),
        },
        Some("source") => plain(200, &mail.source),
        Some(_) => plain(404, b"There is no such page."),
    }
}

fn response(content_type: &'static str, policy: &str) -> Response {
    let mut response = Response::new(200);
    response.content_type(content_type);
    for (name, value) in [
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", policy),
    ] {
        // Cannot fail: all are plain text.
        let _ = response.header(name.as_bytes(), value.as_bytes());
    }
    response
}

pub(super) fn page(html: &str) -> Response {
    let mut response = response("text/html; charset=utf-8", POLICY);
    response.body_mut().extend_from_slice(html.as_bytes());
    response
}

pub(super) fn plain(status: u16, text: &[u8]) -> Response {
    let mut response = response("text/plain; charset=utf-8", POLICY);
    response.set_status(status);
    response.body_mut().extend_from_slice(text);
    response
}

fn list(mails: &[CaughtMail]) -> String {
    // New mails are shown without a script.
    let mut html = head("Mails", "<meta http-equiv=\"refresh\" content=\"5\">");
    let _ = write!(
        html,
        "<p>Caught by sampan dev: none of them was sent. <a href=\"{PREFIX}{MAILS}{PREVIEWS}\">Previews</a></p>\
         <h1>Mails</h1>"
    );
    if mails.is_empty() {
        html += "<p class=\"own\">There are no mails yet.</p>";
    } else {
        html += "<table>";
        for mail in mails.iter().rev() {
            let seconds = mail
                .time
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs();
            let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
            let _ = write!(
                html,
                "<tr><td>{hours:02}:{minutes:02}:{:02} UTC</td><td>",
                seconds % 60
            );
            let _ = write!(html, "<a href=\"{PREFIX}{MAILS}/{}\">", mail.number);
            text(&mut html, or_none(&mail.subject));
            html += "</a></td><td>";
            text(&mut html, &mail.to.join(", "));
            html += "</td></tr>";
        }
        html += "</table>";
    }
    html + "</main></body>"
}

fn one(mail: &CaughtMail, place: &MailPage<'_>) -> String {
    let mut html = head(&mail.subject, "");
    let MailPage { own, above, all } = place;
    let _ = write!(html, "<p><a href=\"{above}\">{all}</a></p><h1>");
    text(&mut html, or_none(&mail.subject));
    html += "</h1><h2>Head</h2><table>";
    let rows = [
        ("From", mail.from.clone()),
        ("To", mail.to.join(", ")),
        ("Cc", mail.cc.join(", ")),
        ("Bcc", mail.bcc.join(", ")),
        ("Reply-To", mail.reply_to.clone().unwrap_or_default()),
        ("Attachments", mail.attachments.join(", ")),
    ];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(html, "<tr><td>{name}</td><td>");
        text(&mut html, value);
        html += "</td></tr>";
    }
    html += "</table>";
    if mail.html.is_some() {
        let _ = write!(
            html,
            "<h2>HTML</h2><iframe class=\"mail\" sandbox src=\"{own}/html\" title=\"The HTML of the mail\"></iframe>"
        );
    }
    html += "<h2>Text</h2><pre tabindex=\"0\">";
    for line in mail.text.lines() {
        html += "<span>";
        text(&mut html, line);
        html += "</span>";
    }
    let _ = write!(
        html,
        "</pre><p class=\"own\"><a href=\"{own}/source\">Source</a></p>"
    );
    html + "</main></body>"
}

pub(super) fn head(title: &str, more: &str) -> String {
    let mut html = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">",
    );
    html += more;
    html += "<title>";
    text(&mut html, title);
    let _ = write!(
        html,
        "</title><link rel=\"stylesheet\" href=\"{PREFIX}{PAGE_STYLE}\"><body><main>"
    );
    html
}

fn or_none(subject: &str) -> &str {
    match subject {
        "" => "(no subject)",
        subject => subject,
    }
}

/// Adds text, which is never markup.
pub(super) fn text(html: &mut String, text: &str) {
    for one in text.chars() {
        match one {
            '&' => *html += "&amp;",
            '<' => *html += "&lt;",
            '>' => *html += "&gt;",
            '"' => *html += "&quot;",
            '\'' => *html += "&#39;",
            one => html.push(one),
        }
    }
}
