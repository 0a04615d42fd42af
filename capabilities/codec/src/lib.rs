//! Texts for bytes, and texts that can stand inside of others: base64, base32, hex, percent-encoding, HTML, UUIDs. Data
//! that is compressed. The parts of URLs, and networks of IP addresses.

mod base32;
mod compression;
mod encodings;
mod escapes;
mod ids;
mod limits;
mod networks;
mod urls;

use sampan_host::{Capability, FunctionKind, Module, Param, Type, param, row};

/// The `codec` table.
pub static MODULE: Module = Module {
    name: "codec",
    doc: "Encodes and decodes texts: base64, base32, hex, URLs, HTML, UUIDs. Compresses data. Finds IP addresses in \
     networks.",
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
        row!("base32_encode"(DATA) -> Type::Text, FunctionKind::Sync(|_, args| encodings::base32_encode(args)),
            "The base32 of data, padded with `=` (RFC 4648 section 6)."),
        row!("base32_decode"(TEXT) -> Type::BytesOrNothing,
            FunctionKind::Sync(|_, args| encodings::base32_decode(args)),
            "The data of base32, padded or not, in either case. Nothing if the text is not base32; spaces are not."),
        row!("hex_encode"(DATA) -> Type::Text, FunctionKind::Sync(|_, args| encodings::hex_encode(args)),
            "Two digits for each byte, in lower case."),
        row!("hex_decode"(TEXT) -> Type::BytesOrNothing, FunctionKind::Sync(|_, args| encodings::hex_decode(args)),
            "The data of such a text, in either case. Nothing if it is none."),
        row!("url_encode"(DATA) -> Type::Text, FunctionKind::Sync(|_, args| escapes::url_encode(args)),
            "Data as a part of a URL: all but letters, digits and `-._~` becomes `%XX` (RFC 3986 section 2.1)."),
        row!("url_parse"(TEXT) -> Type::RecordOrNothing(urls::PARTS), FunctionKind::Sync(|_, args| urls::parse(args)),
            "The parts of a URL, as browsers read it (WHATWG). `username` and `password` are decoded; `path`, `query` \
             and `fragment` are as in the URL. `host` is in small letters and Punycode, an IPv6 address without \
             brackets. `port` is that of the scheme if the URL has none. Parts that are not there are nothing. Nothing \
             if the text is not a URL with a scheme, or longer than 65536 bytes."),
        row!("url_build"(
                param!("parts": Type::Map,
                    "`scheme`, `host`, and what else the URL has of `username`, `password`, `port`, `path`, `query` \
                     (without `?`) and `fragment` (without `#`)."),
            ) -> Type::Text, FunctionKind::Sync(|_, args| urls::build(args)),
            "The URL of parts, as `url_parse` gives them. Characters that cannot stand in a part are encoded; no part \
             can reach into the next. `%XX` in `path`, `query` and `fragment` stays as it is."),
        row!("query_parse"(param!("text": Type::Text, "The query, with or without `?`; at most 65536 bytes."))
                -> Type::Any, FunctionKind::Sync(|_, args| urls::query_parse(args)),
            "The names and values of a query or of a form (`application/x-www-form-urlencoded`), decoded. The value of \
             a name that is given twice is a list."),
        row!("query_build"(
                param!("values": Type::Map, "Strings, numbers, booleans, or lists of these, by their names."),
            ) -> Type::Text, FunctionKind::Sync(|_, args| urls::query_build(args)),
            "The query of names and values, sorted by the names, without `?`. Values that are nothing are left out."),
        row!("ip_in"(
                param!("ip": Type::Text, "The address: `req.ip`."),
                param!("networks": Type::List, "Networks such as `10.0.0.0/8` and `2001:db8::/32`, and addresses."),
            ) -> Type::Bool, FunctionKind::Sync(|_, args| networks::ip_in(args)),
            "Whether an address is in one of the networks. `::ffff:192.0.2.1` is the address 192.0.2.1. `unix:` among \
             the networks has clients of Unix sockets. False for a text that is not an address; a network that is \
             wrong is an error."),
        row!("gzip"(DATA, param!("options"? Type::Map, "`level`: from 0 (fastest) to 9 (smallest); 6 unless given."))
                -> Type::Bytes, FunctionKind::Sync(compression::gzip),
            "Data that is compressed as gzip (RFC 1952)."),
        row!("gunzip"(COMPRESSED, param!("options"? Type::Map, BYTES_MAX)) -> Type::BytesOrNothing,
            FunctionKind::Sync(compression::gunzip),
            "The data of gzip. Nothing if it is not gzip or damaged. An error with the `code` `too_large` if it is \
             larger than `bytes_max`."),
        row!("deflate"(
                DATA,
                param!("options"? Type::Map,
                    "`level`: from 0 (fastest) to 9 (smallest); 6 unless given. `raw`: without the frame of zlib."),
            ) -> Type::Bytes, FunctionKind::Sync(compression::deflate),
            "Data that is compressed as zlib (RFC 1950), which HTTP calls `deflate`; with `raw` as DEFLATE alone (RFC \
             1951)."),
        row!("inflate"(
                COMPRESSED,
                param!("options"? Type::Map,
                    "`bytes_max`: the largest size of the result; 16 MiB unless given. `raw`: as of `deflate`."),
            ) -> Type::BytesOrNothing, FunctionKind::Sync(compression::inflate),
            "The data that `deflate` compressed. Nothing if it is something else or damaged. An error with the `code` \
             `too_large` if it is larger than `bytes_max`."),
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

/// Encodings, compression, URLs.
pub static CAPABILITY: Capability = Capability {
    name: "codec",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

const DATA: Param = param!("data": Type::Bytes, "Bytes, or text as UTF-8.");

const COMPRESSED: Param = param!("data": Type::Bytes, "The compressed data.");

const BYTES_MAX: &str = "`bytes_max`: the largest size of the result; 16 MiB unless given.";

const TEXT: Param = param!("text": Type::Text, "The text.");
