//! Previews of mails, in both languages: what they show, what is wrong with them, and that files are read anew.

use super::{dev, get};
use crate::support::{Process, Scratch};
use std::fs;

const LUA: [(&str, &str); 2] = [
    (
        "app.lua",
        r#"
local app = require "sampan"
app.template.filter("shout", function(text) return text:upper() end)
app.on_start(function() app.db.exec("CREATE TABLE IF NOT EXISTS t (n INTEGER)") end)
app.get("/count", function() return tostring(#app.db.query("SELECT * FROM t")) end)
"#,
    ),
    (
        "mails/welcome.preview.lua",
        r#"local app = require "sampan"

local function welcome(name)
  return { to = "ann@example.org", subject = "Welcome", template = "welcome", data = { name = name } }
end
return {
  ann = function()
    app.db.exec("INSERT INTO t VALUES (1)")
    return welcome("Ann <b>")
  end,
  wrong = function() return { subject = "to nobody", text = "x" } end,
  broken = function()
    error("this preview is broken")
  end,
}
"#,
    ),
];

const JS: [(&str, &str); 2] = [
    (
        "app.js",
        r#"
import { app, db, template } from "sampan";
template.filter("shout", (text) => text.toUpperCase());
app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS t (n INTEGER)"); });
app.get("/count", () => String(db.query("SELECT * FROM t").length));
"#,
    ),
    (
        "mails/welcome.preview.js",
        r#"import { db, time } from "sampan";

const welcome = (name) => ({ to: "ann@example.org", subject: "Welcome", template: "welcome", data: { name } });

export async function ann() {
  await time.sleep(0.001);
  db.exec("INSERT INTO t VALUES (1)");
  return welcome("Ann <b>");
}
export const wrong = () => ({ subject: "to nobody", text: "x" });
export const broken = () => {
  throw new Error("this preview is broken");
};
"#,
    ),
];

const PAGES: &str = "/_sampan/dev/mail/previews";

fn start(files: &[(&str, &str)]) -> (Scratch, Process) {
    let scratch = Scratch::new(&[("sampan.toml", "[mail]\nfrom = 'app@example.com'\n")]);
    for folder in ["mails", "templates"] {
        fs::create_dir(scratch.path().join(folder)).expect("a folder");
    }
    let template = [("templates/welcome.html", "<p>Hello {{ name|shout }}</p>")];
    for (file, text) in files.iter().chain(&template) {
        fs::write(scratch.file(file), text).expect("a file");
    }
    let process = Process::start(&mut dev(&scratch, &[]));
    (scratch, process)
}

fn ok(process: &Process, path: &str) -> String {
    let (status, page) = get(process, &format!("{PAGES}{path}"), &[]);
    assert_eq!(status, 200, "{path}: {page}");
    page
}

#[test]
fn previews_are_listed_and_shown() {
    for files in [&LUA, &JS] {
        let (_scratch, process) = start(files);
        let path = files[1].0;
        let file = path.replace('/', "%2F").replace('.', "%2E");
        let (_, mails) = get(&process, "/_sampan/dev/mail", &[]);
        assert!(mails.contains(&format!("href=\"{PAGES}\"")), "{mails}");
        let list = ok(&process, "");
        assert!(list.contains(path), "{list}");
        for name in ["ann", "wrong", "broken"] {
            let link = format!("<a href=\"{PAGES}/{file}/{name}\">{name}</a>");
            assert!(list.contains(&link), "{link}: {list}");
        }
        let page = ok(&process, &format!("/{file}/ann"));
        for part in [
            "<h1>Welcome</h1>",
            "<td>ann@example.org</td>",
            "<span>Hello ANN &lt;B&gt;</span>",
            &format!("<iframe class=\"mail\" sandbox src=\"{PAGES}/{file}/ann/html\""),
            &format!("href=\"{PAGES}/{file}/ann/source\""),
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let html = ok(&process, &format!("/{file}/ann/html"));
        assert_eq!(html, "<p>Hello ANN &lt;B&gt;</p>");
        let source = ok(&process, &format!("/{file}/ann/source"));
        assert!(source.contains("From: app@example.com\r\n"), "{source}");
        // They are no mails of the project, and write to no database of its own.
        let (_, mails) = get(&process, "/_sampan/dev/mail", &[]);
        assert!(mails.contains("There are no mails yet"), "{mails}");
        assert_eq!(get(&process, "/count", &[]).1, "0");
        for gone in [format!("/{file}/other"), "/mails%2Fother/ann".to_owned()] {
            assert_eq!(get(&process, &format!("{PAGES}{gone}"), &[]).0, 404);
        }
    }
}

#[test]
fn what_is_wrong_with_a_preview_is_shown() {
    for files in [&LUA, &JS] {
        let (scratch, process) = start(files);
        let path = files[1].0;
        let file = path.replace('/', "%2F").replace('.', "%2E");
        let page = ok(&process, &format!("/{file}/wrong"));
        assert!(
            page.contains("a mail must have an address in to, cc or bcc"),
            "{page}"
        );
        let page = ok(&process, &format!("/{file}/broken"));
        let line = 1 + files[1]
            .1
            .lines()
            .position(|line| line.contains("is broken"))
            .expect("a line");
        assert!(page.contains("this preview is broken"), "{page}");
        assert!(page.contains(&format!("{path}:{line}")), "{page}");
        // Each file is read anew.
        fs::write(scratch.file(path), "nonsense (").expect("written");
        let list = ok(&process, "");
        assert!(list.contains(&format!("{path}:1")), "{list}");
        assert!(ok(&process, &format!("/{file}/ann")).contains(&format!("{path}:1")));
    }
}

#[test]
fn a_file_may_be_one_function_and_is_read_when_it_changes() {
    let (scratch, process) = start(&LUA[..1]);
    assert!(ok(&process, "").contains("There are no files"));
    let text = |subject: &str| {
        format!(
            "return function() return {{ to = 'a@x.org', subject = '{subject}', text = 'x' }} end\n"
        )
    };
    let path = "mails/reset.preview.lua";
    for subject in ["first", "second"] {
        fs::write(scratch.file(path), text(subject)).expect("written");
        assert!(ok(&process, "").contains("/reset\">reset</a>"));
        let page = ok(&process, "/mails%2Freset%2Epreview%2Elua/reset");
        assert!(page.contains(&format!("<h1>{subject}</h1>")), "{page}");
    }
}
