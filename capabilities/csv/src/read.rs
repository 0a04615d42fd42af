//! Records out of text that comes in pieces of any size.

use crate::limits::{FIELDS_MAX, RECORD_BYTES_MAX};
use crate::options::CsvOptions;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use sampan_host::{Cell, Error, ErrorKind, Rows, Value};
use std::mem::replace;
use std::ops::Range;
use std::sync::Arc;

/// The byte order mark that may stand in front of the text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads records, RFC 4180: quoted fields may hold line ends and doubled quotes, a line ends with CR LF, LF or CR.
/// Empty lines are passed over.
pub(crate) struct Records {
    parser: Reader,
    /// The fields of the record at hand, one behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The number of bytes of these two is in use.
    bytes_used: usize,
    ends_used: usize,
    /// The line on which the record at hand began.
    line: u64,
    /// True if nothing of the next record has come yet.
    is_between: bool,
    /// True if the byte before was a CR, whose LF may follow.
    is_after_cr: bool,
    /// The part of the byte order mark that has come.
    mark_seen: usize,
    has_header: bool,
    /// The names in the header, once it has come.
    columns: Option<Arc<[String]>>,
    /// The kind of the error if the text is malformed.
    fault: ErrorKind,
}

impl Records {
    pub(crate) fn new(options: &CsvOptions, fault: ErrorKind) -> Self {
        Self {
            parser: ReaderBuilder::new().delimiter(options.separator).build(),
            bytes: vec![0; 1024],
            ends: vec![0; 32],
            bytes_used: 0,
            ends_used: 0,
            line: 1,
            is_between: true,
            is_after_cr: false,
            mark_seen: 0,
            has_header: options.has_header,
            columns: None,
            fault,
        }
    }

    /// The next record in the piece, from which it takes what it has read. None when it needs another piece.
    pub(crate) fn next(&mut self, piece: &mut &[u8]) -> Result<Option<Value>, Error> {
        while self.mark_seen < MARK.len() {
            let Some((first, rest)) = piece.split_first() else {
                return Ok(None);
            };
            if *first == MARK[self.mark_seen] {
                self.mark_seen += 1;
                *piece = rest;
            } else {
                self.pass_mark()?;
            }
        }
        self.parse(piece)
    }

    /// Returns the last record of the text. Can be asked again, and has no more then.
    pub(crate) fn last(&mut self) -> Result<Option<Value>, Error> {
        self.pass_mark()?;
        let record = self.parse(&mut &b"\n"[..])?;
        // A line end that became part of a field: a quote is open.
        if self.bytes_used > 0 {
            return Err(self.malformed("a quote that never ends"));
        }
        Ok(record)
    }

    /// Continues after bytes that began like a byte order mark was none.
    fn pass_mark(&mut self) -> Result<(), Error> {
        let seen = replace(&mut self.mark_seen, MARK.len()) % MARK.len();
        self.parse(&mut &MARK[..seen]).map(|_| ())
    }

    fn parse(&mut self, piece: &mut &[u8]) -> Result<Option<Value>, Error> {
        while !piece.is_empty() {
            if self.is_between {
                self.pass_line_ends(piece);
                continue;
            }
            let (bytes, ends) = (
                &mut self.bytes[self.bytes_used..],
                &mut self.ends[self.ends_used..],
            );
            let (result, read, written, ended) = self.parser.read_record(piece, bytes, ends);
            let (consumed, rest) = piece.split_at(read);
            *piece = rest;
            self.bytes_used += written;
            self.ends_used += ended;
            match result {
                ReadRecordResult::OutputFull => self.grow_bytes()?,
                ReadRecordResult::OutputEndsFull => self.grow_ends()?,
                ReadRecordResult::Record => {
                    let record = self.record()?;
                    (self.bytes_used, self.ends_used) = (0, 0);
                    self.is_between = true;
                    self.is_after_cr = consumed.last() == Some(&b'\r');
                    if record.is_some() {
                        return Ok(record);
                    }
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
            }
        }
        Ok(None)
    }

    /// Passes over line ends in front of a record. The parser would too, but it would be unknown on which line the
    /// record begins.
    fn pass_line_ends(&mut self, piece: &mut &[u8]) {
        while let Some((first, rest)) = piece.split_first() {
            // A CR LF is one end of a line.
            let ends_line = *first == b'\n' || self.is_after_cr;
            self.parser
                .set_line(self.parser.line() + u64::from(ends_line));
            self.is_after_cr = *first == b'\r';
            if !matches!(first, b'\r' | b'\n') {
                self.line = self.parser.line();
                self.is_between = false;
                return;
            }
            *piece = rest;
        }
    }

    fn grow_bytes(&mut self) -> Result<(), Error> {
        if self.bytes.len() >= RECORD_BYTES_MAX {
            let text = format!("a record of more than {RECORD_BYTES_MAX} bytes");
            return Err(self.malformed(&text));
        }
        self.bytes.resize(self.bytes.len() * 2, 0);
        Ok(())
    }

    fn grow_ends(&mut self) -> Result<(), Error> {
        if self.ends.len() >= FIELDS_MAX {
            let text = format!("a record of more than {FIELDS_MAX} fields");
            return Err(self.malformed(&text));
        }
        self.ends.resize(self.ends.len() * 2, 0);
        Ok(())
    }

    /// The record that is whole now; none if it is the header.
    fn record(&mut self) -> Result<Option<Value>, Error> {
        let fields = (0..self.ends_used).map(|at| self.field(at));
        let Some(columns) = &self.columns else {
            let names = fields.map(|field| field.map(str::to_owned));
            let names = names.collect::<Result<Vec<String>, Error>>()?;
            if !self.has_header {
                return Ok(Some(Value::List(
                    names.into_iter().map(Value::Text).collect(),
                )));
            }
            if let Some(name) = twice(&names) {
                return Err(self.malformed(&format!("the column {name:?} comes twice")));
            }
            self.columns = Some(names.into());
            return Ok(None);
        };
        if columns.len() != self.ends_used {
            let (fields, columns) = (
                counted(self.ends_used, "field"),
                counted(columns.len(), "column"),
            );
            let text = format!("{fields}, but {columns}");
            return Err(self.malformed(&text));
        }
        let mut row = Rows::with_capacity(Arc::clone(columns), self.ends_used, self.bytes_used);
        for field in fields {
            row.push(Cell::Text(field?))
                .map_err(|_| self.malformed("too large"))?;
        }
        Ok(Some(Value::Row(row)))
    }

    fn field(&self, at: usize) -> Result<&str, Error> {
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range: Range<usize> = begin..self.ends[at];
        std::str::from_utf8(&self.bytes[range])
            .map_err(|_| self.malformed(&format!("field {} is not UTF-8", at + 1)))
    }

    #[cold]
    fn malformed(&self, what: &str) -> Error {
        Error::new(
            self.fault,
            format!("invalid CSV: {what} at line {}", self.line),
        )
    }
}

/// "1 field", "2 fields".
pub(crate) fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// The first name that is there more than once.
fn twice(names: &[String]) -> Option<&String> {
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_unstable();
    let pair = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    pair.map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All records of a text that comes in pieces of this size.
    fn read(text: &[u8], size: usize, options: &CsvOptions) -> Result<Vec<Vec<String>>, Error> {
        let mut records = Records::new(options, ErrorKind::Script);
        let mut all = Vec::new();
        for mut piece in text.chunks(size) {
            while let Some(record) = records.next(&mut piece)? {
                all.push(texts(record));
            }
        }
        while let Some(record) = records.last()? {
            all.push(texts(record));
        }
        Ok(all)
    }

    fn texts(record: Value) -> Vec<String> {
        match record {
            Value::List(fields) => fields
                .into_iter()
                .map(|field| match field {
                    Value::Text(text) => text,
                    other => panic!("{other:?}"),
                })
                .collect(),
            Value::Row(row) => (0..row.columns().len())
                .map(|column| match row.cell(0, column) {
                    Cell::Text(text) => format!("{}={text}", row.columns()[column]),
                    other => panic!("{other:?}"),
                })
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        let options = CsvOptions {
            has_header: false,
            ..CsvOptions::default()
        };
        for size in [1, 2, 3, 7, 4096] {
            let all = read(text.as_bytes(), size, &options).expect(text);
            assert_eq!(all, expected, "{text:?} in pieces of {size}");
        }
    }

    #[track_caller]
    fn check_error(text: &[u8], expected: &str) {
        for size in [1, 3, 100_000] {
            let error = read(text, size, &CsvOptions::default()).expect_err(expected);
            assert_eq!(error.message(), format!("invalid CSV: {expected}"));
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same_records() {
        check("", &[]);
        check("a", &[&["a"]]);
        check("a,b\r\nc,d\r\n", &[&["a", "b"], &["c", "d"]]);
        check("a,b\n\n\nc,\r", &[&["a", "b"], &["c", ""]]);
        check("\"a,\r\n\"\"b\"\"\",c", &[&["a,\r\n\"b\"", "c"]]);
        check("\u{feff}a,b\n", &[&["a", "b"]]);
        check("\u{feff}\"a\",b\n", &[&["a", "b"]]);
        check("\u{fb01}n,\u{ff0c}\n", &[&["\u{fb01}n", "\u{ff0c}"]]);
        check("\"\"\n", &[&[""]]);
    }

    #[test]
    fn the_header_names_the_columns() {
        let all = read(b"id,name\n1,Ann\n2,\n", 5, &CsvOptions::default()).expect("records");
        assert_eq!(all, [["id=1", "name=Ann"], ["id=2", "name="]]);
    }

    #[test]
    fn faults_say_what_and_where() {
        check_error(b"a,b\n1,2\n3\n", "1 field, but 2 columns at line 3");
        check_error(b"a,b\r\n1,2\r\n3\r\n", "1 field, but 2 columns at line 3");
        check_error(b"a,b\n1,2\n\n\n\n1\n", "1 field, but 2 columns at line 6");
        check_error(
            b"\r\n\r\na,b\r\n\r\n1\r\n",
            "1 field, but 2 columns at line 5",
        );
        check_error(b"a,b\r1,2\r\r1\r", "1 field, but 2 columns at line 4");
        check_error(b"a,b\n\"1\n1\",2\n\n1", "1 field, but 2 columns at line 5");
        check_error(b"a,b\n1,2,3", "3 fields, but 2 columns at line 2");
        check_error(b"a\n\"x\ny\n", "a quote that never ends at line 2");
        check_error(b"a\n\"", "a quote that never ends at line 2");
        check_error(b"a,b\n1,\xff\n", "field 2 is not UTF-8 at line 2");
        // Two halves of a character do not make a whole one across a border.
        check_error(b"a,b\n\xc3,\xa9\n", "field 1 is not UTF-8 at line 2");
        check_error(b"a,b,a\n", "the column \"a\" comes twice at line 1");
        let long = [b"a\n".as_slice(), &vec![b'x'; RECORD_BYTES_MAX + 1]].concat();
        let text = format!("a record of more than {RECORD_BYTES_MAX} bytes at line 2");
        check_error(&long, &text);
        let wide = vec![b','; FIELDS_MAX];
        check_error(&wide, "a record of more than 16384 fields at line 1");
    }
}
