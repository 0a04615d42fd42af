//! Query results as a batch: column names once, cells flat, all text in one buffer, so that a result costs a few
//! allocations however many cells it has and an engine converts it in one pass.

use std::fmt;
use std::sync::Arc;

/// Rows that share their columns.
///
/// The names are behind an `Arc` that all results of one prepared statement share, so that an engine can keep what it
/// derives from them (keys, shapes) and recognise them by [`Arc::ptr_eq`].
#[derive(Clone)]
pub struct Rows {
    columns: Arc<[String]>,
    cells: Vec<CellSlot>,
    bytes: Vec<u8>,
}

/// One cell as it is kept: text and bytes are ranges of the batch's buffer.
#[derive(Clone, Copy)]
enum CellSlot {
    Null,
    Int(i64),
    Float(f64),
    Date(i64),
    Text { end: u32, len: u32 },
    Bytes { end: u32, len: u32 },
}

/// One cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// An exact integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A time, in milliseconds since 1970-01-01 00:00 UTC. It is a `Date` in JavaScript, and seconds in Lua.
    Date(i64),
    /// Text; always UTF-8.
    Text(&'a str),
    /// Bytes, or text that is not UTF-8.
    Bytes(&'a [u8]),
}

/// One cell as it is kept: a [`Cell`] whose text is UTF-8 by promise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RawCell<'a> {
    /// No value.
    Null,
    /// An exact integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A time, in milliseconds since 1970-01-01 00:00 UTC.
    Date(i64),
    /// Text that was found to be UTF-8 when it was added.
    Text(&'a [u8]),
    /// Bytes, or text that is not UTF-8.
    Bytes(&'a [u8]),
}

/// The most bytes of text that one batch holds: positions have 32 bits.
pub const ROWS_BYTES_MAX: usize = u32::MAX as usize;

/// The batch holds [`ROWS_BYTES_MAX`] bytes already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl Rows {
    /// No rows yet, of these columns.
    pub fn new(columns: Arc<[String]>) -> Self {
        Self::with_capacity(columns, 0, 0)
    }

    /// No rows yet, with room for so many cells and so many bytes of text.
    pub fn with_capacity(columns: Arc<[String]>, cells: usize, bytes: usize) -> Self {
        Self {
            columns,
            cells: Vec::with_capacity(cells),
            bytes: Vec::with_capacity(bytes),
        }
    }

    /// Returns the numbers of cells and of bytes of text, as [`Rows::with_capacity`] takes them.
    pub fn size(&self) -> (usize, usize) {
        (self.cells.len(), self.bytes.len())
    }

    /// A small batch from cells in order.
    ///
    /// # Panics
    /// The cells have more than [`ROWS_BYTES_MAX`] bytes.
    pub fn of(columns: &[&str], cells: &[Cell<'_>]) -> Self {
        let mut rows = Self::new(columns.iter().map(|&name| name.to_owned()).collect());
        for cell in cells {
            rows.push(*cell).expect("a small batch");
        }
        rows
    }

    /// The names of the columns, in the order of the query. Names may repeat; the last of a name wins.
    pub fn columns(&self) -> &Arc<[String]> {
        &self.columns
    }

    /// Returns the rows under other names.
    ///
    /// # Panics
    /// There are not as many.
    pub fn renamed(mut self, columns: Arc<[String]>) -> Self {
        assert_eq!(columns.len(), self.columns.len(), "a name for each column");
        self.columns = columns;
        self
    }

    /// Returns the number of rows. Without columns there are none.
    pub fn len(&self) -> usize {
        self.cells.len() / self.columns.len().max(1)
    }

    /// Reports whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// About how much memory the batch takes, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.cells.len() * size_of::<CellSlot>()
    }

    /// Adds the next cell, row by row in the order of the columns.
    ///
    /// # Errors
    /// Text or bytes that the batch has no room for.
    #[inline]
    pub fn push(&mut self, cell: Cell<'_>) -> Result<(), TooLarge> {
        let slot = match cell {
            Cell::Null => CellSlot::Null,
            Cell::Int(value) => CellSlot::Int(value),
            Cell::Float(value) => CellSlot::Float(value),
            Cell::Date(millis) => CellSlot::Date(millis),
            Cell::Text(text) => {
                let (end, len) = self.append(text.as_bytes())?;
                CellSlot::Text { end, len }
            }
            Cell::Bytes(bytes) => {
                let (end, len) = self.append(bytes)?;
                CellSlot::Bytes { end, len }
            }
        };
        self.cells.push(slot);
        Ok(())
    }

    /// Adds text that is not checked yet: as bytes, if it is not UTF-8.
    ///
    /// # Errors
    /// As [`Rows::push`].
    #[inline]
    pub fn push_text(&mut self, text: &[u8]) -> Result<(), TooLarge> {
        let is_text = text.is_ascii() || std::str::from_utf8(text).is_ok();
        let (end, len) = self.append(text)?;
        self.cells.push(if is_text {
            CellSlot::Text { end, len }
        } else {
            CellSlot::Bytes { end, len }
        });
        Ok(())
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) -> Result<(u32, u32), TooLarge> {
        let end = u32::try_from(self.bytes.len() + bytes.len()).map_err(|_| TooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok((end, bytes.len() as u32))
    }

    /// A cell by row and column, both from 0.
    ///
    /// # Panics
    /// There is no such cell.
    #[inline]
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match self.raw(row, column) {
            RawCell::Null => Cell::Null,
            RawCell::Int(value) => Cell::Int(value),
            RawCell::Float(value) => Cell::Float(value),
            RawCell::Date(millis) => Cell::Date(millis),
            // Only whole texts are appended, so the check never fails.
            RawCell::Text(text) => Cell::Text(std::str::from_utf8(text).unwrap_or_default()),
            RawCell::Bytes(bytes) => Cell::Bytes(bytes),
        }
    }

    /// Returns what [`Rows::cell`] does, but text as its bytes, for those who need no `str`.
    ///
    /// # Panics
    /// There is no such cell.
    #[inline]
    pub fn raw(&self, row: usize, column: usize) -> RawCell<'_> {
        let range = |end: u32, len: u32| &self.bytes[(end - len) as usize..end as usize];
        match self.cells[row * self.columns.len() + column] {
            CellSlot::Null => RawCell::Null,
            CellSlot::Int(value) => RawCell::Int(value),
            CellSlot::Float(value) => RawCell::Float(value),
            CellSlot::Date(millis) => RawCell::Date(millis),
            CellSlot::Text { end, len } => RawCell::Text(range(end, len)),
            CellSlot::Bytes { end, len } => RawCell::Bytes(range(end, len)),
        }
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        let same = |row: usize| {
            (0..self.columns.len()).all(|column| self.cell(row, column) == other.cell(row, column))
        };
        self.columns == other.columns && self.len() == other.len() && (0..self.len()).all(same)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: usize| {
            (0..self.columns.len())
                .map(|column| self.cell(row, column))
                .collect::<Vec<_>>()
        };
        f.debug_struct("Rows")
            .field("columns", &self.columns)
            .field("rows", &(0..self.len()).map(row).collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_as_they_went_in() {
        let cells = [
            Cell::Text("x"),
            Cell::Int(i64::MIN),
            Cell::Bytes(b"\xff"),
            Cell::Text(""),
            Cell::Float(0.5),
            Cell::Null,
            Cell::Date(-1),
            Cell::Date(i64::MAX),
        ];
        let rows = Rows::of(&["a", "b"], &cells);
        assert_eq!(rows.len(), 4);
        for (index, cell) in cells.into_iter().enumerate() {
            assert_eq!(rows.cell(index / 2, index % 2), cell);
        }
        assert_eq!(rows, rows.clone());
        assert!(rows != Rows::new(rows.columns().clone()));
    }
}
