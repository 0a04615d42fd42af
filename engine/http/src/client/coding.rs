//! Compressed bodies, decompressed as they come. No step gives more than a small piece, so a body that inflates to a
//! thousand times its size is noticed before it is in memory.

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::Write;
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

use super::fault::{ClientFault, ClientFaultKind};

/// The codings that requests ask for, unless they ask for others.
pub(super) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// The most bytes of one piece, about.
const PIECE_BYTES: usize = 32 * 1024;

/// The most codings of one body.
const CODINGS_MAX: usize = 3;

/// The bytes that the codings of a body may pass to each other before it gives anything, and more for each byte that it
/// gives. Blocks of an inner coding can be empty, and an outer one can make millions of them from a few bytes.
const BETWEEN_BYTES_MAX: u64 = 1024 * 1024;
const BETWEEN_BYTES_PER_GIVEN: u64 = 8;

/// The largest window of Zstandard, as a power of two: 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

type BrotliMemory = BrotliState<HeapAlloc<u8>, HeapAlloc<u32>, HeapAlloc<HuffmanCode>>;

/// Decompresses a body of one coding.
enum Coder {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    /// Deflate, whose first byte says in which of its two forms.
    Unknown,
    Zlib(Box<ZlibDecoder<Vec<u8>>>),
    Deflate(Box<DeflateDecoder<Vec<u8>>>),
    Brotli(Box<BrotliMemory>, bool),
    Zstd(Box<zstd::stream::raw::Decoder<'static>>, bool),
}

/// A coding of a body, and its input that has not been read.
struct Stage {
    coder: Coder,
    input: Vec<u8>,
    read: usize,
    is_empty: bool,
    /// True while there may be output without further input.
    has_more: bool,
}

/// Decompresses a body of a few codings, one around the other.
pub(super) struct Decompressor {
    stages: Vec<Stage>,
    /// The bytes that it has given.
    given: u64,
    /// The bytes that the codings have passed to each other.
    between: u64,
}

impl Decompressor {
    /// Returns the decompressor for these values of `Content-Encoding`; `None` without codings, or with one that is not
    /// known: then the body stays as it is.
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut stages = Vec::new();
        for coding in values.flat_map(crate::codec::fields::list) {
            let coder = match &*coding.to_ascii_lowercase() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coder::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
                b"deflate" => Coder::Unknown,
                b"br" => Coder::Brotli(Box::new(brotli_memory()), false),
                b"zstd" => Coder::Zstd(Box::new(zstd_decoder()?), false),
                _ => return None,
            };
            stages.push(Stage {
                coder,
                input: Vec::new(),
                read: 0,
                is_empty: true,
                has_more: false,
            });
        }
        (!stages.is_empty() && stages.len() <= CODINGS_MAX).then_some(Self {
            stages,
            given: 0,
            between: 0,
        })
    }

    /// Adds a piece of the body as it came, once [`Decompressor::next`] has given all before it.
    pub(super) fn push(&mut self, piece: Vec<u8>) {
        // The coding that was applied last is removed first.
        if let Some(outermost) = self.stages.last_mut() {
            outermost.push(piece);
        }
    }

    /// Returns the next piece; `None` where more must come first.
    ///
    /// # Errors
    /// The body is damaged, or its codings pass far more to each other than it gives.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, ClientFault> {
        let mut at = 0;
        while at < self.stages.len() {
            match self.stages[at].step()? {
                // The one around it may have more.
                None => at += 1,
                Some(piece) if at == 0 => {
                    self.given += piece.len() as u64;
                    return Ok(Some(piece));
                }
                Some(piece) => {
                    self.between += piece.len() as u64;
                    if self.between > BETWEEN_BYTES_MAX + BETWEEN_BYTES_PER_GIVEN * self.given {
                        let text = "the body cannot be decompressed: its codings have far more between them than \
                             they give";
                        return Err(ClientFault::new(ClientFaultKind::TooLarge, text));
                    }
                    at -= 1;
                    self.stages[at].push(piece);
                }
            }
        }
        Ok(None)
    }

    /// Ends the body, after all pieces.
    ///
    /// # Errors
    /// It is cut off.
    pub(super) fn finish(&mut self) -> Result<(), ClientFault> {
        for stage in self.stages.iter_mut().rev() {
            stage.finish()?;
        }
        Ok(())
    }
}

fn brotli_memory() -> BrotliMemory {
    let (bytes, numbers) = (HeapAlloc::new(0), HeapAlloc::new(0));
    BrotliState::new_strict(bytes, numbers, HeapAlloc::new(HuffmanCode::default()))
}

fn zstd_decoder() -> Option<zstd::stream::raw::Decoder<'static>> {
    let mut decoder = zstd::stream::raw::Decoder::new().ok()?;
    let window = zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX);
    decoder.set_parameter(window).ok()?;
    Some(decoder)
}

fn damaged(coding: &str, why: &dyn std::fmt::Display) -> ClientFault {
    let text = format!("the body cannot be decompressed ({coding}): {why}");
    ClientFault::new(ClientFaultKind::Coding, text)
}

impl Stage {
    fn push(&mut self, piece: Vec<u8>) {
        self.is_empty &= piece.is_empty();
        self.has_more = true;
        self.input = piece;
        self.read = 0;
    }

    /// Decompresses up to a piece; `None` where more input must come first.
    fn step(&mut self) -> Result<Option<Vec<u8>>, ClientFault> {
        let mut piece = Vec::new();
        while self.has_more && piece.len() < PIECE_BYTES {
            let input = &self.input[self.read..];
            if let (Coder::Unknown, [first, ..]) = (&self.coder, input) {
                // A header of zlib has the method 8 in its low bits; a first block of bare deflate does not.
                self.coder = match first & 0x0f == 8 {
                    true => Coder::Zlib(Box::new(ZlibDecoder::new(Vec::new()))),
                    false => Coder::Deflate(Box::new(DeflateDecoder::new(Vec::new()))),
                };
            }
            let read = match &mut self.coder {
                Coder::Gzip(coder) => written(
                    coder.as_mut(),
                    input,
                    "gzip",
                    MultiGzDecoder::get_mut,
                    &mut piece,
                )?,
                Coder::Zlib(coder) => written(
                    coder.as_mut(),
                    input,
                    "deflate",
                    ZlibDecoder::get_mut,
                    &mut piece,
                )?,
                Coder::Deflate(coder) => written(
                    coder.as_mut(),
                    input,
                    "deflate",
                    DeflateDecoder::get_mut,
                    &mut piece,
                )?,
                Coder::Unknown => 0,
                Coder::Brotli(memory, is_over) => {
                    let (read, goes_on) = brotli_step(memory, is_over, input, &mut piece)?;
                    self.read += read;
                    self.has_more = goes_on;
                    continue;
                }
                Coder::Zstd(decoder, is_over) => {
                    let (read, goes_on) = zstd_step(decoder, is_over, input, &mut piece)?;
                    self.read += read;
                    self.has_more = goes_on;
                    continue;
                }
            };
            self.read += read;
            self.has_more = self.read < self.input.len() && read > 0;
        }
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn finish(&mut self) -> Result<(), ClientFault> {
        if self.is_empty {
            return Ok(());
        }
        let cut_off = "it is cut off";
        let is_whole = match &mut self.coder {
            Coder::Gzip(coder) => coder.try_finish().is_ok(),
            Coder::Zlib(coder) => coder.try_finish().is_ok(),
            Coder::Deflate(coder) => coder.try_finish().is_ok(),
            Coder::Unknown => true,
            Coder::Brotli(_, is_over) | Coder::Zstd(_, is_over) => *is_over,
        };
        match is_whole {
            true => Ok(()),
            false => Err(damaged(self.name(), &cut_off)),
        }
    }

    fn name(&self) -> &'static str {
        match self.coder {
            Coder::Gzip(_) => "gzip",
            Coder::Unknown | Coder::Zlib(_) | Coder::Deflate(_) => "deflate",
            Coder::Brotli(..) => "br",
            Coder::Zstd(..) => "zstd",
        }
    }
}

/// One step of a decoder that writes what it decompresses: at most the size of its own buffer.
fn written<W: Write>(
    coder: &mut W,
    input: &[u8],
    coding: &str,
    output: fn(&mut W) -> &mut Vec<u8>,
    piece: &mut Vec<u8>,
) -> Result<usize, ClientFault> {
    let read = coder
        .write(input)
        .map_err(|error| damaged(coding, &error))?;
    // What it has decompressed is still in its buffer.
    coder.flush().map_err(|error| damaged(coding, &error))?;
    piece.append(output(coder));
    Ok(read)
}

fn brotli_step(
    memory: &mut BrotliMemory,
    is_over: &mut bool,
    input: &[u8],
    piece: &mut Vec<u8>,
) -> Result<(usize, bool), ClientFault> {
    if *is_over {
        return match input.is_empty() {
            true => Ok((0, false)),
            false => Err(damaged("br", &"something follows its end")),
        };
    }
    let before = piece.len();
    piece.resize(before + PIECE_BYTES, 0);
    let (mut left, mut read) = (input.len(), 0);
    let (mut room, mut made, mut total) = (PIECE_BYTES, 0, 0);
    let result = BrotliDecompressStream(
        &mut left,
        &mut read,
        input,
        &mut room,
        &mut made,
        &mut piece[before..],
        &mut total,
        memory,
    );
    piece.truncate(before + made);
    match result {
        BrotliResult::ResultSuccess => {
            *is_over = true;
            Ok((read, left > 0))
        }
        BrotliResult::NeedsMoreInput => Ok((read, false)),
        BrotliResult::NeedsMoreOutput => Ok((read, true)),
        BrotliResult::ResultFailure => Err(damaged("br", &"it is malformed")),
    }
}

fn zstd_step(
    decoder: &mut zstd::stream::raw::Decoder<'static>,
    is_over: &mut bool,
    input: &[u8],
    piece: &mut Vec<u8>,
) -> Result<(usize, bool), ClientFault> {
    if *is_over && input.is_empty() {
        return Ok((0, false));
    }
    let before = piece.len();
    piece.resize(before + PIECE_BYTES, 0);
    let mut from = InBuffer::around(input);
    let mut to = OutBuffer::around(&mut piece[before..]);
    let hint = decoder.run(&mut from, &mut to);
    let (read, made) = (from.pos(), to.pos());
    piece.truncate(before + made);
    // 0 is the end of a frame; another may follow.
    let hint = hint.map_err(|error| damaged("zstd", &error))?;
    *is_over = hint == 0;
    Ok((read, read < input.len() || made == PIECE_BYTES))
}

#[cfg(test)]
mod tests;
