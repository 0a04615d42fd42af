//! Cookies that answers set: plain, signed and encrypted.

mod cookies;
mod options;

use sampan_host::{Function, FunctionKind, Param, Type};

/// The methods of requests for cookies.
pub(crate) static METHODS: &[Function] = &[
    Function {
        name: "set_cookie",
        params: &[
            NAME,
            Param {
                name: "value",
                ty: Type::Text,
                optional: false,
                doc: "ASCII without spaces, quotes, commas, semicolons and backslashes; of an encrypted cookie any \
                 text.",
            },
            Param {
                name: "options",
                ty: Type::Map,
                optional: true,
                doc: "`max_age`: how many seconds it lasts; until the browser ends unless given. `path`, `/` unless \
                 given. `domain`. \
                          `same_site`: `\"lax\"` (default), `\"strict\"` or `\"none\"`. `http_only`, true unless \
                           given. `secure`, true over TLS \
                          unless given. `partitioned`. `signed = true`: `req:signed_cookie` gives it back. `encrypted \
                           = true`: \
                          `req:encrypted_cookie` does.",
            },
        ],
        returns: Type::Nothing,
        doc: "The answer sets a cookie, for every result of the handler. Name and value have at most 4096 bytes. What \
         browsers would ignore is \
                  an error.",
        kind: FunctionKind::Sync(cookies::set_cookie),
    },
    Function {
        name: "delete_cookie",
        params: &[
            NAME,
            Param {
                name: "options",
                ty: Type::Map,
                optional: true,
                doc: "As when it was set: `path`, `domain`, `same_site`, `secure` and `partitioned`.",
            },
        ],
        returns: Type::Nothing,
        doc: "The answer deletes a cookie of the browser.",
        kind: FunctionKind::Sync(cookies::delete_cookie),
    },
    Function {
        name: "signed_cookie",
        params: &[NAME],
        returns: Type::TextOrNothing,
        doc: "The value of a cookie that was set with `signed`. Nothing if there is none, if it was changed, or if \
         its `max_age` has passed.",
        kind: FunctionKind::Sync(cookies::signed_cookie),
    },
    Function {
        name: "encrypted_cookie",
        params: &[NAME],
        returns: Type::TextOrNothing,
        doc: "The same for a cookie that was set with `encrypted`.",
        kind: FunctionKind::Sync(cookies::encrypted_cookie),
    },
];

const NAME: Param = Param {
    name: "name",
    ty: Type::Text,
    optional: false,
    doc: "The name of the cookie.",
};
