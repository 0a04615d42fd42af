//! Operations that do the work of several: what most of a page's time goes into.
//!
//! Each looks at a value of the script where it lies. Where there is more to do than to look, it does nothing, and the
//! operations that it stands for do their work one by one.

mod rows;

use super::Machine;
use crate::escape::{block_of, cased, escape_block, escape_html, is_ascii, push_block, push_short};
use crate::fault::Outcome;
use crate::program::Escape;
use crate::value::TemplateValue;
use minijinja::value::ValueKind;
use sampan_host::Handle;
use sampan_host::reader::{Kind, Name, Plain};

impl Machine<'_, '_> {
    /// Prints a variable. False, with nothing done, if that takes more.
    #[inline]
    pub(super) fn emit_variable(&mut self, name: Name) -> Outcome<bool> {
        let Some(it) = self.handle_of(name)? else {
            return self.emit_own_variable(name);
        };
        let (escape, out) = (self.escape, &mut self.out);
        if escape != Escape::Json
            && self
                .reader
                .show(it, &mut |it| print_plain(out, escape, &it))
        {
            self.check_size()?;
            return Ok(true);
        }
        self.emit_handle(it)
    }

    /// Prints a member of a variable.
    #[inline]
    pub(super) fn emit_member(&mut self, name: Name, member: Name) -> Outcome<bool> {
        let Some(map) = self.map_of(name)? else {
            return Ok(false);
        };
        let (escape, out) = (self.escape, &mut self.out);
        let mut print = |it: Plain<'_>| print_plain(out, escape, &it);
        if escape != Escape::Json && self.reader.show_member(map, member, &mut print) {
            self.check_size()?;
            return Ok(true);
        }
        let member = self.reader.member(map, member)?;
        self.emit_handle(member)
    }

    /// Prints a member in capitals or small letters.
    #[inline]
    pub(super) fn emit_cased_member(
        &mut self,
        name: Name,
        member: Name,
        is_upper: bool,
    ) -> Outcome<bool> {
        if self.hides_known || self.escape == Escape::Json {
            return Ok(false);
        }
        let Some(map) = self.map_of(name)? else {
            return Ok(false);
        };
        let (escape, out, mut is_done) = (self.escape, &mut self.out, false);
        self.reader.show_member(map, member, &mut |it| {
            if let Plain::Text(text) = it {
                is_done = print_cased(out, escape, text, is_upper);
            }
        });
        if is_done {
            self.check_size()?;
        }
        Ok(is_done)
    }

    /// Prints a text in capitals or small letters. False, with nothing done, if there is more to it than that.
    #[inline]
    pub(super) fn emit_cased(&mut self, it: Handle, is_upper: bool) -> Outcome<bool> {
        if self.hides_known || self.escape == Escape::Json {
            return Ok(false);
        }
        let (escape, out, mut is_done) = (self.escape, &mut self.out, false);
        self.reader.show(it, &mut |it| {
            if let Plain::Text(text) = it {
                is_done = print_cased(out, escape, text, is_upper);
            }
        });
        if is_done {
            self.check_size()?;
        }
        Ok(is_done)
    }

    /// Reports whether a variable is true. None, with nothing done, if that takes more.
    #[inline]
    pub(super) fn truth_of_variable(&mut self, name: Name) -> Outcome<Option<bool>> {
        let Some(it) = self.handle_of(name)? else {
            return Ok(None);
        };
        let mut truth = false;
        if self.reader.show(it, &mut |it| truth = is_true(&it)) {
            return Ok(Some(truth));
        }
        self.truth(it)
    }

    /// Tests a member of a variable.
    #[inline]
    pub(super) fn truth_of_member(&mut self, name: Name, member: Name) -> Outcome<Option<bool>> {
        let Some(map) = self.map_of(name)? else {
            return Ok(None);
        };
        let mut truth = false;
        let mut look = |it: Plain<'_>| truth = is_true(&it);
        if self.reader.show_member(map, member, &mut look) {
            return Ok(Some(truth));
        }
        let member = self.reader.member(map, member)?;
        self.truth(member)
    }

    /// The variable with this name, if it is a value of the script and easily found.
    #[inline(always)]
    fn handle_of(&self, name: Name) -> Outcome<Option<Handle>> {
        // Most are the variable of the innermost loop.
        if let (Some(frame), Some((known, TemplateValue::Script(it)))) =
            (self.frames.last(), self.locals.last())
            && *known == name
            && frame.locals < self.locals.len()
        {
            return Ok(Some(*it));
        }
        self.handle_found(name)
    }

    /// Returns the map in a variable.
    #[inline]
    fn map_of(&mut self, name: Name) -> Outcome<Option<Handle>> {
        let Some(map) = self.handle_of(name)? else {
            return Ok(None);
        };
        if self.known_map != Some(map) {
            if self.reader.kind(map) != Kind::Map {
                return Ok(None);
            }
            self.known_map = Some(map);
        }
        Ok(Some(map))
    }

    /// Prints a variable that is a text of the template's own.
    fn emit_own_variable(&mut self, name: Name) -> Outcome<bool> {
        let Found::Local(at) = self.find_local(name) else {
            return Ok(false);
        };
        let TemplateValue::Own(value) = &self.locals[at].1 else {
            return Ok(false);
        };
        let text = match value.kind() {
            ValueKind::String => value.as_str().unwrap_or_default(),
            _ => return Ok(false),
        };
        match self.escape {
            Escape::Json => return Ok(false),
            Escape::Html if !value.is_safe() => escape_html(&mut self.out, text.as_bytes()),
            _ => self.out.extend_from_slice(text.as_bytes()),
        }
        self.check_size()?;
        Ok(true)
    }

    fn handle_found(&self, name: Name) -> Outcome<Option<Handle>> {
        match self.find_local(name) {
            Found::Local(at) => Ok(match &self.locals[at].1 {
                TemplateValue::Script(it) => Some(*it),
                _ => None,
            }),
            Found::PerhapsInData => {
                let TemplateValue::Script(data) = self.data else {
                    return Ok(None);
                };
                let member = self.reader.member(data, name)?;
                let is_there = self.reader.kind(member) != Kind::Nothing;
                Ok(is_there.then_some(member))
            }
            Found::Elsewhere => Ok(None),
        }
    }

    /// Returns the position of the variable with this name is.
    fn find_local(&self, name: Name) -> Found {
        let mut end = self.locals.len();
        for frame in self.frames[self.base..].iter().rev() {
            let locals = &self.locals[frame.locals..end];
            if let Some(at) = locals.iter().rposition(|(known, _)| *known == name) {
                return Found::Local(frame.locals + at);
            }
            end = frame.locals;
            if frame.closure_context.is_some() || frame.loop_at.is_some() && name == self.loop_name
            {
                return Found::Elsewhere;
            }
            if frame.has_data {
                return Found::PerhapsInData;
            }
        }
        Found::Elsewhere
    }
}

/// The position of a variable.
enum Found {
    /// At this place among the variables of the frames.
    Local(usize),
    PerhapsInData,
    Elsewhere,
}

fn is_true(it: &Plain<'_>) -> bool {
    match *it {
        Plain::Bool(value) => value,
        Plain::Int(value) => value != 0,
        Plain::Text(text) => !text.is_empty(),
    }
}

#[inline]
fn print_plain(out: &mut Vec<u8>, escape: Escape, it: &Plain<'_>) {
    match *it {
        Plain::Text(text) if escape == Escape::Html => escape_html(out, text),
        Plain::Text(text) => out.extend_from_slice(text),
        Plain::Int(whole) => push_short(out, itoa::Buffer::new().format(whole).as_bytes()),
        Plain::Bool(true) => out.extend_from_slice(b"True"),
        Plain::Bool(false) => out.extend_from_slice(b"False"),
    }
}

/// Prints a text in capitals or small letters if it is ASCII, for which that is simple.
#[inline]
fn print_cased(out: &mut Vec<u8>, escape: Escape, text: &[u8], is_upper: bool) -> bool {
    if let Some(block) = block_of(text) {
        if !is_ascii(block) {
            return false;
        }
        let cased = cased(block, is_upper);
        match escape {
            Escape::Html => escape_block(out, cased, text.len()),
            _ => push_block(out, cased, text.len()),
        }
        return true;
    }
    if !text.is_ascii() {
        return false;
    }
    let start = out.len();
    out.extend_from_slice(text);
    let printed = &mut out[start..];
    match is_upper {
        true => printed.make_ascii_uppercase(),
        false => printed.make_ascii_lowercase(),
    }
    if escape == Escape::Html && crate::escape::first_special(printed).is_some() {
        let plain = out.split_off(start);
        escape_html(out, &plain);
    }
    true
}
