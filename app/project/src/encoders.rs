//! Whole bodies, compressed at once. What an encoder needs is kept for the next body.

use brotli::enc::BrotliEncoderParams;
use flate2::{Compress, Crc, FlushCompress, Status};
use sampan_host::request::Coding;
use zstd::bulk::Compressor;

/// The level of gzip. Dynamic answers wait for the encoder: this level and the others are those at which a worker
/// compresses about 100 MB a second.
pub const GZIP_LEVEL: u32 = 6;
/// The level of zstd.
pub const ZSTD_LEVEL: i32 = 3;
/// The quality of brotli.
pub const BROTLI_QUALITY: i32 = 4;
/// The window of brotli, as the logarithm of its bytes: what is sent whole is no longer.
pub const BROTLI_WINDOW: i32 = 18;

/// The compression level of each encoder.
#[derive(Clone, Copy, Debug)]
pub struct EncoderLevels {
    /// The level of gzip.
    pub gzip: u32,
    /// The level of zstd.
    pub zstd: i32,
    /// The quality of brotli.
    pub brotli: i32,
    /// The logarithm of its bytes.
    pub brotli_window: i32,
}

impl Default for EncoderLevels {
    fn default() -> Self {
        Self {
            gzip: GZIP_LEVEL,
            zstd: ZSTD_LEVEL,
            brotli: BROTLI_QUALITY,
            brotli_window: BROTLI_WINDOW,
        }
    }
}

/// The encoders of one thread, made when they are first used.
#[derive(Default)]
pub struct Encoders {
    levels: EncoderLevels,
    deflate: Option<Compress>,
    zstd: Option<Compressor<'static>>,
}

impl Encoders {
    /// Those that try so hard.
    pub fn with_levels(levels: EncoderLevels) -> Self {
        Self {
            levels,
            ..Self::default()
        }
    }

    /// A body in a coding. Nothing if the encoder fails, which none does for want of anything but memory.
    pub fn compress(&mut self, coding: Coding, plain: &[u8]) -> Option<Vec<u8>> {
        match coding {
            Coding::Gzip => self.gzip(plain),
            Coding::Zstd => self.zstd(plain),
            Coding::Brotli => brotli(self.levels, plain),
        }
    }

    /// RFC 1952: a head without a name or a time, the deflated body, its checksum and its length.
    fn gzip(&mut self, plain: &[u8]) -> Option<Vec<u8>> {
        const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        let level = flate2::Compression::new(self.levels.gzip);
        let deflate = self
            .deflate
            .get_or_insert_with(|| Compress::new(level, false));
        deflate.reset();
        let mut out = Vec::with_capacity(plain.len() / 2 + 128);
        out.extend_from_slice(&HEAD);
        loop {
            let read = usize::try_from(deflate.total_in()).ok()?;
            match deflate
                .compress_vec(&plain[read..], &mut out, FlushCompress::Finish)
                .ok()?
            {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError => out.reserve(plain.len() / 4 + 1024),
            }
        }
        let mut checksum = Crc::new();
        checksum.update(plain);
        out.extend_from_slice(&checksum.sum().to_le_bytes());
        out.extend_from_slice(&checksum.amount().to_le_bytes());
        Some(out)
    }

    fn zstd(&mut self, plain: &[u8]) -> Option<Vec<u8>> {
        if self.zstd.is_none() {
            self.zstd = Compressor::new(self.levels.zstd).ok();
        }
        self.zstd.as_mut()?.compress(plain).ok()
    }
}

fn brotli(levels: EncoderLevels, plain: &[u8]) -> Option<Vec<u8>> {
    let params = BrotliEncoderParams {
        quality: levels.brotli,
        lgwin: levels.brotli_window,
        size_hint: plain.len(),
        ..BrotliEncoderParams::default()
    };
    let mut out = Vec::with_capacity(plain.len() / 2 + 128);
    brotli::BrotliCompress(&mut &*plain, &mut out, &params).ok()?;
    Some(out)
}
