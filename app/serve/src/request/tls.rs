//! `req.tls`: the TLS of a request's connection, for scripts.

use sampan_host::sockets::KeptField;
use sampan_host::{
    Args, Cell, ConnectionTls, Context, Function, FunctionKind, Module, RequestView, Rows, Type,
    Value,
};

/// The field for scripts.
pub static MODULE: Module = Module {
    name: "tls",
    doc: "The TLS of a connection.",
    request_fields: &[Function {
        name: "tls",
        params: &[],
        returns: Type::RecordOrNothing(&[
            ("version", Type::Text),
            ("cipher", Type::Text),
            ("sni", Type::TextOrNothing),
            ("subject", Type::TextOrNothing),
            ("fingerprint", Type::TextOrNothing),
        ]),
        doc: "The TLS of the connection: nothing on a plain one, also where a proxy in front has it. `version` is \
         `TLSv1.3` or `TLSv1.2`, `cipher` the name of the cipher suite, `sni` the host name that the client asked for. \
         `subject`, such as `CN=alice,O=Example`, and `fingerprint`, the SHA-256 digest in hexadecimal, are those of \
         the client's certificate.",
        kind: FunctionKind::Sync(|_, args| Ok(of_request(&args))),
    }],
    ..Module::EMPTY
};

/// The names of the members of `req.tls`.
const MEMBERS: [&str; 5] = ["version", "cipher", "sni", "subject", "fingerprint"];

fn members(tls: ConnectionTls<'_>) -> [Option<&str>; 5] {
    [
        Some(tls.version),
        Some(tls.cipher),
        tls.sni,
        tls.subject,
        tls.fingerprint,
    ]
}

fn of_request(args: &Args) -> Value {
    let Some(tls) = args.request().tls() else {
        return Value::Null;
    };
    let cells = members(tls).map(|text| text.map_or(Cell::Null, Cell::Text));
    Value::Row(Rows::of(&MEMBERS, &cells))
}

/// Keeps the field for a socket.
pub fn kept(_: &Context, request: &dyn RequestView) -> Option<KeptField> {
    let members = MEMBERS.into_iter().zip(members(request.tls()?));
    let members = members.filter_map(|(name, text)| Some((name.to_owned(), Value::from(text?))));
    Some(KeptField::Value(Value::Map(members.collect())))
}
