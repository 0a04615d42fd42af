//! Comma-separated values, RFC 4180: text of rows, and records of text, both also piece by piece.
//!
//! ARCHITECTURE.md's "Add a capability in a day" walks through this crate: it uses each mechanism that a capability
//! has.

mod download;
mod limits;
mod options;
mod read;
mod records;
mod rows;
mod write;

use sampan_host::{Capability, Function, FunctionKind, Module, Param, Type};

/// The `csv` table.
pub static MODULE: Module = Module {
    name: "csv",
    doc: "Comma-separated values, as spreadsheets and databases exchange them.",
    functions: &[
        Function {
            name: "encode",
            params: &[
                Param {
                    name: "rows",
                    ty: Type::InPlace,
                    optional: false,
                    doc: "A list of rows: each a list, or a table or object whose keys are the columns.",
                },
                WRITING_OPTIONS,
            ],
            returns: Type::Text,
            doc: "The CSV text of rows. The first row names the columns of the header; lists have none.",
            kind: FunctionKind::Reading(rows::encode),
        },
        Function {
            name: "writer",
            params: &[WRITING_OPTIONS],
            returns: Type::Object(&rows::WRITER),
            doc: "A writer for rows that come one after the other.",
            kind: FunctionKind::Sync(rows::writer),
        },
        Function {
            name: "each",
            params: &[
                Param {
                    name: "text",
                    ty: Type::Bytes,
                    optional: false,
                    doc: "The CSV text.",
                },
                RECORD_FUNCTION,
                READING_OPTIONS,
            ],
            returns: Type::Int,
            doc: "Calls the function with each record of a text. Returns how many there were. Text that is no CSV is \
             an error that names the line.",
            kind: FunctionKind::Sync(records::each),
        },
    ],
    classes: &[&rows::WRITER],
    request_methods: &[
        Function {
            name: "csv_records",
            params: &[RECORD_FUNCTION, READING_OPTIONS],
            returns: Type::Int,
            doc: "Calls the function with each record of the body. On a route with `stream` they are read as they \
             come. Returns how many there \
                  were. A body that is no CSV is an error that answers 400, a form one that answers 415.",
            kind: FunctionKind::Async(records::csv_records),
        },
        Function {
            name: "csv_download",
            params: &[Param {
                name: "name",
                ty: Type::Text,
                optional: false,
                doc: "The name of the file: `visits.csv`.",
            }],
            returns: Type::Nothing,
            doc: "The answer is saved as a file of this name. Text and streams get the type `text/csv`, unless they \
             have one.",
            kind: FunctionKind::Sync(download::csv_download),
        },
    ],
    ..Module::EMPTY
};

/// CSV.
pub static CAPABILITY: Capability = Capability {
    name: "csv",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

const RECORD_FUNCTION: Param = Param {
    name: "fn",
    ty: Type::Function,
    optional: false,
    doc: "Gets a record, its fields by the names in the header. It cannot wait. If it returns `false`, no more are \
     read.",
};

const READING_OPTIONS: Param = Param {
    name: "options",
    ty: Type::Map,
    optional: true,
    doc: "`header = false`: the first record is one like the others, and records are lists. `separator`: what stands \
     between fields, `,` \
          unless given.",
};

const WRITING_OPTIONS: Param = Param {
    name: "options",
    ty: Type::Map,
    optional: true,
    doc: "`columns`: the names of those to write, in order. `separator`: what stands between fields, `,` unless \
     given. `spreadsheet = true`: \
          a spreadsheet opens it, so a text that begins like a formula gets a `'` in front.",
};
