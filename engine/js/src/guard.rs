//! Built-ins that loop without asking whether they must stop are wrapped: each looks at the size of its work first, and refuses what
//! would take too long. The table below is the list.
//!
//! A wrapper costs some ten nanoseconds; built-ins that poll for interrupts themselves are left alone.

use crate::error::{hidden, whole_number};
use crate::json;
use crate::limits::{BUILTIN_LENGTH_MAX, DIGITS_MAX, SEARCH_STEPS_MAX};
use crate::sys::{Cx, Fault, Raw, Thrown, Val, arguments, is_object, is_string, native};
use rquickjs::qjs;
use std::ffi::{CStr, CString, c_int};

/// What is looked at before a built-in runs.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// The length of `this`.
    This,
    /// The lengths of `this` and of all arguments.
    All,
    /// The length of the first argument.
    First,
    /// The length of the `raw` of the first argument.
    Raw,
    /// The first argument, a number.
    Count,
    /// The length of `this` times that of the first argument.
    Search,
    /// The length of the first argument, a text of digits.
    Digits,
    /// The length of the first argument; and where there is no other, our own writer does the work, which is
    /// several times faster.
    Json,
}

impl Rule {
    /// What is refused above which number.
    fn limit(self) -> (&'static str, i64) {
        match self {
            Self::This | Self::All | Self::First | Self::Raw | Self::Json => {
                ("length", BUILTIN_LENGTH_MAX)
            }
            Self::Count => ("count", BUILTIN_LENGTH_MAX),
            Self::Search => ("text to search times text to find", SEARCH_STEPS_MAX),
            Self::Digits => ("digits", DIGITS_MAX),
        }
    }
}

/// Where a built-in lies, its name, and its rule.
const WRAPPED: &[(&CStr, &CStr, Rule)] = &[
    (c"Array.prototype", c"concat", Rule::All),
    (c"Array.prototype", c"copyWithin", Rule::This),
    (c"Array.prototype", c"fill", Rule::This),
    (c"Array.prototype", c"flat", Rule::This),
    (c"Array.prototype", c"flatMap", Rule::This),
    (c"Array.prototype", c"join", Rule::This),
    (c"Array.prototype", c"reverse", Rule::This),
    (c"Array.prototype", c"shift", Rule::This),
    (c"Array.prototype", c"slice", Rule::This),
    (c"Array.prototype", c"sort", Rule::This),
    (c"Array.prototype", c"splice", Rule::This),
    (c"Array.prototype", c"toLocaleString", Rule::This),
    (c"Array.prototype", c"toReversed", Rule::This),
    (c"Array.prototype", c"toSorted", Rule::This),
    (c"Array.prototype", c"toSpliced", Rule::This),
    (c"Array.prototype", c"unshift", Rule::This),
    (c"Array.prototype", c"with", Rule::This),
    (c"Array", c"from", Rule::First),
    (c"Iterator.prototype", c"drop", Rule::Count),
    (c"JSON", c"stringify", Rule::Json),
    (c"String", c"raw", Rule::Raw),
    (c"String.prototype", c"includes", Rule::Search),
    (c"String.prototype", c"indexOf", Rule::Search),
    (c"String.prototype", c"lastIndexOf", Rule::Search),
    (c"String.prototype", c"replace", Rule::Search),
    (c"String.prototype", c"replaceAll", Rule::Search),
    (c"String.prototype", c"split", Rule::Search),
    (c"Uint8Array.prototype.__proto__", c"join", Rule::This),
    (c"Uint8Array.prototype.__proto__", c"sort", Rule::This),
    (
        c"Uint8Array.prototype.__proto__",
        c"toLocaleString",
        Rule::This,
    ),
    (c"Uint8Array.prototype.__proto__", c"toSorted", Rule::This),
    (c"globalThis", c"BigInt", Rule::Digits),
];

/// Wraps the built-ins of the table.
pub(crate) fn install(cx: Cx<'_>) -> Result<(), Thrown> {
    for (index, (owner, name, _)) in WRAPPED.iter().enumerate() {
        let owner = find(cx, owner)?;
        let original = cx.get(owner.raw(), name)?;
        if !cx.is_function(original.raw()) {
            continue;
        }
        let wrapped = wrapper(cx, &original, name, index)?;
        adopt(cx, &original, &wrapped)?;
        hidden(cx, owner.raw(), name, wrapped)?;
    }
    Ok(())
}

fn wrapper(cx: Cx<'_>, original: &Val, name: &CStr, index: usize) -> Result<Val, Thrown> {
    let (length, index) = (cx.length(original.raw())? as c_int, index as c_int);
    let mut data = [original.raw()];
    // SAFETY: the datum is copied, the name terminated.
    cx.check(unsafe {
        qjs::JS_NewCFunctionData2(
            cx.raw(),
            Some(guarded),
            name.as_ptr(),
            length,
            index,
            1,
            data.as_mut_ptr(),
        )
    })
}

/// `BigInt` has a prototype and functions of its own: they move to the wrapper.
fn adopt(cx: Cx<'_>, original: &Val, wrapped: &Val) -> Result<(), Thrown> {
    let prototype = cx.get(original.raw(), c"prototype")?;
    if !is_object(prototype.raw()) {
        return Ok(());
    }
    hidden(cx, prototype.raw(), c"constructor", wrapped.clone())?;
    hidden(cx, wrapped.raw(), c"prototype", prototype)?;
    for name in [c"asIntN", c"asUintN"] {
        hidden(cx, wrapped.raw(), name, cx.get(original.raw(), name)?)?;
    }
    Ok(())
}

/// The object of a path from the global object.
fn find(cx: Cx<'_>, path: &CStr) -> Result<Val, Thrown> {
    // SAFETY: the context is alive.
    let mut at = cx.own(unsafe { qjs::JS_GetGlobalObject(cx.raw()) });
    for name in path.to_string_lossy().split('.') {
        at = cx.get(at.raw(), &CString::new(name).map_err(|_| Thrown)?)?;
    }
    Ok(at)
}

unsafe extern "C" fn guarded(
    ctx: *mut qjs::JSContext,
    this: Raw,
    argc: c_int,
    argv: *mut Raw,
    index: c_int,
    data: *mut Raw,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values, and the function was made with one datum.
        let (args, original) = unsafe { (arguments(argc, argv), *data) };
        let (owner, name, rule) = WRAPPED[index as usize];
        if measure(cx, rule, this, args)? > rule.limit().1 {
            return Err(refuse(cx, owner, name, rule));
        }
        if let (Rule::Json, [value]) = (rule, args)
            && let Some(text) = json::standard(cx, *value)?
        {
            return Ok(text);
        }
        Ok(cx.call(original, this, args)?)
    })
}

/// The size of the work.
#[inline]
fn measure(cx: Cx<'_>, rule: Rule, this: Raw, args: &[Raw]) -> Result<i64, Thrown> {
    let first = args.first().copied();
    match rule {
        Rule::This => length(cx, this),
        Rule::First | Rule::Json => first.map_or(Ok(0), |first| length(cx, first)),
        Rule::Raw => match first {
            Some(first) if is_object(first) => length(cx, cx.get(first, c"raw")?.raw()),
            _ => Ok(0),
        },
        Rule::Count => Ok(first.and_then(whole_number).unwrap_or(0)),
        Rule::Digits => match first {
            Some(first) if is_string(first) => cx.length(first),
            _ => Ok(0),
        },
        Rule::All => args.iter().try_fold(length(cx, this)?, |sum, arg| {
            Ok(sum.saturating_add(length(cx, *arg)?))
        }),
        Rule::Search => match first {
            Some(first) if is_string(this) && is_string(first) => {
                Ok(cx.length(this)?.saturating_mul(cx.length(first)?))
            }
            _ => Ok(0),
        },
    }
}

#[inline]
fn length(cx: Cx<'_>, value: Raw) -> Result<i64, Thrown> {
    if is_object(value) {
        cx.length(value)
    } else {
        Ok(0)
    }
}

#[cold]
fn refuse(cx: Cx<'_>, owner: &CStr, name: &CStr, rule: Rule) -> Fault {
    let (what, max) = rule.limit();
    let text = format!(
        "{}.{}: {what} above {max}",
        owner.to_string_lossy(),
        name.to_string_lossy()
    );
    crate::error::throw_range(cx, &text)
}
