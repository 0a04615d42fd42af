//! Text encodings (WHATWG Encoding) by `encoding_rs`.

use super::bytes::{self, PackedBytes};
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};
use rquickjs::function::MutFn;
use rquickjs::{Array, Ctx, Function, Object, Result, TypedArray};

/// Adds `encode`, `encodeInto`, `decode`, `decoder` and `labelName`.
pub(super) fn register(table: &Object<'_>) -> Result<()> {
    let ctx = table.ctx();
    table.set("encode", Function::new(ctx.clone(), encode)?)?;
    table.set("encodeInto", Function::new(ctx.clone(), encode_into)?)?;
    table.set("decode", Function::new(ctx.clone(), decode)?)?;
    table.set("decoder", Function::new(ctx.clone(), decoder)?)?;
    table.set("labelName", Function::new(ctx.clone(), label_name)?)
}

fn encode<'js>(ctx: Ctx<'js>, text: String) -> Result<TypedArray<'js, u8>> {
    bytes::to_js(&ctx, text.as_bytes())
}

/// `[bytes, read]`: as many whole characters as fit `bytes_max`, and how many UTF-16 units they were.
fn encode_into<'js>(ctx: Ctx<'js>, text: String, bytes_max: usize) -> Result<Array<'js>> {
    let fitting = &text[..text.floor_char_boundary(bytes_max)];
    let read: usize = fitting.chars().map(char::len_utf16).sum();
    let array = Array::new(ctx.clone())?;
    array.set(0, bytes::to_js(&ctx, fitting.as_bytes())?)?;
    array.set(1, read)?;
    Ok(array)
}

/// The name of a label's encoding, in lower case as TextDecoder shows it.
fn label_name(label: String) -> Option<String> {
    Encoding::for_label_no_replacement(label.as_bytes())
        .map(|encoding| encoding.name().to_ascii_lowercase())
}

fn by_name(name: &str) -> &'static Encoding {
    Encoding::for_label(name.as_bytes()).unwrap_or(UTF_8)
}

/// The text of a whole input; nothing where it is malformed and `fatal`.
fn decode(name: String, input: PackedBytes, fatal: bool, ignore_bom: bool) -> Option<String> {
    let encoding = by_name(&name);
    let (text, malformed) = if ignore_bom {
        encoding.decode_without_bom_handling(&input.0)
    } else {
        encoding.decode_with_bom_removal(&input.0)
    };
    if fatal && malformed {
        None
    } else {
        Some(text.into_owned())
    }
}

/// A function `(packed, last) => text` that keeps the decoder's state between calls; nothing as in [`decode`].
fn decoder<'js>(
    ctx: Ctx<'js>,
    name: String,
    fatal: bool,
    ignore_bom: bool,
) -> Result<Function<'js>> {
    let encoding = by_name(&name);
    let mut state = if ignore_bom {
        encoding.new_decoder_without_bom_handling()
    } else {
        encoding.new_decoder_with_bom_removal()
    };
    // encoding_rs does not allow a call after the last one; the script's TextDecoder drops this function then.
    let mut ended = false;
    let step = move |input: PackedBytes, last: bool| {
        if ended {
            return None;
        }
        ended = last;
        decode_step(&mut state, &input.0, last, fatal)
    };
    Function::new(ctx, MutFn::new(step))
}

fn decode_step(decoder: &mut Decoder, input: &[u8], last: bool, fatal: bool) -> Option<String> {
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(input.len())?);
    if fatal {
        let (result, _) = decoder.decode_to_string_without_replacement(input, &mut text, last);
        return matches!(result, DecoderResult::InputEmpty).then_some(text);
    }
    let _ = decoder.decode_to_string(input, &mut text, last);
    Some(text)
}
