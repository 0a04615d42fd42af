//! The meaning of all sections together: sources that win over others, values that are refused, defaults.

use super::*;
use crate::sandbox::settings::SandboxSettings;
use sampan_host::log::Level;
use sampan_host::settings::Section;
use sampan_host::settings::{Preset, SettingKey, SettingKind};
use sampan_project::config::{Environment, FILE, address, default_of, read_text};

fn resolve(text: &str, flags: &Flags) -> Result<AppConfig, String> {
    let all = read_text(
        text,
        FILE,
        flags,
        &Environment::default(),
        capabilities::sections(),
    )?;
    let project = Project::in_memory("app.lua", &[]);
    AppConfig::of(Config::of(project, all, flags.names, &other_faults)?)
}

#[test]
fn flags_win_over_the_file_and_the_file_over_defaults() {
    let text = "[server]\nlisten = \"127.0.0.1:81\"\nworkers = 3\ntrusted_proxies = \
     [\"10.0.0.0/8\"]\n[log]\nlevel = \"warn\"\n";
    let config = resolve(text, &Flags::default()).expect("valid");
    assert_eq!(
        (
            config.base.listen[0].to_string().as_str(),
            config.base.workers,
            config.serving.trusted_proxies.len()
        ),
        ("http://127.0.0.1:81", 3, 1)
    );
    assert!(!config.program.logger.writes(Level::Info));
    let flags = Flags {
        listen: Some("[::1]:82".into()),
        workers: Some(5),
        ..Flags::default()
    };
    let config = resolve(text, &flags).expect("valid");
    assert_eq!(
        (
            config.base.listen[0].to_string().as_str(),
            config.base.workers
        ),
        ("http://[::1]:82", 5)
    );
    assert_eq!(
        resolve("", &Flags::default()).expect("valid").base.listen,
        [address("127.0.0.1:8080").expect("valid")]
    );
}

#[test]
fn the_faults_of_all_sections_are_told_at_once() {
    let text = "[server]\nlisten = \"8080\"\nsocket_mode = \"rw\"\ntrusted_proxies = [\"proxy\"]\n\
        [limits]\nheaders_max = 1000\n\
        [sse]\nheartbeat_millis = 300_000\n\
        [metrics]\nenabled = true\npath = \"metrics\"\n\
        [health]\npath = \"health\"\n";
    let fault = resolve(text, &Flags::default()).expect_err("wrong values");
    for part in [
        "sampan.toml:2: [server] listen: ",
        "sampan.toml:3: [server] socket_mode: ",
        "sampan.toml:4: [server] trusted_proxies: ",
        "sampan.toml:6: [limits] headers_max is 1000",
        "sampan.toml:8: [sse] heartbeat_millis is 300000",
        "sampan.toml:11: [metrics] path",
        "sampan.toml:13: [health] path",
    ] {
        let lines = fault.lines().filter(|line| line.starts_with(part));
        assert_eq!(lines.count(), 1, "{part} in: {fault}");
    }
}

#[test]
fn what_is_out_of_range_is_named() {
    for (text, part) in [
        (
            "[server]\nh2c = true\nhttp2 = false",
            ": [server] h2c = true is HTTP/2 without TLS, which http2 = false turns off",
        ),
        (
            "[server]\nlisten = \"8080\"",
            ": [server] listen: \"8080\" has no host: write 127.0.0.1:8080",
        ),
        ("[server]\nworkers = 0", "[server] workers: 0 workers"),
        (
            "[sse]\nheartbeat_millis = 300_000",
            ":2: [sse] heartbeat_millis is 300000; it must be less than [limits] stream_idle_millis_max, 300000",
        ),
        (
            "[server]\ntrusted_proxies = [\"proxy\"]",
            "[server] trusted_proxies: \"proxy\" is no network",
        ),
        (
            "[limits]\nheaders_max = 1000",
            "[limits] headers_max is 1000",
        ),
        (
            "[limits]\nscript_millis_max = 0",
            "[limits] script_millis_max is 0",
        ),
        (
            "[limits]\nmemory_bytes_max = 10",
            "[limits] memory_bytes_max is 10",
        ),
        (
            "[limits]\njson_depth_max = 0",
            "[limits] json_depth_max is 0",
        ),
        (
            "[csrf]\ntrusted_origins = [\"app.example\"]",
            ": [csrf] trusted_origins: \"app.example\" is no origin: write scheme and host",
        ),
        (
            "[csrf]\nexcept = [\"hooks/*\"]",
            "[csrf] except: the pattern must begin with '/'",
        ),
        (
            "[log]\nlevel = \"loud\"",
            "[log] level: \"loud\" is none of \"debug\",",
        ),
        (
            "[log]\nformat = \"xml\"",
            "[log] format: \"xml\" is none of \"text\", \"json\"",
        ),
        (
            "[log]\naccess = \"on\"",
            "[log] access: \"on\" is none of \"off\", \"common\", \"json\"",
        ),
        (
            "[session]\nstore = \"redis\"",
            ": [session] store: \"redis\" is none of \"db\", \"cookie\"",
        ),
        (
            "[session]\nidle = 0",
            "[session] idle is 0 ms; it must be 1 ms to 366 days",
        ),
        (
            "[session]\ncookie = \"a b\"",
            "[session] cookie is \"a b\"; it must have 1 to 64 letters",
        ),
        (
            "[session]\nbytes_max = 10",
            "[session] bytes_max is 10; it must be 64 bytes to 1 MiB",
        ),
        (
            "[log]\nline_bytes_max = 10",
            "[log] line_bytes_max is 10; it must be 1024 to",
        ),
        (
            "[secrets]\nkeys = [\"short\"]",
            ": [secrets] keys: key 1 has 5 characters; it must have 32",
        ),
    ] {
        let error = resolve(text, &Flags::default()).expect_err(text);
        assert!(error.contains(part), "{error}");
    }
    let small = "[limits]\nhead_bytes_max = \"1 KiB\"\n[log]\nline_bytes_max = \"64 KiB\"";
    let config = resolve(small, &Flags::default()).expect("valid");
    assert_eq!(config.serving.http.target_bytes_max, 1024);
    assert_eq!(config.log_settings().line_bytes_max, 64 * 1024);
    let flags = Flags {
        workers: Some(0),
        ..Flags::default()
    };
    assert!(
        resolve("", &flags)
            .expect_err("no workers")
            .starts_with("--workers: [server] workers: 0")
    );
}

#[test]
fn faults_name_the_line_and_the_key() {
    for (text, line, part) in [
        (
            "[server]\nlisen = \"x\"\n",
            2,
            "[server] has no key \"lisen\"; did you mean \"listen\"? It has listen, workers, trusted_proxies",
        ),
        (
            "[limits]\n\nbody_bytes = 3\n",
            3,
            "[limits] has no key \"body_bytes\"; it has head_bytes_max, ",
        ),
        (
            "[sever]\n",
            1,
            "no section or key \"sever\" here; did you mean \"server\"? The sections are server, ",
        ),
        (
            "listen = \"x\"\n",
            1,
            "listen stands before the first section: it belongs into [server]",
        ),
        (
            "listens = \"x\"\n",
            1,
            "no section or key \"listens\" here; the sections are server, ",
        ),
        (
            "[server]\nworkers = \"two\"\n",
            2,
            "[server] workers = \"two\": a whole number is expected",
        ),
        (
            "[server]\nworkers = -1\n",
            2,
            "[server] workers = -1: a whole number",
        ),
        (
            "[log]\n\n[server] # x\nlisten = 8080 # the port\n",
            4,
            "[server] listen = 8080: an address such as \"127.0.0.1:8080\"",
        ),
        (
            "[limits]\nbody_bytes_max = true\n",
            2,
            "[limits] body_bytes_max = true: a size such as 10485760 or \"10MB\" is expected",
        ),
        (
            "[limits]\nbody_bytes_max = \"10 megs\"\n",
            2,
            "[limits] body_bytes_max = \"10 megs\": a size such as",
        ),
        (
            "[limits]\nbody_bytes_max = 1.5\n",
            2,
            "[limits] body_bytes_max = 1.5: a size such as",
        ),
        (
            "[limits]\nidle_millis_max = \"5\"\n",
            2,
            "idle_millis_max = \"5\": a time such as 1500 (milliseconds) or \"10s\" is expected",
        ),
        (
            "[limits]\nidle_millis_max = -5\n",
            2,
            "idle_millis_max = -5: a time such as",
        ),
        (
            "[db]\ndurability = \"some\"\n",
            2,
            "[db] durability: \"some\" is none of \"full\", \"normal\"",
        ),
        (
            "[db]\nmigrate = 1\n",
            2,
            "[db] migrate = 1: true or false is expected",
        ),
        (
            "[server]\ntrusted_proxies = \"x\"\n",
            2,
            "trusted_proxies = \"x\": a list such as [\"one\", \"two\"] is expected",
        ),
        (
            "[secrets]\nkeys = \"0123456789\"\n",
            2,
            "[secrets] keys = ...: a list such as",
        ),
        (
            "server = 3\n",
            1,
            "server = 3: a section with keys of its own",
        ),
        (
            "[files]\nstorage = \"\"\n",
            2,
            "[files] storage is empty: name a folder",
        ),
        (
            "[crash]\nfolder = \"\"\n",
            2,
            "[crash] folder is empty: name a folder",
        ),
        (
            "[log]\nlevel = info\n",
            2,
            "text must be in quotes, such as level = \"text\"",
        ),
        ("[server\n", 1, ""),
    ] {
        let error = resolve(text, &Flags::default()).expect_err(text);
        assert!(
            error.starts_with(&format!("sampan.toml:{line}: ")),
            "{error}"
        );
        assert!(error.contains(part), "{error}");
        for ours in ["invalid type", "usize", "u64", "struct", "Raw"] {
            assert!(!error.contains(ours), "{error}");
        }
        assert!(!error.contains('\n'), "{error}");
    }
}

/// The resolved configuration as text, without the places of its values.
fn shown(text: &str) -> Result<String, String> {
    let AppConfig {
        base,
        database,
        serving,
        program,
    } = resolve(text, &Flags::default())?;
    let Config {
        listen,
        socket_mode,
        user,
        workers,
        scripts,
        tls,
        ..
    } = &base;
    let all = &base.sections;
    let files = all.of(&sampan_files::SECTION);
    let forms = all.of(&sampan_files::FORMS);
    let capabilities = (
        sampan_files::FilesConfig::from_settings(&files, &forms, base.project.root()),
        sampan_session::SessionConfig::from_settings(&all.of(&sampan_session::SECTION))?,
        sampan_crypto::SecretKeys::from_settings(&all.of(&sampan_crypto::SECTION))?,
        sampan_i18n::I18nSettings::from_settings(&all.of(&sampan_i18n::SECTION)),
        sampan_template::undefined(&all.of(&sampan_template::SECTION)),
        sampan_pubsub::TopicsConfig::read(&all.of(&sampan_pubsub::TOPICS)),
        sampan_socket::defaults(&all.of(&sampan_socket::SECTION))?,
        sampan_sse::SseConfig::read(all)?,
        sampan_jobs::JobsConfig::from_settings(&all.of(&sampan_jobs::SECTION))?,
        sampan_serve::fetch::read(&all.of(&sampan_serve::fetch::SECTION), base.project.root())?,
        sampan_cache::CacheConfig::read(&all.of(&sampan_cache::SECTION)),
        sampan_mail::MailConfig::from_settings(&all.of(&sampan_mail::SECTION))?,
    );
    let base = format!("{listen:?} {tls:?} {socket_mode} {user:?} {workers} {scripts:?}");
    let dev = DevSettings::from_settings(
        &resolve(text, &Flags::default())?
            .base
            .sections
            .of(&config::DEV),
    )?;
    let sandbox = SandboxSettings::of(&resolve(text, &Flags::default())?.project_settings())?;
    let log = program.logger.settings();
    Ok(format!(
        "{base} {database:?} {capabilities:?} {serving:?} {log:?} {dev:?} {sandbox:?}"
    ))
}

fn keys() -> impl Iterator<Item = (&'static str, &'static SettingKey)> {
    let of = |section: &&'static Section| {
        let name = section.name;
        section.keys.iter().map(move |key| (name, key))
    };
    capabilities::sections().iter().flat_map(of)
}

#[test]
fn a_default_that_is_written_changes_nothing() {
    let by_default = shown("").expect("valid");
    let (mut written, mut unset) = (0, Vec::new());
    for (section, key) in keys() {
        let name = key.name;
        match default_of(key) {
            // A storage folder that is named is there for a project in memory too.
            Some(_) if name == "storage" => {}
            Some(value) => {
                let text = format!("[{section}]\n{name} = {value}\n");
                assert_eq!(shown(&text).as_ref(), Ok(&by_default), "{text}");
                written += 1;
            }
            None => unset.push(format!("{section}.{name}")),
        }
    }
    assert!(written > 60, "{written}");
    let decided_later = [
        "server.user",
        "workers.slow",
        "tls.client_ca",
        "tls.redirect_listen",
        "tls.hsts",
        "tls.acme.email",
        "tls.acme.directory_ca",
        "tls.acme.profile",
        "crash.folder",
        "health.token",
        "metrics.token",
        "metrics.listen",
        "db.url",
        "backup.url",
        "backup.key",
        "backup.endpoint",
        "backup.region",
        "backup.access_key",
        "backup.secret_key",
        "backup.session_token",
        "files.temp",
        "session.secure",
        "static.immutable",
        "static.fallback",
        "static.not_found",
        "fetch.ca",
        "fetch.proxy",
        "i18n.default",
        "i18n.locales",
        "trace.endpoint",
        "trace.service_name",
        "mail.url",
        "mail.from",
        "mail.dkim_domain",
        "mail.dkim_selector",
        "mail.dkim_key",
    ];
    assert_eq!(unset, decided_later);
}

/// The key of RFC 8463 appendix A.2.
const DKIM_KEY: &str = "\"-----BEGIN PRIVATE KEY-----\\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3/1mC6mIRN+l1vr1CcYx8bTNUuhtvSOS2ve7Zg\\n\
    -----END PRIVATE KEY-----\"";

/// Returns another value than the default.
fn other_value(key: &SettingKey) -> String {
    match (&key.kind, key.default) {
        (SettingKind::Flag, default) => (!matches!(default, Preset::Flag(true))).to_string(),
        (
            SettingKind::Count(range) | SettingKind::Size(range) | SettingKind::Time(range),
            default,
        ) => {
            let default = match default {
                Preset::Number(number) => number,
                _ => 9,
            };
            let other = default + 1;
            (if range.contains(&other) {
                other
            } else {
                default - 1
            })
            .to_string()
        }
        (SettingKind::Choice(words), default) => {
            let is_other = |word: &&&str| !matches!(default, Preset::Text(text) if text == **word);
            format!("{:?}", words.iter().find(is_other).expect("two words"))
        }
        (_, _) => match key.name {
            "listen" | "redirect_listen" => "\"127.0.0.1:9\"",
            "hsts" => "\"max-age=1\"",
            "domains" => "\"other.test\"",
            "email" | "from" => "\"other@a.test\"",
            "url" => "\"smtp://other.test\"",
            "dkim_key" => DKIM_KEY,
            "directory" => "\"staging\"",
            "eab" => "[\"other\", \"key\"]",
            "trusted_proxies" => "[\"10.0.0.0/8\"]",
            "socket_mode" => "\"600\"",
            "proxy" => "\"http://other:3128\"",
            "allow" => "[\"10.0.0.0/8\"]",
            "keys" => "[\"0123456789abcdef0123456789abcdef\"]",
            "trusted_origins" => "[\"https://app.example\"]",
            "except" | "immutable" => "[\"/other/*\"]",
            "editor" => "\"other:{path}\"",
            "queues" => "[\"other 2\"]",
            "connect" => "[\"9\"]",
            "hosts" | "locales" | "no_proxy" | "read" | "write" => "[\"other\"]",
            _ => "\"other\"",
        }
        .to_owned(),
    }
}

#[test]
fn every_key_has_an_effect() {
    // It is read when the settings are.
    let authority = tempfile::NamedTempFile::new().expect("a file");
    let certificate = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]);
    let pem = certificate.expect("a certificate").cert.pem();
    std::fs::write(authority.path(), pem).expect("written");
    // What these say is read by their capabilities alone, whose tests have it.
    for (section, key) in keys().filter(|(section, _)| !["backup", "trace"].contains(section)) {
        let value = match (section, key.name) {
            ("health" | "metrics", "path") => "\"/other\"".to_owned(),
            ("metrics", "listen") => "\"127.0.0.1:9100\"".to_owned(),
            ("limits", "process_bytes_max") => "\"1GB\"".to_owned(),
            ("db", "url") => "\"postgres://other@a.test/data\"".to_owned(),
            ("fetch", "ca") => format!("{:?}", authority.path()),
            _ => other_value(key),
        };
        let mut text = format!("[{section}]\n{} = {value}\n", key.name);
        if key.name == "check_millis" && section == "scripts" {
            text += "mode = \"file\"\n";
        }
        let beside = match (section, key.name) {
            ("server", "proxy_protocol") => "trusted_proxies = [\"10.0.0.0/8\"]\n",
            ("fetch", "no_proxy") => "proxy = \"http://a:3128\"\n",
            ("tls", "cert" | "key") => "",
            ("tls", "client_auth") => "cert = \"a\"\nkey = \"b\"\nclient_ca = \"c\"\n",
            ("tls", "redirect_listen") => "cert = \"a\"\nkey = \"b\"\nredirect = true\n",
            ("tls.acme", "domains") => "",
            ("tls.acme", _) => "domains = \"a.test\"\n",
            ("tls", _) => "cert = \"a\"\nkey = \"b\"\n",
            _ => "",
        };
        let before = shown(&format!("[{section}]\n{beside}")).expect("valid");
        text += match (section, key.name) {
            // One is nothing without the other.
            ("tls", "cert") => "key = \"b\"\n",
            ("tls", "key") => "cert = \"a\"\n",
            _ => beside,
        };
        // None of these is something without the others.
        for (name, value) in [
            ("dkim_domain", "\"a.test\""),
            ("dkim_selector", "\"a\""),
            ("dkim_key", DKIM_KEY),
        ] {
            if key.name.starts_with("dkim_") && key.name != name {
                text += &format!("{name} = {value}\n");
            }
        }
        let changed = shown(&text).unwrap_or_else(|fault| panic!("{fault}"));
        assert_ne!(changed, before, "{text}");
    }
}

#[test]
fn secrets_are_counted_and_not_shown() {
    let text =
        "[secrets]\nkeys = [\"0123456789abcdef0123456789abcdef\"]\n[log]\nlevel = \"warn\"\n";
    let config = resolve(text, &Flags::default()).expect("valid");
    assert!(!format!("{config:?}").contains("0123456789abcdef"));
    let all = config::shown(&config.base.sections);
    let of = |key: &str| {
        let known = all.iter().find(|one| one.key == key);
        known.cloned().expect("known")
    };
    assert_eq!(of("secrets.keys").value.as_deref(), Some("1 (not shown)"));
    assert_eq!(of("log.level").value.as_deref(), Some("\"warn\""));
    assert_eq!(of("log.level").origin.as_deref(), Some("sampan.toml:4"));
    assert_eq!(of("log.format").origin, None);
}

#[test]
fn requests_reach_no_more_than_their_program_needs() {
    let mut config = resolve("", &Flags::default()).expect("valid");
    assert_eq!(config.fetch_reach(), FetchReach::Public);
    config.program.is_local = true;
    assert_eq!(config.fetch_reach(), FetchReach::Local);
}

#[test]
fn settings_that_a_reload_does_not_change_are_named() {
    let start = resolve("", &Flags::default()).expect("valid");
    for (text, name) in [
        ("[server]\nhttp2 = false", "[server] http2"),
        ("[server]\nh2c = true", "[server] h2c"),
        ("[overload]\nenabled = false", "[overload]"),
        ("[overload]\nwaiting_min = 7", "[overload]"),
        ("[crash]\nenabled = false", "[crash]"),
        ("[crash]\nfolder = \"reports\"", "[crash]"),
        ("[limits]\nprocess_bytes_max = \"1GB\"", "[limits]"),
        ("[sandbox]\nenabled = false", "[sandbox]"),
    ] {
        let mut config = resolve(text, &Flags::default()).expect("valid");
        let differ = config.keep_fixed(&start).expect("the same project");
        assert!(differ.contains(&name), "{text}: {differ:?}");
        assert_eq!(config.serving.overload, start.serving.overload);
        assert_eq!(config.serving.takes_http2, start.serving.takes_http2);
    }
    let mut config = resolve("", &Flags::default()).expect("valid");
    let differ = config.keep_fixed(&start).expect("the same project");
    assert!(differ.is_empty(), "{differ:?}");
}

#[test]
fn a_storage_folder_that_the_sandbox_has_not_granted_needs_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("app.lua"), "").expect("written");
    let config = |confinement: Option<Confinement>, storage: &Path| {
        let text = format!("[files]\nstorage = {storage:?}\n[db]\npath = \":memory:\"\n");
        let mut config = AppConfig::from_text(folder.path(), &text).expect("valid");
        config.program.confinement = confinement;
        config
    };
    let (kept, outside) = (folder.path().join("kept"), Path::new("/srv/kept"));
    let differ = |start: &AppConfig, storage: &Path| {
        let mut config = config(None, storage);
        config.keep_fixed(start).expect("the same project")
    };
    let confined = config(Some(Confinement::default()), &kept);
    assert!(differ(&confined, &kept.join("deeper")).is_empty());
    assert_eq!(differ(&confined, outside), ["[files] storage or temp"]);
    assert!(differ(&config(None, &kept), outside).is_empty());
}
