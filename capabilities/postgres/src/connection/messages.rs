//! Messages of the protocol, version 3.0 ("Message Formats" in PostgreSQL's documentation).

use super::exchange::Step;
use super::statement::Columns;
use crate::limits::COPY_PART_BYTES;
use crate::types::oids::Oid;
use bytes::{BufMut, BytesMut};
use std::rc::Rc;

/// A protocol error: what came is not what the protocol says.
pub(super) type Malformed = String;

/// Writes a message with its length. `tag` is 0 for those without.
pub(super) fn message(out: &mut BytesMut, tag: u8, body: impl FnOnce(&mut BytesMut)) {
    if tag != 0 {
        out.put_u8(tag);
    }
    let start = out.len();
    out.put_u32(0);
    body(out);
    let len = u32::try_from(out.len() - start).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
}

pub(super) fn text(out: &mut BytesMut, text: &str) {
    out.put_slice(text.as_bytes());
    out.put_u8(0);
}

/// The name of a statement with a number; without, it has none.
fn name(out: &mut BytesMut, id: Option<u64>) {
    if let Some(id) = id {
        out.put_u8(b's');
        out.put_slice(itoa::Buffer::new().format(id).as_bytes());
    }
    out.put_u8(0);
}

pub(super) fn parse(out: &mut BytesMut, id: Option<u64>, sql: &str, types: &[Oid]) {
    message(out, b'P', |out| {
        name(out, id);
        text(out, sql);
        out.put_u16(types.len() as u16);
        types.iter().for_each(|&oid| out.put_u32(oid));
    });
}

pub(super) fn describe_statement(out: &mut BytesMut, id: Option<u64>) {
    message(out, b'D', |out| {
        out.put_u8(b'S');
        name(out, id);
    });
}

pub(super) fn close_statement(out: &mut BytesMut, id: u64) {
    message(out, b'C', |out| {
        out.put_u8(b'S');
        name(out, Some(id));
    });
}

pub(super) fn describe_portal(out: &mut BytesMut) {
    message(out, b'D', |out| out.put_slice(b"P\0"));
}

pub(super) fn bind(out: &mut BytesMut, id: Option<u64>, step: &Step) {
    message(out, b'B', |out| {
        out.put_u8(0);
        name(out, id);
        out.put_slice(&step.params);
        let readings = &step.shape.columns.readings;
        if readings.iter().all(|reading| reading.format() == 0) {
            return out.put_u16(0);
        }
        out.put_u16(readings.len() as u16);
        readings
            .iter()
            .for_each(|reading| out.put_u16(reading.format()));
    });
}

pub(super) fn execute(out: &mut BytesMut, rows_max: u32) {
    message(out, b'E', |out| {
        out.put_u8(0);
        out.put_u32(rows_max);
    });
}

pub(super) fn sync(out: &mut BytesMut) {
    message(out, b'S', |_| {});
}

pub(super) fn query(out: &mut BytesMut, sql: &str) {
    message(out, b'Q', |out| text(out, sql));
}

/// The lines that a COPY reads, and their end. They are sent behind the statement without waiting for the server, which
/// passes them over where the statement has failed.
pub(super) fn copy_data(out: &mut BytesMut, lines: &[u8]) {
    for part in lines.chunks(COPY_PART_BYTES) {
        message(out, b'd', |out| out.put_slice(part));
    }
    message(out, b'c', |_| {});
}

pub(super) fn terminate(out: &mut BytesMut) {
    message(out, b'X', |_| {});
}

/// Reads parts of a message.
pub(super) struct Body<'a>(pub(super) &'a [u8]);

impl<'a> Body<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((bytes, rest)) = self.0.split_at_checked(count) else {
            return Err("a message is too short".to_owned());
        };
        self.0 = rest;
        Ok(bytes)
    }

    fn exactly<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut found = [0; N];
        found.copy_from_slice(self.bytes(N)?);
        Ok(found)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.exactly().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.exactly().map(u32::from_be_bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Malformed> {
        let end = memchr::memchr(0, self.0).ok_or("a text has no end")?;
        let bytes = self.bytes(end + 1)?;
        std::str::from_utf8(&bytes[..end]).map_err(|_| "a text is not UTF-8".to_owned())
    }
}

/// Reads the types of `ParameterDescription`.
pub(super) fn parameters(body: &[u8]) -> Result<Vec<Oid>, Malformed> {
    let mut body = Body(body);
    let count = body.u16()?;
    (0..count).map(|_| body.u32()).collect()
}

/// Reads the columns of `RowDescription`, and the format of each.
pub(super) fn columns(body: &[u8]) -> Result<(Rc<Columns>, Vec<u16>), Malformed> {
    let mut body = Body(body);
    let count = body.u16()?;
    let (mut names, mut types, mut formats) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        names.push(body.text()?.to_owned());
        // The table and the column's number there.
        body.bytes(6)?;
        types.push(body.u32()?);
        // The size and the modifier of the type.
        body.bytes(6)?;
        formats.push(body.u16()?);
    }
    Ok((Columns::new(names, types), formats))
}

/// Reads the number of rows in the words behind the end of a statement that changes rows.
pub(super) fn changes(tag: &str) -> i64 {
    let mut words = tag.split(' ');
    match words.next() {
        Some("INSERT" | "UPDATE" | "DELETE" | "MERGE") => words
            .next_back()
            .and_then(|count| count.parse().ok())
            .unwrap_or(0),
        _ => 0,
    }
}
