//! Data that is compressed by DEFLATE (RFC 1951), as gzip (RFC 1952) or zlib (RFC 1950) frames it.
//!
//! Data is handled in pieces, and between two of them the time limit of the script is looked at. Inflating ends at the
//! size that the caller allows, so a small text of a client cannot become a large one in memory.

use crate::limits::{INFLATED_BYTES_MAX, PIECE_BYTES};
use flate2::bufread::MultiGzDecoder;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};
use sampan_host::names::snake_case;
use sampan_host::{Args, Context, Error, ErrorKind, ScriptLimits, Value, Watch, refusals};
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

/// The limits of the script that calls.
struct Bounds {
    limits: ScriptLimits,
    watch: Option<Arc<Watch>>,
}

impl Bounds {
    fn of(context: &Context) -> Self {
        let limits = context.get::<ScriptLimits>();
        Self {
            limits: limits.map_or(ScriptLimits::DEFAULT, |limits| (*limits).clone()),
            watch: context.get::<Arc<Watch>>().map(|watch| Arc::clone(&watch)),
        }
    }

    /// Fails if the script has to stop.
    fn check(&self) -> Result<(), Error> {
        match &self.watch {
            Some(watch) if watch.must_stop() => Err(self.limits.stopped(watch.cause())),
            _ => Ok(()),
        }
    }
}

/// The options of all rows.
struct CompressionOptions {
    level: Compression,
    /// True for DEFLATE without a frame.
    is_raw: bool,
    /// The largest result of inflating.
    bytes_max: usize,
}

impl CompressionOptions {
    /// Reads the options, of which a row has those that are `known`.
    fn read(given: Value, known: &[&str], limits: &ScriptLimits) -> Result<Self, Error> {
        let mut options = Self {
            level: Compression::default(),
            is_raw: false,
            bytes_max: INFLATED_BYTES_MAX.min(limits.memory_bytes_max),
        };
        let Value::Map(members) = given else {
            return Ok(options);
        };
        for (name, value) in members {
            let name = snake_case(&name);
            if !known.contains(&name.as_str()) {
                return Err(refusals::unknown_option(&name, known));
            }
            match (name.as_str(), &value) {
                (_, Value::Null) => {}
                ("raw", Value::Bool(is_raw)) => options.is_raw = *is_raw,
                ("raw", _) => return Err(Error::script("raw must be a boolean")),
                ("level", value) => {
                    let level = whole(value, 0..=9);
                    let level = level.ok_or_else(|| {
                        Error::script(
                            "level must be a whole number from 0 (fastest) to 9 (smallest)",
                        )
                    })?;
                    options.level = Compression::new(level as u32);
                }
                (_, value) => {
                    let most = limits.memory_bytes_max;
                    let bytes_max = whole(value, 1..=most as u64);
                    let bytes_max = bytes_max.ok_or_else(|| {
                        let text = format!(
                            "bytes_max must be a whole number from 1 to {most} (memory_bytes_max in [limits])"
                        );
                        Error::script(text).naming(["bytes_max"])
                    })?;
                    options.bytes_max = bytes_max as usize;
                }
            }
        }
        Ok(options)
    }
}

/// Returns a whole number that is in a range.
fn whole(value: &Value, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
    let number = match value {
        Value::Int(number) => u64::try_from(*number).ok()?,
        // A number that is too large saturates; the range refuses it.
        Value::Float(number) if number.fract() == 0.0 && *number >= 0.0 => *number as u64,
        _ => return None,
    };
    range.contains(&number).then_some(number)
}

pub(crate) fn gzip(context: &Context, mut args: Args) -> Result<Value, Error> {
    let bounds = Bounds::of(context);
    let data = args.bytes(0);
    let options = CompressionOptions::read(args.take(1), &["level"], &bounds.limits)?;
    let encoder = GzEncoder::new(Vec::new(), options.level);
    given(feed(&bounds, &data, encoder)?.finish())
}

pub(crate) fn deflate(context: &Context, mut args: Args) -> Result<Value, Error> {
    let bounds = Bounds::of(context);
    let data = args.bytes(0);
    let options = CompressionOptions::read(args.take(1), &["level", "raw"], &bounds.limits)?;
    match options.is_raw {
        true => {
            let encoder = DeflateEncoder::new(Vec::new(), options.level);
            given(feed(&bounds, &data, encoder)?.finish())
        }
        false => {
            let encoder = ZlibEncoder::new(Vec::new(), options.level);
            given(feed(&bounds, &data, encoder)?.finish())
        }
    }
}

pub(crate) fn gunzip(context: &Context, mut args: Args) -> Result<Value, Error> {
    let bounds = Bounds::of(context);
    let data = args.bytes(0);
    let options = CompressionOptions::read(args.take(1), &["bytes_max"], &bounds.limits)?;
    let found = gunzipped(&bounds, &data, options.bytes_max)?;
    Ok(found.map_or(Value::Null, Value::Bytes))
}

pub(crate) fn inflate(context: &Context, mut args: Args) -> Result<Value, Error> {
    let bounds = Bounds::of(context);
    let data = args.bytes(0);
    let options = CompressionOptions::read(args.take(1), &["bytes_max", "raw"], &bounds.limits)?;
    let found = inflated(&bounds, &data, &options)?;
    Ok(found.map_or(Value::Null, Value::Bytes))
}

/// Gives all data to an encoder.
fn feed<W: Write>(bounds: &Bounds, data: &[u8], mut encoder: W) -> Result<W, Error> {
    for piece in data.chunks(PIECE_BYTES) {
        bounds.check()?;
        encoder.write_all(piece).map_err(internal)?;
    }
    Ok(encoder)
}

fn given(written: io::Result<Vec<u8>>) -> Result<Value, Error> {
    written.map(Value::Bytes).map_err(internal)
}

/// The error of an encoder, which writes into memory.
fn internal(error: io::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("compressing failed: {error}"))
}

/// Adds a piece to the result.
///
/// # Errors
/// The result would be larger than the caller allows.
fn add(found: &mut Vec<u8>, piece: &[u8], bytes_max: usize) -> Result<(), Error> {
    if found.len() + piece.len() > bytes_max {
        let text = format!("the inflated data is larger than bytes_max ({bytes_max} bytes)");
        return Err(Error::script(text)
            .naming(["bytes_max"])
            .with_code("too_large"));
    }
    found.extend_from_slice(piece);
    Ok(())
}

/// Returns the data of gzip, of all its members; `None` if it is not gzip.
fn gunzipped(bounds: &Bounds, data: &[u8], bytes_max: usize) -> Result<Option<Vec<u8>>, Error> {
    let mut decoder = MultiGzDecoder::new(Pieces { rest: data, bounds });
    let (mut found, mut piece) = (Vec::new(), vec![0; PIECE_BYTES]);
    loop {
        bounds.check()?;
        match decoder.read(&mut piece) {
            Ok(0) => return Ok(Some(found)),
            Ok(count) => add(&mut found, &piece[..count], bytes_max)?,
            Err(_) => return bounds.check().map(|()| None),
        }
    }
}

/// Returns the data of zlib or of DEFLATE alone; `None` if it is neither, ends too early or goes on behind its end.
fn inflated(
    bounds: &Bounds,
    data: &[u8],
    options: &CompressionOptions,
) -> Result<Option<Vec<u8>>, Error> {
    let mut decoder = Decompress::new(!options.is_raw);
    let (mut found, mut piece) = (Vec::new(), vec![0; PIECE_BYTES]);
    let (mut read, mut rest) = (0, data);
    loop {
        bounds.check()?;
        let written = decoder.total_out();
        let part = &rest[..rest.len().min(PIECE_BYTES)];
        let Ok(status) = decoder.decompress(part, &mut piece, FlushDecompress::None) else {
            return Ok(None);
        };
        let (taken, made) = (decoder.total_in() - read, decoder.total_out() - written);
        read += taken;
        rest = &rest[taken as usize..];
        add(&mut found, &piece[..made as usize], options.bytes_max)?;
        match status {
            Status::StreamEnd => return Ok(rest.is_empty().then_some(found)),
            _ if taken == 0 && made == 0 => return Ok(None),
            _ => {}
        }
    }
}

/// Data that is read in pieces. Reading fails if the script has to stop: many empty members give nothing to read in
/// between.
struct Pieces<'a> {
    rest: &'a [u8],
    bounds: &'a Bounds,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let stopped = |_| io::Error::other("the script has to stop");
        self.bounds.check().map_err(stopped)?;
        Ok(&self.rest[..self.rest.len().min(PIECE_BYTES)])
    }

    fn consume(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }
}

#[cfg(test)]
mod tests;
