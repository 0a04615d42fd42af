//! The arguments from C: texts, bytes, lists.

use crate::status::CallFault;
use std::ffi::{CStr, c_char};

/// A text that ends with NUL; `None` for NULL.
///
/// # Safety
/// `text` is NULL or points to a text that ends with NUL and stays as it is for `'a`.
pub(crate) unsafe fn optional<'a>(
    text: *const c_char,
    name: &str,
) -> Result<Option<&'a str>, CallFault> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not NULL, so the caller promises a text that ends with NUL and stays as it is for `'a`.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str();
    text.map(Some)
        .map_err(|_| CallFault::argument(format!("{name} is not UTF-8")))
}

/// A text that ends with NUL.
///
/// # Safety
/// `text` is NULL or points to a text that ends with NUL and stays as it is for `'a`.
pub(crate) unsafe fn required<'a>(text: *const c_char, name: &str) -> Result<&'a str, CallFault> {
    // SAFETY: the caller promises that `text` is NULL, or ends with NUL and stays as it is for `'a`.
    let text = unsafe { optional(text, name) }?;
    text.ok_or_else(|| CallFault::argument(format!("{name} is NULL")))
}

/// A list; NULL is an empty one, but only with length 0.
///
/// # Safety
/// `data` is NULL, or points to `len` values that stay as they are for `'a`.
pub(crate) unsafe fn slice<'a, T>(
    data: *const T,
    len: usize,
    name: &str,
) -> Result<&'a [T], CallFault> {
    match (data.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(CallFault::argument(format!(
            "{name} is NULL, its length is not 0"
        ))),
        // SAFETY: `data` is not NULL, so the caller promises `len` values there that stay as they are for `'a`.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
    }
}

/// Bytes that must be UTF-8.
///
/// # Safety
/// `data` is NULL, or points to `len` bytes that stay as they are for `'a`.
pub(crate) unsafe fn utf8<'a>(
    data: *const c_char,
    len: usize,
    name: &str,
) -> Result<&'a str, CallFault> {
    // SAFETY: the caller promises that `data` is NULL, or points to `len` bytes that stay as they are for `'a`; a
    // `c_char` is a byte.
    let bytes = unsafe { slice(data.cast::<u8>(), len, name) }?;
    std::str::from_utf8(bytes).map_err(|_| CallFault::argument(format!("{name} is not UTF-8")))
}

/// Options that begin with their own size. A program that was made with another version of the header may have a
/// smaller structure, so nothing else is read unless the size is that of `T`.
///
/// # Safety
/// `options` is NULL, or points to a `usize`. If that is the size of `T`, there is a `T` in its place, which stays as
/// it is for `'a`.
pub(crate) unsafe fn sized<'a, T>(options: *const T, name: &str) -> Result<&'a T, CallFault> {
    if options.is_null() {
        return Err(CallFault::argument("options is NULL"));
    }
    // SAFETY: `options` is not NULL, so the caller promises that a `usize` is there, which may be read.
    let size = unsafe { options.cast::<usize>().read() };
    if size != size_of::<T>() {
        return Err(CallFault::argument(format!(
            "options.size must be sizeof({name})"
        )));
    }
    // SAFETY: the size is that of `T`, so the caller promises a `T` in this place, which stays as it is for `'a`.
    Ok(unsafe { &*options })
}

/// A place for a result.
///
/// # Safety
/// `place` is NULL, or points to memory for a `T` that is the caller's for `'a`, with any content.
pub(crate) unsafe fn place<'a, T>(place: *mut T, name: &str) -> Result<Place<'a, T>, CallFault> {
    match std::ptr::NonNull::new(place) {
        Some(place) => Ok(Place(place, std::marker::PhantomData)),
        None => Err(CallFault::argument(format!("{name} is NULL"))),
    }
}

/// Memory for a result, which may not be initialised yet.
pub(crate) struct Place<'a, T>(std::ptr::NonNull<T>, std::marker::PhantomData<&'a mut T>);

impl<T> Place<'_, T> {
    pub(crate) fn write(&mut self, value: T) {
        // SAFETY: `place` was told that it is memory for a `T`, which has no other user meanwhile.
        unsafe { self.0.as_ptr().write(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Options {
        size: usize,
        number: u64,
    }

    #[test]
    fn options_of_another_size_are_not_read() {
        let options = Options {
            size: size_of::<Options>(),
            number: 7,
        };
        // SAFETY: the options are whole, and live until the end of the test.
        let read = unsafe { sized(&raw const options, "options") };
        assert!(read.is_ok_and(|read| read.number == 7));
        // The whole block of an older program: a tool that watches memory would see a byte read behind it.
        let older = Box::new(size_of::<usize>());
        // SAFETY: there is a size, which is not that of `Options`.
        let refused = unsafe { sized((&raw const *older).cast::<Options>(), "options") };
        let message = refused.err().map(|fault| fault.message);
        assert_eq!(
            message.as_deref(),
            Some("options.size must be sizeof(options)")
        );
        // SAFETY: `sized` refuses NULL before it reads anything.
        assert!(unsafe { sized(std::ptr::null::<Options>(), "options") }.is_err());
    }
}
