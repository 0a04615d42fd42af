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

use sampan_host::{Capability, FunctionKind, Module, Param, Type, param, row};

/// The `csv` table.
pub static MODULE: Module = Module {
    name: "csv",
    doc: "Comma-separated values, as spreadsheets and databases exchange them.",
    functions: &[
        row!("encode"(
                param!("rows": Type::InPlace,
                    "A list of rows: each a list, or a table or object whose keys are the columns."),
                WRITING_OPTIONS,
            ) -> Type::Text, FunctionKind::Reading(rows::encode),
            "The CSV text of rows. The first row names the columns of the header; lists have none."),
        row!("writer"(WRITING_OPTIONS) -> Type::Object(&rows::WRITER), FunctionKind::Sync(rows::writer),
            "A writer for rows that come one after the other."),
        row!("each"(
                param!("text": Type::Bytes, "The CSV text."),
                RECORD_FUNCTION,
                READING_OPTIONS,
            ) -> Type::Int, FunctionKind::Sync(records::each),
            "Calls the function with each record of a text. Returns how many there were. Text that is no CSV is an \
             error that names the line."),
    ],
    classes: &[&rows::WRITER],
    request_methods: &[
        row!("csv_records"(RECORD_FUNCTION, READING_OPTIONS) -> Type::Int, FunctionKind::Async(records::csv_records),
            "Calls the function with each record of the body. On a route with `stream` they are read as they come. \
             Returns how many there were. A body that is no CSV is an error that answers 400, a form one that answers \
             415."),
        row!("csv_download"(param!("name": Type::Text, "The name of the file: `visits.csv`.")) -> Type::Nothing,
            FunctionKind::Sync(download::csv_download),
            "The answer is saved as a file of this name. Text and streams get the type `text/csv`, unless they have \
             one."),
    ],
    ..Module::EMPTY
};

/// CSV.
pub static CAPABILITY: Capability = Capability {
    name: "csv",
    modules: &[&MODULE],
    ..Capability::EMPTY
};

const RECORD_FUNCTION: Param = param!("fn": Type::Function,
    "Gets a record, its fields by the names in the header. It cannot wait. If it returns `false`, no more are read.");

const READING_OPTIONS: Param = param!("options"? Type::Map,
    "`header = false`: the first record is one like the others, and records are lists. `separator`: what stands \
     between fields, `,` unless given.");

const WRITING_OPTIONS: Param = param!("options"? Type::Map,
    "`columns`: the names of those to write, in order. `separator`: what stands between fields, `,` unless given. \
     `spreadsheet = true`: a spreadsheet opens it, so a text that begins like a formula gets a `'` in front.");
