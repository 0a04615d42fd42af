//! The functions that a statement calls: one that is not known may write, and some change the connection.

use super::functions::{KEYWORDS, PURE};
use super::tokens::Token;

/// The calls in a statement, found as its tokens are read.
#[derive(Default)]
pub(super) struct Calls<'a> {
    /// The name just read: a parenthesis behind it makes it a call.
    name: Option<(Token, &'a str)>,
    /// The schema before that name.
    schema: Option<(Token, &'a str)>,
    is_behind_dot: bool,
    /// True if the name just read is one of a type, a column or a part of WITH.
    is_no_function: bool,
    /// True if the next name is one of those.
    is_next_no_function: bool,
    /// The parentheses that are open.
    depth: usize,
    /// The calls of `set_config` that are open.
    settings: Vec<SettingCall>,
    /// A function is called that is not known to change nothing.
    pub(super) has_unknown: bool,
    /// A setting is changed beyond the transaction.
    pub(super) changes_setting: bool,
    /// A lock is taken that the connection keeps.
    pub(super) locks: bool,
}

/// A call of `set_config` whose parenthesis is open.
struct SettingCall {
    /// The number of open parentheses inside of it.
    depth: usize,
    /// The commas so far.
    commas: usize,
    argument: Argument,
}

/// The argument that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    Empty,
    True,
    Other,
}

impl<'a> Calls<'a> {
    /// Takes a token in. `is_in_with` is true between the word WITH and the statement behind its parts.
    pub(super) fn see(&mut self, token: Token, text: &'a str, is_in_with: bool) {
        if token == Token::Gap {
            return;
        }
        self.see_argument(token, text);
        match token {
            Token::Word | Token::Quoted => {
                if !self.is_behind_dot {
                    self.schema = None;
                    self.is_no_function = self.is_next_no_function;
                }
                self.is_behind_dot = false;
                self.name = Some((token, text));
                let is = |word: &&str| text.eq_ignore_ascii_case(word);
                self.is_next_no_function =
                    token == Token::Word && ["AS", "WITH", "RECURSIVE"].iter().any(is);
                return;
            }
            Token::Dot => {
                self.schema = self.name.take();
                self.is_behind_dot = self.schema.is_some();
                return;
            }
            Token::Open => {
                self.depth += 1;
                if let Some((token, name)) = self.name
                    && !self.is_no_function
                    && !is_in_with
                {
                    self.called(token, name);
                }
            }
            Token::Close => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        (self.name, self.schema, self.is_behind_dot) = (None, None, false);
        self.is_next_no_function = text == "::";
    }

    fn called(&mut self, token: Token, name: &str) {
        let name = folded(token, name);
        let schema = self.schema.map(|(token, text)| folded(token, text));
        let has = |list: &[&str]| list.binary_search(&&*name).is_ok();
        let is_own = match schema.as_deref() {
            None if token == Token::Word && has(KEYWORDS) => return,
            None | Some("pg_catalog") => true,
            Some(_) => false,
        };
        self.has_unknown |= !(is_own && has(PURE));
        if !is_own {
            return;
        }
        match &*name {
            "set_config" => self.settings.push(SettingCall {
                depth: self.depth,
                commas: 0,
                argument: Argument::Empty,
            }),
            "pg_advisory_lock"
            | "pg_advisory_lock_shared"
            | "pg_try_advisory_lock"
            | "pg_try_advisory_lock_shared" => self.locks = true,
            _ => {}
        }
    }

    /// Takes a token in that may belong to an argument of `set_config`: the third says that the setting ends with the
    /// transaction, if it is the word TRUE.
    fn see_argument(&mut self, token: Token, text: &str) {
        let Some(setting) = self.settings.last_mut() else {
            return;
        };
        if setting.depth != self.depth {
            return;
        }
        match token {
            Token::Close => {
                self.changes_setting |= (setting.commas, setting.argument) != (2, Argument::True);
                self.settings.pop();
            }
            Token::Other if text == "," => {
                setting.commas += 1;
                setting.argument = Argument::Empty;
            }
            Token::Word
                if setting.argument == Argument::Empty && text.eq_ignore_ascii_case("true") =>
            {
                setting.argument = Argument::True;
            }
            _ => setting.argument = Argument::Other,
        }
    }
}

/// Returns a name as PostgreSQL compares it.
fn folded(token: Token, name: &str) -> String {
    match token {
        Token::Quoted => name.trim_matches('"').to_owned(),
        _ => name.to_ascii_lowercase(),
    }
}
