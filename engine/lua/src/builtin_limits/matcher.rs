//! Lua's patterns, matched as LuaJIT matches them, in counted steps.
//!
//! The algorithm is that of LuaJIT's `lib_string.c`, so that every pattern means the same here, the malformed ones
//! included: an error is noticed where the match arrives at it, a NUL ends the pattern, and the recursion is as deep.
//! One difference: steps are counted: every few thousand of them the matcher asks whether the script must stop. It
//! allocates nothing, and it reports errors by value, so that its caller can raise them with nothing left on the stack.

mod items;

use super::classes::CharacterClass;

/// The most captures that a pattern may have.
const CAPTURES_MAX: usize = 32;
/// The depth to which the matcher may call itself.
const DEPTH_MAX: u32 = 200;
/// After how many steps the matcher asks whether to go on. A step takes some nanoseconds.
const STEPS: isize = 4096;

/// No match here.
const NONE: usize = usize::MAX;
/// The match was given up; [`Matcher::fault`] says why.
const FAILED: usize = usize::MAX - 1;

/// The reason why a match was given up.
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

    /// The item that the first character of every match must match, if there is one: from where to where it is. Where
    /// that does not match, the pattern does not, and no error can come of it.
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
                let class = CharacterClass::of(at(self.pattern, p + 1));
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

    /// Returns the number of captures that the last match has.
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
}
