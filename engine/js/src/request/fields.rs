//! The fields of a request that are objects: parameters, query, cookies, headers, and the fields of a form.

use crate::values::property_names::check::NameCheck;
use crate::values::shapes::ShapeHash;
use crate::vm::sys::{Cx, Thrown, Val, class_id, is_undefined};
use rquickjs::qjs;
use sampan_host::RequestView;
use sampan_host::request::{self, Pairs, Twice};
use std::cell::RefCell;

/// The names of route parameters as atoms: there are few, and each request has the same.
#[derive(Default)]
pub(crate) struct ParameterNames(RefCell<Vec<(Box<str>, qjs::JSAtom)>>);

impl ParameterNames {
    /// The atom of a name; it stays owned by the table.
    #[inline]
    fn atom(&self, cx: Cx<'_>, name: &str) -> qjs::JSAtom {
        let mut known = self.0.borrow_mut();
        if let Some((_, atom)) = known.iter().find(|(other, _)| **other == *name) {
            return *atom;
        }
        let atom = cx.atom(name);
        known.push((name.into(), atom));
        atom
    }

    /// Releases the atoms; to be called before the context goes.
    pub(crate) fn clear(&self, cx: Cx<'_>) {
        for (_, atom) in self.0.borrow_mut().drain(..) {
            // SAFETY: the table owns a reference of each atom, which is taken out of it and freed once.
            unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        }
    }
}

/// Sets a property of an object without a prototype, which takes fewer steps than to define one. No setter is inherited
/// that this could call instead.
fn set(cx: Cx<'_>, object: &Val, atom: qjs::JSAtom, value: Val) -> Result<(), Thrown> {
    // SAFETY: the object and the atom are alive, the function takes the value's reference.
    let done = unsafe { qjs::JS_SetProperty(cx.raw(), object.raw().js(), atom, value.into_raw()) };
    if done < 0 { Err(Thrown) } else { Ok(()) }
}

/// An object of the parameters of the route.
pub(super) fn params(cx: Cx<'_>, view: &dyn RequestView) -> Result<Val, Thrown> {
    let core = cx.core();
    let object = cx.bare_object()?;
    let mut hash = ShapeHash::BARE;
    let mut index = 0;
    while let Some((name, value)) = view.param(index) {
        let value = cx.string(&value)?;
        let atom = core.parameter_names.atom(cx, name);
        set(cx, &object, atom, value)?;
        hash.add(atom);
        index += 1;
    }
    if !core.shapes.knows(hash) {
        let names = (0..index)
            .filter_map(|index| view.param(index))
            .map(|(name, _)| core.parameter_names.atom(cx, name));
        core.shapes.keep(cx, hash, false, names)?;
    }
    Ok(object)
}

/// An object of a field's pairs.
pub(super) fn pairs_object(
    cx: Cx<'_>,
    view: &dyn RequestView,
    pairs: Pairs,
) -> Result<Val, Thrown> {
    let object = cx.bare_object()?;
    let mut names = NameCheck::default();
    let mut failed = Ok(());
    pairs.each(view, &mut |name, value| {
        if failed.is_ok() {
            failed = names
                .allow(cx, name.as_bytes())
                .and_then(|()| add_pair(cx, &object, name, value, pairs.twice()));
        }
    });
    failed.map(|()| object)
}

/// An object of the fields of a form. Throws an error of the client if too many names have the same hash.
pub(crate) fn form_object(cx: Cx<'_>, body: &[u8]) -> Result<Val, Thrown> {
    let object = cx.bare_object()?;
    let mut names = NameCheck::default();
    for (name, value) in request::form_pairs(body) {
        names.allow(cx, name.as_bytes())?;
        add_pair(cx, &object, &name, value.as_bytes(), Pairs::Query.twice())?;
    }
    Ok(object)
}

fn add_pair(
    cx: Cx<'_>,
    object: &Val,
    name: &str,
    value: &[u8],
    twice: Twice,
) -> Result<(), Thrown> {
    let value = cx.string_from(value)?;
    let atom = cx.atom(name);
    let done = add_to(cx, object, atom, value, twice);
    // SAFETY: `cx.atom` gave a reference of the atom, which is freed once, after its last use.
    unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
    done
}

fn add_to(
    cx: Cx<'_>,
    object: &Val,
    atom: qjs::JSAtom,
    value: Val,
    twice: Twice,
) -> Result<(), Thrown> {
    let known = cx.get_atom(object.raw(), atom)?;
    if is_undefined(known.raw()) {
        return set(cx, object, atom, value);
    }
    match twice {
        Twice::First | Twice::Never => Ok(()),
        // Field lines are joined by the `Headers` that has them.
        Twice::Join | Twice::List if class_id(known.raw()) == cx.core().classes.array => {
            let length = cx.length(known.raw())?;
            let at = u32::try_from(length).unwrap_or(u32::MAX);
            cx.set_at(known.raw(), at, value)
        }
        Twice::Join | Twice::List => {
            let both = cx.array(vec![known, value])?;
            set(cx, object, atom, both)
        }
    }
}

/// A `Headers` of the Web surface over the request's field lines. A byte of a value is one character.
pub(super) fn headers(cx: Cx<'_>, view: &dyn RequestView) -> Result<Val, Thrown> {
    let mut list = Vec::new();
    let mut failed = Ok(());
    Pairs::Headers.each(view, &mut |name, value| {
        let mut add = || -> Result<(), Thrown> {
            list.push(cx.string(name)?);
            list.push(latin1(cx, value)?);
            Ok(())
        };
        if failed.is_ok() {
            failed = add();
        }
    });
    failed?;
    let core = cx.core();
    let prototype = core.tables.get().ok_or(Thrown)?.headers_prototype.raw();
    // SAFETY: the prototype is alive. The reference that comes back is owned.
    let headers = unsafe { cx.check(qjs::JS_NewObjectProto(cx.raw(), prototype.js())) }?;
    let list = cx.array(list)?;
    cx.define_atom(headers.raw(), core.atoms.web_list, list)?;
    Ok(headers)
}

fn latin1(cx: Cx<'_>, bytes: &[u8]) -> Result<Val, Thrown> {
    if bytes.is_ascii() {
        return cx.string_from(bytes);
    }
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    cx.string(&text)
}
