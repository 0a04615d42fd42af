//! The answers of the server, as they come.

use super::exchange::{Ask, Exchange, ExchangeState, Gather, Stake, Step, StepDone};
use super::messages::{self, Body, Malformed};
use super::state::ConnectionState;
use super::statement::Columns;
use crate::error::{Failure, ServerError};
use crate::types::read::Unreadable;
use sampan_host::Rows;
use std::rc::Rc;
use std::sync::Arc;

/// Takes a message in.
pub(super) fn take(state: &mut ConnectionState, tag: u8, body: &[u8]) -> Result<(), Malformed> {
    match tag {
        // A notice.
        b'N' => return Ok(()),
        b'A' => {
            state.heard();
            return Ok(());
        }
        b'S' => {
            let mut body = Body(body);
            let (name, value) = (body.text()?, body.text()?);
            state.server.note(name, value);
            return Ok(());
        }
        b'E' => {
            let error = ServerError::read(body);
            if error.is_fatal {
                state.fatal = Some(error.clone());
            }
            let Some(exchange) = state.sent.front() else {
                return match error.is_fatal {
                    true => Ok(()),
                    false => Err(error.message),
                };
            };
            let mut current = exchange.0.state.borrow_mut();
            if current.failure.is_none() {
                let late = state.patience.late();
                current.failure = Some(failure(exchange, &current, error, late));
            }
            return Ok(());
        }
        _ => {}
    }
    let Some((exchange, _)) = state.sent.front() else {
        return Err(unexpected(tag));
    };
    let exchange = Rc::clone(exchange);
    if tag == b'Z' {
        state.status = Body(body).bytes(1)?[0];
        state.sent.pop_front();
        state.forget(&exchange);
        exchange.finish(None);
        return Ok(());
    }
    let mut current = exchange.state.borrow_mut();
    match tag {
        b'1' => {
            current.parsing.pop_front();
            Ok(())
        }
        // Parameters were bound, a statement was closed.
        b'2' | b'3' => Ok(()),
        b't' => {
            current.params = messages::parameters(body)?;
            Ok(())
        }
        b'T' => described(&exchange, &mut current, Some(body)),
        b'n' => described(&exchange, &mut current, None),
        b'D' => row(&exchange, &mut current, body),
        // The server takes the lines, which are on their way.
        b'G' if matches!(exchange.ask, Ask::Copy { .. }) => Ok(()),
        b'C' => {
            current.tag.clear();
            current.tag.push_str(Body(body).text()?);
            current.current.changes = messages::changes(&current.tag);
            end_step(&exchange, &mut current);
            Ok(())
        }
        // The first row was enough, or the text has no statement.
        b's' | b'I' => {
            end_step(&exchange, &mut current);
            Ok(())
        }
        _ => Err(unexpected(tag)),
    }
}

/// Returns what an error of the server is for the exchange whose answers come now.
fn failure(
    (exchange, _): &(Rc<Exchange>, u64),
    current: &ExchangeState,
    error: ServerError,
    late: Option<Failure>,
) -> Failure {
    let may_be_done = match &exchange.ask {
        Ask::Run(steps) => current.done.len() == steps.len(),
        Ask::Script(_) | Ask::Control(_) | Ask::Copy { .. } => true,
        Ask::Describe(_) => false,
    };
    if error.is_fatal && exchange.stake == Stake::Commit && may_be_done {
        return Failure::Unknown(error.words());
    }
    if error.sqlstate == "57014" {
        if let Some(late) = late
            && (current.is_late || error.message.contains("statement timeout"))
        {
            return late;
        }
        if current.may_be_hit && !current.is_cancelled {
            return Failure::Hit;
        }
    }
    Failure::Server {
        error: Box::new(error),
        step: current.at,
    }
}

fn unexpected(tag: u8) -> Malformed {
    match tag {
        b'G' | b'H' | b'W' => "COPY cannot be used here".to_owned(),
        _ => format!("an unexpected message {:?}", char::from(tag)),
    }
}

/// Takes the columns of a statement in: of one that is described alone, or of one that runs.
fn described(
    exchange: &Exchange,
    current: &mut ExchangeState,
    body: Option<&[u8]>,
) -> Result<(), Malformed> {
    let (columns, formats) = match body {
        Some(body) => messages::columns(body)?,
        None => (Columns::new(Vec::new(), Vec::new()), Vec::new()),
    };
    match &exchange.ask {
        Ask::Describe(_) => {
            let params = std::mem::take(&mut current.params);
            current.described.push((params, columns));
            current.at += 1;
        }
        Ask::Run(steps) => {
            let step = step(steps, current)?;
            let known = &step.shape.columns;
            if known.types == columns.types && known.names == columns.names {
                return Ok(());
            }
            // The schema was changed since it was described. The formats are still those of the old columns.
            *step.statement.shape.borrow_mut() = None;
            let fits = |(reading, format): (&crate::types::read::Reading, &u16)| {
                reading.format() == *format
            };
            if !columns.readings.iter().zip(&formats).all(fits) {
                current.failure.get_or_insert(Failure::Changed);
            }
            current.columns = Some(columns);
        }
        Ask::Script(_) | Ask::Control(_) | Ask::Copy { .. } => {}
    }
    Ok(())
}

fn step<'a>(steps: &'a [Step], current: &ExchangeState) -> Result<&'a Step, Malformed> {
    steps
        .get(current.at)
        .ok_or_else(|| "more results than statements".to_owned())
}

fn row(exchange: &Exchange, current: &mut ExchangeState, body: &[u8]) -> Result<(), Malformed> {
    let Ask::Run(steps) = &exchange.ask else {
        return Ok(());
    };
    let step = step(steps, current)?;
    // The rows of a result that cannot be given are passed over.
    if current.failure.is_some() {
        return Ok(());
    }
    let columns = current.columns.as_ref().unwrap_or(&step.shape.columns);
    let mut body = Body(body);
    if usize::from(body.u16()?) != columns.readings.len() {
        return Err("a row with another number of columns".to_owned());
    }
    let (bytes_max, forms) = match step.gather {
        Gather::Rows {
            bytes_max, forms, ..
        } => (bytes_max, forms),
        Gather::Last(None) => return Ok(()),
        Gather::Last(Some(at)) => {
            for (index, reading) in columns.readings.iter().enumerate() {
                let cell = cell(&mut body)?;
                if index == at {
                    current.current.last = cell.and_then(|bytes| reading.integer(bytes));
                }
            }
            return Ok(());
        }
    };
    let rows = &mut current.current.rows;
    let rows = rows.get_or_insert_with(|| Rows::new(Arc::clone(&columns.names)));
    for reading in &columns.readings {
        let pushed = match cell(&mut body)? {
            None => rows.push(sampan_host::Cell::Null).map_err(Unreadable::from),
            Some(bytes) if rows.memory_bytes().saturating_add(bytes.len()) > bytes_max => {
                Err(Unreadable::TooLarge)
            }
            Some(bytes) => reading.push(bytes, forms, rows),
        };
        match pushed {
            Ok(()) => {}
            Err(Unreadable::TooLarge) => {
                too_large(current, bytes_max);
                return Ok(());
            }
            Err(Unreadable::Malformed) => return Err(format!("a value that is no {reading:?}")),
        }
    }
    if rows.memory_bytes() > bytes_max {
        too_large(current, bytes_max);
    }
    Ok(())
}

fn too_large(current: &mut ExchangeState, bytes_max: usize) {
    current.failure = Some(Failure::TooLarge(bytes_max));
    current.current.rows = None;
}

fn cell<'a>(body: &mut Body<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    match body.u32()? {
        u32::MAX => Ok(None),
        len => body.bytes(len as usize).map(Some),
    }
}

fn end_step(exchange: &Exchange, current: &mut ExchangeState) {
    let mut done: StepDone = std::mem::take(&mut current.current);
    let columns = current.columns.take();
    if let Ask::Run(steps) = &exchange.ask
        && let Some(step) = steps.get(current.at)
        && let Gather::Rows { .. } = step.gather
        && done.rows.is_none()
    {
        let columns = columns.as_ref().unwrap_or(&step.shape.columns);
        done.rows = Some(Rows::new(Arc::clone(&columns.names)));
    }
    current.done.push(done);
    current.at += 1;
}
