//! `[dev]`.

use sampan_host::settings::{ANY, Preset, Section, SettingKey, Settings};
use std::time::Duration;

const EDITOR: &str = "vscode://file{path}:{line}";

/// `[dev]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "dev",
    doc: "The server of sampan dev.",
    keys: &[
        SettingKey::text("editor", Preset::Text(EDITOR), "the URL that opens a file in the editor"),
        SettingKey::texts("hosts", Preset::Empty,
            "names of hosts that are answered beside localhost, names below it, and IP addresses"),
        SettingKey::time("slow_query", ANY, 20, "from how many milliseconds on a statement is told with its plan"),
    ],
};

/// `[dev]`, checked.
#[derive(Clone, Debug)]
pub struct DevSettings {
    /// The URL that opens a file in the editor, with `{path}` and `{line}` in it.
    pub editor: String,
    /// Names of hosts that are answered beside `localhost` and addresses.
    pub hosts: Vec<String>,
    /// From when on a statement is slow.
    pub slow_query: Duration,
}

impl DevSettings {
    /// Reads `[dev]`.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn from_settings(settings: &Settings) -> Result<Self, String> {
        let editor = settings.text("editor");
        if !editor.contains("{path}") || !editor.contains(':') {
            return Err(format!(
                "editor: {editor:?}; it must be a URL with {{path}} in it, such as \"{EDITOR}\""
            ));
        }
        let hosts = settings.list("hosts");
        for host in &hosts {
            let name = host.strip_prefix('.').unwrap_or(host);
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(format!(
                    "hosts: {host:?} is no name of a host: write it without \"http://\" and port, such as \
                     \"app.test\", or \".app.test\" for all names below it"
                ));
            }
        }
        Ok(Self {
            editor: editor.to_owned(),
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            slow_query: Duration::from_millis(settings.number("slow_query")),
        })
    }
}
