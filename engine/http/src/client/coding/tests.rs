//! Compressed bodies: in every split, damaged, and too large.

use super::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

fn compressed(coding: &str, text: &[u8]) -> Vec<u8> {
    let level = Compression::default();
    match coding {
        "gzip" => {
            let mut coder = GzEncoder::new(Vec::new(), level);
            coder.write_all(text).expect("written");
            coder.finish().expect("gzip")
        }
        "deflate" => {
            let mut coder = ZlibEncoder::new(Vec::new(), level);
            coder.write_all(text).expect("written");
            coder.finish().expect("zlib")
        }
        "raw" => {
            let mut coder = DeflateEncoder::new(Vec::new(), level);
            coder.write_all(text).expect("written");
            coder.finish().expect("deflate")
        }
        "br" => {
            let mut out = Vec::new();
            let mut coder = brotli::CompressorWriter::new(&mut out, 4096, 5, 22);
            coder.write_all(text).expect("written");
            drop(coder);
            out
        }
        _ => zstd::encode_all(text, 3).expect("zstd"),
    }
}

fn decompressor(codings: &str) -> Decompressor {
    Decompressor::of([codings.as_bytes()].into_iter()).expect("known codings")
}

/// Decompresses a body that comes in pieces: the text, and the largest piece that was given.
fn decompress(codings: &str, bytes: &[u8], step: usize) -> Result<(Vec<u8>, usize), String> {
    let mut decompressor = decompressor(codings);
    let (mut out, mut largest) = (Vec::new(), 0);
    for piece in bytes.chunks(step) {
        decompressor.push(piece.to_vec());
        while let Some(piece) = decompressor.next().map_err(|fault| fault.text)? {
            largest = largest.max(piece.len());
            out.extend(piece);
        }
    }
    decompressor.finish().map_err(|fault| fault.text)?;
    Ok((out, largest))
}

const CODINGS: [(&str, &str); 5] = [
    ("gzip", "gzip"),
    ("deflate", "deflate"),
    ("deflate", "raw"),
    ("br", "br"),
    ("zstd", "zstd"),
];

#[test]
fn every_coding_in_every_split() {
    let text: Vec<u8> = (0..3000_u32)
        .flat_map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    for (coding, form) in CODINGS {
        let bytes = compressed(form, &text);
        for step in [1, 7, 1000, bytes.len()] {
            let whole = decompress(coding, &bytes, step).expect(form);
            assert_eq!(whole.0, text, "{form} {step}");
        }
        assert_eq!(
            decompress(coding, b"", 1),
            Ok((Vec::new(), 0)),
            "an answer to HEAD, or none"
        );
    }
}

#[test]
fn codings_around_one_another() {
    let bytes = compressed("br", &compressed("gzip", b"hello"));
    let whole = decompress("gzip, br", &bytes, 3).expect("both");
    assert_eq!(whole.0, b"hello");
    let none = |value: &str| Decompressor::of([value.as_bytes()].into_iter()).is_none();
    assert!(none("") && none("identity") && none("gzip, unknown") && none("gzip,gzip,gzip,gzip"));
}

#[test]
fn what_is_damaged_or_cut_off_is_a_fault() {
    for (coding, form) in CODINGS {
        let bytes = compressed(form, &b"hello, world ".repeat(100));
        let cut = decompress(coding, &bytes[..bytes.len() - 5], 10);
        assert!(cut.is_err(), "{form}: {cut:?}");
    }
    for coding in ["gzip", "br", "zstd"] {
        let garbage = decompress(coding, &[0xff; 100], 10);
        assert!(garbage.is_err(), "{coding}: {garbage:?}");
    }
}

#[test]
fn a_bomb_comes_in_small_pieces() {
    let zeros = vec![0; 20_000_000];
    for (coding, form) in CODINGS {
        let bytes = compressed(form, &zeros);
        let (out, largest) = decompress(coding, &bytes, bytes.len()).expect(form);
        assert_eq!(out.len(), zeros.len(), "{form}");
        assert!(largest <= 3 * PIECE_BYTES, "{form}: {largest}");
    }
}

#[test]
fn codings_that_pass_much_to_each_other_and_give_little_are_refused() {
    let empty_blocks = [0, 0, 0, 0xff, 0xff].repeat(4_000_000);
    let bytes = compressed("gzip", &empty_blocks);
    assert!(bytes.len() < empty_blocks.len() / 100);
    let mut decompressor = decompressor("deflate, gzip");
    decompressor.push(bytes);
    let fault = decompressor.next().unwrap_err();
    assert_eq!(fault.kind, ClientFaultKind::TooLarge, "{fault}");
    // One that gives what its codings pass to each other is no such body, however large it is.
    let text: Vec<u8> = (0..1_000_000_u32)
        .flat_map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let bytes = compressed("gzip", &compressed("br", &compressed("zstd", &text)));
    let whole = decompress("zstd, br, gzip", &bytes, 64 * 1024).expect("a body");
    assert!(whole.0 == text, "the text");
}
