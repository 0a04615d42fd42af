//! `find`, `match`, `gmatch` and `gsub` of the Lua engine give what those of LuaJIT give: the same values, and the same
//! errors at the same places.
//!
//! Bytes choose a call from a grammar that reaches every class of items, and what is no pattern as well. When they are
//! used up, numbers drawn from their hash choose the rest.

use crate::choices::Choices;
use sampan_lua::comparison::{Argument, Comparison};
use std::cell::RefCell;

/// Calls both functions in the same way, from the same line, and compares what they give.
const COMPARE: &str = include_str!("lua_pattern.lua");

thread_local! {
    static COMPARISON: RefCell<Comparison> = RefCell::new(Comparison::new(COMPARE));
}

pub(crate) fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let case = PatternCall::new(&mut choices);
    let difference = COMPARISON.with_borrow_mut(|comparison| case.run(comparison));
    assert!(
        difference.as_deref() == Ok(""),
        "{difference:?} in {case:?}"
    );
}

/// An argument, before it is lent to a call.
#[derive(Debug)]
enum Owned {
    Number(f64),
    Text(Vec<u8>),
    Boolean(bool),
    Nil,
}

#[derive(Debug)]
struct PatternCall {
    function: &'static str,
    /// The way the function is called: the place and the name in its errors depend on it.
    style: f64,
    /// The kind of the replacement of `gsub` is; the argument is what a function returns or a table holds.
    replacement: &'static str,
    arguments: Vec<Owned>,
}

const FUNCTIONS: [&str; 4] = ["find", "match", "gmatch", "gsub"];
const REPLACEMENTS: [&str; 9] = [
    "text", "text", "text", "function", "first", "table", "index", "raises", "self",
];
const PLAIN: &[u8] = b"aaabbbcxAZ019 .,-_^$()[]%\t\n\0\x7f\x80\xff";
const CLASSES: &[u8] = b"acdglpsuwxzACDGLPSUWXZaswd.%-]qb!\xe1A";
const QUANTIFIERS: &[u8] = b"*+-?";

impl PatternCall {
    fn new(choices: &mut Choices<'_>) -> Self {
        let function = choices.one_of(&FUNCTIONS);
        let style = choices.below(4) as f64;
        let (subject, pattern) = if choices.once_in(200) {
            extreme(choices)
        } else {
            (subject(choices), pattern(choices))
        };
        let mut arguments = vec![
            text_or_other(choices, subject),
            text_or_other(choices, pattern),
        ];
        let mut replacement = "text";
        match function {
            "find" | "match" => {
                if !choices.once_in(3) {
                    arguments.push(number(choices));
                }
                if function == "find" && choices.once_in(4) {
                    arguments.resize_with(3, || Owned::Nil);
                    let plain = choices.below(3);
                    arguments.push(if plain == 2 {
                        Owned::Nil
                    } else {
                        Owned::Boolean(plain == 0)
                    });
                }
            }
            "gsub" => {
                replacement = choices.one_of(&REPLACEMENTS);
                let text = replacement_text(choices);
                arguments.push(text_or_other(choices, text));
                if choices.once_in(3) {
                    arguments.push(number(choices));
                }
            }
            _ => {}
        }
        if choices.once_in(60) {
            arguments.truncate(choices.below(4));
        }
        Self {
            function,
            style,
            replacement,
            arguments,
        }
    }

    fn run(&self, comparison: &mut Comparison) -> Result<String, String> {
        let mut arguments = vec![
            Argument::Text(self.function.as_bytes()),
            Argument::Number(self.style),
            Argument::Text(self.replacement.as_bytes()),
        ];
        arguments.extend(self.arguments.iter().map(|argument| match argument {
            Owned::Number(number) => Argument::Number(*number),
            Owned::Text(text) => Argument::Text(text),
            Owned::Boolean(is_true) => Argument::Boolean(*is_true),
            Owned::Nil => Argument::Nil,
        }));
        comparison.call(&arguments)
    }
}

/// Most often the text; now and then a number, or what is no text at all.
fn text_or_other(choices: &mut Choices<'_>, text: Vec<u8>) -> Owned {
    match choices.below(60) {
        0 => Owned::Nil,
        1 => Owned::Boolean(true),
        2 => Owned::Number(12.5),
        3 => Owned::Number(-101.0),
        4 => Owned::Number(1e100),
        _ => Owned::Text(text),
    }
}

/// A start or a count, and what may stand in its place.
fn number(choices: &mut Choices<'_>) -> Owned {
    const STRANGE: [f64; 12] = [
        0.0,
        -0.5,
        1.9,
        -1.9,
        2_147_483_647.0,
        2_147_483_648.0,
        -2_147_483_648.0,
        -2_147_483_649.0,
        4_294_967_297.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    const TEXTS: [&[u8]; 9] = [
        b"1", b"3", b"-2", b"0x2", b" 4 ", b"1e0", b"", b"two", b"2\0",
    ];
    match choices.below(16) {
        0 => Owned::Nil,
        1 => Owned::Boolean(false),
        2 => Owned::Text(choices.one_of(&TEXTS).to_vec()),
        3 => Owned::Number(choices.one_of(&STRANGE)),
        _ => Owned::Number(choices.below(22) as f64 - 5.0),
    }
}

fn subject(choices: &mut Choices<'_>) -> Vec<u8> {
    let length = choices.below(15);
    (0..length).map(|_| choices.one_of(PLAIN)).collect()
}

/// A pattern in which few items are repeated, so that LuaJIT ends soon.
fn pattern(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut open, mut repeated) = (0, 0);
    if choices.once_in(6) {
        out.push(b'^');
    }
    for _ in 0..choices.below(7) {
        if choices.once_in(5) {
            out.push(b'(');
            open += 1;
        }
        let is_single = item(choices, &mut out);
        if is_single && repeated < 4 && choices.below(2) == 0 {
            out.push(choices.one_of(QUANTIFIERS));
            repeated += 1;
        }
        if open > 0 && choices.below(3) == 0 {
            out.push(b')');
            open -= 1;
        }
    }
    if !choices.once_in(20) {
        out.extend((0..open).map(|_| b')'));
    }
    match choices.below(24) {
        0..=3 => out.push(b'$'),
        4 => out.push(b'%'),
        5 => out.push(b'['),
        6 => out.extend_from_slice(b"[^"),
        7 => out.extend_from_slice(b"[a%"),
        8 => out.push(b'('),
        9 => out.push(b')'),
        10 => out.extend_from_slice(b"%f"),
        11 => out.extend_from_slice(b"%b"),
        12 => out.extend_from_slice(b"\0*a"),
        _ => {}
    }
    out
}

/// Adds an item; true if it stands for one character and may be repeated.
fn item(choices: &mut Choices<'_>, out: &mut Vec<u8>) -> bool {
    match choices.below(20) {
        0..=5 => {
            let c = choices.one_of(PLAIN);
            // What would be a group or a set of its own is escaped as a rule.
            if !c.is_ascii_alphanumeric() && !choices.once_in(12) {
                out.push(b'%');
            }
            out.push(c);
        }
        6..=8 => out.push(b'.'),
        9..=12 => out.extend_from_slice(&[b'%', choices.one_of(CLASSES)]),
        13..=15 => set(choices, out),
        16 => {
            out.extend_from_slice(b"%b");
            out.extend_from_slice(choices.one_of(&[b"()", b"ab", b"aa", b"[]", b"\0a", b"b\0"]));
            return false;
        }
        17 => {
            out.extend_from_slice(b"%f");
            set(choices, out);
            return false;
        }
        18 => {
            out.extend_from_slice(b"()");
            return false;
        }
        _ => {
            out.extend_from_slice(&[b'%', b'0' + choices.below(10).min(4) as u8]);
            return false;
        }
    }
    true
}

fn set(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    if choices.once_in(3) {
        out.push(b'^');
    }
    for _ in 0..=choices.below(4) {
        match choices.below(8) {
            0 => out.extend_from_slice(&[b'%', choices.one_of(CLASSES)]),
            1 => out.extend_from_slice(
                choices.one_of(&[b"a-c", b"0-9", b"\x01-~", b"%-z", b"a-%", b"z-a"]),
            ),
            2 => out.push(b']'),
            3 => out.push(b'-'),
            _ => out.push(choices.one_of(PLAIN)),
        }
    }
    out.push(b']');
}

fn replacement_text(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..choices.below(4) {
        match choices.below(6) {
            0 | 1 => out.extend_from_slice(&[b'%', b'0' + choices.below(4) as u8]),
            2 => out.extend_from_slice(&[b'%', choices.one_of(PLAIN)]),
            3 => out.extend_from_slice(b"%9"),
            _ => out.push(choices.one_of(PLAIN)),
        }
    }
    if choices.once_in(12) {
        out.push(b'%');
    }
    out
}

/// The limits: of captures, of depth, of long subjects.
fn extreme(choices: &mut Choices<'_>) -> (Vec<u8>, Vec<u8>) {
    let many = 28 + choices.below(8);
    match choices.below(7) {
        6 => {
            let needle = [
                b"ab".repeat(choices.below(200)),
                b"c".repeat(choices.below(2)),
            ]
            .concat();
            let text = [b"ab".repeat(choices.below(300)), needle.clone()].concat();
            (text, needle)
        }
        0 => (b"abc".to_vec(), b"()".repeat(many)),
        1 => (b"a".repeat(60), b"(a)".repeat(many)),
        2 => (b"a".repeat(60), b"(".repeat(many)),
        // Each `a?` that matches goes one deeper.
        3 => (b"a".repeat(400), b"a?".repeat(170 + many)),
        4 => (b"ab".repeat(20_000), b"^(.-)%s*$".to_vec()),
        _ => (b"k=v, ".repeat(4_000), b"(%w+)=(%w+)".to_vec()),
    }
}
