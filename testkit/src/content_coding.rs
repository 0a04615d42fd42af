//! Bodies as they were before they were compressed, so that a case says what an answer means.

use crate::Answer;
use std::io::{self, Read};

/// The largest body that is compared, in bytes.
const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The answer with its body decoded. It keeps its `Content-Encoding`. A body that is not what that says is left as it
/// is: cases have files that only stand for encoded ones.
pub(crate) fn decoded(mut answer: Answer) -> Answer {
    let coding = answer.header("content-encoding").join(", ");
    // To HEAD there is none, and a part of one means nothing.
    if answer.body.is_empty() || answer.is_cut {
        return answer;
    }
    let encoded = answer.body.as_slice();
    let decoded = match coding.as_str() {
        "gzip" => all(flate2::read::GzDecoder::new(encoded)),
        "br" => all(brotli::Decompressor::new(encoded, 4096)),
        "zstd" => zstd::stream::read::Decoder::new(encoded).and_then(all),
        _ => return answer,
    };
    if let Ok(body) = decoded {
        answer.body = body;
    }
    answer
}

fn all(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    reader.take(BODY_BYTES_MAX).read_to_end(&mut body)?;
    Ok(body)
}
