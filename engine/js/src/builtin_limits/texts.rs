//! Built-ins that work on texts.

use crate::builtin_limits::call::Guard;
use crate::builtin_limits::rules::Rule;
use crate::builtin_limits::work;
use crate::values::inspect;
use crate::vm::sys::{Failure, RawValue, Val, is_nothing, is_object, is_undefined};

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
        let mut args = args.to_vec();
        args[0] = wanted.raw();
        let mut replacement = None;
        if self.name() == c"replaceAll"
            && cx.length(wanted.raw())? == 0
            && let Some(value) = args.get_mut(1)
            && !cx.is_function(*value)
        {
            // `$&` is gone through at each character and adds nothing to the result, whose size is limited.
            let text_of = replacement.insert(cx.to_string(*value)?);
            *value = text_of.raw();
            self.allow((cx.length(text.raw())? + 1).saturating_mul(cx.length(*value)?))?;
        }
        Ok(cx.call(original, text.raw(), &args)?)
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
