//! Certificates that a program has in memory. The HTTP engine reads files, so they become files in memory, which have
//! no name and end with the reading.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use sampan_http::{CertificateFiles, ClientAuth, Tls, TlsSettings};

/// The texts (PEM) of a server's TLS.
pub(super) struct TlsTexts {
    /// The certificates with their keys, the first for clients that ask for no known name.
    pub(super) certificates: Vec<(String, String)>,
    /// The authorities of clients' certificates, and whether clients without one are turned away.
    pub(super) clients: Option<(String, bool)>,
}

/// A text as a file in memory, and its name in errors.
struct MemoryFile {
    file: File,
    name: String,
}

impl MemoryFile {
    fn new(name: String, text: &str) -> Result<Self, String> {
        let made = memfd_create(&name, MemfdFlags::CLOEXEC).map_err(std::io::Error::from);
        let written = made.map(File::from).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            Ok(file)
        });
        match written {
            Ok(file) => Ok(Self { file, name }),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }

    fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }
}

/// Makes TLS of them. Also returns warnings, about certificates that have expired or are going to soon.
///
/// # Errors
/// The first text that cannot be used, and why.
pub(super) fn read(texts: &TlsTexts) -> Result<(Tls, Vec<String>), String> {
    let mut files = Vec::new();
    let mut certificates = Vec::new();
    let several = texts.certificates.len() > 1;
    for (at, (certificate, key)) in texts.certificates.iter().enumerate() {
        let place = match several {
            true => format!("[{at}]"),
            false => String::new(),
        };
        let certificate = MemoryFile::new(format!("tls{place}.cert"), certificate)?;
        let key = MemoryFile::new(format!("tls{place}.key"), key)?;
        certificates.push(CertificateFiles {
            certificate: certificate.path(),
            key: key.path(),
        });
        files.extend([certificate, key]);
    }
    let mut clients = None;
    if let Some((authorities, is_required)) = &texts.clients {
        let file = MemoryFile::new("tls.ca".to_owned(), authorities)?;
        clients = Some(ClientAuth {
            authorities: file.path(),
            is_required: *is_required,
        });
        files.push(file);
    }
    let settings = TlsSettings {
        certificates,
        acme: None,
        clients,
        strict_transport: None,
        takes_http2: true,
    };
    // Longer numbers first, so that none is taken for the beginning of another.
    files.sort_by_key(|file| std::cmp::Reverse(file.path()));
    let named = |text: String| {
        files.iter().fold(text, |text, file| {
            text.replace(&*file.path().to_string_lossy(), &file.name)
        })
    };
    match Tls::read(settings) {
        Ok((tls, warnings)) => Ok((tls, warnings.into_iter().map(named).collect())),
        Err(error) => Err(named(error.to_string())),
    }
}
