//! The version of QuickJS-ng.

use rquickjs::qjs;
use std::ffi::CStr;

/// Returns the version of QuickJS-ng: `0.11.0`.
pub fn version() -> &'static str {
    // SAFETY: the text is a constant of QuickJS, which ends with a zero byte.
    let text = unsafe { CStr::from_ptr(qjs::JS_GetVersion()) };
    text.to_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_has_numbers() {
        let version = super::version();
        assert!(version.split('.').count() == 3 && version.as_bytes()[0].is_ascii_digit());
    }
}
