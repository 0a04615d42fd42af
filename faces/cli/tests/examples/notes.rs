//! examples/notes: users see their own notes alone, with tags and pictures, and find them by their words.

use crate::mailbox::Mailbox;
use crate::moving::copy;
use crate::nginx::Nginx;
use crate::support::{Process, Scratch};
use crate::visitor::{Visitor, compared};
use crate::{ExampleDatabase, LANGUAGES, copied, databases, root, sampan};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::Answer;
use std::net::SocketAddr;
use std::process::Command;

/// The most lines that a file of the app has.
const LINES_MAX: usize = 200;

/// A picture as far as the app looks at it: the bytes that PNG begins with.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\x00\xff picture";

/// The part of a note's page that is there once the job has ended.
const NO_THUMBNAIL: &str =
    "<p class=\"soft\">The picture has no thumbnail: only BMP pictures get one.</p>";

/// A form with a file, as browsers send it.
fn with_file(fields: &[(&str, &str)], name: &str, content_type: &str, file: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for (field, text) in fields {
        let head =
            format!("--B\r\nContent-Disposition: form-data; name=\"{field}\"\r\n\r\n{text}\r\n");
        body.extend(head.as_bytes());
    }
    let head = format!(
        "--B\r\nContent-Disposition: form-data; name=\"image\"; filename=\"{name}\"\r\nContent-Type: \
         {content_type}\r\n\r\n"
    );
    body.extend(head.as_bytes());
    body.extend(file);
    body.extend(b"\r\n--B--\r\n");
    body
}

fn save(
    visitor: &mut Visitor,
    path: &str,
    fields: &[(&str, &str)],
    image: (&str, &str, &[u8]),
) -> Answer {
    let body = with_file(fields, image.0, image.1, image.2);
    visitor.post_as(path, "multipart/form-data; boundary=B", &body)
}

/// The field of files that a browser sends for a field of files where none was chosen.
const NO_IMAGE: (&str, &str, &[u8]) = ("", "application/octet-stream", b"");

/// The app in a language, in a folder that it may write to, and its mails.
pub(crate) fn notes(language: &str, scratch: &Scratch) -> (Process, Mailbox) {
    notes_by(copied("notes", language, scratch))
}

/// The app by a command, and its mails.
fn notes_by(command: Command) -> (Process, Mailbox) {
    let mailbox = Mailbox::start();
    (notes_with(command, &mailbox), mailbox)
}

/// The app by a command, with the server for its mails.
fn notes_with(mut command: Command, mailbox: &Mailbox) -> Process {
    command.env("SAMPAN_MAIL_URL", mailbox.url());
    command.env(
        "SAMPAN_SECRETS_KEYS",
        "a key of these tests that is long enough",
    );
    Process::start(&mut command)
}

/// Registers an address, confirms it by the link in the mail, and logs in.
fn enter(visitor: &mut Visitor, mailbox: &Mailbox, email: &str, password: &str) {
    let form = format!("email={email}&password={password}");
    let answer = visitor.post("/register", &form);
    assert_eq!(answer.header("location"), ["/sent"], "{}", answer.text());
    let link = mailbox.next_link();
    let answer = visitor.get(&link, "*/*");
    assert_eq!(answer.status, 200, "{link}: {}", answer.text());
    let (path, query) = link.split_once('?').expect("a query");
    let answer = visitor.post(path, query);
    assert_eq!(answer.header("location"), ["/login"], "{}", answer.text());
    let answer = visitor.get("/login", "*/*").text();
    assert!(answer.contains("Your address is confirmed."), "{answer}");
    let answer = visitor.post("/login", &form);
    assert_eq!(answer.header("location"), ["/"], "{}", answer.text());
}

/// A visit from the first page to the last; every answer.
fn visit(language: &str, database: &ExampleDatabase) -> Vec<String> {
    let scratch = Scratch::new(&[]);
    let mut command = copied("notes", language, &scratch);
    database.use_by(&mut command, &scratch);
    let (server, mailbox) = notes_by(command);
    let second = match database {
        ExampleDatabase::InFile => "/notes/2",
        ExampleDatabase::OnServer(_) => "/notes/3",
    };
    let mut told = Vec::new();
    let mut tell = |what: &str, answer: Answer, status: u16, texts: &[&str]| {
        // PostgreSQL gives the id of a note that was deleted to no other.
        let text = compared(&answer).replace(second, "/notes/2");
        assert_eq!(answer.status, status, "{language}, {what}\n{text}");
        for expected in texts {
            assert!(
                text.contains(expected),
                "{language}, {what}: no {expected}\n{text}"
            );
        }
        // The job may have ended or not.
        told.push(text.replace(NO_THUMBNAIL, ""));
    };
    let mut ann = Visitor::new(server.address);
    tell("a stranger", ann.get("/", "*/*"), 303, &["/login"]);
    tell(
        "a stranger's note",
        ann.get("/notes/1", "*/*"),
        303,
        &["/login"],
    );
    tell(
        "the form",
        ann.get("/register", "*/*"),
        200,
        &["new-password"],
    );
    let short = ann.post("/register", "email=ann%40example.org&password=short");
    tell(
        "a short password",
        short,
        422,
        &["at least 8", "value=\"ann@example.org\""],
    );
    let odd = ann.post("/register", "email=ann&password=correct+horse");
    tell("no address", odd, 422, &["must be an e-mail address"]);
    enter(&mut ann, &mailbox, "ann%40example.org", "correct+horse");
    tell(
        "her notes",
        ann.get("/", "*/*"),
        200,
        &["ann@example.org</span>", "no notes yet"],
    );

    tell(
        "a new note",
        ann.get("/notes/new", "*/*"),
        200,
        &["multipart/form-data"],
    );
    let fields = [
        ("title", "Garden"),
        ("body", "Plant <tulips> & \"roses\""),
        ("tags", "Home, spring,home"),
    ];
    tell(
        "a note",
        save(
            &mut ann,
            "/notes/new",
            &fields,
            ("a.png", "image/png", PICTURE),
        ),
        303,
        &["/notes/1"],
    );
    let shown = [
        "The note was saved.",
        "Plant &lt;tulips&gt;",
        "/?tag=home",
        "/?tag=spring",
        "/notes/1/image",
    ];
    tell("it", ann.get("/notes/1", "*/*"), 200, &shown);
    let image = ann.get("/notes/1/image", "*/*");
    assert_eq!(image.body, PICTURE, "{language}");
    tell("its picture", image, 200, &["image/png"]);
    let page = ("a.png", "image/png", &b"<script>"[..]);
    tell(
        "no picture",
        save(&mut ann, "/notes/new", &fields, page),
        422,
        &["must be PNG, JPEG, GIF, WebP or BMP", "value=\"Garden\""],
    );
    let empty = [("title", ""), ("body", " "), ("tags", "")];
    tell(
        "no text",
        save(&mut ann, "/notes/new", &empty, NO_IMAGE),
        422,
        &["title-error", "body-error"],
    );
    let text_as_image = [("title", "A"), ("body", "b"), ("image", "text")];
    let odd = [("title", "Odd"), ("body", "b")];
    let empty_as_image = [odd[0], odd[1], ("image", "")];
    tell(
        "a text in the place of the picture",
        save(&mut ann, "/notes/new", &text_as_image, NO_IMAGE),
        422,
        &["must be PNG, JPEG, GIF, WebP or BMP"],
    );
    tell(
        "two pictures",
        save(
            &mut ann,
            "/notes/new",
            &empty_as_image,
            ("a.png", "image/png", PICTURE),
        ),
        422,
        &["Choose one picture", "value=\"Odd\""],
    );
    tell(
        "without a picture",
        save(&mut ann, "/notes/new", &odd, NO_IMAGE),
        303,
        &["/notes/2"],
    );
    tell(
        "the question",
        ann.get("/notes/2/delete", "*/*"),
        200,
        &["Delete this note?", "Odd", "Keep it"],
    );
    tell("yes", ann.post("/notes/2/delete", ""), 303, &["/"]);
    let many = "word+".repeat(1_000);
    let long = format!("q={}", "w".repeat(2_000));
    for query in [
        "q=%00%22",
        "q=%00",
        "q=%22%22*",
        "q=a&q=b",
        &format!("q={many}"),
        &long,
    ] {
        let answer = ann.get(&format!("/?{query}"), "*/*");
        tell(query, answer, 200, &["Nothing was found"]);
    }
    let fields = [
        ("title", "Kitchen"),
        ("body", "Buy a \"pan\""),
        ("tags", "home"),
    ];
    tell(
        "another",
        save(&mut ann, "/notes/new", &fields, NO_IMAGE),
        303,
        &["/notes/2"],
    );
    tell(
        "no image",
        ann.get(&format!("{second}/image"), "*/*"),
        404,
        &["does not exist"],
    );

    tell(
        "the list",
        ann.get("/", "*/*"),
        200,
        &["Garden", "Kitchen", "home <small>2</small>"],
    );
    for (query, found, other) in [
        ("q=tulip", "Garden", "Kitchen"),
        ("q=PAN+buy", "Kitchen", "Garden"),
        ("q=%22pan%22", "Kitchen", "Garden"),
        ("tag=spring", "Garden", "Kitchen"),
        ("q=tulip+NOT+*+OR+%22", "Nothing was found", "Garden"),
    ] {
        let answer = ann.get(&format!("/?{query}"), "*/*");
        assert!(
            !answer.text().contains(&format!(">{other}</a>")),
            "{language}: {query}"
        );
        tell(query, answer, 200, &[found]);
    }

    let fields = [
        ("title", "Garden"),
        ("body", "Plant lilies"),
        ("tags", "summer"),
    ];
    tell(
        "the form",
        ann.get("/notes/1/edit", "*/*"),
        200,
        &["value=\"home spring\""],
    );
    tell(
        "a change",
        save(&mut ann, "/notes/1/edit", &fields, NO_IMAGE),
        303,
        &["/notes/1"],
    );
    tell(
        "it",
        ann.get("/notes/1", "*/*"),
        200,
        &["lilies", "summer", "/notes/1/image"],
    );
    tell(
        "the old words",
        ann.get("/?q=tulip", "*/*"),
        200,
        &["Nothing was found"],
    );

    let mut bob = Visitor::new(server.address);
    for email in ["ann%40example.org", "nobody%40example.org", ""] {
        let form = format!("email={email}&password=wrong");
        tell("a guess", bob.post("/login", &form), 422, &["does not fit"]);
    }
    tell(
        "a lost link",
        bob.get("/password?token=x", "*/*"),
        410,
        &["is too old"],
    );
    tell(
        "all get it",
        bob.get("/sent", "*/*"),
        200,
        &["your mailbox"],
    );
    tell(
        "the form",
        bob.get("/forgotten", "*/*"),
        200,
        &["Send the mail"],
    );
    enter(&mut bob, &mailbox, "bob%40example.org", "battery+staple");
    tell("his notes", bob.get("/", "*/*"), 200, &["no notes yet"]);
    tell(
        "his search",
        bob.get("/?q=lilies", "*/*"),
        200,
        &["Nothing was found"],
    );
    for path in ["/notes/1", "/notes/1/edit", "/notes/1/image"] {
        tell("hers", bob.get(path, "*/*"), 404, &[]);
    }
    tell(
        "hers",
        save(&mut bob, "/notes/1/edit", &fields, NO_IMAGE),
        404,
        &[],
    );
    tell("hers", bob.post("/notes/1/delete", ""), 404, &[]);

    tell(
        "the end of a note",
        ann.post("/notes/1/delete", ""),
        303,
        &[],
    );
    tell("it", ann.get("/notes/1", "*/*"), 404, &[]);
    tell(
        "its words",
        ann.get("/?q=lilies", "*/*"),
        200,
        &["Nothing was found"],
    );
    tell("the end", ann.post("/logout", ""), 303, &["/login"]);
    tell("after it", ann.get("/", "*/*"), 303, &["/login"]);
    tell(
        "again",
        ann.post("/login", "email=ANN%40example.org&password=correct+horse"),
        303,
        &[],
    );
    tell("her notes", ann.get("/", "*/*"), 200, &["Kitchen"]);
    told
}

#[test]
fn notes_are_written_found_and_private() {
    for database in databases() {
        let [lua, js] = LANGUAGES.map(|language| visit(language, &database));
        for (lua, js) in lua.iter().zip(&js) {
            assert_eq!(lua, js);
        }
    }
}

#[test]
fn notes_move_to_a_server() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        let (on_file, mailbox) = notes(language, &scratch);
        let mut ann = Visitor::new(on_file.address);
        enter(&mut ann, &mailbox, "ann%40example.org", "correct+horse");
        let fields = [
            ("title", "Garden"),
            ("body", "Plant tulips"),
            ("tags", "spring"),
        ];
        let picture = ("a.png", "image/png", PICTURE);
        assert_eq!(save(&mut ann, "/notes/new", &fields, picture).status, 303);
        let pages = |visitor: &mut Visitor| {
            let answers = ["/notes/1", "/?q=tulips", "/?tag=spring", "/notes/1/image"];
            answers.map(|path| compared(&visitor.get(path, "*/*")).replace(NO_THUMBNAIL, ""))
        };
        // The first page tells that it was saved.
        pages(&mut ann);
        let before = pages(&mut ann);
        drop(on_file);
        let url = server.url(&server.database());
        let project = scratch.path().join(format!("app.{language}"));
        let told = copy(&project, &scratch, &url);
        assert!(
            told.contains("left out: the virtual table notes_index")
                && told.contains("in 3 tables, made by 1 migration; counts and sums are the same"),
            "{told}"
        );
        let mut command = sampan(&project);
        command.args(["--db", &url]);
        let (moved, _) = notes_by(command);
        let mut ann = Visitor::new(moved.address);
        let login = ann.post("/login", "email=ann%40example.org&password=correct+horse");
        assert_eq!(login.header("location"), ["/"], "{}", login.text());
        assert_eq!(pages(&mut ann), before, "{language}");
        let fields = [("title", "Pond"), ("body", "Frogs"), ("tags", "")];
        let saved = save(&mut ann, "/notes/new", &fields, NO_IMAGE);
        assert_eq!(saved.header("location"), ["/notes/2"], "{}", saved.text());
    }
}

#[test]
fn several_processes_share_sessions_and_notes() {
    let Some(postgres) = PostgresServer::shared() else {
        return;
    };
    for language in LANGUAGES {
        let scratch = Scratch::new(&[]);
        drop(copied("notes", language, &scratch));
        let url = postgres.url(&postgres.database());
        // Any process may send the mails.
        let mailbox = Mailbox::start();
        let all: Vec<Process> = (0..3)
            .map(|_| {
                let mut command = sampan(&scratch.path().join(format!("app.{language}")));
                command.args(["--db", &url]);
                notes_with(command, &mailbox)
            })
            .collect();
        let addresses: Vec<SocketAddr> = all.iter().map(|one| one.address).collect();
        let nginx = Nginx::before(&addresses);
        let front = nginx.as_ref().map_or(addresses[0], |nginx| nginx.address);
        let mut ann = Visitor::new(front);
        enter(&mut ann, &mailbox, "ann%40example.org", "correct+horse");
        let fields = [("title", "Garden"), ("body", "Plant tulips"), ("tags", "")];
        let mut at_one = ann.at(addresses[1]);
        assert_eq!(
            save(&mut at_one, "/notes/new", &fields, NO_IMAGE).header("location"),
            ["/notes/1"]
        );
        for address in &addresses {
            let page = ann.at(*address).get("/?q=tulips", "*/*").text();
            assert!(page.contains("Garden"), "{language}: {page}");
        }
        assert_eq!(ann.post("/logout", "").status, 303);
        for address in &addresses {
            let answer = ann.at(*address).get("/notes/1", "*/*");
            assert_eq!(answer.header("location"), ["/login"], "{language}");
        }
    }
}

#[test]
fn notes_are_short() {
    for language in LANGUAGES {
        for file in ["app", "accounts", "thumbnails"] {
            let file = root().join(format!("examples/notes/{file}.{language}"));
            let text = std::fs::read_to_string(&file).expect("the app");
            assert!(text.lines().count() < LINES_MAX, "{}", file.display());
        }
    }
}
