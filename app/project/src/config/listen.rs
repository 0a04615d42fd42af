//! `server.listen`: where a server listens.

use sampan_host::settings::items;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// The prefix of Unix socket addresses.
const UNIX: &str = "unix:";
/// The most addresses of one server: each has a thread.
const ADDRESSES_MAX: usize = 16;

/// One address that a server listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A port.
    Tcp(SocketAddr),
    /// A Unix socket, by its path.
    Unix(PathBuf),
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// Returns the names of hosts among addresses, in small letters.
pub(super) fn host_names(list: &[String]) -> impl Iterator<Item = String> {
    let hosts = list.iter().filter(|text| !text.starts_with(UNIX));
    let hosts = hosts.filter_map(|text| text.rsplit_once(':').map(|(host, _)| host));
    let is_name = |host: &&str| host.parse::<IpAddr>().is_err() && !host.starts_with('[');
    hosts.filter(is_name).map(str::to_ascii_lowercase)
}

/// Returns the addresses of a list; paths are relative to `root`.
pub(super) fn resolve(list: &[String], root: &Path) -> Result<Vec<ListenAddress>, String> {
    if list.is_empty() {
        return Err("no address: write host and port, as in 127.0.0.1:8080".to_owned());
    }
    if list.len() > ADDRESSES_MAX {
        let count = list.len();
        return Err(format!(
            "{count} addresses; it must be 1 to {ADDRESSES_MAX}"
        ));
    }
    let resolve = |text: &String| {
        Ok(match address(text)? {
            ListenAddress::Unix(path) => ListenAddress::Unix(root.join(path)),
            tcp => tcp,
        })
    };
    let found: Vec<ListenAddress> = list.iter().map(resolve).collect::<Result<_, String>>()?;
    match found
        .iter()
        .enumerate()
        .find(|(at, one)| one.clashes(&found[..*at]))
    {
        Some((_, twice)) => Err(format!("{twice} is listed twice")),
        None => Ok(found),
    }
}

impl ListenAddress {
    /// Reports whether others have the same address. The system chooses a port for each 0.
    pub(super) fn clashes(&self, others: &[Self]) -> bool {
        let is_chosen = matches!(self, Self::Tcp(address) if address.port() == 0);
        !is_chosen && others.contains(self)
    }
}

/// Returns the addresses of the command line, whose paths are relative to the current folder.
pub(super) fn of_flag(text: &str, name: &str) -> Result<Vec<String>, String> {
    let absolute = |address: String| match address.strip_prefix(UNIX) {
        Some(path) if !path.is_empty() => {
            let path = std::path::absolute(path).map_err(|error| format!("{name}: {error}"))?;
            Ok(format!("{UNIX}{}", path.display()))
        }
        _ => Ok(address),
    };
    items(text).into_iter().map(absolute).collect()
}

/// An address to listen on: `127.0.0.1:8080`, `[::]:8080`, `localhost:8080`, `unix:/run/app.sock`.
///
/// # Errors
/// The fault and what to write, in one line.
pub fn address(text: &str) -> Result<ListenAddress, String> {
    if let Some(path) = text.strip_prefix(UNIX) {
        if path.is_empty() {
            return Err(format!(
                "{text:?} has no path: write unix:/run/app.sock or the like"
            ));
        }
        return Ok(ListenAddress::Unix(path.into()));
    }
    if let Ok(address) = text.parse() {
        return Ok(ListenAddress::Tcp(address));
    }
    let resolved = text
        .to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next());
    resolved.map(ListenAddress::Tcp).ok_or_else(|| {
        // A port alone could mean this machine or all networks, and the wrong guess is a hole.
        let port = text.strip_prefix(':').unwrap_or(text);
        if port.parse::<u16>().is_ok() {
            return format!(
                "{text:?} has no host: write 127.0.0.1:{port} for this machine only, [::]:{port} for all networks"
            );
        }
        format!("{text:?} is no address to listen on: write host and port, as in 127.0.0.1:8080")
    })
}

/// The rights of the files of Unix sockets, as `chmod` takes them.
pub(super) fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok();
    let mode = mode.filter(|mode| *mode <= 0o777 && !text.starts_with('+'));
    mode.ok_or_else(|| format!("{text:?}; it must be the rights of a file, such as \"660\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_ports_and_paths() {
        let root = Path::new("/project");
        let resolved = |list: &[&str]| {
            let list: Vec<_> = list.iter().map(|text| (*text).to_owned()).collect();
            let all = resolve(&list, root)?;
            Ok::<_, String>(all.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let all = resolved(&["[::1]:80", "unix:app.sock", "unix:/run/a b.sock"]);
        assert_eq!(
            all.expect("valid"),
            [
                "http://[::1]:80",
                "unix:/project/app.sock",
                "unix:/run/a b.sock"
            ]
        );
        let names = items("Box.test:80, 127.0.0.1:80, [::1]:80, unix:a.b:1");
        assert_eq!(host_names(&names).collect::<Vec<_>>(), ["box.test"]);
        assert!(resolved(&["unix:"]).is_err_and(|fault| fault.contains("has no path")));
        assert!(resolved(&[]).is_err());
        let twice = resolved(&["[::1]:80", "[::1]:81", "[::1]:80"]);
        assert_eq!(twice, Err("http://[::1]:80 is listed twice".to_owned()));
        assert!(resolved(&["[::1]:0", "[::1]:0"]).is_ok());
        assert_eq!(items("a:1, unix:b ,"), ["a:1", "unix:b"]);
        assert_eq!((mode("660"), mode("0777")), (Ok(0o660), Ok(0o777)));
        for bad in ["", "9", "rw", "1777", "+660"] {
            assert!(mode(bad).is_err(), "{bad}");
        }
    }
}
