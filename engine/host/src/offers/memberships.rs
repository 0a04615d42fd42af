//! Memberships of the clients of a worker: what `join` and `leave` of sockets and event streams have in common.
//!
//! A client keeps its memberships with its connection. Joins and leaves count when the writes are committed that they
//! may depend on, and not at all if those fail. A client whose connection ends leaves at once.

use crate::error::Error;
use crate::offers::attached::ConnectedClient;
use crate::offers::effects::Effects;
use crate::offers::topics::{Joining, Membership, Topics};
use crate::request::RequestView;
use crate::run::outbox::Verdict;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// A client's membership of a topic, kept with its connection.
struct ClientMembership {
    topic: String,
    membership: RefCell<Option<Membership>>,
    /// True from its leave on, until the writes are committed that the leave may depend on.
    is_leaving: Cell<bool>,
}

impl ClientMembership {
    /// Reports whether it is of this topic, and the client has not left.
    fn is_of(&self, topic: &str) -> bool {
        self.topic == topic && !self.is_leaving.get()
    }
}

/// Returns the membership of a topic that a client has not left.
fn membership_of(client: &impl ConnectedClient, topic: &str) -> Option<Rc<ClientMembership>> {
    client.find_attached(|one: &Rc<ClientMembership>| one.is_of(topic).then(|| Rc::clone(one)))
}

/// Checks that a client may be a member of one more topic, of so many.
///
/// # Errors
/// The client, called `name`, has joined as many as it may.
pub fn check_count(
    client: &impl ConnectedClient,
    topic: &str,
    (name, count_max): (&str, usize),
) -> Result<(), Error> {
    let count = client.attached::<Rc<ClientMembership>>();
    // A membership that is replaced stays until the commit.
    let is_known = membership_of(client, topic).is_some();
    if count < count_max || (is_known && count < 2 * count_max) {
        return Ok(());
    }
    Err(Error::script(format!(
        "a {name} joins at most {count_max} topics"
    )))
}

/// Makes a client a member of a topic; `data` is JSON. A membership of that topic that it has ends.
///
/// # Errors
/// As for [`Topics::join`]. The client then stays what it was.
pub fn join<C: ConnectedClient>(
    client: &Rc<C>,
    topics: &dyn Topics,
    request: Option<&Rc<dyn RequestView>>,
    topic: &str,
    data: String,
) -> Result<(), Error> {
    let before = membership_of(&**client, topic);
    let new = Rc::new(ClientMembership {
        topic: topic.to_owned(),
        membership: RefCell::default(),
        is_leaving: Cell::new(false),
    });
    let settled = {
        let (client, before) = (Rc::downgrade(client), before.as_ref().map(Rc::downgrade));
        let new = Rc::downgrade(&new);
        Box::new(move |verdict| match verdict {
            Verdict::Committed => forget(&client, before.as_ref()),
            Verdict::Failed => {
                forget(&client, Some(&new));
                if let Some(before) = before.and_then(|before| before.upgrade()) {
                    before.is_leaving.set(false);
                }
            }
        })
    };
    let joining = Joining {
        data,
        replaces: before.is_some(),
        settled,
    };
    let membership = topics.join(request, topic, joining)?;
    if let Some(before) = before {
        before.is_leaving.set(true);
    }
    new.membership.replace(Some(membership));
    client.attach(new);
    Ok(())
}

fn forget<C: ConnectedClient>(client: &Weak<C>, membership: Option<&Weak<ClientMembership>>) {
    let membership = membership.and_then(Weak::upgrade);
    if let (Some(client), Some(membership)) = (client.upgrade(), membership) {
        client.detach(|one: &Rc<ClientMembership>| Rc::ptr_eq(one, &membership));
        // Others may hold it still.
        drop(membership.membership.take());
    }
}

/// Ends a client's membership of a topic. Returns whether it was a member.
///
/// # Errors
/// Fails if what the request or the run wrote was rolled back.
pub fn leave<C: ConnectedClient>(
    client: &Rc<C>,
    effects: &Effects,
    request: Option<&Rc<dyn RequestView>>,
    topic: &str,
) -> Result<bool, Error> {
    let Some(membership) = membership_of(&**client, topic) else {
        return Ok(false);
    };
    let settled = {
        let (client, membership) = (Rc::downgrade(client), Rc::downgrade(&membership));
        move |verdict| match verdict {
            Verdict::Committed => forget(&client, Some(&membership)),
            Verdict::Failed => {
                if let Some(membership) = membership.upgrade() {
                    membership.is_leaving.set(false);
                }
            }
        }
    };
    effects.when_settled(request, settled)?;
    membership.is_leaving.set(true);
    Ok(true)
}
