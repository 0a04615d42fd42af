//! Hostile paths, and links that are swapped meanwhile: nothing outside of the folder is ever read.

use super::settings::StaticSettings;
use super::static_files::{Served, StaticFiles};
use super::stored::{Content, StoredFile};
use crate::routing::normal_form::normal_form;
use sampan_client::wait;
use sampan_http::Request;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

const INSIDE: &str = "inside";
const BESIDE: &str = "BESIDE";
const OUTSIDE: &str = "OUTSIDE";

/// A project with files in `public/`, beside it, and outside of the project or hidden.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for sub in ["project/public/a/b", "project/secret", "elsewhere"] {
        fs::create_dir_all(at(sub)).expect("made");
    }
    for file in [
        "project/public/x",
        "project/public/a/x",
        "project/public/a/b/x",
    ] {
        fs::write(at(file), INSIDE).expect("written");
    }
    for (files, content) in [
        (["project/x", "project/secret/x"], BESIDE),
        (["elsewhere/x", "x"], OUTSIDE),
        (["project/public/.x", "project/public/a/.x"], OUTSIDE),
    ] {
        for file in files {
            fs::write(at(file), content).expect("written");
        }
    }
    for (target, link) in [
        ("../..", "project/public/up"),
        ("../x", "project/public/out"),
        ("a", "project/public/down"),
        ("/etc", "project/public/etc"),
    ] {
        symlink(target, at(link)).expect("linked");
    }
    symlink(at("elsewhere"), at("project/public/absolute")).expect("linked");
    folder
}

fn open(folder: &tempfile::TempDir, file_bytes_max: u64) -> Rc<StaticFiles> {
    let settings = StaticSettings {
        check_millis: 0,
        file_bytes_max,
        ..StaticSettings::default()
    };
    let at = |name: &str| folder.path().join(name);
    StaticFiles::open(&at("project"), None, &at("kept"), Path::new(""), settings).expect("readable")
}

fn text(file: &StoredFile) -> String {
    match &file.plain.content {
        Content::Memory(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Content::Open(part) => {
            let mut bytes = vec![0; part.len as usize];
            part.file.read_exact_at(&mut bytes, 0).expect("readable");
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// The pieces of random paths.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "/", "/", "/", "x", "a", "b", "a/x", "..", "..", "../", "/..", ".", "./", "%2e%2e", "%2e%2e/", "%2E.", ".%2e", "%252e%252e", "%2f", "%2F",
    "%5c", "\\", "..\\", "%00", "%0a", "%c0%ae", "%c0%ae%c0%ae/", "%e0%80%ae", "%f0%80%80%ae", "%c0%af", "%uff0e", "%", "%2", "//", "up", "up/x",
    "out", "down/x", "down", "absolute/x", "etc/hostname", "secret/x", "elsewhere/x", "project/x", ".x", "a/.x", "%2ex", "public/x", "~", "C:", ";",
    "?x", "x/", "x/..", "a/b/../../../x", "x%00.html", "proc/self/root/x", "\u{ff0e}\u{ff0e}", "é",
];

#[test]
fn ten_thousand_paths_read_nothing_outside() {
    let folder = project();
    for file_bytes_max in [0, 1000] {
        let files = open(&folder, file_bytes_max);
        let (mut numbers, mut found) = (Numbers(file_bytes_max + 7), 0);
        for _ in 0..10_000 {
            let mut path = "/".to_owned();
            for _ in 0..=numbers.next(6) {
                path += PIECES[numbers.next(PIECES.len())];
            }
            // As a client sends it, and past the HTTP engine, which refuses many of them.
            let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
            let received = Request::from_bytes(head.as_bytes());
            let received = received.map(|request| normal_form(request.path()).into_owned());
            for asked in [
                Ok(path.clone()),
                Ok(normal_form(&path).into_owned()),
                received,
            ] {
                if let Ok(asked) = asked
                    && let Ok(Some(Served::File(file))) = files.find(&asked)
                {
                    assert_eq!(text(&file), INSIDE, "{asked:?}");
                    found += 1;
                }
            }
            // A script may name what is in the project, and no more.
            let named = path.trim_start_matches('/');
            for named in [
                named,
                &path,
                &format!("public/{named}"),
                &format!("public{path}"),
            ] {
                if let Ok(Some(served)) = files.named(named) {
                    assert_ne!(text(&served.file), OUTSIDE, "{named:?}");
                }
            }
        }
        assert!(found > 100, "the paths are hostile, not hopeless: {found}");
    }
}

/// While a link is swapped between inside and outside, and a folder is replaced by a link, each answer is from inside.
#[test]
fn links_that_are_swapped_meanwhile_lead_nowhere() {
    let folder = project();
    let public = folder.path().join("project/public");
    let is_over = Arc::new(AtomicBool::new(false));
    let swaps = Arc::new(AtomicUsize::new(0));
    let swapping = std::thread::spawn({
        let (public, is_over, swaps) = (public.clone(), Arc::clone(&is_over), Arc::clone(&swaps));
        move || {
            while !is_over.load(Ordering::Relaxed) {
                for (target, name) in [
                    ("a/x", "link"),
                    ("../x", "link"),
                    ("a", "sub"),
                    ("../secret", "sub"),
                ] {
                    let fresh = public.join("fresh");
                    symlink(target, &fresh).expect("linked");
                    fs::rename(&fresh, public.join(name)).expect("renamed");
                    swaps.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    let files = open(&folder, 0);
    let mut inside = 0;
    wait::until("many answers and many swaps", || {
        for path in ["/link", "/sub/x"] {
            if let Ok(Some(Served::File(file))) = files.find(path) {
                assert_eq!(text(&file), INSIDE);
                inside += 1;
            }
        }
        for path in ["public/link", "public/sub/x"] {
            // Below the project's folder both ends of the links may be read, and nothing else.
            if let Ok(Some(served)) = files.named(path) {
                assert!([INSIDE, BESIDE].contains(&&*text(&served.file)));
            }
        }
        inside > 200 && swaps.load(Ordering::Relaxed) > 10_000
    });
    is_over.store(true, Ordering::Relaxed);
    swapping.join().expect("no panic");
}

#[test]
fn pipes_and_devices_are_refused() {
    let folder = project();
    let pipe = folder.path().join("project/public/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let files = open(&folder, 0);
    // Where its other end is waited for, this test does not end.
    assert!(matches!(files.find("/pipe"), Ok(None)));
}

/// A file that is replaced by another keeps the answers that have begun; one that is written over changes its tag.
#[test]
fn an_answer_that_has_begun_keeps_its_file() {
    let folder = project();
    let files = open(&folder, 0);
    let Ok(Some(Served::File(before))) = files.find("/x") else {
        panic!("it is there");
    };
    let fresh = folder.path().join("project/public/fresh");
    fs::write(&fresh, "another").expect("written");
    fs::rename(&fresh, folder.path().join("project/public/x")).expect("renamed");
    let Ok(Some(Served::File(after))) = files.find("/x") else {
        panic!("it is there");
    };
    assert_eq!(
        (text(&before).as_str(), text(&after).as_str()),
        (INSIDE, "another")
    );
    assert_ne!(before.plain.tag, after.plain.tag);
    let mut own = String::new();
    if let Content::Open(part) = &before.plain.content {
        (&*part.file).read_to_string(&mut own).expect("readable");
    }
    assert_eq!(own, INSIDE);
}

/// `app.file("public/out")` refuses what `GET /out` does.
#[test]
fn a_name_in_public_stays_there() {
    let folder = project();
    let files = open(&folder, 0);
    let found = |path: &str| {
        let name = files.open_name(path)?;
        let served = files.named(&name).expect("readable")?;
        Some(text(&served.file))
    };
    assert_eq!(found("public/x").as_deref(), Some(INSIDE));
    assert_eq!(found("public/down/x").as_deref(), Some(INSIDE));
    for path in [
        "public/out",
        "public/up/x",
        "public/absolute/x",
        "public/etc/hostname",
        "x",
        "secret/x",
    ] {
        assert_eq!(found(path), None, "{path}");
    }
}

/// The storage folder may lie outside of the project, and may be made while the server runs.
#[test]
fn storage_is_where_the_settings_say() {
    let folder = project();
    let files = open(&folder, 0);
    let nothing = |name: &str| matches!(files.named(name), Ok(None));
    let found = |name: &str| text(&files.named(name).expect("readable").expect("there").file);
    assert!(nothing("storage/a.txt") && nothing("storage//a.txt") && nothing("storage"));
    let kept = folder.path().join("kept");
    fs::create_dir_all(kept.join(".sampan")).expect("made");
    fs::create_dir_all(kept.join("invoices")).expect("made");
    fs::write(kept.join("a.txt"), INSIDE).expect("written");
    fs::write(kept.join("invoices/7"), INSIDE).expect("written");
    fs::write(kept.join(".sampan/x"), OUTSIDE).expect("written");
    symlink("../x", kept.join("out")).expect("linked");
    for name in [
        "storage/a.txt",
        "storage//a.txt",
        "storage/invoices//7",
        "storage//invoices/7",
    ] {
        assert_eq!(found(name), INSIDE, "{name}");
    }
    for name in [
        "storage/out",
        "storage//out",
        "storage",
        "storage/invoices",
        "storagea.txt",
    ] {
        assert!(nothing(name), "{name}");
    }
    for refused in [
        "storage/.sampan/x",
        "storage/../x",
        "storage/.sampan//x",
        "storage//../x",
    ] {
        assert!(files.named(refused).is_err(), "{refused}");
    }
}

/// A link within the project leads out of a folder in it, and is not followed where that folder was named.
#[test]
fn nothing_leaves_the_folder_that_a_script_names() {
    let folder = project();
    let files = open(&folder, 0);
    let found = |name: &str| files.named(name).expect("readable");
    assert_eq!(text(&found("public/out").expect("there").file), BESIDE);
    assert!(found("public//out").is_none());
    assert_eq!(text(&found("public//down/x").expect("there").file), INSIDE);
    assert!(
        found("public/up//x").is_none(),
        "the folder itself is below the project"
    );
}

/// A script that has just written a file sends what it wrote.
#[test]
fn files_that_scripts_name_are_never_older_than_the_last_write() {
    let folder = project();
    let settings = StaticSettings {
        check_millis: 1000,
        ..StaticSettings::default()
    };
    let kept = folder.path().join("kept");
    fs::create_dir(&kept).expect("made");
    let files = StaticFiles::open(
        &folder.path().join("project"),
        None,
        &kept,
        Path::new(""),
        settings,
    )
    .expect("readable");
    for content in ["one", "two"] {
        fs::write(kept.join("a"), content).expect("written");
        let served = files.named("storage/a").expect("readable").expect("there");
        assert_eq!(text(&served.file), content);
    }
    fs::remove_file(kept.join("a")).expect("removed");
    assert!(matches!(files.named("storage/a"), Ok(None)));
}

/// No answer is dated before the last change of its file (RFC 9110 section 8.8.2.1).
#[test]
fn a_file_of_the_future_was_changed_now() {
    let folder = project();
    let files = open(&folder, 1000);
    let path = folder.path().join("project/public/x");
    let file = fs::File::options().write(true).open(path).expect("open");
    let hour = Duration::from_secs(3600);
    file.set_modified(SystemTime::now() + hour).expect("set");
    let Ok(Some(Served::File(found))) = files.find("/x") else {
        panic!("it is there");
    };
    let date = httpdate::parse_http_date(found.last_modified.as_deref().expect("a date"));
    let date = date.expect("a date");
    assert!(date <= SystemTime::now());
}

#[test]
fn the_database_is_known_by_its_name_and_folder() {
    let folder = project();
    let at = |name: &str| folder.path().join(name);
    let (root, kept) = (at("project"), at("kept"));
    for (database, of_database, others) in [
        (
            "project/data.db",
            &[
                "data.db",
                "data.db-wal",
                "data.db-shm",
                "data.db-journal",
                "data.db.before-reset-1-wal",
            ][..],
            &["secret/data.db", "data.dbx", "data", "storage/data.db"][..],
        ),
        (
            "kept/main.sqlite",
            &["storage/main.sqlite", "storage//main.sqlite-wal"][..],
            &["main.sqlite", "storage/other.sqlite"][..],
        ),
        (
            "project/secret/x.db",
            &["secret/x.db", "secret//x.db", "secret//x.db-wal"][..],
            &["x.db"][..],
        ),
    ] {
        let settings = StaticSettings::default();
        let files =
            StaticFiles::open(&root, None, &kept, &at(database), settings).expect("readable");
        for name in of_database {
            assert!(files.is_of_database(name), "{name} is {database}");
        }
        for name in others {
            assert!(!files.is_of_database(name), "{name} is not {database}");
        }
    }
}

#[test]
fn the_database_is_not_served_by_its_url() {
    let folder = project();
    let root = folder.path().join("project");
    for (database, hidden) in [("public/a/data.db", "/a/data.db"), ("data.db", "")] {
        let database = root.join(database);
        let public = root.join("public/a");
        for name in ["data.db", "data.db-wal", "data.db.before-reset-1"] {
            fs::write(public.join(name), OUTSIDE).expect("written");
        }
        let kept = folder.path().join("kept");
        let settings = StaticSettings::default();
        let files = StaticFiles::open(&root, None, &kept, &database, settings).expect("readable");
        let is_served = |path: &str| matches!(files.find(path), Ok(Some(Served::File(_))));
        for path in [
            "/a/data.db",
            "/a/data.db-wal",
            "/a/data.db.before-reset-1",
            "/down/data.db",
        ] {
            assert_eq!(is_served(path), hidden.is_empty(), "{path}");
        }
        assert!(is_served("/a/x"));
        assert_eq!(files.folder_with_database().is_none(), hidden.is_empty());
    }
}

#[test]
fn the_page_of_404_must_be_there_at_start() {
    let folder = project();
    let at = |name: &str| folder.path().join(name);
    let open = |page: &str| {
        let settings = StaticSettings {
            check_millis: 0,
            not_found: Some(page.to_owned()),
            ..StaticSettings::default()
        };
        StaticFiles::open(&at("project"), None, &at("kept"), Path::new(""), settings)
    };
    for missing in ["/404.html", "/out", "/.hidden"] {
        let error = open(missing).err().expect(missing);
        let expected = format!("not_found: there is no file public{missing}");
        assert!(error.message().contains(&expected), "{}", error.message());
    }
    let files = open("/x").expect("it is there");
    assert_eq!(text(&files.not_found().expect("it is there").file), INSIDE);
    // The default answer takes its place.
    fs::remove_file(at("project/public/x")).expect("removed");
    assert!(files.not_found().is_none());
}
