//! `server.listen`: where a server listens.

use serde::Deserialize;
use serde::de::{Error, SeqAccess, Visitor};
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

/// As it is written: one address, several with commas between, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawListen(pub(crate) Vec<String>);

impl RawListen {
    pub(crate) fn split(text: &str) -> Self {
        let addresses = text.split(',').map(str::trim);
        let addresses = addresses.filter(|address| !address.is_empty());
        Self(addresses.map(str::to_owned).collect())
    }

    /// The names of hosts among the addresses, in small letters.
    pub(crate) fn host_names(&self) -> impl Iterator<Item = String> {
        let hosts = self.0.iter().filter(|text| !text.starts_with(UNIX));
        let hosts = hosts.filter_map(|text| text.rsplit_once(':').map(|(host, _)| host));
        let is_name = |host: &&str| host.parse::<IpAddr>().is_err() && !host.starts_with('[');
        hosts.filter(is_name).map(str::to_ascii_lowercase)
    }

    /// The addresses; paths are relative to `root`.
    pub(crate) fn resolve(&self, root: &Path) -> Result<Vec<ListenAddress>, String> {
        if self.0.is_empty() {
            return Err("no address: write host and port, as in 127.0.0.1:8080".to_owned());
        }
        if self.0.len() > ADDRESSES_MAX {
            return Err(format!(
                "{} addresses; it must be 1 to {ADDRESSES_MAX}",
                self.0.len()
            ));
        }
        let resolve = |text: &String| {
            Ok(match address(text)? {
                ListenAddress::Unix(path) => ListenAddress::Unix(root.join(path)),
                tcp => tcp,
            })
        };
        self.0.iter().map(resolve).collect()
    }
}

impl<'de> Deserialize<'de> for RawListen {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(ListenVisitor)
    }
}

struct ListenVisitor;

impl<'de> Visitor<'de> for ListenVisitor {
    type Value = RawListen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "an address such as \"127.0.0.1:8080\" or \"unix:/run/app.sock\", or a list of them",
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<RawListen, E> {
        Ok(RawListen::split(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawListen, A::Error> {
        let mut addresses = Vec::new();
        while let Some(address) = list.next_element()? {
            addresses.push(address);
        }
        Ok(RawListen(addresses))
    }
}

/// The addresses of the command line, whose paths are relative to the current folder.
pub(super) fn of_flag(text: &str, name: &str) -> Result<RawListen, String> {
    let absolute = |address: String| match address.strip_prefix(UNIX) {
        Some(path) if !path.is_empty() => {
            let path = std::path::absolute(path).map_err(|error| format!("{name}: {error}"))?;
            Ok(format!("{UNIX}{}", path.display()))
        }
        _ => Ok(address),
    };
    let addresses = RawListen::split(text).0.into_iter().map(absolute);
    addresses.collect::<Result<_, _>>().map(RawListen)
}

/// An address to listen on: `127.0.0.1:8080`, `[::]:8080`, `localhost:8080`, `unix:/run/app.sock`.
///
/// # Errors
/// What is wrong with it and what to write, in one line.
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
            let list = list.iter().map(|text| (*text).to_owned()).collect();
            let all = RawListen(list).resolve(root)?;
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
        let names = RawListen::split("Box.test:80, 127.0.0.1:80, [::1]:80, unix:a.b:1");
        assert_eq!(names.host_names().collect::<Vec<_>>(), ["box.test"]);
        assert!(resolved(&["unix:"]).is_err_and(|fault| fault.contains("has no path")));
        assert!(resolved(&[]).is_err());
        assert_eq!(
            RawListen::split("a:1, unix:b ,"),
            RawListen(vec!["a:1".into(), "unix:b".into()])
        );
        assert_eq!((mode("660"), mode("0777")), (Ok(0o660), Ok(0o777)));
        for bad in ["", "9", "rw", "1777", "+660"] {
            assert!(mode(bad).is_err(), "{bad}");
        }
    }
}
