//! Messages and changes of members from the workers of a process, until they are written.

use sampan_host::carrier::{OwnMember, Publication, Published};
use sampan_host::{Error, ErrorKind};
use std::collections::VecDeque;
use std::time::Instant;

/// The most that waits to be written.
const ITEMS_MAX: usize = 100_000;
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// The most that is written with one transaction.
const BATCH_ITEMS_MAX: usize = 500;
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Something that the other processes are to be told.
pub(super) enum Item {
    Publish(WaitingPublication),
    Join(OwnMember),
    Leave(u64),
}

/// A message whose publisher waits.
pub(super) struct WaitingPublication {
    pub(super) publication: Publication,
    done: Published,
    since: Instant,
}

impl WaitingPublication {
    pub(super) fn new(publication: Publication, done: Published) -> Self {
        Self {
            publication,
            done,
            since: Instant::now(),
        }
    }

    pub(super) fn end(self, outcome: Result<(), Error>) {
        (self.done)(outcome);
    }
}

impl Item {
    fn size(&self) -> usize {
        match self {
            Self::Publish(waiting) => waiting.publication.size(),
            Self::Join(member) => member.json.len(),
            Self::Leave(_) => 0,
        }
    }
}

/// The items in their order, in bounded memory.
#[derive(Default)]
pub(super) struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
    /// The number of items that were ever added.
    pub(super) added: u64,
    /// The number of those that have ended.
    pub(super) ended: u64,
    /// Joins or leaves were dropped: the members have to be compared with those in the database.
    pub(super) has_lost_members: bool,
}

impl Queue {
    /// Adds an item. Returns a message for which there is no room.
    pub(super) fn push(&mut self, item: Item) -> Option<WaitingPublication> {
        let size = item.size();
        if self.items.len() >= ITEMS_MAX || self.bytes + size > BYTES_MAX {
            return match item {
                Item::Publish(waiting) => Some(waiting),
                Item::Join(_) | Item::Leave(_) => {
                    self.has_lost_members = true;
                    None
                }
            };
        }
        self.bytes += size;
        self.added += 1;
        self.items.push_back(item);
        None
    }

    /// Takes as many items as are written with one transaction.
    pub(super) fn take(&mut self) -> Vec<Item> {
        let (mut count, mut bytes) = (0, 0);
        for item in self.items.iter().take(BATCH_ITEMS_MAX) {
            bytes += item.size();
            if count > 0 && bytes > BATCH_BYTES_MAX {
                break;
            }
            count += 1;
        }
        let taken: Vec<Item> = self.items.drain(..count).collect();
        self.bytes -= taken.iter().map(Item::size).sum::<usize>();
        taken
    }

    /// Puts items back that were taken and not written.
    pub(super) fn put_back(&mut self, items: Vec<Item>) {
        self.bytes += items.iter().map(Item::size).sum::<usize>();
        for item in items.into_iter().rev() {
            self.items.push_front(item);
        }
    }

    /// Takes the messages that wait since before a time, or all.
    pub(super) fn take_late(&mut self, before: Option<Instant>) -> Vec<WaitingPublication> {
        let mut late = Vec::new();
        let mut kept = VecDeque::with_capacity(self.items.len());
        for item in self.items.drain(..) {
            match item {
                Item::Publish(waiting) if before.is_none_or(|time| waiting.since < time) => {
                    self.bytes -= waiting.publication.size();
                    late.push(waiting);
                }
                item => kept.push_back(item),
            }
        }
        self.items = kept;
        self.ended += late.len() as u64;
        late
    }
}

/// The error of a message for which there is no room.
#[cold]
pub(super) fn full() -> Error {
    let text = "too many messages wait to be published already";
    Error::new(ErrorKind::Unavailable, text).with_code("busy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::topics::Payload;

    fn item(bytes: usize) -> Item {
        let publication = Publication {
            topic: "t".into(),
            payload: Payload::Bytes(vec![0; bytes]),
        };
        Item::Publish(WaitingPublication::new(publication, Box::new(|_| ())))
    }

    #[test]
    fn it_takes_no_more_than_it_has_room_for() {
        let mut queue = Queue::default();
        assert!(queue.push(item(BYTES_MAX / 2)).is_none());
        assert!(queue.push(item(BYTES_MAX / 2)).is_some());
        assert!(queue.push(Item::Leave(1)).is_none() && !queue.has_lost_members);
        assert_eq!(
            queue.take().len(),
            1,
            "the next is written with another transaction"
        );
        assert_eq!(queue.take().len(), 1);
        assert_eq!(queue.bytes, 0);
        for number in 0..ITEMS_MAX as u64 {
            assert!(queue.push(Item::Leave(number)).is_none());
        }
        assert!(queue.push(Item::Leave(0)).is_none() && queue.has_lost_members);
    }

    #[test]
    fn a_transaction_has_a_bounded_part_of_it_in_order() {
        let mut queue = Queue::default();
        for bytes in [BATCH_BYTES_MAX - 1_000, 2_000, 3] {
            queue.push(item(bytes));
        }
        let first = queue.take();
        assert_eq!(first.len(), 1, "the next would be too much");
        queue.put_back(first);
        assert_eq!(queue.take().len(), 1);
        assert_eq!(queue.take().len(), 2);
        queue.push(Item::Leave(7));
        queue.push(item(1));
        assert_eq!(queue.take_late(None).len(), 1);
        assert!(matches!(&*queue.take(), [Item::Leave(7)]));
        assert_eq!(queue.bytes, 0);
    }
}
