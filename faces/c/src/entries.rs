//! Entries: requests and answers flat in memory, one behind the other, without pointers.
//!
//! Numbers are in the byte order of the machine. An entry begins at a multiple of 8 and `size` counts its padding.

use crate::status::sampan_status;
use std::mem::{offset_of, size_of};

/// The lengths of a header or a parameter in an entry.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sampan_lengths {
    /// Of the name, in bytes.
    pub name_len: u32,
    /// Of the value, in bytes.
    pub value_len: u32,
}

/// The beginning of the entry of a request. Behind it lie header_count and then param_count times sampan_lengths, and
/// then the bytes: method, target, remote, the name and the value of each header, those of each parameter, body.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sampan_request_entry {
    /// To a server: by which the request is answered. For scripts: of the caller's choice, of one entry under way.
    pub id: u64,
    /// Of the whole entry in bytes, a multiple of 8.
    pub size: u32,
    /// From a server: of the route, or SAMPAN_TAG_GONE. For scripts: SAMPAN_HANDLE or SAMPAN_CALL.
    pub tag: u32,
    /// Of the method, in bytes.
    pub method_len: u32,
    /// Of path and query as sent. For SAMPAN_CALL the name of the function.
    pub target_len: u32,
    /// Of the client's address: an IP address, or "unix:"; for scripts with or without a port, or empty.
    pub remote_len: u32,
    /// The number of headers.
    pub header_count: u32,
    /// The number of parameters of the route's pattern; 0 for scripts.
    pub param_count: u32,
    /// Of the body. For SAMPAN_CALL it is a JSON array of the arguments, or empty.
    pub body_len: u32,
}

/// The beginning of the entry of an answer. Behind it lie header_count times sampan_lengths, and then the bytes: the
/// name and the value of each header, file, message, body.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sampan_answer_entry {
    /// The id of the request.
    pub id: u64,
    /// Of the whole entry in bytes, a multiple of 8.
    pub size: u32,
    /// 200 to 999. From scripts it is 200 for a call that returned, and 0 where there is no answer, see code.
    pub status: u32,
    /// From scripts: SAMPAN_OK, or the fault; message says it, and file and line are its place. With a status it is
    /// what the script has left unhandled, behind an answer that says no more than that something failed. To a server
    /// it is written: what came of this answer.
    pub code: sampan_status,
    /// The line of file, from 1; 0 if there is none.
    pub line: u32,
    /// Of the file's name, in bytes.
    pub file_len: u32,
    /// The number of headers.
    pub header_count: u32,
    /// Of the body.
    pub body_len: u32,
    /// Of the fault's message.
    pub message_len: u32,
}

/// The tag of an entry of a server: the client has gone that waited for the answer to the request with this id, which
/// still counts as to be answered. Its body is "handler_millis_max" if that has passed; it is empty if the client has
/// left.
pub const SAMPAN_TAG_GONE: u32 = 0xFFFF_FFFF;
/// The tag of an entry for scripts: answer this request. Headers about its framing are left out, parameters too.
pub const SAMPAN_HANDLE: u32 = 0;
/// The tag of an entry for scripts: call this function.
pub const SAMPAN_CALL: u32 = 1;

const REQUEST_BYTES: usize = size_of::<sampan_request_entry>();
const ANSWER_BYTES: usize = size_of::<sampan_answer_entry>();
const LENGTHS_BYTES: usize = size_of::<sampan_lengths>();
const _: () = assert!(REQUEST_BYTES == 40 && ANSWER_BYTES == 40);

/// An entry that is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// A name and a value.
pub(crate) type Pair<'a> = (&'a [u8], &'a [u8]);

/// A request in an entry.
pub(crate) struct RequestEntry<'a> {
    pub(crate) id: u64,
    pub(crate) tag: u32,
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    pub(crate) remote: &'a [u8],
    pub(crate) headers: Vec<Pair<'a>>,
    pub(crate) body: &'a [u8],
}

/// An answer in an entry.
pub(crate) struct AnswerEntry<'a> {
    pub(crate) id: u64,
    pub(crate) status: u32,
    pub(crate) headers: Vec<Pair<'a>>,
    pub(crate) body: &'a [u8],
}

fn number(bytes: &[u8], at: usize) -> usize {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(number) as usize
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(number)
}

/// The bytes behind the beginning of an entry.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// The size of the entry at the beginning of `bytes`, which has room for it.
fn size_at(bytes: &[u8], beginning: usize) -> Result<usize, Malformed> {
    if bytes.len() < beginning {
        return Err(Malformed);
    }
    let size = number(bytes, offset_of!(sampan_request_entry, size));
    let is_size = size >= beginning && size <= bytes.len() && size.is_multiple_of(8);
    is_size.then_some(size).ok_or(Malformed)
}

/// Reads the first of several entries of requests, and gives those behind it.
pub(crate) fn read_request(bytes: &[u8]) -> Result<(RequestEntry<'_>, &[u8]), Malformed> {
    let size = size_at(bytes, REQUEST_BYTES)?;
    let (entry, behind) = bytes.split_at(size);
    let len = |at| number(entry, at);
    let count = len(offset_of!(sampan_request_entry, header_count));
    if len(offset_of!(sampan_request_entry, param_count)) != 0 {
        return Err(Malformed);
    }
    let mut rest = Rest(&entry[REQUEST_BYTES..]);
    let table = rest.take(count.checked_mul(LENGTHS_BYTES).ok_or(Malformed)?)?;
    let method = rest.take(len(offset_of!(sampan_request_entry, method_len)))?;
    let target = rest.take(len(offset_of!(sampan_request_entry, target_len)))?;
    let remote = rest.take(len(offset_of!(sampan_request_entry, remote_len)))?;
    let headers = pairs(table, &mut rest)?;
    let body = rest.take(len(offset_of!(sampan_request_entry, body_len)))?;
    let request = RequestEntry {
        id: long(entry, 0),
        tag: len(offset_of!(sampan_request_entry, tag)) as u32,
        method,
        target,
        remote,
        headers,
        body,
    };
    Ok((request, behind))
}

/// Reads the first of several entries of answers, and tells its size.
pub(crate) fn read_answer(bytes: &[u8]) -> Result<(AnswerEntry<'_>, usize), Malformed> {
    let size = size_at(bytes, ANSWER_BYTES)?;
    let entry = &bytes[..size];
    let len = |at| number(entry, at);
    let count = len(offset_of!(sampan_answer_entry, header_count));
    let mut rest = Rest(&entry[ANSWER_BYTES..]);
    let table = rest.take(count.checked_mul(LENGTHS_BYTES).ok_or(Malformed)?)?;
    let headers = pairs(table, &mut rest)?;
    rest.take(len(offset_of!(sampan_answer_entry, file_len)))?;
    rest.take(len(offset_of!(sampan_answer_entry, message_len)))?;
    let body = rest.take(len(offset_of!(sampan_answer_entry, body_len)))?;
    let answer = AnswerEntry {
        id: long(entry, 0),
        status: len(offset_of!(sampan_answer_entry, status)) as u32,
        headers,
        body,
    };
    Ok((answer, size))
}

/// Writes what came of an answer into its entry.
pub(crate) fn write_code(entry: &mut [u8], code: sampan_status) {
    let at = offset_of!(sampan_answer_entry, code);
    entry[at..at + 4].copy_from_slice(&code.to_ne_bytes());
}

fn pairs<'a>(table: &[u8], rest: &mut Rest<'a>) -> Result<Vec<Pair<'a>>, Malformed> {
    let lengths = table.chunks_exact(LENGTHS_BYTES);
    let pairs = lengths.map(|lengths| {
        let name = rest.take(number(lengths, 0))?;
        Ok((name, rest.take(number(lengths, 4))?))
    });
    pairs.collect()
}

/// Writes an entry: its beginning, whose `size` is put in at the end, and then what is added.
struct Writer(Vec<u8>);

impl Writer {
    fn new(id: u64, room: usize) -> Self {
        let mut bytes = Vec::with_capacity(room.next_multiple_of(8));
        bytes.extend_from_slice(&id.to_ne_bytes());
        Self(bytes)
    }

    fn numbers(&mut self, numbers: &[usize]) {
        for number in numbers {
            self.0.extend_from_slice(&(*number as u32).to_ne_bytes());
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let size = (self.0.len() as u32).to_ne_bytes();
        let at = offset_of!(sampan_request_entry, size);
        self.0[at..at + 4].copy_from_slice(&size);
        self.0
    }
}

/// The parts of a request's entry.
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) remote: &'a str,
    pub(crate) headers: &'a [(&'a str, &'a [u8])],
    pub(crate) params: &'a [(&'a str, std::borrow::Cow<'a, str>)],
    pub(crate) body: &'a [u8],
}

/// The entry of a request.
pub(crate) fn write_request(id: u64, tag: u32, parts: &RequestParts<'_>) -> Vec<u8> {
    let of_headers = parts
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.len());
    let of_params = parts
        .params
        .iter()
        .map(|(name, value)| name.len() + value.len());
    let pairs = parts.headers.len() + parts.params.len();
    let texts = parts.method.len() + parts.target.len() + parts.remote.len();
    let room = REQUEST_BYTES + pairs * LENGTHS_BYTES + texts + parts.body.len() + 8;
    let mut writer = Writer::new(id, room + of_headers.chain(of_params).sum::<usize>());
    writer.numbers(&[
        0,
        tag as usize,
        parts.method.len(),
        parts.target.len(),
        parts.remote.len(),
        parts.headers.len(),
        parts.params.len(),
        parts.body.len(),
    ]);
    for (name, value) in parts.headers {
        writer.numbers(&[name.len(), value.len()]);
    }
    for (name, value) in parts.params {
        writer.numbers(&[name.len(), value.len()]);
    }
    for text in [parts.method, parts.target, parts.remote] {
        writer.0.extend_from_slice(text.as_bytes());
    }
    for (name, value) in parts.headers {
        writer.0.extend_from_slice(name.as_bytes());
        writer.0.extend_from_slice(value);
    }
    for (name, value) in parts.params {
        writer.0.extend_from_slice(name.as_bytes());
        writer.0.extend_from_slice(value.as_bytes());
    }
    writer.0.extend_from_slice(parts.body);
    writer.end()
}

/// The entry that reports that the client has gone.
pub(crate) fn write_gone(id: u64, limit: &str) -> Vec<u8> {
    let mut writer = Writer::new(id, REQUEST_BYTES);
    writer.numbers(&[0, SAMPAN_TAG_GONE as usize, 0, 0, 0, 0, 0, limit.len()]);
    writer.0.extend_from_slice(limit.as_bytes());
    writer.end()
}

/// The parts of an answer's entry.
pub(crate) struct AnswerParts<'a> {
    pub(crate) status: u32,
    pub(crate) code: sampan_status,
    pub(crate) line: u32,
    pub(crate) file: &'a str,
    pub(crate) message: &'a str,
    pub(crate) headers: &'a [(String, Vec<u8>)],
    pub(crate) body: &'a [u8],
}

/// The entry of an answer.
pub(crate) fn write_answer(id: u64, parts: &AnswerParts<'_>) -> Vec<u8> {
    let of_headers = parts
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.len());
    let table = parts.headers.len() * LENGTHS_BYTES;
    let room = ANSWER_BYTES + table + parts.file.len() + parts.message.len() + parts.body.len() + 8;
    let mut writer = Writer::new(id, room + of_headers.sum::<usize>());
    writer.numbers(&[
        0,
        parts.status as usize,
        parts.code.cast_unsigned() as usize,
        parts.line as usize,
        parts.file.len(),
        parts.headers.len(),
        parts.body.len(),
        parts.message.len(),
    ]);
    for (name, value) in parts.headers {
        writer.numbers(&[name.len(), value.len()]);
    }
    for (name, value) in parts.headers {
        writer.0.extend_from_slice(name.as_bytes());
        writer.0.extend_from_slice(value);
    }
    writer.0.extend_from_slice(parts.file.as_bytes());
    writer.0.extend_from_slice(parts.message.as_bytes());
    writer.0.extend_from_slice(parts.body);
    writer.end()
}
