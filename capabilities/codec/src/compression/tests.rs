//! Compression: sizes, damaged data, limits.

use super::*;
use crate::MODULE;
use sampan_host::FunctionKind;

fn call_in(
    context: &Context,
    name: &str,
    data: &[u8],
    options: &[(&str, Value)],
) -> Result<Value, Error> {
    let row = MODULE.functions.iter().find(|row| row.name == name);
    let row = row.expect("a row");
    let options = options.iter();
    let options = options.map(|(name, value)| ((*name).to_owned(), value.clone()));
    let values = vec![Value::Bytes(data.to_vec()), Value::Map(options.collect())];
    let args = Args::check("codec", row, values).expect("bytes and options");
    match row.kind {
        FunctionKind::Sync(body) => body(context, args),
        _ => unreachable!("none of these waits"),
    }
}

fn call(name: &str, data: &[u8], options: &[(&str, Value)]) -> Result<Value, Error> {
    call_in(&Context::default(), name, data, options)
}

fn bytes(name: &str, data: &[u8], options: &[(&str, Value)]) -> Vec<u8> {
    match call(name, data, options) {
        Ok(Value::Bytes(bytes)) => bytes,
        other => panic!("{name}: {other:?}"),
    }
}

const RAW: (&str, Value) = ("raw", Value::Bool(true));

/// The file of gzip that has nothing in it: the header of RFC 1952 section 2.3, an empty block of RFC 1951 section
/// 3.2.6, and the checksum and the size of nothing.
const EMPTY: [u8; 20] = [
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

#[test]
fn compressed_data_is_inflated_to_the_same() {
    let mut long: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    long.extend(vec![b'x'; 200_000]);
    for data in [&b""[..], b"hello hello hello", &[0, 255, 10], &long] {
        for level in [0_i64, 1, 6, 9] {
            let level = ("level", Value::Int(level));
            let packed = bytes("gzip", data, std::slice::from_ref(&level));
            assert_eq!(packed[..3], EMPTY[..3]);
            assert!(bytes("gunzip", &packed, &[]) == data);
            let packed = bytes("deflate", data, std::slice::from_ref(&level));
            // RFC 1950 section 2.2: DEFLATE with a window of 32 KiB, and a check of both bytes.
            assert_eq!(packed[0], 0x78);
            assert_eq!(u16::from_be_bytes([packed[0], packed[1]]) % 31, 0);
            assert!(bytes("inflate", &packed, &[]) == data);
            let packed = bytes("deflate", data, &[level, RAW]);
            assert!(bytes("inflate", &packed, &[RAW]) == data);
        }
    }
}

#[test]
fn data_of_others_is_read() {
    assert_eq!(bytes("gunzip", &EMPTY, &[]), b"");
    // A stored block, RFC 1951 section 3.2.4, and the same as zlib with the Adler-32 of RFC 1950 section 8.2.
    let stored = [1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c'];
    assert_eq!(bytes("inflate", &stored, &[RAW]), b"abc");
    let zlib = [&[0x78, 1][..], &stored, &[0x02, 0x4d, 0x01, 0x27]].concat();
    assert_eq!(bytes("inflate", &zlib, &[]), b"abc");
    // RFC 1952 section 2.2: members follow each other.
    let (one, other) = (bytes("gzip", b"one ", &[]), bytes("gzip", b"other", &[]));
    let members = [&one[..], &EMPTY, &other].concat();
    assert_eq!(bytes("gunzip", &members, &[]), b"one other");
}

#[test]
fn damaged_data_is_nothing() {
    let is_nothing = |name: &str, data: &[u8], options: &[(&str, Value)]| {
        let found = call(name, data, options).expect("no error");
        assert_eq!(found, Value::Null, "{name} {data:?}");
    };
    let packed = [
        ("gunzip", bytes("gzip", b"hello hello", &[]), &[][..]),
        ("inflate", bytes("deflate", b"hello hello", &[]), &[]),
        ("inflate", bytes("deflate", b"hello hello", &[RAW]), &[RAW]),
    ];
    for (name, data, options) in packed {
        for end in 0..data.len() {
            is_nothing(name, &data[..end], options);
        }
        is_nothing(name, &[&data[..], b"x"].concat(), options);
        is_nothing(name, b"hello hello", options);
    }
    let mut wrong = bytes("gzip", b"hello hello", &[]);
    // The checksum.
    let at = wrong.len() - 8;
    wrong[at] ^= 1;
    is_nothing("gunzip", &wrong, &[]);
}

#[test]
fn inflating_ends_at_the_largest_size() {
    let zeros = vec![0; 17 * 1024 * 1024];
    for (packing, name) in [("gzip", "gunzip"), ("deflate", "inflate")] {
        let bomb = bytes(packing, &zeros, &[]);
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        let error = call(name, &bomb, &[]).expect_err("too large");
        assert_eq!(
            error.message(),
            "the inflated data is larger than bytes_max (16777216 bytes)"
        );
        assert_eq!(error.code(), Some("too_large"));
        let room = ("bytes_max", Value::Int(zeros.len() as i64));
        assert_eq!(bytes(name, &bomb, &[room]).len(), zeros.len());
        let small = bytes(packing, b"12345", &[]);
        let room = |bytes| [("bytes_max", Value::Int(bytes))];
        assert_eq!(bytes(name, &small, &room(5)), b"12345");
        assert!(call(name, &small, &room(4)).is_err());
    }
}

#[test]
fn wrong_options_are_errors() {
    let told = |name: &str, option: (&str, Value)| {
        let error = call(name, b"x", &[option]).expect_err(name);
        error.message().to_owned()
    };
    for level in [
        Value::Int(10),
        Value::Int(-1),
        Value::Float(1.5),
        "6".into(),
    ] {
        assert!(told("gzip", ("level", level)).starts_with("level must be a whole number from 0"));
    }
    for most in [
        Value::Int(0),
        Value::Float(f64::INFINITY),
        Value::Int(i64::MAX),
    ] {
        let told = told("gunzip", ("bytes_max", most));
        assert!(
            told.starts_with("bytes_max must be a whole number from 1"),
            "{told}"
        );
    }
    assert_eq!(
        told("inflate", ("raw", 1_i64.into())),
        "raw must be a boolean"
    );
    assert_eq!(
        told("gzip", ("raw", true.into())),
        "unknown option 'raw'; the only option is level"
    );
}

#[test]
fn a_script_that_has_to_stop_is_stopped() {
    let (context, watch) = (Context::default(), Arc::new(Watch::default()));
    context.put(Arc::clone(&watch));
    let empty_members = EMPTY.repeat(1_000);
    let packed = bytes("deflate", b"x", &[]);
    let calls: [(&str, &[u8]); 4] = [
        ("gzip", b"x"),
        ("deflate", b"x"),
        ("gunzip", &empty_members),
        ("inflate", &packed),
    ];
    watch.enter(1);
    for (name, data) in calls {
        assert!(call_in(&context, name, data, &[]).is_ok(), "{name}");
    }
    watch.stop(watch.epoch());
    for (name, data) in calls {
        let error = call_in(&context, name, data, &[]).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Stopped, "{name}");
    }
}
