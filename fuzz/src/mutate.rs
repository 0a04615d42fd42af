//! Mutations: a seeded generator and the ways in which it changes inputs.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// The words of HTTP messages, right and almost right.
#[rustfmt::skip]
pub(crate) const HTTP_WORDS: &[&[u8]] = &[
    b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b"\t", b" ", b":", b"\x7f", b"\x80", b"\xc3\xa9", b",", b";", b"0",
    b"5", b"a", b"+", b"-", b"GET ", b"HEAD ", b"POST ", b"PUT ", b"OPTIONS ", b"CONNECT ", b"PRI ", b"/", b"*", b"?",
    b"#", b"%", b"http://h/", b"h:80", b"@", b"[::1]", b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", b" HTTP/2.0\r\n",
    b"HTTP/1.1", b"Host: h\r\n", b"Host: other\r\n", b"Host:\r\n", b"host", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length: +5\r\n", b"Content-Length: 5, 5\r\n",
    b"Content-Length : 5\r\n", b"Content-Length:\r\n 5\r\n", b"Content-Length: 18446744073709551616\r\n",
    b"content-length", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding: identity\r\n", b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding:\x0bchunked\r\n",
    b"Transfer-Encoding : chunked\r\n", b"transfer-encoding", b"chunked", b"Connection: close\r\n",
    b"Connection: keep-alive\r\n", b"Connection: Upgrade\r\nUpgrade: x\r\n", b"Expect: 100-continue\r\n",
    b"Expect: x\r\n", b"X: y\r\n", b" folded\r\n", b"X-Empty:\r\n", b"Trailer: X\r\n", b"5\r\nhello\r\n",
    b"0\r\n\r\n", b"5;ext=\"v\"\r\nhello\r\n", b"0\r\nX: y\r\n\r\n", b"5\nhello\n", b"0\n\n", b"ffffffffffffffff\r\n",
    b"000000000000000005\r\nhello\r\n",
];

/// The words of the chunked coding.
#[rustfmt::skip]
pub(crate) const CHUNK_WORDS: &[&[u8]] = &[
    b"Content-Length: 5\r\n", b"Transfer-Encoding", b"a=", b"=", b"\\", b"\"", b";a", b"\r\n", b"\n", b"\r", b"0",
    b"1", b"5", b"a", b"F", b"f", b"10", b";", b";a=b", b";a=\"b;c\"", b" ", b"\t", b"0\r\n\r\n", b"5\r\nhello\r\n",
    b"1\r\nx\r\n", b"A: b\r\n", b"0\r\nA: b\r\n\r\n", b":", b"\0", b"\x7f", b"ffffffffffffffff",
    b"0000000000000001\r\nx\r\n", b"00000000000000001\r\nx\r\n", b"+5", b"0x5", b"-1", b"40\r\n", b"41\r\n",
];

/// The words of JSON texts.
#[rustfmt::skip]
pub(crate) const JSON_WORDS: &[&[u8]] = &[
    b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\\", b"null", b"true", b"false", b"0", b"-0", b"1", b"-", b".", b"e",
    b"E+", b"1e400", b"1.5", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"\\u0000",
    b"\\ud83d\\ude00", b"\\ud83d", b"\\n", b"\xf0\x9f\x98\x80", b"\xff", b"\x00", b" ", b"\n", b"{\"a\":1}", b"[1,2]",
];

/// Pieces of forms with files.
#[rustfmt::skip]
pub(crate) const MULTIPART_WORDS: &[&[u8]] = &[
    b"\r\n--X", b"--X--", b"--X\r\n", b"\r\n\r\n", b"\r\n", b"--", b"Content-Disposition: \
     form-data", b"; \
     name=\"a\"", b"; filename=\"b\"", b"\r",
    b"Content-Type: a/b", b"\"", b"\\\"", b" \t",
];

/// The words of templates.
#[rustfmt::skip]
pub(crate) const TEMPLATE_WORDS: &[&[u8]] = &[
    b"{{ ", b" }}", b"{% ", b" %}", b"{%- ", b" \
     -%}", b"{# #}", b"name", b"n", b"f", b"xs", b"words", b"user", b"users", b"map",
    b"tree", b"nothing", b"nope", b"empty", b"html", b"user.name", b"user['name']", b"xs[0]", b"xs[-1]", b"xs[1:]", b".name", b"[0]",
    b"|upper", b"|length", b"|default('x')", b"|e", b"|safe", b"|join(',')", b"|sort", b"|first", b"|list", b"|map(attribute='name')",
    b"|items", b"|tojson", b"|reverse", b"|string", b"|int", b" is \
     defined", b" is \
     none", b" is \
     odd", b" is \
     string", b" in ", b" not in ",
    b" and ", b" or ", b"not ", b" \
     == ", b" \
     != ", b" < ", b" \
     >= ", b" + ", b" - ", b" * ", b" \
     // ", b" % ", b" / ", b" ~ ", b"-",
    b"{% for x in xs %}", b"{% for k, v in map|items %}", b"{% for t in tree recursive %}", b"{{ loop(t.kids) }}", b"{% endfor %}",
    b"{% else %}", b" if x", b"{{ loop.index }}", b"loop.last", b"loop.nextitem", b"loop.changed(x)", b"loop.cycle(1, 2)", b"{% if n %}",
    b"{% elif no %}", b"{% endif %}", b"{% set x = 1 %}", b"{% set x %}", b"{% endset %}", b"{% with y = user %}", b"{% endwith %}",
    b"{% macro m(a, b=2) %}", b"{% endmacro %}", b"{{ m(1) }}", b"{{ m(a=user, b=xs) }}", b"{{ caller() }}", b"{% \
     call m(1) %}",
    b"{% endcall %}", b"{% call(a) m(1) %}", b"{% block b %}", b"{% endblock %}", b"{{ super() }}", b"{{ self.b() }}",
    b"{% extends 'base.html' %}", b"{% include 'part.html' %}", b"{% include 'part.txt' ignore missing %}", b"{% \
     import 'part.html' as p %}",
    b"{{ p.m(1) }}", b"{% from 'part.html' import m %}", b"\n=== \
     base.html\n", b"\n=== \
     part.html\n", b"\n=== \
     part.txt\n",
    b"{% filter upper %}", b"{% endfilter %}", b"{% autoescape false %}", b"{% endautoescape %}", b"{% do m(1) %}", b"namespace(a=1)",
    b"{% set ns.a = x %}", b"{% set ns = namespace(a=1) %}", b"range(3)", b"dict(a=n)", b"(1, 2)", b"[n, \
     user]", b"{'a': user}", b"'<'",
    b"{% break %}", b"{% continue %}", b"none", b"true", b"1", b"2.5", b"x", b"a", b".upper()", b".items()", b".get('a')", b"**map", b"*xs",
];

/// Makes inputs from others; the same seed gives the same ones.
#[derive(Debug)]
pub struct Mutator {
    state: u64,
    words: &'static [&'static [u8]],
}

impl Mutator {
    /// A generator that puts in these words.
    pub fn new(seed: u64, words: &'static [&'static [u8]]) -> Mutator {
        Mutator { state: seed, words }
    }

    /// A number below `bound`, which is not 0 (SplitMix64, Steele, Lea and Flood 2014).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    /// The next input: one of `seeds` with a few changes, at most `bytes_max` long.
    pub fn next(&mut self, seeds: &[Vec<u8>], bytes_max: usize) -> Vec<u8> {
        let mut bytes = if seeds.is_empty() {
            Vec::new()
        } else {
            seeds[self.below(seeds.len())].clone()
        };
        let changes = 1 + self.below(4);
        for _ in 0..changes {
            self.change(&mut bytes, seeds);
        }
        bytes.truncate(bytes_max);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let end = at + self.below((bytes.len() - at).min(40) + 1);
        match self.below(9) {
            0 | 1 => insert(bytes, at, self.word()),
            2 => {
                bytes.splice(at..end, self.word().iter().copied());
            }
            3 => drop(bytes.drain(at..end)),
            4 => {
                let piece = bytes[at..end].to_vec();
                insert(bytes, at, &piece);
            }
            5 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            6 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            7 if !seeds.is_empty() => {
                // The tail of another input, or all of it behind this one.
                let other = &seeds[self.below(seeds.len())];
                let from = if self.below(2) == 0 {
                    0
                } else {
                    self.below(other.len() + 1)
                };
                bytes.truncate(if from == 0 { bytes.len() } else { at });
                bytes.extend_from_slice(&other[from..]);
            }
            _ => bytes.truncate(at),
        }
    }

    fn word(&mut self) -> &'static [u8] {
        self.words[self.below(self.words.len())]
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// A number that names these bytes; the same in every run.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_another_differs() {
        let seeds = vec![b"GET / HTTP/1.1\r\n\r\n".to_vec(), b"abc".to_vec()];
        let run = |seed| {
            let mut mutator = Mutator::new(seed, HTTP_WORDS);
            (0..200)
                .map(|_| mutator.next(&seeds, 100))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert!(run(3).iter().all(|bytes| bytes.len() <= 100));
    }
}
