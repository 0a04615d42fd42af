//! Sources that win over others, and the texts of their faults.

use super::*;
use sampan_host::settings::{ANY, Preset, SettingKey};

static SECRETS: Section = Section {
    name: "secrets",
    doc: "",
    keys: &[SettingKey::texts("keys", Preset::Empty, "").secret()],
};
static LIMITS: Section = Section {
    name: "limits",
    doc: "",
    keys: &[
        SettingKey::size("body_bytes_max", ANY, 1, ""),
        SettingKey::time("idle_millis_max", ANY, 1, ""),
        SettingKey::count("headers_max", ANY, 1, ""),
    ],
};
static CSRF: Section = Section {
    name: "csrf",
    doc: "",
    keys: &[
        SettingKey::flag("enabled", Preset::Flag(true), ""),
        SettingKey::texts("except", Preset::Empty, ""),
    ],
};
static NAMES: Section = Section {
    name: "names",
    doc: "",
    keys: &[
        SettingKey::text("path", Preset::Unset, ""),
        SettingKey::text("default", Preset::Unset, ""),
    ],
};
const SECTIONS: Sections<'static> = &[&server::SECTION, &LIMITS, &SECRETS, &CSRF, &NAMES];

fn sources(text: &str, variables: &[(&str, &str)], set: &[&str]) -> Result<AllSettings, String> {
    let flags = Flags {
        set: set.iter().map(|text| (*text).to_owned()).collect(),
        ..Flags::default()
    };
    read_text(
        text,
        FILE,
        &flags,
        &Environment::from_pairs(variables),
        SECTIONS,
    )
}

#[test]
fn each_source_wins_over_those_before_it() {
    let text =
        "[server]\nlisten = \"127.0.0.1:81\"\n\nworkers = 3\n[limits]\nbody_bytes_max = \"1MB\"\n";
    let variables = [
        ("SAMPAN_SERVER_WORKERS", "4"),
        ("SAMPAN_LIMITS_IDLE_MILLIS_MAX", "10s"),
        ("SAMPAN_SERVER_TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
        ("SAMPAN_CSRF_ENABLED", "false"),
        ("SAMPAN_ROCKS", "elsewhere"),
    ];
    let all = sources(
        text,
        &variables,
        &["server.workers=5", "limits.idle_millis_max=700"],
    )
    .expect("valid");
    let (server, limits) = (all.of(&server::SECTION), all.of(&LIMITS));
    assert_eq!(server.number::<u64>("workers"), 5);
    assert_eq!(server.list("listen"), ["127.0.0.1:81"]);
    assert_eq!(server.list("trusted_proxies"), ["10.0.0.0/8", "::1"]);
    assert_eq!(limits.number::<u64>("idle_millis_max"), 700);
    assert!(!all.of(&CSRF).flag("enabled"));
    for (settings, key, place) in [
        (&server, "listen", Some("sampan.toml:2")),
        (&server, "workers", Some("--set")),
        (
            &server,
            "trusted_proxies",
            Some("SAMPAN_SERVER_TRUSTED_PROXIES"),
        ),
        (&limits, "body_bytes_max", Some("sampan.toml:6")),
        (&limits, "headers_max", None),
    ] {
        let written = settings.written(key).map(|written| written.origin.as_str());
        assert_eq!(written, place, "{key}");
    }
}

#[test]
fn a_port_alone_is_that_of_the_file_or_of_all_networks() {
    let listen = |text: &str, port: &str| {
        let all = sources(text, &[("PORT", port)], &[])?;
        Ok::<_, String>(all.of(&server::SECTION).list("listen").join(","))
    };
    assert_eq!(listen("", "5000").as_deref(), Ok("0.0.0.0:5000"));
    assert_eq!(
        listen("[server]\nlisten = \"[::1]:80\"", "5000").as_deref(),
        Ok("[::1]:5000")
    );
    for text in ["unix:/run/a.sock", "[::1]:80,[::1]:81"] {
        let text = format!("[server]\nlisten = \"{text}\"");
        assert_eq!(listen(&text, "5000").as_deref(), Ok("0.0.0.0:5000"));
    }
    let unset = listen("[server]\nlisten = \"[::1]:80\"", "");
    assert_eq!(unset.as_deref(), Ok("[::1]:80"));
    let fault = listen("", "http").expect_err("no number");
    assert!(fault.starts_with("PORT: \"http\" is no port"), "{fault}");
}

#[test]
fn the_file_takes_variables_of_every_type() {
    let text = "[server]\nlisten = \"${HOST}:80\"\nworkers = \"${COUNT}\"\n[names]\npath \
     = \"${DIR:-here}/x.db\"\ndefault = \"$${x}\"\n[csrf]\nexcept = [\"/${A}/*\"]\n";
    let variables = [("HOST", "::1"), ("COUNT", "2"), ("A", "hooks")];
    let all = sources(text, &variables, &[]).expect("valid");
    let (server, names) = (all.of(&server::SECTION), all.of(&NAMES));
    assert_eq!(server.list("listen"), ["::1:80"]);
    assert_eq!(server.number::<u64>("workers"), 2);
    assert_eq!(all.of(&CSRF).list("except"), ["/hooks/*"]);
    assert_eq!(
        (names.text("path"), names.text("default")),
        ("here/x.db", "${x}")
    );
    let fault = sources(text, &variables[..2], &[]).expect_err("one is missing");
    assert_eq!(
        fault,
        "sampan.toml:8: [csrf] except: the environment has no variable A"
    );
}

#[test]
fn a_value_may_lie_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys");
    std::fs::write(&path, "one,two\n").expect("written");
    let name = "SAMPAN_SECRETS_KEYS_FILE";
    let found = sources("", &[(name, path.to_str().expect("text"))], &[]).expect("valid");
    let secrets = found.of(&SECRETS);
    assert_eq!(secrets.list("keys"), ["one", "two"]);
    assert_eq!(
        secrets.written("keys").map(|keys| keys.origin.as_str()),
        Some(name)
    );
    let fault = sources("", &[(name, "/nowhere/at/all")], &[]).expect_err("no file");
    assert!(
        fault.starts_with("SAMPAN_SECRETS_KEYS_FILE: cannot read /nowhere/at/all"),
        "{fault}"
    );
}

#[test]
fn faults_name_their_source() {
    for (text, variables, set, told) in [
        (
            "",
            &[("SAMPAN_SERVER_WORKERS", "two")][..],
            &[][..],
            "SAMPAN_SERVER_WORKERS: [server] workers = \"two\": a whole number is expected",
        ),
        (
            "",
            &[("SAMPAN_SERVER_WORKES", "2")],
            &[],
            "SAMPAN_SERVER_WORKES: [server] has no key \"workes\"; did you mean \"workers\"? It has listen",
        ),
        (
            "",
            &[],
            &["limits.body=3"],
            "--set: [limits] has no key \"body\"",
        ),
        (
            "",
            &[],
            &["limits=3"],
            "--set limits=3: write it as --set section.key=value",
        ),
        (
            "",
            &[],
            &["limit.body=3"],
            "--set: there is no section or key \"limit\" here",
        ),
        (
            "[server]\nworkers = \"two\"\n",
            &[],
            &[],
            "sampan.toml:2: [server] workers = \"two\"",
        ),
        (
            "[server]\n\nworkers = \"${A}\"\n",
            &[("A", "x")],
            &[],
            "sampan.toml:3: [server] workers = \"x\"",
        ),
        (
            "[server]\nworkers = 2\n[names]\n[server]\nlisten = \"::1:80\"\n",
            &[],
            &[],
            "sampan.toml:4: [server] stands already in line 1",
        ),
        (
            "[server]\nworkers = 2\nlisten = \"::1:80\"\nworkers = 3\n",
            &[],
            &[],
            "sampan.toml:4: workers stands already in line 2",
        ),
        (
            "listen = \"::1:80\"\n",
            &[],
            &[],
            "sampan.toml:1: listen stands before the first section: it belongs into [server]",
        ),
        (
            "[names]\npath = info # where\n",
            &[],
            &[],
            "sampan.toml:2: text must be in quotes, such as path = \"text\"",
        ),
        (
            "[names]\npath = My App\n",
            &[],
            &[],
            "sampan.toml:2: text must be in quotes, such as path = \"text\"",
        ),
        (
            "[names]\npath = \"a\\u0000b\"\n",
            &[],
            &[],
            "sampan.toml:2: [names] path has a NUL character, which no value may have",
        ),
        (
            "[csrf]\nexcept = [\"/a\", \"/b\\u0000\"]\n",
            &[],
            &[],
            "sampan.toml:2: [csrf] except has a NUL character",
        ),
        (
            "[server]\nlisten = \"${A\"\n",
            &[],
            &[],
            "sampan.toml:2: [server] listen: \"${A\" has no '}'",
        ),
    ] {
        let fault = sources(text, variables, set).expect_err(told);
        assert!(fault.starts_with(told), "{fault}");
    }
}

#[test]
fn all_faults_of_a_file_are_told() {
    let text = "lisen = 1\n[server]\nworkers = \"two\"\nlissten = \"::1:80\"\n[sever]\nworkers = 2\n[names]\n\
                path = 3\n";
    let fault = sources(text, &[], &[]).expect_err("five faults");
    let lines: Vec<&str> = fault.lines().collect();
    let expected = [
        "sampan.toml:1: ",
        "sampan.toml:3: [server] workers = \"two\"",
        "sampan.toml:4: [server] has no key \"lissten\"",
        "sampan.toml:5: ",
        "sampan.toml:8: [names] path = 3",
    ];
    assert_eq!(lines.len(), expected.len(), "{fault}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
}

#[test]
fn misspelt_variables_are_told_and_those_of_others_are_not() {
    let variables = [
        ("SAMPAN_SECRET_KEYS", "x"),
        ("SAMPAN_SECRET_KEYS_FILE", "/run/keys"),
        ("SAMPAN_SEVER_WORKERS", "2"),
        ("SAMPAN_LISTEN", ":80"),
        ("SAMPAN_NAMES", "x"),
        ("SAMPAN_VERSION", "1.2"),
        ("SAMPAN_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("SAMPAN_SERVER_WORKERS", "2"),
        ("SECRET_KEYS", "x"),
    ];
    let all = sources("", &variables, &[]).expect("valid");
    let told = misspelt(&all, &Environment::from_pairs(&variables));
    let expected = [
        ("SAMPAN_LISTEN", "SAMPAN_SERVER_LISTEN"),
        ("SAMPAN_NAMES", "SAMPAN_NAMES_PATH"),
        ("SAMPAN_SECRET_KEYS", "SAMPAN_SECRETS_KEYS"),
        ("SAMPAN_SECRET_KEYS_FILE", "SAMPAN_SECRETS_KEYS_FILE"),
        ("SAMPAN_SEVER_WORKERS", "SAMPAN_SERVER_WORKERS"),
    ]
    .map(|(name, meant)| format!("the variable {name} has no effect: did you mean {meant}?"));
    assert_eq!(told, expected);
}
