//! `[server]`: where a server listens, and on how many threads it works.

use sampan_host::settings::{ANY, Preset, Section, SettingKey, SettingKind};

/// The most workers that can be asked for.
pub const WORKERS_MAX: usize = 1_024;

/// The description of addresses, for faults.
const ADDRESSES: &str =
    "an address such as \"127.0.0.1:8080\" or \"unix:/run/app.sock\", or a list of them";

/// `[server]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "server",
    doc: "Where the server listens, and on how many threads it works.",
    keys: &[
        SettingKey::text("listen", Preset::Text("127.0.0.1:8080"), "the address, or a list of them")
            .of_kind(SettingKind::TextOrTexts(ADDRESSES)),
        SettingKey::count("workers", ANY, 0, "threads, each with an isolate of its own")
            .with_default(Preset::Computed(cores)),
        SettingKey::texts("trusted_proxies", Preset::Empty,
            "networks whose X-Forwarded-For, -Proto and -Host are believed"),
        SettingKey::flag("proxy_protocol", Preset::Flag(false),
            "the trusted proxies tell the client's address by the PROXY protocol, version 1 or 2"),
        SettingKey::flag("http2", Preset::Flag(true),
            "HTTP/2 over TLS, for clients that ask for it"),
        SettingKey::flag("h2c", Preset::Flag(false),
            "HTTP/2 without TLS, for clients that know of it beforehand"),
        SettingKey::text("socket_mode", Preset::Text("660"), "the rights of the files of Unix sockets"),
        SettingKey::text("user", Preset::Unset,
            "the user, or user and group, that a server becomes which root has started"),
    ],
};

/// Returns the number of processors that this process may use.
fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}
