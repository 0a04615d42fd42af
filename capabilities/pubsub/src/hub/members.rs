//! The members of topics.

use crate::hub::WorkerKey;
use crate::limits::MEMBERS_MAX;
use sampan_host::json::{kept_value, write_string};
use sampan_host::{Error, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The greatest depth to which engines write JSON, and some more.
const DEPTH_MAX: usize = 1024;

/// The members of all topics, in the order in which they joined.
#[derive(Default)]
pub(crate) struct Members(HashMap<Arc<str>, BTreeMap<u64, Arc<Member>>>);

/// A member and its topic.
pub(crate) type TopicMember = (Arc<str>, Arc<Member>);

/// A member of a topic.
pub(crate) struct Member {
    number: u64,
    /// The worker that has its connection.
    worker: WorkerKey,
    /// JSON.
    data: String,
}

impl Member {
    pub(crate) fn new(number: u64, worker: WorkerKey, data: String) -> Self {
        Self {
            number,
            worker,
            data,
        }
    }

    /// The member as JSON, for the messages that tell of it.
    pub(crate) fn json(&self, epoch: &str) -> String {
        let mut out = b"{\"id\":".to_vec();
        write_string(&mut out, self.id(epoch).as_bytes());
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(self.data.as_bytes());
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    }

    fn id(&self, epoch: &str) -> String {
        format!("{epoch}-m{}", self.number)
    }

    fn value(&self, epoch: &str) -> Result<Value, Error> {
        Ok(Value::Map(vec![
            ("id".to_owned(), self.id(epoch).into()),
            ("data".to_owned(), json_value(&self.data)?),
        ]))
    }
}

/// Returns the value of JSON that an engine has written.
///
/// # Errors
/// The text is not JSON.
pub(crate) fn json_value(text: &str) -> Result<Value, Error> {
    kept_value(text, DEPTH_MAX)
}

impl Members {
    /// Checks that a topic has room for one more.
    ///
    /// # Errors
    /// The topic has as many as are allowed.
    pub(crate) fn check(&self, topic: &str) -> Result<(), Error> {
        if self
            .0
            .get(topic)
            .is_none_or(|members| members.len() < MEMBERS_MAX)
        {
            return Ok(());
        }
        Err(Error::script(format!(
            "the topic {topic:?} has {MEMBERS_MAX} members already; no more are allowed"
        )))
    }

    /// Adds a member.
    ///
    /// # Errors
    /// As for [`Members::check`].
    pub(crate) fn add(&mut self, topic: &Arc<str>, member: &Arc<Member>) -> Result<(), Error> {
        self.check(topic)?;
        let members = self.0.entry(Arc::clone(topic)).or_default();
        members.insert(member.number, Arc::clone(member));
        Ok(())
    }

    /// Removes a member; false if it was not there.
    pub(crate) fn remove(&mut self, topic: &str, member: &Member) -> bool {
        let Some(members) = self.0.get_mut(topic) else {
            return false;
        };
        let was_there = members.remove(&member.number).is_some();
        if members.is_empty() {
            self.0.remove(topic);
        }
        was_there
    }

    /// Removes the members whose connections a worker had, and returns them with their topics.
    pub(crate) fn remove_of(&mut self, is_it: impl Fn(WorkerKey) -> bool) -> Vec<TopicMember> {
        let mut removed = Vec::new();
        self.0.retain(|topic, members| {
            members.retain(|_, member| {
                let is_gone = is_it(member.worker);
                if is_gone {
                    removed.push((Arc::clone(topic), Arc::clone(member)));
                }
                !is_gone
            });
            !members.is_empty()
        });
        removed
    }

    /// Returns the members of a topic for a script.
    ///
    /// # Errors
    /// The data of a member is not JSON.
    pub(crate) fn list(&self, topic: &str, epoch: &str) -> Result<Value, Error> {
        let members = self.0.get(topic).into_iter().flat_map(BTreeMap::values);
        let values: Result<Vec<Value>, Error> = members.map(|member| member.value(epoch)).collect();
        values.map(Value::List)
    }
}
