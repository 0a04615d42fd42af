//! `req.tls`: the TLS of a request's connection, for scripts.

use sampan_host::{Args, Cell, Function, FunctionKind, Module, Rows, Type, Value};

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

fn of_request(args: &Args) -> Value {
    let Some(tls) = args.request().tls() else {
        return Value::Null;
    };
    let text = |text| Option::map_or(text, Cell::Null, Cell::Text);
    let cells = [
        text(Some(tls.version)),
        text(Some(tls.cipher)),
        text(tls.sni),
        text(tls.subject),
        text(tls.fingerprint),
    ];
    let columns = ["version", "cipher", "sni", "subject", "fingerprint"];
    Value::Row(Rows::of(&columns, &cells))
}
