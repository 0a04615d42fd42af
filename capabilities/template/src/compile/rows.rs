//! Loops that do no more than print plain members of their items, and text: they are run row by row ([`Rows`]).

use crate::escape::block_of;
use crate::program::{Op, RowStep, Rows};
use sampan_host::reader::{Name, ROW_MEMBERS_MAX};

/// Notes at the beginning of each such loop how to run it. Operations are fused before.
pub(super) fn find_rows(ops: &mut [Op]) {
    for at in 0..ops.len() {
        if let Op::IterateInto(end, name, _) = ops[at]
            && let Some(found) = rows(ops, at, end as usize, name)
            && let Op::IterateInto(_, _, rows) = &mut ops[at]
        {
            *rows = Some(Box::new(found));
        }
    }
}

/// The steps of the loop that begins at `start` and ends before `end`, whose variable is `item`.
fn rows(ops: &[Op], start: usize, end: usize, item: Name) -> Option<Rows> {
    let mut rows = Rows::default();
    // The number of the step that each operation has become, and the steps that jump.
    let (mut step_of, mut jumps) = (vec![None; end.checked_sub(start)?], Vec::new());
    let mut at = start + 2;
    while at < end {
        step_of[at - start] = Some(rows.steps.len());
        let (step, count) = match ops.get(at)? {
            Op::Raw(text) => (raw(text), 1),
            Op::EmitAttr(name, member) if *name == item => {
                (RowStep::Print(member_of(&mut rows.members, *member)?), 3)
            }
            Op::EmitCasedAttr(name, member, is_upper) if *name == item => {
                rows.is_cased = true;
                let member = member_of(&mut rows.members, *member)?;
                (RowStep::PrintCased(member, *is_upper), 4)
            }
            Op::JumpUnlessAttr(name, member, target) if *name == item => {
                jumps.push(*target as usize);
                let member = member_of(&mut rows.members, *member)?;
                (RowStep::JumpUnless(member, 0), 3)
            }
            Op::Jump(target) => {
                jumps.push(*target as usize);
                (RowStep::Jump(0), 1)
            }
            _ => return None,
        };
        rows.steps.push(step);
        at += count;
    }
    let mut jumps = jumps.into_iter();
    let last = rows.steps.len();
    for (at, step) in rows.steps.iter_mut().enumerate() {
        if let RowStep::JumpUnless(_, target) | RowStep::Jump(target) = step {
            let to = jumps.next()?;
            *target = match to == start {
                true => last,
                // Only forwards, so that a row ends.
                false => (*step_of.get(to.checked_sub(start)?)?).filter(|to| *to > at)?,
            };
        }
    }
    Some(rows)
}

fn raw(text: &str) -> RowStep {
    match block_of(text.as_bytes()) {
        Some(block) => RowStep::Short(block, text.len()),
        None => RowStep::Raw(text.into()),
    }
}

/// The number of a member among those that a row needs.
fn member_of(members: &mut Vec<Name>, name: Name) -> Option<usize> {
    if let Some(at) = members.iter().position(|known| *known == name) {
        return Some(at);
    }
    members.push(name);
    (members.len() <= ROW_MEMBERS_MAX).then(|| members.len() - 1)
}
