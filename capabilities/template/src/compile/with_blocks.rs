//! `{% with a = 1, b = a %}`: as in Jinja2, all values are those outside of the block. minijinja assigns each before it
//! computes the next.

use crate::program::Op;
use minijinja::machinery::CodeGenerator;
use minijinja::machinery::ast::Expr;

/// One assignment: where the operations of its value begin and end, and where those that store it end.
struct Part {
    begin: usize,
    stores: usize,
    end: usize,
}

/// Moves the operations of blocks that assign several variables: first all that compute, then all that store.
///
/// `frames` has the assignments of each frame that the code opens.
pub(crate) fn assign_together(
    ops: &mut Vec<Op>,
    lines: &mut Vec<u32>,
    frames: &[&[(Expr<'_>, Expr<'_>)]],
) {
    let opens = |op: &Op| matches!(op, Op::PushWith);
    let places: Vec<usize> = (0..ops.len()).filter(|at| opens(&ops[*at])).collect();
    for (place, assignments) in places.into_iter().zip(frames) {
        if assignments.len() > 1 {
            reorder(ops, lines, &parts(place + 1, assignments));
        }
    }
}

fn parts(mut at: usize, assignments: &[(Expr<'_>, Expr<'_>)]) -> Vec<Part> {
    let mut parts = Vec::with_capacity(assignments.len());
    for (target, value) in assignments {
        let stores = at + count(|generator| generator.compile_expr(value));
        let end = stores + count(|generator| generator.compile_assignment(target));
        parts.push(Part {
            begin: at,
            stores,
            end,
        });
        at = end;
    }
    parts
}

/// Counts the operations that the generator makes.
fn count<'a>(generate: impl FnOnce(&mut CodeGenerator<'a>)) -> usize {
    let mut generator = CodeGenerator::new("", "");
    generate(&mut generator);
    let (code, _) = generator.finish();
    (0..).map_while(|at| code.get(at)).count()
}

fn reorder(ops: &mut Vec<Op>, lines: &mut Vec<u32>, parts: &[Part]) {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return;
    };
    let (begin, end) = (first.begin, last.end);
    if end > ops.len() {
        return;
    }
    let mut moved: Vec<Option<(Op, u32)>> = ops
        .drain(begin..end)
        .zip(lines.drain(begin..end))
        .map(Some)
        .collect();
    let mut ordered = Vec::with_capacity(moved.len());
    for part in parts {
        // Jumps of a value stay inside of it.
        let shift = (part.begin - begin - ordered.len()) as u32;
        for at in part.begin..part.stores {
            if let Some((mut op, line)) = moved[at - begin].take() {
                if let Some(target) = op.target_mut() {
                    *target -= shift;
                }
                ordered.push((op, line));
            }
        }
    }
    // The value that was computed last is on top.
    for part in parts.iter().rev() {
        for at in part.stores..part.end {
            ordered.extend(moved[at - begin].take());
        }
    }
    let (moved_ops, moved_lines): (Vec<Op>, Vec<u32>) = ordered.into_iter().unzip();
    ops.splice(begin..begin, moved_ops);
    lines.splice(begin..begin, moved_lines);
}
