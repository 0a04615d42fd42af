//! The encoded forms of static files: made once here, as hard as the encoders can.

use super::files::Files;
use crate::encoders::{EncoderLevels, Encoders};
use crate::media::{SIBLINGS, content_type, is_text};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Smaller files travel in one packet anyway.
const PLAIN_BYTES_MIN: usize = 256;
/// Brotli takes seconds for larger ones at its best.
const BEST_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The levels for bodies that are compressed once and read often. A window of zstd is at most 8 MiB (RFC 9659), which
/// this level keeps.
const BEST: EncoderLevels = EncoderLevels {
    gzip: 9,
    zstd: 19,
    brotli: 11,
    brotli_window: 22,
};
const LARGE: EncoderLevels = EncoderLevels {
    gzip: 9,
    zstd: 12,
    brotli: 8,
    brotli_window: 22,
};

/// Adds the encoded forms of the files below a folder, where they pay. Those that are there stay, but for the `stale`
/// ones, which were made of another content: all of these are made anew, because an archive keeps no times by which a
/// server could tell them. How many were added.
pub(super) fn compress(files: &mut Files, folder: &str, stale: &BTreeSet<String>) -> usize {
    let prefix = format!("{folder}/");
    let is_for_encoding = |path: &str, bytes: &[u8]| {
        bytes.len() >= PLAIN_BYTES_MIN && is_text(content_type(path).as_bytes())
    };
    let is_stale = |path: &str| {
        let mut siblings = SIBLINGS.iter();
        siblings.any(|(_, extension)| stale.contains(&format!("{path}.{extension}")))
    };
    let plains: Vec<(&String, &Vec<u8>)> = files
        .range(prefix.clone()..)
        .take_while(|(path, _)| path.starts_with(&prefix))
        .filter(|(path, bytes)| is_for_encoding(path, bytes) || is_stale(path))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut best, mut large) = (Encoders::with_levels(BEST), Encoders::with_levels(LARGE));
        let mut made = Vec::new();
        while let Some((path, plain)) = plains.get(next.fetch_add(1, Ordering::Relaxed)) {
            let encoders = match plain.len() > BEST_BYTES_MAX {
                true => &mut large,
                false => &mut best,
            };
            let is_for_encoding = is_for_encoding(path, plain);
            for (coding, extension) in SIBLINGS {
                let path = format!("{path}.{extension}");
                let is_replaced = stale.contains(&path);
                let is_new = is_for_encoding && !files.contains_key(&path);
                if !is_replaced && !is_new {
                    continue;
                }
                if let Some(encoded) = encoders.compress(*coding, plain)
                    && (is_replaced || pays(encoded.len(), plain.len()))
                {
                    made.push((path, encoded));
                }
            }
        }
        made
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let made: Vec<(String, Vec<u8>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        for other in others {
            // A thread that panicked has made nothing; its files are served as they are.
            made.extend(other.join().unwrap_or_default());
        }
        made
    });
    let count = made.len();
    files.extend(made);
    count
}

/// Reports whether an encoded form saves enough to be kept: a tenth.
fn pays(encoded: usize, plain: usize) -> bool {
    encoded <= plain - plain / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_get_the_forms_that_pay() {
        let text = "all the same ".repeat(100).into_bytes();
        let mut files = Files::from([
            ("public/a.css".to_owned(), text.clone()),
            ("public/a.css.gz".to_owned(), b"own".to_vec()),
            ("public/b.js".to_owned(), text.clone()),
            ("public/b.js.br".to_owned(), b"stale".to_vec()),
            ("public/c.png".to_owned(), text.clone()),
            ("public/d.bin".to_owned(), b"new".to_vec()),
            ("public/d.bin.gz".to_owned(), b"stale".to_vec()),
            ("public/small.css".to_owned(), b"a {}".to_vec()),
            ("templates/t.html".to_owned(), text.clone()),
        ]);
        let stale = ["public/b.js.br", "public/d.bin.gz"];
        let stale = BTreeSet::from(stale.map(str::to_owned));
        let count = compress(&mut files, "public", &stale);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let expected = [
            "public/a.css",
            "public/a.css.br",
            "public/a.css.gz",
            "public/a.css.zst",
            "public/b.js",
            "public/b.js.br",
            "public/b.js.gz",
            "public/b.js.zst",
            "public/c.png",
            "public/d.bin",
            "public/d.bin.gz",
            "public/small.css",
            "templates/t.html",
        ];
        assert_eq!((names.as_slice(), count), (&expected[..], 6));
        assert_eq!(files["public/a.css.gz"], b"own");
        assert_ne!(files["public/b.js.br"], b"stale");
        // No text, and no smaller: a server would send the stale one in place of the file.
        assert_eq!(files["public/d.bin.gz"][..2], [0x1f, 0x8b]);
        let unpacked = zstd::stream::decode_all(&*files["public/a.css.zst"]);
        assert_eq!(unpacked.expect("zstd"), text);
    }
}
