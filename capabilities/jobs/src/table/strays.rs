//! Jobs in queues that this process does not know, though it declares their names: their declaration has named another
//! queue since they were added.

use super::{JobTable, text};
use crate::limits::STRAYS_MAX;
use sampan_host::{Error, Value, json};

/// Steps from one queue to the next by the index: it does not look at each job.
pub(super) const QUEUES: &str = "WITH RECURSIVE queues(name) AS (
      SELECT min(queue) FROM _sampan_jobs WHERE state = 'ready'
      UNION ALL SELECT (SELECT min(queue) FROM _sampan_jobs WHERE state = 'ready' AND queue > queues.name)
        FROM queues WHERE queues.name IS NOT NULL)
    SELECT name FROM queues WHERE name IS NOT NULL";
/// Reads one queue by the index. No index has the names, since queues that nothing declares are rare.
///
/// Parameters: pairs of a name and its queue, the queue to look at, the pairs again, and the most jobs to move.
pub(super) const MOVE: &str = "UPDATE _sampan_jobs
    SET queue = (SELECT json_extract(value, '$[1]') FROM json_each(?) WHERE json_extract(value, '$[0]') = name)
    WHERE id IN (SELECT id FROM _sampan_jobs WHERE state = 'ready' AND queue = ?
        AND name IN (SELECT json_extract(value, '$[0]') FROM json_each(?)) ORDER BY priority DESC, id LIMIT ?)";

impl JobTable<'_> {
    /// Moves jobs from queues that are not among those of `declared` to the queue with which their name is declared.
    /// Returns the number.
    pub(crate) fn move_strays(self, declared: &[(String, String)]) -> Result<i64, Error> {
        let rows = self.read(QUEUES, Vec::new())?;
        let Some(rows) = rows else {
            return Ok(0);
        };
        let queues = (0..rows.len()).map(|at| text(rows.cell(at, 0)));
        let is_known = |queue: &String| declared.iter().any(|(_, known)| known == queue);
        let (mut moved, pairs) = (0, pairs(declared));
        for queue in queues.filter(|queue| !is_known(queue)) {
            let count_max = Value::Int(STRAYS_MAX as i64);
            let params = vec![pairs.clone(), queue.into(), pairs.clone(), count_max];
            moved += self.write(MOVE, params)?;
        }
        Ok(moved)
    }
}

/// Returns pairs of texts as JSON.
fn pairs(pairs: &[(String, String)]) -> Value {
    let mut text = Vec::from("[");
    for (at, (name, queue)) in pairs.iter().enumerate() {
        text.extend_from_slice(if at == 0 { b"[" } else { b",[" });
        json::write_string(&mut text, name.as_bytes());
        text.push(b',');
        json::write_string(&mut text, queue.as_bytes());
        text.push(b']');
    }
    text.push(b']');
    Value::Text(String::from_utf8(text).unwrap_or_default())
}
