//! Finds in a script's text what QuickJS does not tell: what was called that is no function, where a name is imported,
//! where a module awaits at its top level. The text is searched, not parsed, so nothing may depend on what is found but
//! messages.

/// Returns the expressions that may be called at `column` of `line`, such as `lib.users.find`. The column is the one in
/// QuickJS's stacks: that of the name that was read last, which is the called one or an argument. So there may be two:
/// the inner call comes first.
pub(crate) fn callees(line: &str, column: usize) -> Vec<&str> {
    let index = column.checked_sub(1);
    let Some((at, _)) = index.and_then(|index| line.char_indices().nth(index)) else {
        return Vec::new();
    };
    let length = line[at..].find(|c: char| !is_chained(c));
    let end = length.map_or(line.len(), |length| at + length);
    // TypeScript's mark that something is there may stand between.
    let behind = line[end..].trim_start().trim_start_matches('!');
    let is_called = behind.starts_with('(') || line[..at].ends_with("new ");
    let own = is_called.then(|| chain(line, end)).flatten();
    own.into_iter().chain(open_call(&line[..at])).collect()
}

/// Returns the expressions of a line whose `member` is read, such as `req.session` of `req.session.user`.
pub(crate) fn owners<'a>(line: &'a str, member: &str) -> Vec<&'a str> {
    let dotted = format!(".{member}");
    let read = line.match_indices(&*dotted);
    let read = read.filter(|(at, _)| !line[at + dotted.len()..].starts_with(is_named));
    read.filter_map(|(at, _)| chain(line, at)).collect()
}

/// Returns the text before the bracket that is open at the end of `front`, within one function's body.
fn open_call(front: &str) -> Option<&str> {
    let mut closed = 0;
    for (at, c) in front.char_indices().rev() {
        match c {
            ')' => closed += 1,
            '(' if closed == 0 => {
                return chain(front, at)
                    .filter(|name| !matches!(*name, "if" | "while" | "for" | "switch"));
            }
            '(' => closed -= 1,
            '{' | '}' | ';' => return None,
            '>' if front[..at].ends_with('=') => return None,
            _ => {}
        }
    }
    None
}

/// The chain of names with dots that ends at `end`.
fn chain(line: &str, end: usize) -> Option<&str> {
    let front = &line[..end];
    let start = front
        .char_indices()
        .rev()
        .find(|(_, c)| !is_chained(*c))
        .map_or(0, |(at, c)| at + c.len_utf8());
    // A call or an index may stand before a dot: then only the names behind it are shown.
    let name = front[start..].trim_start_matches(['.', '?']);
    let is_name = name
        .chars()
        .next()
        .is_some_and(|c| !c.is_ascii_digit() && c != '.');
    is_name.then_some(name)
}

fn is_chained(c: char) -> bool {
    is_named(c) || matches!(c, '#' | '.' | '?')
}

fn is_named(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The line, from 1, where an import or a re-export names `name` from the module that `is_from` accepts.
pub(crate) fn import_line(source: &str, name: &str, is_from: impl Fn(&str) -> bool) -> Option<u32> {
    let lines: Vec<&str> = source.lines().collect();
    let ends = |line: &str| specifier(line).is_some_and(&is_from);
    let mut first_end = None;
    // A module may be imported by several clauses.
    for last in (0..lines.len()).filter(|index| ends(lines[*index])) {
        first_end.get_or_insert(last);
        let first = (0..=last).rev().find(|index| {
            let line = lines[*index].trim_start();
            line.starts_with("import") || line.starts_with("export")
        });
        let named = (first.unwrap_or(last)..=last).find(|index| {
            lines[*index]
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
                .any(|word| word == name)
        });
        if named.is_some() {
            return u32::try_from(named? + 1).ok();
        }
    }
    u32::try_from(first_end? + 1).ok()
}

/// Returns the text in quotes behind `from`.
fn specifier(line: &str) -> Option<&str> {
    let (_, rest) = line.rsplit_once("from")?;
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split_once(quote).map(|(name, _)| name)
}

/// The lines of a file, from 1, that await.
#[derive(Debug, Default)]
pub(crate) struct Awaits {
    /// Those that do it outside of any bracket.
    pub(crate) outside: Vec<u32>,
    pub(crate) anywhere: Vec<u32>,
}

/// Returns the lines that await at the top level of a module, and all that await: those in a block may do it there too.
pub(crate) fn top_level_awaits(source: &str) -> Awaits {
    let mut depth = 0i32;
    let mut found = Awaits::default();
    for (index, line) in source.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if let Some(before) = before_word(code, "await") {
            found.anywhere.push(index as u32 + 1);
            if depth == 0 && !before.contains("=>") && !before.contains("function") {
                found.outside.push(index as u32 + 1);
            }
        }
        for c in code.chars() {
            match c {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {}
            }
        }
    }
    found
}

/// Returns the text before the first `word` that is no part of a longer one.
fn before_word<'a>(code: &'a str, word: &str) -> Option<&'a str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    code.match_indices(word)
        .map(|(at, _)| (&code[..at], &code[at + word.len()..]))
        .find(|(before, after)| !before.ends_with(is_part) && !after.starts_with(is_part))
        .map(|(before, _)| before)
}

/// Reports whether a line, counted from 0, reads a member of what `next(...)` returned in a line before it, or in the
/// same line, without `await`: in middleware that is a promise where the handler waits.
pub(crate) fn uses_unawaited_next(source: &str, index: usize) -> bool {
    const LINES_MAX: usize = 10;
    let lines: Vec<&str> = source.lines().take(index + 1).collect();
    let Some(line) = lines.get(index) else {
        return false;
    };
    let mut before = lines[index.saturating_sub(LINES_MAX)..].iter();
    before.any(|before| {
        let declared = before.split_once("= next(");
        let name = declared.and_then(|(front, _)| front.trim_end().rsplit(' ').next());
        name.is_some_and(|name| !name.is_empty() && line.contains(&format!("{name}.")))
    })
}

/// Line and column, from 1, of the first loop without a body in the block that `line` is in, behind that line.
pub(crate) fn empty_loop_behind(source: &str, line: u32) -> Option<(u32, u32)> {
    const LINES_MAX: usize = 20;
    let first = usize::try_from(line).ok()?;
    let mut lines = source.lines().enumerate().skip(first.checked_sub(1)?);
    if empty_loop(lines.next()?.1).is_some() {
        return None;
    }
    let mut depth = 0;
    for (at, line) in lines.take(LINES_MAX) {
        if let Some(start) = empty_loop(line) {
            let column = line[..start].chars().count() + 1;
            return Some((u32::try_from(at + 1).ok()?, u32::try_from(column).ok()?));
        }
        for c in line.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

/// Returns the start of a loop without a body begins in a line, such as `while (true) {}`.
fn empty_loop(line: &str) -> Option<usize> {
    let code = line.split("//").next()?;
    let starts = ["while", "for"]
        .into_iter()
        .flat_map(|word| code.match_indices(word).map(move |(at, _)| (at, word)));
    let is_empty = |&(at, word): &(usize, &str)| {
        let front = &code[..at];
        // The end of `do { } while (...);` has a body.
        if front.ends_with(is_chained) || front.trim_end().ends_with('}') {
            return false;
        }
        let Some(head) = code[at + word.len()..].trim_start().strip_prefix('(') else {
            return false;
        };
        let mut depth = 1;
        let end = head.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let body = end.map(|end| head[end + 1..].trim_start());
        body.is_some_and(|body| {
            let block = body.strip_prefix('{');
            body.starts_with(';') || block.is_some_and(|block| block.trim_start().starts_with('}'))
        })
    };
    starts.filter(is_empty).map(|(at, _)| at).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_without_a_body_are_found() {
        let at = |source: &str| empty_loop_behind(source, 1);
        assert_eq!(at("const a = f();\n  while (true) {}\n"), Some((2, 3)));
        assert_eq!(
            at("() => {\n  // for (;;);\n  for ( ; ; ) { }\n}"),
            Some((3, 3))
        );
        assert_eq!(at("f();\nif (x) {\n  while ((a(), b));\n}"), Some((3, 3)));
        // The line itself, a loop with a body, the end of one, another block, another word.
        assert_eq!(at("while (true) {}\nwhile (true) {}"), None);
        assert_eq!(at("f();\nwhile (true) { f(); }"), None);
        assert_eq!(at("f();\ndo { x++; } while (true);"), None);
        assert_eq!(at("f();\n}\nwhile (true) {}"), None);
        assert_eq!(at("f();\nmeanwhile (true);"), None);
        assert_eq!(empty_loop_behind("", 1), None);
        assert_eq!(empty_loop_behind("a", 0), None);
    }

    #[test]
    fn a_use_of_next_without_await_is_found() {
        for (first, second, is_found) in [
            ("const res = next(req);", "res.headers.set(1, 2);", true),
            ("let res;", "res = next(req); res.headers.size();", true),
            ("const res = await next(req);", "res.headers.get(1);", false),
            ("const res = next(req);", "other.headers.get(1);", false),
        ] {
            let source = format!("{first}\n{second}\n");
            assert_eq!(uses_unawaited_next(&source, 1), is_found, "{source}");
            assert!(!uses_unawaited_next(&source, 7), "{source}");
        }
    }

    #[test]
    fn a_call_is_named() {
        for (line, column, name) in [
            ("  return lib.a.b.c(1, 2);", 18, Some("lib.a.b.c")),
            ("return helper(req);", 15, Some("helper")),
            ("return helper(1);", 8, Some("helper")),
            (
                "app.get('/', (req) => helper(\"a\", req));",
                35,
                Some("helper"),
            ),
            ("app.get('/', (req) => req.nope());", 27, Some("req.nope")),
            ("outer(inner(1))", 7, None),
            ("(req) => req.nope()", 14, Some("req.nope")),
            ("new req.path();", 5, Some("req.path")),
            ("  .method(1);", 4, Some("method")),
            ("await lib?.wait(1)", 12, Some("lib?.wait")),
            ("first().second(1)", 9, Some("second")),
            ("lib[\"x\" + 1](2)", 11, None),
            ("(1)(2)", 5, None),
            ("ünï.nope(1)", 5, Some("ünï.nope")),
            ("req.nope!(1)", 5, Some("req.nope")),
            ("", 1, None),
            ("x()", 99, None),
            ("x()", 0, None),
        ] {
            let found = callees(line, column);
            let only = found.first().copied().filter(|_| found.len() == 1);
            assert_eq!(only, name, "{line:?} at {column}");
        }
        assert_eq!(callees("outer(inner(1))", 7), ["inner", "outer"]);
    }

    #[test]
    fn owners_of_a_member_are_found() {
        for (line, member, expected) in [
            ("(req) => req.sessin.x", "x", &["req.sessin"][..]),
            ("req.a.x + req.b.x.y", "x", &["req.a", "req.b"]),
            ("req.a.xy", "x", &[]),
            ("x", "x", &[]),
            ("req.ü.x", "x", &["req.ü"]),
        ] {
            assert_eq!(owners(line, member), expected, "{line}");
        }
    }

    #[test]
    fn an_imported_name_is_found_in_its_clause() {
        let source = "import a from \"./b.js\";\nimport {\n  yes,\n  nope,\n} from './util.js';\n";
        let is_util = |name: &str| name == "./util.js";
        assert_eq!(import_line(source, "nope", is_util), Some(4));
        assert_eq!(import_line(source, "default", is_util), Some(5));
        assert_eq!(import_line(source, "nope", |name| name == "./c.js"), None);
        let twice = "import { yes } from \"./util.js\";\n\nimport { nope } from \"./util.js\";\n";
        assert_eq!(import_line(twice, "nope", is_util), Some(3));
        assert_eq!(import_line(twice, "default", is_util), Some(1));
    }

    #[test]
    fn awaits_inside_of_functions_do_not_count() {
        let source = "const f = async () => { await 1; };\nasync function g() {\n  await 2;\n}\nawait f(); // \
         await\nx(await g());\n";
        assert_eq!(top_level_awaits(source).outside, [5, 6]);
        let in_block = top_level_awaits("if (x) {\n  await f();\n}\n");
        assert!(in_block.outside.is_empty(), "{in_block:?}");
        assert_eq!(in_block.anywhere, [2]);
    }
}
