//! Scripts as the passes see them that look for probable mistakes.

use crate::nesting::with_stack_for;
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_semantic::{Semantic, SemanticBuilder};
use oxc_span::SourceType;

/// Returns what `find` finds in a script; nothing in one that cannot be parsed.
pub(crate) fn found_in<T: Send>(
    path: &str,
    source: &str,
    find: impl FnOnce(&Semantic<'_>) -> Vec<T> + Send,
) -> Vec<T> {
    let work = || {
        let allocator = Allocator::default();
        let kind = SourceType::from_path(path).unwrap_or_default();
        let parsed = Parser::new(&allocator, source, kind.with_module(true)).parse();
        if parsed.panicked {
            return Vec::new();
        }
        let builder = SemanticBuilder::new().with_build_nodes(true);
        find(&builder.build(&parsed.program).semantic)
    };
    with_stack_for(source, work).unwrap_or_default()
}

/// Returns the line, from 1 on, in which a byte of a script stands.
pub(crate) fn line_at(source: &str, start: u32) -> u32 {
    let before = &source[..source.floor_char_boundary(start as usize)];
    before.matches('\n').count() as u32 + 1
}
