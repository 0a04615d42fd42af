//! The members of topics.

use crate::hub::WorkerKey;
use crate::limits::MEMBERS_MAX;
use sampan_host::carrier::OwnMember;
use sampan_host::json::{kept_value, write_string};
use sampan_host::{Error, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The greatest depth to which engines write JSON, and some more.
const DEPTH_MAX: usize = 1024;

/// The members of all topics, in the order in which they joined.
#[derive(Default)]
pub(crate) struct Members(HashMap<Arc<str>, TopicMembers>);

/// The members of a topic.
#[derive(Default)]
struct TopicMembers {
    in_order: BTreeMap<JoinPlace, Arc<Member>>,
    by_id: HashMap<Arc<str>, JoinPlace>,
}

/// A member and its topic.
pub(crate) type TopicMember = (Arc<str>, Arc<Member>);

/// The place of a member in the order in which members joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JoinPlace {
    /// The number of the last message when it joined, or of the message that told of it.
    pub(crate) message: u64,
    /// The number of the member; 0 for those of other processes.
    pub(crate) number: u64,
}

/// The owner of a member's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberOwner {
    /// A worker of this process.
    Worker(WorkerKey),
    /// Another process.
    OtherProcess,
}

/// A member of a topic.
pub(crate) struct Member {
    id: Arc<str>,
    place: JoinPlace,
    owner: MemberOwner,
    /// The member for scripts and clients, as JSON.
    json: String,
}

impl Member {
    /// Creates a member of this process. `data` is JSON.
    pub(crate) fn own(process: &str, place: JoinPlace, worker: WorkerKey, data: &str) -> Self {
        let id = format!("{process}-m{}", place.number);
        let mut json = b"{\"id\":".to_vec();
        write_string(&mut json, id.as_bytes());
        json.extend_from_slice(b",\"data\":");
        json.extend_from_slice(data.as_bytes());
        json.push(b'}');
        Self {
            id: id.into(),
            place,
            owner: MemberOwner::Worker(worker),
            json: String::from_utf8(json).unwrap_or_default(),
        }
    }

    /// Creates a member of another process from its JSON; `None` if that is none.
    pub(crate) fn other(json: String, message: u64) -> Option<Self> {
        Some(Self {
            id: member_id(&json)?.into(),
            place: JoinPlace { message, number: 0 },
            owner: MemberOwner::OtherProcess,
            json,
        })
    }

    /// The member as JSON, for the messages that tell of it.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(crate) fn number(&self) -> u64 {
        self.place.number
    }

    fn owner_is(&self, is_it: &impl Fn(MemberOwner) -> bool) -> bool {
        is_it(self.owner)
    }
}

/// Returns the id of a member in its JSON.
pub(crate) fn member_id(json: &str) -> Option<String> {
    match json_value(json).ok()?.get("id") {
        Some(Value::Text(id)) => Some(id.clone()),
        _ => None,
    }
}

/// Returns the value of JSON that an engine has written.
///
/// # Errors
/// The text is not JSON.
pub(crate) fn json_value(text: &str) -> Result<Value, Error> {
    kept_value(text, DEPTH_MAX)
}

impl TopicMembers {
    fn remove(&mut self, id: &str) -> bool {
        let place = self.by_id.remove(id);
        place.is_some_and(|place| self.in_order.remove(&place).is_some())
    }
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
            .is_none_or(|members| members.by_id.len() < MEMBERS_MAX)
        {
            return Ok(());
        }
        Err(Error::script(format!(
            "the topic {topic:?} has {MEMBERS_MAX} members already; no more are allowed"
        )))
    }

    /// Adds a member, unless it is there.
    ///
    /// # Errors
    /// As for [`Members::check`].
    pub(crate) fn add(&mut self, topic: &Arc<str>, member: &Arc<Member>) -> Result<(), Error> {
        self.check(topic)?;
        let members = self.0.entry(Arc::clone(topic)).or_default();
        if !members.by_id.contains_key(&member.id) {
            members.by_id.insert(Arc::clone(&member.id), member.place);
            members.in_order.insert(member.place, Arc::clone(member));
        }
        Ok(())
    }

    /// Removes a member; false if it was not there.
    pub(crate) fn remove(&mut self, topic: &str, id: &str) -> bool {
        let Some(members) = self.0.get_mut(topic) else {
            return false;
        };
        let was_there = members.remove(id);
        if members.by_id.is_empty() {
            self.0.remove(topic);
        }
        was_there
    }

    /// Removes the members whose connections someone had, and returns them with their topics.
    pub(crate) fn remove_of(&mut self, is_it: impl Fn(MemberOwner) -> bool) -> Vec<TopicMember> {
        let mut removed = Vec::new();
        self.0.retain(|topic, members| {
            let gone = members.in_order.values().filter(|one| one.owner_is(&is_it));
            let gone: Vec<Arc<Member>> = gone.cloned().collect();
            for member in gone {
                members.remove(&member.id);
                removed.push((Arc::clone(topic), member));
            }
            !members.by_id.is_empty()
        });
        removed
    }

    /// Returns the members of this process.
    pub(crate) fn own(&self) -> Vec<OwnMember> {
        let mut own = Vec::new();
        for (topic, members) in &self.0 {
            for member in members.in_order.values() {
                if member.owner != MemberOwner::OtherProcess {
                    own.push(OwnMember {
                        number: member.number(),
                        topic: Arc::clone(topic),
                        json: member.json.clone(),
                    });
                }
            }
        }
        own
    }

    /// Returns the members of a topic for a script.
    ///
    /// # Errors
    /// The data of a member is not JSON.
    pub(crate) fn list(&self, topic: &str) -> Result<Value, Error> {
        let members = self.0.get(topic);
        let members = members
            .into_iter()
            .flat_map(|members| members.in_order.values());
        let values: Result<Vec<Value>, Error> =
            members.map(|member| json_value(&member.json)).collect();
        values.map(Value::List)
    }
}
