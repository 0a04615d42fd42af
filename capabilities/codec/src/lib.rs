//! Texts for bytes, and texts that can stand inside of others: base64, hex, percent-encoding, HTML, UUIDs.

mod encodings;
mod escapes;
mod ids;

use sampan_host::{Capability, Function, FunctionKind, Module, Param, Type};

/// The `codec` table.
pub static MODULE: Module = Module {
    name: "codec",
    doc: "Encodes and decodes texts: base64, hex, URLs, HTML, UUIDs.",
    functions: &[
        Function {
            name: "base64_encode",
            params: &[DATA],
            returns: Type::Text,
            doc: "The base64 of data, padded with `=` (RFC 4648 section 4).",
            kind: FunctionKind::Sync(|_, args| encodings::base64_encode(args)),
        },
        Function {
            name: "base64_decode",
            params: &[TEXT],
            returns: Type::BytesOrNothing,
            doc: "The data of base64, padded or not. Nothing if the text is no base64; line ends are none.",
            kind: FunctionKind::Sync(|_, args| encodings::base64_decode(args)),
        },
        Function {
            name: "base64url_encode",
            params: &[DATA],
            returns: Type::Text,
            doc: "The base64 of data that can stand in URLs and names, with `-` and `_` and without padding (RFC 4648 \
             section 5).",
            kind: FunctionKind::Sync(|_, args| encodings::base64url_encode(args)),
        },
        Function {
            name: "base64url_decode",
            params: &[TEXT],
            returns: Type::BytesOrNothing,
            doc: "The data of such a text, padded or not. Nothing if it is none.",
            kind: FunctionKind::Sync(|_, args| encodings::base64url_decode(args)),
        },
        Function {
            name: "hex_encode",
            params: &[DATA],
            returns: Type::Text,
            doc: "Two digits for each byte, in lower case.",
            kind: FunctionKind::Sync(|_, args| encodings::hex_encode(args)),
        },
        Function {
            name: "hex_decode",
            params: &[TEXT],
            returns: Type::BytesOrNothing,
            doc: "The data of such a text, in either case. Nothing if it is none.",
            kind: FunctionKind::Sync(|_, args| encodings::hex_decode(args)),
        },
        Function {
            name: "url_encode",
            params: &[DATA],
            returns: Type::Text,
            doc: "Data as a part of a URL: all but letters, digits and `-._~` becomes `%XX` (RFC 3986 section 2.1).",
            kind: FunctionKind::Sync(|_, args| escapes::url_encode(args)),
        },
        Function {
            name: "url_decode",
            params: &[TEXT],
            returns: Type::Text,
            doc: "The text of such a part. What is no `%XX` stays as it is, a `+` too; what is not UTF-8 is replaced.",
            kind: FunctionKind::Sync(|_, args| escapes::url_decode(args)),
        },
        Function {
            name: "html_escape",
            params: &[TEXT],
            returns: Type::Text,
            doc: "Text as HTML shows it, between tags and in quoted attributes: `&`, `<`, `>`, `\"` and `'` are \
             escaped. Templates do so by themselves.",
            kind: FunctionKind::Sync(|_, args| escapes::html_escape(args)),
        },
        Function {
            name: "uuid_v4",
            params: &[],
            returns: Type::Text,
            doc: "A random UUID (RFC 9562 section 5.4).",
            kind: FunctionKind::Sync(|_, _| ids::v4()),
        },
        Function {
            name: "uuid_v7",
            params: &[],
            returns: Type::Text,
            doc: "A UUID that begins with the time, so that later ones sort after earlier ones (RFC 9562 section \
             5.7). Good keys for tables.",
            kind: FunctionKind::Sync(|_, _| ids::v7()),
        },
    ],
    ..Module::EMPTY
};

/// Base64, hexadecimal, URLs.
pub static CAPABILITY: Capability = Capability {
    name: "codec",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

const DATA: Param = Param {
    name: "data",
    ty: Type::Bytes,
    optional: false,
    doc: "Bytes, or text as UTF-8.",
};

const TEXT: Param = Param {
    name: "text",
    ty: Type::Text,
    optional: false,
    doc: "The text.",
};
