//! The answers to challenges, as files: the process that the authority asks need not be the one that ordered.

use crate::settings::asked_name;
use crate::store;
use instant_acme::KeyAuthorization;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The path of `http-01` (RFC 8555 section 8.3), before the token.
pub const HTTP_PATH: &str = "/.well-known/acme-challenge/";
/// The most bytes of a token, and of a key authorization: a token, a dot and a digest.
const TOKEN_BYTES_MAX: usize = 256;

/// Returns the answer to `http-01` with this token; `None` if it was not asked for. `folder` is that of
/// [`AcmeSettings::challenge_folder`](crate::AcmeSettings::challenge_folder).
pub fn key_authorization(folder: &Path, token: &str) -> Option<String> {
    let file = File::open(token_file(folder, token)?).ok()?;
    let mut text = String::new();
    file.take(2 * TOKEN_BYTES_MAX as u64)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

/// The file of a token; `None` if it cannot be one.
fn token_file(folder: &Path, token: &str) -> Option<PathBuf> {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_token = (1..=TOKEN_BYTES_MAX).contains(&token.len()) && token.bytes().all(is_digit);
    is_token.then(|| folder.join(format!("{token}.txt")))
}

/// An answer that can be seen until this is dropped.
pub(crate) struct Published(PathBuf);

impl Drop for Published {
    fn drop(&mut self) {
        store::remove(&self.0);
    }
}

/// Publishes the answer to `http-01`.
pub(crate) fn publish_http(
    folder: &Path,
    token: &str,
    answer: &KeyAuthorization,
) -> Result<Published, String> {
    let file = token_file(folder, token);
    let file = file.ok_or("the authority has sent a token that is none")?;
    store::put(&file, answer.as_str().as_bytes())?;
    Ok(Published(file))
}

/// Publishes the certificate that answers `tls-alpn-01` (RFC 8737 section 3).
pub(crate) fn publish_tls(
    folder: &Path,
    domain: &str,
    answer: &KeyAuthorization,
) -> Result<Published, String> {
    let fault = |error: rcgen::Error| format!("cannot make a certificate: {error}");
    let mut params = CertificateParams::new([domain.to_owned()]).map_err(fault)?;
    let digest = answer.digest();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest.as_ref())];
    let key = KeyPair::generate().map_err(fault)?;
    let certificate = params.self_signed(&key).map_err(fault)?;
    let file = folder.join(format!("{}.pem", asked_name(domain)));
    let text = key.serialize_pem() + &certificate.pem();
    store::put(&file, text.as_bytes())?;
    Ok(Published(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_name_files() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a_-9.txt"), "a.b").expect("written");
        let answer = |token: &str| key_authorization(folder.path(), token);
        assert_eq!(answer("a_-9").as_deref(), Some("a.b"));
        let long = "a".repeat(257);
        for token in ["", "b", "../x", "a_-9.txt", "a/b", "a%2fb", &long] {
            assert_eq!(answer(token), None, "{token}");
        }
    }
}
