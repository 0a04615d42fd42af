//! Texts for bytes, and texts that can stand inside of others: base64, hex, percent-encoding, HTML, UUIDs.

mod encodings;
mod escapes;
mod ids;

use sampan_host::{Capability, FunctionKind, Module, Param, Type, param, row};

/// The `codec` table.
pub static MODULE: Module = Module {
    name: "codec",
    doc: "Encodes and decodes texts: base64, hex, URLs, HTML, UUIDs.",
    functions: &[
        row!("base64_encode"(DATA) -> Type::Text, FunctionKind::Sync(|_, args| encodings::base64_encode(args)),
            "The base64 of data, padded with `=` (RFC 4648 section 4)."),
        row!("base64_decode"(TEXT) -> Type::BytesOrNothing,
            FunctionKind::Sync(|_, args| encodings::base64_decode(args)),
            "The data of base64, padded or not. Nothing if the text is no base64; line ends are none."),
        row!("base64url_encode"(DATA) -> Type::Text, FunctionKind::Sync(|_, args| encodings::base64url_encode(args)),
            "The base64 of data that can stand in URLs and names, with `-` and `_` and without padding (RFC 4648 \
             section 5)."),
        row!("base64url_decode"(TEXT) -> Type::BytesOrNothing,
            FunctionKind::Sync(|_, args| encodings::base64url_decode(args)),
            "The data of such a text, padded or not. Nothing if it is none."),
        row!("hex_encode"(DATA) -> Type::Text, FunctionKind::Sync(|_, args| encodings::hex_encode(args)),
            "Two digits for each byte, in lower case."),
        row!("hex_decode"(TEXT) -> Type::BytesOrNothing, FunctionKind::Sync(|_, args| encodings::hex_decode(args)),
            "The data of such a text, in either case. Nothing if it is none."),
        row!("url_encode"(DATA) -> Type::Text, FunctionKind::Sync(|_, args| escapes::url_encode(args)),
            "Data as a part of a URL: all but letters, digits and `-._~` becomes `%XX` (RFC 3986 section 2.1)."),
        row!("url_decode"(TEXT) -> Type::Text, FunctionKind::Sync(|_, args| escapes::url_decode(args)),
            "The text of such a part. What is no `%XX` stays as it is, a `+` too; what is not UTF-8 is replaced."),
        row!("html_escape"(TEXT) -> Type::Text, FunctionKind::Sync(|_, args| escapes::html_escape(args)),
            "Text as HTML shows it, between tags and in quoted attributes: `&`, `<`, `>`, `\"` and `'` are escaped. \
             Templates do so by themselves."),
        row!("uuid_v4"() -> Type::Text, FunctionKind::Sync(|_, _| ids::v4()),
            "A random UUID (RFC 9562 section 5.4)."),
        row!("uuid_v7"() -> Type::Text, FunctionKind::Sync(|_, _| ids::v7()),
            "A UUID that begins with the time, so that later ones sort after earlier ones (RFC 9562 section 5.7). Good \
             keys for tables."),
    ],
    ..Module::EMPTY
};

/// Base64, hexadecimal, URLs.
pub static CAPABILITY: Capability = Capability {
    name: "codec",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

const DATA: Param = param!("data": Type::Bytes, "Bytes, or text as UTF-8.");

const TEXT: Param = param!("text": Type::Text, "The text.");
