//! Mails in development: none leaves, and pages show them.

use super::{dev, get};
use crate::support::{Process, Scratch};

const APP: &str = r#"
local app = require "sampan"

app.post("/send", function(req)
  app.mail.send {
    to = "Ann <ann@example.org>",
    bcc = "hidden@example.org",
    from = "app@example.com",
    subject = "Hello <b>",
    html = "<p>Hello <script>alert(1)</script></p><img src='cid:logo.png'>",
    inline = { { name = "logo.png", content = "png" } },
    attachments = { { name = "a.pdf", content = "pdf" } },
  }
end)
"#;

#[test]
fn mails_are_caught_and_shown() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let process = Process::start(&mut dev(&scratch, &[]));
    let (status, page) = get(&process, "/_sampan/dev/mail", &[]);
    assert!(
        status == 200 && page.contains("There are no mails yet"),
        "{page}"
    );
    for _ in 0..2 {
        let sent = process.client().ask("POST", "/send", &[], "");
        assert_eq!(sent.expect("an answer").status, 204);
    }
    let (_, page) = get(&process, "/_sampan/dev/mail", &[]);
    assert!(
        page.contains("Hello &lt;b&gt;") && !page.contains("<b>"),
        "{page}"
    );
    assert!(page.contains("href=\"/_sampan/dev/mail/2\""), "{page}");
    let (status, page) = get(&process, "/_sampan/dev/mail/1", &[]);
    assert_eq!(status, 200);
    for part in [
        "Ann &lt;ann@example.org&gt;",
        "hidden@example.org",
        "a.pdf",
        "<iframe class=\"mail\" sandbox src=\"/_sampan/dev/mail/1/html\"",
        "<span>Hello</span>",
        "href=\"/_sampan/dev/mail/1/source\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let html = process
        .client()
        .ask("GET", "/_sampan/dev/mail/1/html", &[], "");
    let html = html.expect("an answer");
    let policy = html.header("content-security-policy").join(" | ");
    assert!(
        policy.starts_with("sandbox;") && policy.contains("default-src 'none'"),
        "{policy}"
    );
    // "png" in base64.
    assert!(
        html.text().contains("src='data:image/png;base64,cG5n'"),
        "{}",
        html.text()
    );
    let (_, source) = get(&process, "/_sampan/dev/mail/1/source", &[]);
    assert!(
        source.contains("Content-ID: <logo.png>") && !source.contains("hidden"),
        "{source}"
    );
    for gone in [
        "/_sampan/dev/mail/3",
        "/_sampan/dev/mail/x",
        "/_sampan/dev/mail/1/other",
    ] {
        assert_eq!(get(&process, gone, &[]).0, 404, "{gone}");
    }
}
