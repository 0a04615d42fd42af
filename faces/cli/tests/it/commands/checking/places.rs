//! `sampan check`: settings that are wrong only together with the project, and files that have the wrong place.

use super::{project, said};

const APP: &str = "local app = require 'sampan'\napp.get('/', function() return 'x' end)\n";

#[test]
fn settings_that_do_not_fit_the_project_are_told_with_their_lines() {
    for (config, fault) in [
        ("\n[db]\nurl = \"mysql://x\"\n", "[db] url: "),
        (
            "\n[i18n]\nlocales = [\"xx\"]\n",
            "[i18n] locales names \"xx\"",
        ),
        (
            "\n[session]\nstore = \"cookie\"\n",
            "[session] store = \"cookie\": the project has no secret keys",
        ),
        (
            "\n[static]\nnot_found = \"x.html\"\n",
            "[static] not_found: there is no file public/x.html",
        ),
        (
            "\n[jobs]\nworkers = -1\n",
            "[jobs] workers = -1: a whole number is expected, ",
        ),
    ] {
        let told_at = format!("error: sampan.toml:3: {fault}");
        let folder = project(&[("app.lua", APP), ("sampan.toml", config)]);
        let (status, out) = said("check", &folder, &[]);
        assert!(status == 1 && out.contains(&told_at), "{out}");
    }
}

#[test]
fn folders_that_are_not_read_because_of_their_names_are_found() {
    let folder = project(&[
        ("app.lua", APP),
        ("migration/0001_a.sql", "CREATE TABLE a (b);"),
        ("template/a.html", ""),
        ("static/a.css", ""),
        ("test/a.test.lua", ""),
        ("locales/en.toml", ""),
        ("locales/de.json", "{}"),
        ("locale/de.toml", ""),
    ]);
    let (status, out) = said("check", &folder, &[]);
    assert_eq!(status, 0, "{out}");
    for told in [
        "warning: migration/: it is not read: migrations are in migrations/\n",
        "warning: template/: it is not read: templates are in templates/\n",
        "warning: static/: it is not read: static files are in public/\n",
        "warning: test/: it is not read: tests are in tests/\n",
        "warning: locales/de.json: it is not read: texts are in TOML files, such as locales/de.toml\n",
    ] {
        assert!(out.contains(told), "{told:?} is not in:\n{out}");
    }
    assert!(!out.contains("locale/: it is not read"), "{out}");
    let settings = "[static]\nfolder = \"static\"\n";
    let folder = project(&[
        ("app.lua", APP),
        ("static/a.css", ""),
        ("sampan.toml", settings),
    ]);
    let (_, out) = said("check", &folder, &[]);
    assert_eq!(out, "all is well (1 route)\n");
}
