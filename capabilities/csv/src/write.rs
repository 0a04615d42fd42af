//! Text of rows, which are read where they lie in the script.

use crate::limits::FIELDS_MAX;
use crate::options::CsvOptions;
use crate::read::counted;
use sampan_host::json::{write_f64, write_i64};
use sampan_host::reader::{Keys, Kind};
use sampan_host::{Error, ErrorKind, Handle, KeptBytes, NoRoom, Reader};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The characters that begin a formula in a spreadsheet.
const FORMULA: &[u8] = b"=+-@\t\r\n";

/// Writes rows, RFC 4180: lines end with CR LF, and fields are quoted where they must be.
pub(crate) struct Encoder {
    separator: u8,
    is_spreadsheet: bool,
    /// True if rows may have more than the columns.
    has_choice: bool,
    /// The names in the header, once it is written.
    columns: Option<Rc<Columns>>,
    out: Vec<u8>,
    /// The maximum length of `out`, and the error above it.
    room: (usize, &'static str),
    /// The number of fields that each line has, once there is one.
    width: Option<usize>,
    /// The number of fields that the line at hand has.
    fields: usize,
    rows: u64,
    /// The text of the field at hand.
    field: Vec<u8>,
    /// Counts the memory of one that a script holds.
    kept: Option<KeptBytes<Written>>,
}

/// The kind of bytes that writers keep for scripts.
pub(crate) struct Written;

/// The names in a header.
struct Columns {
    names: Vec<Vec<u8>>,
    /// The memory of the names, which the positions may hold once more.
    bytes: usize,
    /// The positions of the columns: made for the first row that has them in another order.
    places: OnceCell<HashMap<Vec<u8>, usize>>,
}

impl Columns {
    /// Returns the position of a column, which is probably `expected`.
    fn find(&self, name: &[u8], expected: usize) -> Option<usize> {
        if self.names.get(expected).is_some_and(|there| there == name) {
            return Some(expected);
        }
        let names = || self.names.iter().cloned();
        let places = self.places.get_or_init(|| names().zip(0..).collect());
        places.get(name).copied()
    }
}

impl Encoder {
    /// Writes at most so many bytes until they are taken; more is an error that says why.
    pub(crate) fn new(options: &CsvOptions, room: (usize, &'static str)) -> Self {
        let mut encoder = Self {
            separator: options.separator,
            is_spreadsheet: options.is_spreadsheet,
            has_choice: options.columns.is_some(),
            columns: None,
            out: Vec::new(),
            room,
            width: None,
            fields: 0,
            rows: 0,
            field: Vec::new(),
            kept: None,
        };
        // Without a byte order mark Excel takes text for text of an old code page.
        if options.is_spreadsheet {
            encoder.out.extend_from_slice("\u{feff}".as_bytes());
        }
        if let Some(columns) = &options.columns {
            let columns = columns.iter().map(|name| name.clone().into_bytes());
            encoder.write_header(columns.collect());
        }
        encoder
    }

    /// Counts its memory from now on.
    ///
    /// # Errors
    /// There is no room for it beside other writers.
    pub(crate) fn counted(mut self, kept: KeptBytes<Written>) -> Result<Self, Error> {
        self.kept = Some(kept);
        self.count()?;
        Ok(self)
    }

    fn count(&mut self) -> Result<(), Error> {
        let Some(kept) = &mut self.kept else {
            return Ok(());
        };
        let columns = self.columns.as_ref().map_or(0, |columns| columns.bytes);
        let bytes = size_of::<Self>() + self.out.capacity() + self.field.capacity() + columns;
        kept.count(bytes).map_err(|NoRoom { bytes_max }| {
            let text = format!(
                "the writers of CSV need more than memory_bytes_max ({bytes_max} bytes): take() what they have written"
            );
            Error::new(ErrorKind::Memory, text)
        })
    }

    /// Takes what has been written.
    pub(crate) fn take(&mut self) -> Result<String, Error> {
        let written = std::mem::take(&mut self.out);
        self.field = Vec::new();
        self.count()?;
        // All that is written is text.
        String::from_utf8(written).map_err(|_| self.fault("not UTF-8"))
    }

    /// Writes a row. After an error nothing of it is there.
    pub(crate) fn add(&mut self, reader: &dyn Reader, row: Handle) -> Result<(), Error> {
        let (bytes, columns, width) = (self.out.len(), self.columns.clone(), self.width);
        self.rows += 1;
        let added = match reader.kind(row) {
            Kind::List => self.add_list(reader, row),
            Kind::Map => self.add_map(reader, row),
            _ => Err(self.fault("it is neither a list nor has it columns")),
        };
        let added = added.and_then(|()| self.count());
        if added.is_err() {
            self.rows -= 1;
            self.out.truncate(bytes);
            (self.columns, self.width) = (columns, width);
            if self.kept.is_some() {
                self.out.shrink_to_fit();
                self.field = Vec::new();
            }
        }
        added
    }

    fn add_list(&mut self, reader: &dyn Reader, row: Handle) -> Result<(), Error> {
        let count = reader.len(row).map_err(|error| {
            let text = format!("row {}: {}", self.rows, error.message());
            error.with_message(text)
        })?;
        // What reads CSV refuses lines of different lengths, and passes over empty ones.
        let width = *self.width.get_or_insert(count);
        if count == 0 {
            return Err(self.fault("it has no fields"));
        }
        if count > FIELDS_MAX {
            return Err(self.fault(&format!("it has more than {FIELDS_MAX} fields")));
        }
        if count != width {
            let (fields, whose) = (
                counted(count, "field"),
                match self.columns {
                    Some(_) if width == 1 => "there is 1 column".to_owned(),
                    Some(_) => format!("there are {width} columns"),
                    None => format!("the first row has {width}"),
                },
            );
            return Err(self.fault(&format!("it has {fields}, but {whose}")));
        }
        self.fields = 0;
        for at in 0..count {
            let cell = reader.item(row, at)?;
            let is_text = self.read(reader, cell);
            let is_text = is_text.map_err(|what| self.fault_at(&format!("field {}", at + 1), what));
            self.put(is_text?);
            self.check_room()?;
        }
        self.end_line();
        Ok(())
    }

    fn add_map(&mut self, reader: &dyn Reader, row: Handle) -> Result<(), Error> {
        let keys = reader.keys(row)?;
        let columns = match &self.columns {
            Some(columns) => Rc::clone(columns),
            None => self.begin(reader, keys)?,
        };
        let keys = self.by_column(reader, &columns, keys)?;
        self.fields = 0;
        for (key, column) in keys.into_iter().zip(&columns.names) {
            self.field.clear();
            let is_text = match key {
                Some(key) => self.read(reader, reader.value(row, key)?),
                None => Ok(false),
            };
            let is_text = is_text.map_err(|what| {
                let column = String::from_utf8_lossy(column);
                self.fault_at(&format!("column {column:?}"), what)
            });
            self.put(is_text?);
            self.check_room()?;
        }
        self.end_line();
        Ok(())
    }

    /// A few long texts, named again and again, must not take more memory than there is.
    fn check_room(&self) -> Result<(), Error> {
        let (bytes_max, why) = self.room;
        if self.out.len() > bytes_max {
            return Err(self.fault(&format!("more than {bytes_max} bytes are written: {why}")));
        }
        Ok(())
    }

    /// The first row names the columns.
    fn begin(&mut self, reader: &dyn Reader, keys: Keys) -> Result<Rc<Columns>, Error> {
        if self.width.is_some() {
            return Err(self.fault("it has names, but the first row is a list"));
        }
        if keys.len() > FIELDS_MAX {
            return Err(self.fault(&format!("it has more than {FIELDS_MAX} fields")));
        }
        let mut columns = Vec::with_capacity(keys.len());
        for key in keys.iter() {
            self.read_name(reader, key)?;
            columns.push(self.field.clone());
        }
        if columns.is_empty() {
            return Err(self.fault("it has no columns"));
        }
        Ok(self.write_header(columns))
    }

    fn write_header(&mut self, names: Vec<Vec<u8>>) -> Rc<Columns> {
        self.fields = 0;
        for name in &names {
            self.field.clone_from(name);
            self.put(true);
        }
        self.end_line();
        self.width = Some(names.len());
        let memory = |name: &Vec<u8>| 2 * (size_of::<Vec<u8>>() + name.len());
        let columns = Rc::new(Columns {
            bytes: names.iter().map(memory).sum(),
            names,
            places: OnceCell::new(),
        });
        self.columns = Some(Rc::clone(&columns));
        columns
    }

    /// The key of each column. As a rule they are all there, in the same order.
    fn by_column(
        &mut self,
        reader: &dyn Reader,
        columns: &Columns,
        keys: Keys,
    ) -> Result<Vec<Option<Handle>>, Error> {
        let mut found = vec![None; columns.names.len()];
        for (at, key) in keys.iter().enumerate() {
            self.read_name(reader, key)?;
            match columns.find(&self.field, at) {
                Some(column) => found[column] = Some(key),
                None if self.has_choice => {}
                None => {
                    let name = String::from_utf8_lossy(&self.field);
                    let text = format!("the first row has no {name:?}; give the columns");
                    return Err(self.fault(&text));
                }
            }
        }
        Ok(found)
    }

    /// Leaves the name of a column in `field`.
    fn read_name(&mut self, reader: &dyn Reader, key: Handle) -> Result<(), Error> {
        // A list of Lua whose first item is nil looks like a map with numbers for names.
        match self.read(reader, key) {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(self.fault("a column has a name that is no text, or a list has holes"))
            }
            Err(what) => Err(self.fault(what)),
        }
    }

    /// Leaves the text of a value in `field`, and tells whether it was text before. The error says what is wrong with
    /// it.
    fn read(&mut self, reader: &dyn Reader, it: Handle) -> Result<bool, &'static str> {
        self.field.clear();
        let kind = reader.kind(it);
        match kind {
            Kind::Nothing | Kind::Null => {}
            Kind::Bool(true) => self.field.extend_from_slice(b"true"),
            Kind::Bool(false) => self.field.extend_from_slice(b"false"),
            Kind::Int(value) => write_i64(&mut self.field, value),
            Kind::Float(value) if write_f64(&mut self.field, value) => {}
            Kind::Float(_) => return Err("NaN and infinity cannot be written"),
            Kind::Text => {
                let field = &mut self.field;
                reader.bytes(it, &mut |bytes| field.extend_from_slice(bytes));
                if std::str::from_utf8(&self.field).is_err() {
                    return Err("a text is not UTF-8");
                }
            }
            _ => return Err("a field must be text, a number, a boolean or nothing"),
        }
        Ok(kind == Kind::Text)
    }

    /// Writes `field` as the next field of the line.
    fn put(&mut self, is_text: bool) {
        if self.fields > 0 {
            self.out.push(self.separator);
        }
        self.fields += 1;
        let (field, separator) = (&self.field, self.separator);
        let is_formula = field.first().is_some_and(|first| FORMULA.contains(first));
        let guard = self.is_spreadsheet && is_text && is_formula;
        let must_quote = |byte: &u8| *byte == separator || b"\"\r\n".contains(byte);
        // Spaces at either end are part of a field, but not all readers know that.
        let is_edge = |byte: Option<&u8>| byte == Some(&b' ');
        let is_quoted =
            field.iter().any(must_quote) || is_edge(field.first()) || is_edge(field.last());
        if is_quoted {
            self.out.push(b'"');
        }
        if guard {
            self.out.push(b'\'');
        }
        for part in field.split_inclusive(|byte| *byte == b'"') {
            self.out.extend_from_slice(part);
            if part.ends_with(b"\"") {
                self.out.push(b'"');
            }
        }
        if is_quoted {
            self.out.push(b'"');
        }
    }

    fn end_line(&mut self) {
        // An empty line is not a record.
        if self.fields == 1 && self.field.is_empty() {
            self.out.extend_from_slice(b"\"\"");
        }
        self.out.extend_from_slice(b"\r\n");
    }

    #[cold]
    fn fault(&self, what: &str) -> Error {
        Error::script(format!("row {}: {what}", self.rows))
    }

    #[cold]
    fn fault_at(&self, place: &str, what: &str) -> Error {
        Error::script(format!("row {}, {place}: {what}", self.rows))
    }
}
