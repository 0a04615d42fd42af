//! The encryption of bodies: AES-256-GCM with a key derived from the setting.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hkdf;
use std::fmt;

/// The least length of the key in the setting, in characters: 32 of base64 are 192 bits.
const KEY_CHARS_MIN: usize = 32;

/// A key.
pub(crate) struct Cipher(RandomizedNonceKey);

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher")
    }
}

impl Cipher {
    /// Derives the key from the text of the setting.
    ///
    /// # Errors
    /// The text is too short to be secret. The message does not show it.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let count = text.chars().count();
        if count < KEY_CHARS_MIN {
            return Err(format!(
                "key: it has {count} characters; take {KEY_CHARS_MIN} random ones at least"
            ));
        }
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"sampan backup");
        let mut bytes = [0; 32];
        salt.extract(text.as_bytes())
            .expand(&[b"pages"], &AES_256_GCM)
            .and_then(|derived| derived.fill(&mut bytes))
            .and_then(|()| RandomizedNonceKey::new(&AES_256_GCM, &bytes))
            .map(Self)
            .map_err(|_| "the key cannot be used".to_owned())
    }

    /// Encrypts in place, with the nonce in front.
    pub(crate) fn encrypt(&self, mut plain: Vec<u8>) -> Result<Vec<u8>, String> {
        let nonce = self.0.seal_in_place_append_tag(Aad::empty(), &mut plain);
        let nonce = nonce.map_err(|_| "pages cannot be encrypted".to_owned())?;
        let mut encrypted = nonce.as_ref().to_vec();
        encrypted.append(&mut plain);
        Ok(encrypted)
    }

    /// Decrypts what [`Cipher::encrypt`] made.
    pub(crate) fn decrypt(&self, mut encrypted: Vec<u8>) -> Result<Vec<u8>, String> {
        let wrong = || "it was encrypted with another key than that of [backup]".to_owned();
        if encrypted.len() < NONCE_LEN {
            return Err(wrong());
        }
        let mut body = encrypted.split_off(NONCE_LEN);
        let nonce: &[u8; NONCE_LEN] = encrypted.as_slice().try_into().map_err(|_| wrong())?;
        let nonce = Nonce::from(nonce);
        let plain = self.0.open_in_place(nonce, Aad::empty(), &mut body);
        let length = plain.map_err(|_| wrong())?.len();
        body.truncate(length);
        Ok(body)
    }
}
