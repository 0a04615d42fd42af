//! One attempt at a match: the items of a pattern, one after the other.

use super::{Capture, DEPTH_MAX, FAILED, MatchFailure, Matcher, NONE, POSITION, UNFINISHED, at};
use crate::builtin_limits::classes::{CharacterClass, CharacterSet};

impl<'a> Matcher<'a> {
    /// Matches the pattern from `p` at `s`: where the match ends, [`NONE`] or [`FAILED`].
    pub(super) fn run(&mut self, mut s: usize, mut p: usize) -> usize {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return self.fail(MatchFailure::TooComplex);
        }
        let result = loop {
            let first = at(self.pattern, p);
            match first {
                b'(' => {
                    break if at(self.pattern, p + 1) == b')' {
                        self.open(s, p + 2, POSITION)
                    } else {
                        self.open(s, p + 1, UNFINISHED)
                    };
                }
                b')' => break self.close(s, p + 1),
                b'%' => {
                    let letter = at(self.pattern, p + 1);
                    let (end, next) = match letter {
                        b'b' => (self.balance(s, p + 2), p + 4),
                        b'f' => self.frontier(s, p + 2),
                        b'0'..=b'9' => (self.repeated(s, letter), p + 2),
                        _ => (NONE, 0),
                    };
                    if next > 0 {
                        if end >= FAILED {
                            break end;
                        }
                        (s, p) = (end, next);
                        continue;
                    }
                }
                0 => break s,
                b'$' if at(self.pattern, p + 1) == 0 => {
                    break if s == self.subject.len() { s } else { NONE };
                }
                _ => {}
            }
            // An item that matches one character, and how often it is repeated.
            let next = self.item_end(p);
            if next == FAILED || self.spend(next - p) {
                return FAILED;
            }
            let matches = match self.subject.get(s) {
                Some(c) => self.is_match(*c, p, next),
                None => false,
            };
            match at(self.pattern, next) {
                b'?' => {
                    if matches {
                        let end = self.run(s + 1, next + 1);
                        if end != NONE {
                            break end;
                        }
                    }
                    p = next + 1;
                }
                b'*' => break self.longest(s, p, next),
                b'+' if matches => break self.longest(s + 1, p, next),
                b'+' => break NONE,
                b'-' => break self.shortest(s, p, next),
                _ if matches => (s, p) = (s + 1, next),
                _ => break NONE,
            }
        };
        self.depth -= 1;
        result
    }

    /// Returns the end of the item at `p` ends.
    #[inline]
    pub(super) fn item_end(&mut self, p: usize) -> usize {
        match at(self.pattern, p) {
            b'%' if at(self.pattern, p + 1) == 0 => self.fail(MatchFailure::EndsWithEscape),
            b'%' => p + 2,
            b'[' => self.set_end(p),
            _ => p + 1,
        }
    }

    fn set_end(&mut self, p: usize) -> usize {
        let mut p = p + 1;
        if at(self.pattern, p) == b'^' {
            p += 1;
        }
        // A `]` that comes first stands for itself.
        loop {
            match at(self.pattern, p) {
                0 => return self.fail(MatchFailure::SetNotClosed),
                b'%' if at(self.pattern, p + 1) != 0 => p += 2,
                _ => p += 1,
            }
            if at(self.pattern, p) == b']' {
                return p + 1;
            }
        }
    }

    /// Reports whether `c` matches the item from `p` to before `next`.
    #[inline]
    fn is_match(&self, c: u8, p: usize, next: usize) -> bool {
        match at(self.pattern, p) {
            b'.' => true,
            b'%' => CharacterClass::of(at(self.pattern, p + 1)).has(c),
            b'[' => self.set(p, next - 1).has(c),
            literal => literal == c,
        }
    }

    /// The set whose brackets are at `p` and `last`.
    #[inline]
    pub(super) fn set(&self, p: usize, last: usize) -> CharacterSet<'a> {
        CharacterSet::new(self.pattern.get(p + 1..last).unwrap_or_default())
    }

    /// `*` and `+`: as many as there are, then one less and so on.
    fn longest(&mut self, s: usize, p: usize, next: usize) -> usize {
        let rest = self.subject.get(s..).unwrap_or_default();
        let many = match at(self.pattern, p) {
            b'.' => rest.len(),
            b'%' => CharacterClass::of(at(self.pattern, p + 1)).count(rest),
            b'[' => {
                let set = self.set(p, next - 1);
                let mut many = 0;
                while let Some(&c) = rest.get(many)
                    && set.has(c)
                {
                    if self.spend(next - p) {
                        return FAILED;
                    }
                    many += 1;
                }
                many
            }
            literal => CharacterClass::Byte(literal).count(rest),
        };
        if self.spend(many / 8) {
            return FAILED;
        }
        for i in (0..=many).rev() {
            if self.spend(1) {
                return FAILED;
            }
            let end = self.run(s + i, next + 1);
            if end != NONE {
                return end;
            }
        }
        NONE
    }

    /// `-`: none, then one more and so on.
    fn shortest(&mut self, mut s: usize, p: usize, next: usize) -> usize {
        loop {
            let end = self.run(s, next + 1);
            if end != NONE {
                return end;
            }
            if self.spend(next - p) {
                return FAILED;
            }
            match self.subject.get(s) {
                Some(c) if self.is_match(*c, p, next) => s += 1,
                _ => return NONE,
            }
        }
    }

    fn open(&mut self, s: usize, p: usize, length: i32) -> usize {
        let level = self.level;
        let Some(capture) = self.captures.get_mut(level) else {
            return self.fail(MatchFailure::TooManyCaptures);
        };
        *capture = Capture {
            from: s as u32,
            length,
        };
        self.level = level + 1;
        let end = self.run(s, p);
        if end == NONE {
            self.level -= 1;
        }
        end
    }

    fn close(&mut self, s: usize, p: usize) -> usize {
        let opened = &self.captures[..self.level];
        let Some(index) = opened.iter().rposition(|c| c.length == UNFINISHED) else {
            return self.fail(MatchFailure::CaptureNotOpen);
        };
        self.captures[index].length = (s - self.captures[index].from as usize) as i32;
        let end = self.run(s, p);
        if end == NONE {
            self.captures[index].length = UNFINISHED;
        }
        end
    }

    /// `%b`: up to the character that balances the one at `s`.
    fn balance(&mut self, s: usize, p: usize) -> usize {
        let (open, close) = (at(self.pattern, p), at(self.pattern, p + 1));
        if open == 0 || close == 0 {
            return self.fail(MatchFailure::BalanceIncomplete);
        }
        if at(self.subject, s) != open {
            return NONE;
        }
        let mut depth = 1_usize;
        let mut end = NONE;
        let rest = self.subject.get(s + 1..).unwrap_or_default();
        let mut seen = 0;
        for &c in rest {
            seen += 1;
            if c == close {
                depth -= 1;
                if depth == 0 {
                    end = s + 1 + seen;
                    break;
                }
            } else if c == open {
                depth += 1;
            }
        }
        if self.spend(seen) {
            return FAILED;
        }
        end
    }

    /// `%f`: between a character outside of the set and one inside; both ends of the subject count as NUL.
    fn frontier(&mut self, s: usize, p: usize) -> (usize, usize) {
        if at(self.pattern, p) != b'[' {
            return (self.fail(MatchFailure::FrontierWithoutSet), p);
        }
        let next = self.set_end(p);
        if next == FAILED || self.spend(next - p) {
            return (FAILED, p);
        }
        let before = if s == 0 { 0 } else { at(self.subject, s - 1) };
        let set = self.set(p, next - 1);
        let is_here = !set.has(before) && set.has(at(self.subject, s));
        (if is_here { s } else { NONE }, next)
    }

    /// `%1` to `%9`: the text of a capture once more.
    fn repeated(&mut self, s: usize, digit: u8) -> usize {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        if index >= self.level || self.captures[index].length == UNFINISHED {
            return self.fail(MatchFailure::CaptureIndex);
        }
        let Capture { from, length } = self.captures[index];
        // LuaJIT takes the mark of a position for a length that no subject has.
        let Ok(length) = usize::try_from(length) else {
            return NONE;
        };
        if self.spend(length / 8 + 1) {
            return FAILED;
        }
        if self.subject.get(s..s + length) == Some(self.text(from as usize, length)) {
            s + length
        } else {
            NONE
        }
    }
}
