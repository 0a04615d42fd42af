//! Built-ins that work on texts.

use crate::builtin_limits::call::Guard;
use crate::builtin_limits::rules::Rule;
use crate::builtin_limits::work;
use crate::values::inspect;
use crate::vm::limits::REPLACEMENTS_MAX;
use crate::vm::sys::{Failure, RawValue, UNDEFINED, Val, is_nothing, is_object, is_undefined};
use std::ffi::CStr;

/// Makes a replacement text a function that returns it, of which each call polls.
const POLLED: &CStr = c"((text) => () => text)";

impl Guard<'_> {
    /// Runs a built-in on texts, which are converted here, so that they are the ones that were measured.
    pub(super) fn on_text(
        &self,
        original: RawValue<'_>,
        this: RawValue<'_>,
        args: &[RawValue<'_>],
    ) -> Result<Val, Failure> {
        let cx = self.cx;
        if is_nothing(this) {
            return Ok(cx.call(original, this, args)?);
        }
        if let (Rule::NormalizeBoth, [other, rest @ ..]) = (self.rule(), args) {
            let (text, other) = (cx.to_string(this)?, cx.to_string(*other)?);
            let work = work::normalization(cx, text.raw())?
                .saturating_add(work::normalization(cx, other.raw())?);
            self.allow(work)?;
            return Ok(cx.call(original, text.raw(), &[&[other.raw()], rest].concat())?);
        }
        let Some(&first) = args
            .first()
            .filter(|_| matches!(self.rule(), Rule::Search(_)))
        else {
            let text = cx.to_string(this)?;
            if matches!(self.rule(), Rule::Normalize | Rule::NormalizeBoth) {
                self.allow(work::normalization(cx, text.raw())?)?;
            }
            return Ok(cx.call(original, text.raw(), args)?);
        };
        if is_object(first) && self.has_own_way(first)? {
            return Ok(cx.call(original, this, args)?);
        }
        if is_undefined(first) {
            return Ok(cx.call(original, this, args)?);
        }
        let (text, wanted) = (cx.to_string(this)?, cx.to_string(first)?);
        self.allow(work::search(cx, text.raw(), wanted.raw())?)?;
        let given = args.get(1).copied().unwrap_or(UNDEFINED);
        if self.name() == c"replaceAll" && !cx.is_function(given) {
            let replacement = self.replacement(original, &text, &wanted, given)?;
            return Ok(cx.call(original, text.raw(), &[wanted.raw(), replacement.raw()])?);
        }
        let mut args = args.to_vec();
        args[0] = wanted.raw();
        Ok(cx.call(original, text.raw(), &args)?)
    }

    /// Returns the second argument of `replaceAll` for a text that replaces `wanted`: the text, or a function that
    /// polls where there may be many matches.
    fn replacement(
        &self,
        original: RawValue<'_>,
        text: &Val,
        wanted: &Val,
        given: RawValue<'_>,
    ) -> Result<Val, Failure> {
        let cx = self.cx;
        let replacement = cx.to_string(given)?;
        let (length, wanted_length) = (cx.length(text.raw())?, cx.length(wanted.raw())?);
        if wanted_length == 0 {
            // `$&` is gone through at each character and adds nothing to the result, whose size is limited.
            self.allow((length + 1).saturating_mul(cx.length(replacement.raw())?))?;
        }
        // A copy of what is around each of many matches soon exceeds the memory limit.
        if length / wanted_length.max(1) <= REPLACEMENTS_MAX
            || cx.with_bytes(replacement.raw(), refers_around)?
        {
            return Ok(replacement);
        }
        // What else a `$` stands for is the same at each match, so also where the text is the match alone.
        let alone = [wanted.raw(), replacement.raw()];
        let same = cx.call(original, wanted.raw(), &alone)?;
        let polled = cx.eval(POLLED, c"sampan:replace")?;
        Ok(cx.call(polled.raw(), UNDEFINED, &[same.raw()])?)
    }

    /// Reports whether what is to be found says itself how, as regular expressions do.
    #[cold]
    fn has_own_way(&self, wanted: RawValue<'_>) -> Result<bool, Failure> {
        let Rule::Search(name) = self.rule() else {
            return Ok(false);
        };
        if name.is_empty() {
            return Ok(false);
        }
        let found = inspect::symbol(self.cx, wanted, self.symbol, self.typed_length)?;
        Ok(match self.value(found)? {
            Some(value) if name == c"match" && !is_undefined(value.raw()) => {
                inspect::is_truthy(self.cx, value.raw())
            }
            Some(value) => !is_nothing(value.raw()),
            None => name == c"match" && inspect::is_regexp(wanted),
        })
    }
}

/// Reports whether a replacement refers to the text in front of a match or behind it (ECMA-262, GetSubstitution).
fn refers_around(replacement: &[u8]) -> bool {
    let mut rest = replacement;
    while let Some(at) = memchr::memchr(b'$', rest) {
        rest = match rest.get(at + 1) {
            Some(b'`' | b'\'') => return true,
            Some(b'$') => &rest[at + 2..],
            _ => &rest[at + 1..],
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_the_text_around_a_match_are_found() {
        for (replacement, refers) in [
            ("", false),
            ("$", false),
            ("$&$1", false),
            ("$$'", false),
            ("a$'", true),
            ("$$$`", true),
            ("$$$", false),
        ] {
            assert_eq!(
                refers_around(replacement.as_bytes()),
                refers,
                "{replacement}"
            );
        }
    }
}
