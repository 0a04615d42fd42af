//! Typed input, made into the body of a function: `await` at the top level, declarations that outlive their line, and
//! the value of
//! the last expression.
//!
//! The function has one parameter, `__scope`, whose members are names in the text. It gives a promise. What the text
//! declares is assigned instead, and so becomes a global.

use crate::nesting::with_stack_for;
use oxc_allocator::Allocator;
use oxc_ast::ast::{Program, Statement, VariableDeclaration};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType};

/// The fault in a text.
#[derive(Debug, PartialEq, Eq)]
pub struct InputFault {
    /// The reason why the text cannot be run.
    pub message: String,
    /// True if it only ends too early.
    pub is_open: bool,
}

/// The body of the function that runs a text.
///
/// # Errors
/// The text is no JavaScript, or not yet.
pub fn script_of(text: &str) -> Result<String, InputFault> {
    let starts_like_object = text.trim_start().starts_with('{');
    if starts_like_object
        && let Ok(code) = body_of(&format!("({})", text.trim().trim_end_matches(';')))
    {
        return Ok(wrapped(&code));
    }
    body_of(text).map(|code| wrapped(&code))
}

fn wrapped(code: &str) -> String {
    format!("with (__scope) {{ return (async () => {{ {code}\n}})() }}")
}

fn body_of(text: &str) -> Result<String, InputFault> {
    let fault = |message| InputFault {
        message,
        is_open: false,
    };
    with_stack_for(text, || body_here(text)).map_err(fault)?
}

fn body_here(text: &str) -> Result<String, InputFault> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, SourceType::mjs()).parse();
    if let Some(fault) = parsed.diagnostics.errors().next() {
        let at = fault
            .labels
            .as_ref()
            .first()
            .map_or(0, |label| label.offset() as usize);
        let message = fault.message.to_string();
        // A template or a comment without an end is told where it begins.
        let is_open = at >= text.trim_end().len()
            || text.get(at..).is_some_and(|rest| rest.starts_with('`'))
            || message.contains("Unterminated multi");
        return Err(InputFault {
            message: format!("SyntaxError: {message}"),
            is_open,
        });
    }
    rewritten(text, &parsed.program)
}

fn rewritten(text: &str, program: &Program<'_>) -> Result<String, InputFault> {
    let of = |span: oxc_span::Span| &text[span.start as usize..span.end as usize];
    let mut code = String::with_capacity(text.len() + 64);
    let last = program.body.len().wrapping_sub(1);
    if program.body.is_empty()
        && let Some(directive) = program.directives.last()
    {
        // A text in quotes alone.
        return Ok(format!("return ({});", of(directive.expression.span)));
    }
    let mut line = 1;
    for (at, statement) in program.body.iter().enumerate() {
        // Lines stay where they are, for the places of errors.
        let begins = text[..statement.span().start as usize]
            .matches('\n')
            .count()
            + 1;
        code.push_str(&"\n".repeat(begins.saturating_sub(line)));
        line = line.max(begins) + of(statement.span()).matches('\n').count();
        let made = match statement {
            Statement::VariableDeclaration(declaration) => assignments(text, declaration),
            Statement::FunctionDeclaration(function) => match &function.id {
                Some(id) => format!("{} = {};", id.name, of(function.span)),
                None => of(function.span).to_owned(),
            },
            Statement::ClassDeclaration(class) => match &class.id {
                Some(id) => format!("{} = {};", id.name, of(class.span)),
                None => of(class.span).to_owned(),
            },
            Statement::ExpressionStatement(expression) if at == last => {
                format!("return ({});", of(expression.expression.span()))
            }
            Statement::ImportDeclaration(_)
            | Statement::ExportAllDeclaration(_)
            | Statement::ExportDefaultDeclaration(_)
            | Statement::ExportNamedDeclaration(_) => {
                return Err(InputFault {
                    message: "import and export belong into files: the names of \"sampan\" are here already; \
                              of a module write const { name } = await import(\"./file.js\")"
                        .to_owned(),
                    is_open: false,
                });
            }
            other => of(other.span()).to_owned(),
        };
        code.push_str(&made);
        code.push(' ');
    }
    Ok(code)
}

/// A declaration as assignments.
fn assignments(text: &str, declaration: &VariableDeclaration<'_>) -> String {
    let of = |span: oxc_span::Span| &text[span.start as usize..span.end as usize];
    let all = declaration.declarations.iter().map(|one| match &one.init {
        Some(init) => format!("({} = {})", of(one.id.span()), of(init.span())),
        None => format!("({} = undefined)", of(one.id.span())),
    });
    format!("{};", all.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> String {
        body_of(text).expect("valid").trim().to_owned()
    }

    #[test]
    fn declarations_become_assignments_and_the_last_value_is_returned() {
        for (text, expected) in [
            ("1 + 2;", "return (1 + 2);"),
            (
                "const a = 1, { b, c: [d] } = x; let e",
                "(a = 1), ({ b, c: [d] } = x); (e = undefined);",
            ),
            (
                "function f() { return 1 }\nclass C {}",
                "f = function f() { return 1 }; \nC = class C {};",
            ),
            ("await x; await y", "await x; return (await y);"),
            ("'text'", "return ('text');"),
            (
                "for (const a of b) { let c = a }",
                "for (const a of b) { let c = a }",
            ),
            ("a\n\nb", "a \n\nreturn (b);"),
            ("// nothing", ""),
        ] {
            assert_eq!(body(text), expected, "{text:?}");
        }
        assert!(
            script_of("{ a: 1 }")
                .expect("an object")
                .contains("return (({ a: 1 }));")
        );
        assert!(
            script_of("{ let a = 1; }")
                .expect("a block")
                .contains("{ let a = 1; }")
        );
    }

    #[test]
    fn what_ends_too_early_is_told_from_what_is_wrong() {
        for open in [
            "(",
            "f(1,",
            "if (a) {",
            "`a\nb",
            "/* a",
            "const a =",
            "x = {\n a: 1,",
        ] {
            let fault = script_of(open).expect_err(open);
            assert!(fault.is_open, "{open:?}: {fault:?}");
        }
        for wrong in ["a b", "const 1 = 2", "'abc", "f(1,]", "import x from 'y'"] {
            let fault = script_of(wrong).expect_err(wrong);
            assert!(!fault.is_open, "{wrong:?}: {fault:?}");
        }
    }
}
