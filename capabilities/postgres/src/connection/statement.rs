//! A statement that a worker knows, with the types that the server has found in it.

use crate::sql::Sql;
use crate::types::oids::Oid;
use crate::types::read::Reading;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// A statement of a worker. Connections that have prepared it know it by its number.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) id: u64,
    pub(crate) sql: Sql,
    /// False for a long one, which is parsed each time.
    pub(crate) is_kept: bool,
    /// `None` until the server has described it, or after that has changed.
    pub(crate) shape: RefCell<Option<Rc<Shape>>>,
    /// Another has replaced it.
    pub(crate) is_stale: Cell<bool>,
}

/// The types of a statement.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) params: Box<[Oid]>,
    pub(crate) columns: Rc<Columns>,
}

/// The columns of a result; without columns a statement gives no rows.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Shared by all results: engines know them again by it.
    pub(crate) names: Arc<[String]>,
    pub(crate) types: Box<[Oid]>,
    pub(crate) readings: Box<[Reading]>,
}

impl Columns {
    pub(crate) fn new(names: Vec<String>, types: Vec<Oid>) -> Rc<Self> {
        Rc::new(Self {
            readings: types.iter().map(|&oid| Reading::of(oid)).collect(),
            names: names.into(),
            types: types.into(),
        })
    }
}
