//! UTF-8 that is checked while it arrives.

use super::fault::ProtocolFault;

/// Checks `bytes` from `checked` on, where a character begins. Returns up to where whole characters are there.
///
/// # Errors
/// No further bytes could make the text valid.
pub(super) fn check_part(bytes: &[u8], checked: usize) -> Result<usize, ProtocolFault> {
    match std::str::from_utf8(&bytes[checked..]) {
        Ok(_) => Ok(bytes.len()),
        Err(error) if error.error_len().is_none() => Ok(checked + error.valid_up_to()),
        Err(_) => Err(ProtocolFault::NotUtf8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_may_be_cut_anywhere_and_a_fault_is_found_at_once() {
        let text = "a€😀ß";
        for cut in 0..=text.len() {
            let checked = check_part(&text.as_bytes()[..cut], 0).unwrap();
            assert!(text.is_char_boundary(checked) && cut - checked < 4);
            assert_eq!(check_part(text.as_bytes(), checked), Ok(text.len()));
        }
        assert!(check_part(b"ok\xf4\x90", 0).is_err());
        assert!(check_part(b"\xed\xa0", 0).is_err());
    }
}
