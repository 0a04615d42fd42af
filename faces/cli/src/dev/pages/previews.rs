//! The previews of mails: the list of them, and each as a mail that was caught is shown.

use super::browser::PREFIX;
use super::mails::{MAILS, MailPage, PREVIEWS, answer_mail, head, page, plain, text};
use crate::dev::previews::{FOLDER, PreviewFile, Previews};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sampan_http::Response;
use std::fmt::Write;
use std::sync::Arc;

/// Answers a request. `path` follows [`PREVIEWS`].
pub(in crate::dev) async fn answer(previews: Arc<Previews>, path: String) -> Response {
    if matches!(path.as_str(), "" | "/") {
        return match previews.list().await {
            Ok(files) => page(&list(&files)),
            Err(fault) => page(&failed("Previews", &fault)),
        };
    }
    let mut parts = path.trim_start_matches('/').splitn(3, '/');
    let mut part = || {
        let part = percent_decode_str(parts.next()?).decode_utf8().ok()?;
        Some(part.into_owned())
    };
    let (Some(file), Some(name)) = (part(), part()) else {
        return plain(404, b"There is no such page.");
    };
    let own = format!(
        "{PREFIX}{MAILS}{PREVIEWS}/{}/{}",
        encoded(&file),
        encoded(&name)
    );
    let title = format!("{file}: {name}");
    match previews.mail(file, name).await {
        Ok(Some(mail)) => {
            let place = MailPage {
                own: &own,
                above: &format!("{PREFIX}{MAILS}{PREVIEWS}"),
                all: "All previews",
            };
            answer_mail(&mail, &place, part().as_deref())
        }
        Ok(None) => plain(404, b"There is no such preview."),
        Err(fault) => page(&failed(&title, &fault)),
    }
}

fn encoded(part: &str) -> String {
    utf8_percent_encode(part, NON_ALPHANUMERIC).to_string()
}

fn list(files: &[PreviewFile]) -> String {
    let mut html = head("Previews", "");
    let _ = write!(
        html,
        "<p><a href=\"{PREFIX}{MAILS}\">All mails</a></p><h1>Previews</h1>"
    );
    if files.is_empty() {
        let _ = write!(
            html,
            "<p class=\"own\">There are no files {FOLDER}/*.preview.lua or {FOLDER}/*.preview.js.</p>"
        );
    }
    for PreviewFile { path, names } in files {
        html += "<h2>";
        text(&mut html, path);
        html += "</h2>";
        match names {
            Ok(names) => {
                html += "<ul>";
                for name in names {
                    let (file, link) = (encoded(path), encoded(name));
                    let _ = write!(
                        html,
                        "<li><a href=\"{PREFIX}{MAILS}{PREVIEWS}/{file}/{link}\">"
                    );
                    text(&mut html, name);
                    html += "</a></li>";
                }
                html += "</ul>";
            }
            Err(fault) => lines(&mut html, fault),
        }
    }
    html + "</main></body>"
}

fn failed(title: &str, fault: &str) -> String {
    let mut html = head(title, "");
    let _ = write!(
        html,
        "<p><a href=\"{PREFIX}{MAILS}{PREVIEWS}\">All previews</a></p><h1>"
    );
    text(&mut html, title);
    html += "</h1>";
    lines(&mut html, fault);
    html + "</main></body>"
}

fn lines(html: &mut String, fault: &str) {
    *html += "<pre tabindex=\"0\">";
    for line in fault.lines() {
        *html += "<span>";
        text(html, line);
        *html += "</span>";
    }
    *html += "</pre>";
}
