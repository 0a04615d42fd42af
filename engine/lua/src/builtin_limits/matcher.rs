//! Lua's patterns, matched as LuaJIT matches them, in counted steps.
//!
//! The algorithm is that of LuaJIT's `lib_string.c`, so that every pattern means the same here, the malformed ones included: an
//! error is noticed where the match arrives at it, a NUL ends the pattern, and the recursion is as deep. What differs is that steps
//! are counted: every few thousand of them the matcher asks whether the script must stop. It allocates nothing, and it
//! reports errors by value, so that its caller can raise them with nothing left on the stack.

use super::classes::{Class, Set};

/// How many captures a pattern may have.
const CAPTURES_MAX: usize = 32;
/// How deep the matcher may call itself.
const DEPTH_MAX: u32 = 200;
/// After how many steps the matcher asks whether to go on. A step takes some nanoseconds.
const STEPS: isize = 4096;

/// No match here.
const NONE: usize = usize::MAX;
/// The match was given up; [`Matcher::fault`] says why.
const FAILED: usize = usize::MAX - 1;

/// Why a match was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchFailure {
    Stopped,
    TooComplex,
    TooManyCaptures,
    CaptureIndex,
    CaptureUnfinished,
    CaptureNotOpen,
    EndsWithEscape,
    SetNotClosed,
    BalanceIncomplete,
    FrontierWithoutSet,
}

/// The value of a capture.
#[derive(Clone, Copy)]
pub(super) enum Captured<'a> {
    Text(&'a [u8]),
    /// `()`: a position, counted from one.
    Position(usize),
}

#[derive(Clone, Copy)]
struct Capture {
    from: u32,
    length: i32,
}

/// The length of a capture that is not closed.
const UNFINISHED: i32 = -1;
/// The length of a capture of a position.
const POSITION: i32 = -2;

/// A subject, a pattern, and the captures of the last match.
pub(super) struct Matcher<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    must_stop: fn() -> bool,
    steps_left: isize,
    depth: u32,
    level: usize,
    fault: MatchFailure,
    captures: [Capture; CAPTURES_MAX],
}

/// The byte at `index`, or the NUL that follows every string in Lua.
#[inline]
fn at(text: &[u8], index: usize) -> u8 {
    text.get(index).copied().unwrap_or(0)
}

impl<'a> Matcher<'a> {
    /// Neither text may be longer than a string of LuaJIT can be, 2 GiB.
    #[inline]
    pub(super) fn new(subject: &'a [u8], pattern: &'a [u8], must_stop: fn() -> bool) -> Self {
        Self {
            subject,
            pattern,
            must_stop,
            steps_left: STEPS,
            depth: 0,
            level: 0,
            fault: MatchFailure::Stopped,
            captures: [Capture { from: 0, length: 0 }; CAPTURES_MAX],
        }
    }

    /// The first match at or after `from`, or at `from` alone: where it starts and ends.
    #[inline]
    pub(super) fn search(
        &mut self,
        from: usize,
        is_anchored: bool,
    ) -> Result<Option<(usize, usize)>, MatchFailure> {
        if from > self.subject.len() {
            return Ok(None);
        }
        match self.match_at(from) {
            NONE if is_anchored => Ok(None),
            NONE => self.search_on(from + 1),
            FAILED => Err(self.fault),
            end => Ok(Some((from, end))),
        }
    }

    fn search_on(&mut self, mut start: usize) -> Result<Option<(usize, usize)>, MatchFailure> {
        let first = self.first_item();
        while start <= self.subject.len() {
            if let Some((p, next)) = first {
                match self.skip(start, p, next) {
                    NONE => return Ok(None),
                    FAILED => return Err(self.fault),
                    possible => start = possible,
                }
            }
            match self.match_at(start) {
                NONE => start += 1,
                FAILED => return Err(self.fault),
                end => return Ok(Some((start, end))),
            }
        }
        Ok(None)
    }

    /// The item that the first character of every match must match, if there is one: from where to where it is. Where that does
    /// not match, the pattern does not, and no error can come of it.
    fn first_item(&mut self) -> Option<(usize, usize)> {
        let mut p = 0;
        while at(self.pattern, p) == b'(' && at(self.pattern, p + 1) != b')' && p < CAPTURES_MAX {
            p += 1;
        }
        match (at(self.pattern, p), at(self.pattern, p + 1)) {
            (0 | b'(' | b')' | b'.' | b'$', _) => return None,
            (b'%', b'b' | b'f' | b'0'..=b'9') => return None,
            _ => {}
        }
        let next = self.item_end(p);
        if next == FAILED || matches!(at(self.pattern, next), b'*' | b'?' | b'-') {
            return None;
        }
        Some((p, next))
    }

    /// The first position from `start` on whose character matches the item.
    #[inline]
    fn skip(&mut self, start: usize, p: usize, next: usize) -> usize {
        let rest = self.subject.get(start..).unwrap_or_default();
        let found = match at(self.pattern, p) {
            b'%' => {
                let class = Class::of(at(self.pattern, p + 1));
                rest.iter().position(|c| class.has(*c))
            }
            b'[' => {
                let set = self.set(p, next - 1);
                let mut seen = 0;
                loop {
                    match rest.get(seen) {
                        Some(c) if set.has(*c) => break Some(seen),
                        Some(_) => seen += 1,
                        None => break None,
                    }
                    if self.spend(next - p) {
                        return FAILED;
                    }
                }
            }
            literal => memchr::memchr(literal, rest),
        };
        if self.spend(found.unwrap_or(rest.len()) / 8) {
            return FAILED;
        }
        found.map_or(NONE, |seen| start + seen)
    }

    /// Matches at `start` and nowhere else: where the match ends, [`NONE`] or [`FAILED`].
    #[inline]
    fn match_at(&mut self, start: usize) -> usize {
        self.level = 0;
        self.depth = 0;
        if self.spend(1) {
            return FAILED;
        }
        self.run(start, 0)
    }

    /// The match from `start` to `end` as a whole.
    pub(super) fn whole(&self, start: usize, end: usize) -> Captured<'a> {
        Captured::Text(self.text(start, end - start))
    }

    /// How many captures the last match has.
    pub(super) fn level(&self) -> usize {
        self.level
    }

    /// The value of a capture, counted from zero, of the match from `start` to `end`.
    pub(super) fn value(
        &self,
        index: usize,
        start: usize,
        end: usize,
    ) -> Result<Captured<'a>, MatchFailure> {
        if index >= self.level {
            if index > 0 {
                return Err(MatchFailure::CaptureIndex);
            }
            return Ok(self.whole(start, end));
        }
        let Capture { from, length } = self.captures[index];
        match length {
            UNFINISHED => Err(MatchFailure::CaptureUnfinished),
            POSITION => Ok(Captured::Position(from as usize + 1)),
            length => Ok(Captured::Text(self.text(from as usize, length as usize))),
        }
    }

    fn text(&self, from: usize, length: usize) -> &'a [u8] {
        self.subject.get(from..from + length).unwrap_or_default()
    }

    #[cold]
    fn fail(&mut self, fault: MatchFailure) -> usize {
        self.fault = fault;
        FAILED
    }

    /// Counts steps; true if the script must stop.
    #[inline]
    fn spend(&mut self, steps: usize) -> bool {
        self.steps_left -= steps as isize;
        self.steps_left < 0 && self.is_over()
    }

    #[cold]
    fn is_over(&mut self) -> bool {
        self.steps_left = STEPS;
        let is_over = (self.must_stop)();
        if is_over {
            self.fault = MatchFailure::Stopped;
        }
        is_over
    }

    /// Matches the pattern from `p` at `s`: where the match ends, [`NONE`] or [`FAILED`].
    fn run(&mut self, mut s: usize, mut p: usize) -> usize {
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

    /// Where the item at `p` ends.
    #[inline]
    fn item_end(&mut self, p: usize) -> usize {
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

    /// Whether `c` matches the item from `p` to before `next`.
    #[inline]
    fn is_match(&self, c: u8, p: usize, next: usize) -> bool {
        match at(self.pattern, p) {
            b'.' => true,
            b'%' => Class::of(at(self.pattern, p + 1)).has(c),
            b'[' => self.set(p, next - 1).has(c),
            literal => literal == c,
        }
    }

    /// The set whose brackets are at `p` and `last`.
    #[inline]
    fn set(&self, p: usize, last: usize) -> Set<'a> {
        Set::new(self.pattern.get(p + 1..last).unwrap_or_default())
    }

    /// `*` and `+`: as many as there are, then one less and so on.
    fn longest(&mut self, s: usize, p: usize, next: usize) -> usize {
        let rest = self.subject.get(s..).unwrap_or_default();
        let many = match at(self.pattern, p) {
            b'.' => rest.len(),
            b'%' => Class::of(at(self.pattern, p + 1)).count(rest),
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
            literal => Class::Byte(literal).count(rest),
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
