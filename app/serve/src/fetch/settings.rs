//! `[fetch]`: the limits of requests to other servers, and which servers those may be.

use sampan_host::capability::ProjectSettings;
use sampan_host::settings::{ANY, Preset, Section, SettingKey, Settings};
use sampan_http::client::{AddressPolicy, ClientLimits, ClientSettings, ProxySettings, Roots};
use std::path::Path;

/// Declares `[fetch]` from the names of the limits themselves, so that none can be stored and never used.
macro_rules! limits {
    ($($name:ident: $kind:ident($range:expr), $doc:literal;)*) => {
        /// `[fetch]`.
        pub static SECTION: Section = Section {
            name: "fetch",
            doc: "Requests of scripts to other servers.",
            keys: &[
                SettingKey::texts(
                    "allow", Preset::Empty, "addresses, networks and names that are not public and may be reached",
                ),
                SettingKey::choice(
                    "roots", &["system", "webpki"], "authorities that are believed: the system's, or those of Mozilla",
                ),
                SettingKey::text("ca", Preset::Unset, "a file of more authorities (PEM)"),
                SettingKey::flag("http2", Preset::Flag(true), "HTTP/2 with servers that have it, over TLS"),
                SettingKey::text("proxy", Preset::Unset, "the URL of a proxy: http:// or https://").secret(),
                SettingKey::texts(
                    "no_proxy", Preset::Empty, "hosts reached without it: names, .names below, addresses, networks",
                ),
                $(SettingKey::$kind(stringify!($name), $range, ClientLimits::DEFAULT.$name as u64, $doc),)*
            ],
        };

        fn limits(settings: &Settings) -> ClientLimits {
            ClientLimits { $($name: settings.number(stringify!($name)),)* }
        }
    };
}

limits! {
    connect_millis_max: time(1..=u64::MAX), "until a connection is there, with its name lookup and TLS";
    head_millis_max: time(1..=u64::MAX), "from the end of a request to the end of the answer's head";
    total_millis_max: time(ANY), "a whole request, with its redirects and its answer's body; 0 for no end";
    idle_millis_max: time(1..=u64::MAX), "without progress of a body, in either direction";
    answer_bytes_max: size(ANY), "the body of an answer, decompressed; 0 for no end";
    answer_head_bytes_max: size(64..=1_048_576), "status line and header fields of an answer";
    answer_fields_max: count(1..=256), "header fields of an answer";
    redirects_max: count(0..=100), "redirects that are followed";
    connections_max: count(1..=100_000), "connections of one worker";
    connections_per_host_max: count(1..=100_000), "connections of one worker to one server";
    waiting_max: count(ANY), "requests of one worker that wait for a connection";
    kept_millis_max: time(ANY), "a connection without a request";
    lookup_millis: time(ANY), "how long the addresses of a name are kept";
}

/// Reads `[fetch]`. Paths are relative to the folder of the project.
///
/// # Errors
/// The key, and what is wrong with its value.
pub fn read(settings: &Settings, root: &Path) -> Result<ClientSettings, String> {
    let bypassed = settings.list("no_proxy");
    let proxy = settings.text_if_set("proxy");
    Ok(ClientSettings {
        limits: limits(settings),
        policy: AddressPolicy::of(&settings.list("allow"))?,
        roots: match settings.text("roots") {
            "webpki" => Roots::Webpki,
            _ => Roots::System,
        },
        authorities: settings.text_if_set("ca").map(|file| root.join(file)),
        offers_http2: settings.flag("http2"),
        proxy: proxy
            .map(|text| ProxySettings::of(text, bypassed))
            .transpose()?,
    })
}

/// Checks `[fetch]`.
///
/// # Errors
/// The place, the key, and what is wrong with its value.
pub fn configure(settings: &ProjectSettings<'_>) -> Result<(), String> {
    let read = |section: &Settings| read(section, settings.root)?.check_authorities();
    settings.resolve(&SECTION, read)
}
