//! Bytes on their way between JavaScript and native code.
//!
//! Inwards they come as base64 text: QuickJS-ng encodes a `Uint8Array` natively (`pack` in boot.js), and reading a
//! string is safe, while reading the memory of an ArrayBuffer is not as long as a script could resize it. This module
//! and `pack` are the two places that know. Outwards they are copied into memory of QuickJS, which its limit counts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::{Ctx, Exception, FromJs, Result, TypedArray, Value};

/// A native function's argument that `pack` made of a `Uint8Array`.
pub(super) struct PackedBytes(pub(super) Vec<u8>);

impl<'js> FromJs<'js> for PackedBytes {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        let text = String::from_js(ctx, value)?;
        match STANDARD.decode(text) {
            Ok(bytes) => Ok(Self(bytes)),
            Err(_) => Err(Exception::throw_type(ctx, "packed bytes are not base64")),
        }
    }
}

/// A new `Uint8Array` with these bytes.
pub(super) fn to_js<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<TypedArray<'js, u8>> {
    TypedArray::new_copy(ctx.clone(), bytes)
}
