//! The messages that topics keep, so that a client that was away for a while gets those that it missed.

use sampan_host::topics::{Message, Missed};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// The memory of a message beside its content, about, in bytes: its place in a history, and what the allocator takes.
const MESSAGE_BYTES: usize = 64;

/// The memory of a topic beside its name and its messages, about, in bytes: its history, and its places in the maps.
const TOPIC_BYTES: usize = 256;

/// The histories of all topics, in bounded memory: the topics in which nothing was published for longest go first.
#[derive(Default)]
pub(crate) struct Histories {
    by_topic: HashMap<Arc<str>, History>,
    /// The topics by the number of their last message.
    by_age: BTreeMap<u64, Arc<str>>,
    bytes: usize,
    /// The number of the last message of all topics that are kept no longer.
    forgotten: u64,
}

/// The last messages of one topic.
#[derive(Default)]
struct History {
    messages: VecDeque<Arc<Message>>,
    /// The memory of the messages, without that of the topic.
    bytes: usize,
    /// The number of the last message that is kept no longer.
    forgotten: u64,
}

impl History {
    fn last(&self) -> u64 {
        self.messages.back().map_or(0, |last| last.id.number)
    }

    /// Drops the oldest message, and returns its size.
    fn drop_oldest(&mut self) -> usize {
        let Some(oldest) = self.messages.pop_front() else {
            return 0;
        };
        self.forgotten = oldest.id.number;
        let bytes = kept_bytes(&oldest);
        self.bytes -= bytes;
        bytes
    }
}

/// The memory that a message takes in a history, about, in bytes. Each has its own copy of the topic's name.
fn kept_bytes(message: &Message) -> usize {
    message.size() + message.topic.len() + MESSAGE_BYTES
}

impl Histories {
    /// Keeps a message, and no more than `count` of its topic and `bytes_max` bytes of all topics.
    pub(crate) fn add(&mut self, message: &Arc<Message>, count: usize, bytes_max: usize) {
        let forgotten = self.forgotten;
        let topic = Arc::clone(&message.topic);
        let history = self
            .by_topic
            .entry(Arc::clone(&topic))
            .or_insert_with(|| History {
                forgotten,
                ..History::default()
            });
        if history.messages.is_empty() {
            self.bytes += TOPIC_BYTES;
        }
        self.by_age.remove(&history.last());
        history.messages.push_back(Arc::clone(message));
        history.bytes += kept_bytes(message);
        self.bytes += kept_bytes(message);
        while history.messages.len() > count.max(1) {
            self.bytes -= history.drop_oldest();
        }
        self.by_age.insert(message.id.number, topic);
        while self.bytes > bytes_max {
            self.make_room();
        }
    }

    /// Forgets the topic that was quiet for longest; where it is the only one, its oldest message.
    fn make_room(&mut self) {
        let Some((number, topic)) = self.by_age.pop_first() else {
            self.bytes = 0;
            return;
        };
        if self.by_age.is_empty()
            && let Some(history) = self.by_topic.get_mut(&topic)
            && history.messages.len() > 1
        {
            self.bytes -= history.drop_oldest();
            self.by_age.insert(number, topic);
            return;
        }
        if let Some(history) = self.by_topic.remove(&topic) {
            self.bytes -= history.bytes + TOPIC_BYTES;
            self.forgotten = self.forgotten.max(number);
        }
    }

    /// Returns the messages of a topic behind the one with this number.
    pub(crate) fn after(&self, topic: &str, number: u64) -> Missed {
        let Some(history) = self.by_topic.get(topic) else {
            return match number >= self.forgotten {
                true => Missed::These(Vec::new()),
                false => Missed::TooMany,
            };
        };
        if number < history.forgotten {
            return Missed::TooMany;
        }
        let first = history
            .messages
            .partition_point(|message| message.id.number <= number);
        Missed::These(history.messages.range(first..).cloned().collect())
    }

    /// Forgets the topics that were not kept until now. Nothing is known of their messages up to the one with the
    /// number `last`, nor of those of topics in which none was published.
    pub(crate) fn forget_unless(&mut self, last: u64, was_kept: impl Fn(&str) -> bool) {
        self.forgotten = self.forgotten.max(last);
        let forgotten: Vec<_> = self
            .by_topic
            .extract_if(|topic, _| !was_kept(topic))
            .collect();
        for (_, history) in forgotten {
            self.by_age.remove(&history.last());
            self.bytes -= history.bytes + TOPIC_BYTES;
        }
    }

    /// Forgets everything. Nothing is known of the messages up to the one with this number.
    pub(crate) fn clear(&mut self, forgotten: u64) {
        *self = Self {
            forgotten,
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::topics::{MessageId, MessageKind, Payload};

    fn message(topic: &str, number: u64) -> Arc<Message> {
        let id = MessageId {
            epoch: "e".into(),
            number,
        };
        let payload = Payload::Text("0123456789".to_owned());
        let kind = MessageKind::Published;
        Arc::new(Message::new(topic.into(), id, kind, payload, true))
    }

    fn numbers(histories: &Histories, topic: &str, after: u64) -> Option<Vec<u64>> {
        match histories.after(topic, after) {
            Missed::These(messages) => Some(messages.iter().map(|one| one.id.number).collect()),
            Missed::TooMany => None,
        }
    }

    #[test]
    fn the_last_messages_are_there_and_older_ones_are_known_to_be_missing() {
        let mut histories = Histories::default();
        for number in 1..=5 {
            histories.add(&message("a", number), 3, usize::MAX);
        }
        assert_eq!(numbers(&histories, "a", 5), Some(vec![]));
        assert_eq!(numbers(&histories, "a", 3), Some(vec![4, 5]));
        assert_eq!(numbers(&histories, "a", 2), Some(vec![3, 4, 5]));
        assert_eq!(numbers(&histories, "a", 1), None);
        assert_eq!(numbers(&histories, "other", 1), Some(vec![]));
    }

    #[test]
    fn the_quietest_topic_goes_when_there_is_no_room() {
        let mut histories = Histories::default();
        let room = TOPIC_BYTES + 2 * kept_bytes(&message("a", 1));
        histories.add(&message("a", 1), 9, room);
        histories.add(&message("b", 2), 9, room);
        histories.add(&message("b", 3), 9, room);
        assert_eq!(numbers(&histories, "a", 0), None);
        assert_eq!(numbers(&histories, "a", 1), Some(vec![]));
        assert_eq!(numbers(&histories, "b", 1), Some(vec![2, 3]));
        histories.add(&message("b", 4), 9, room);
        assert_eq!(numbers(&histories, "b", 1), None);
        assert_eq!(numbers(&histories, "b", 2), Some(vec![3, 4]));
        assert!(histories.bytes <= room);
        histories.add(&message("c", 5), 9, 1);
        assert_eq!((histories.bytes, histories.by_topic.len()), (0, 0));
    }

    #[test]
    fn topics_and_small_messages_count_with_the_memory_that_they_take() {
        let mut histories = Histories::default();
        let name = "n".repeat(200);
        for number in 1..=100 {
            let topic = format!("{name}{number}");
            histories.add(&message(&topic, number), 9, 10_000);
        }
        let kept = histories.by_topic.len();
        assert!((1..=10_000 / (200 + TOPIC_BYTES)).contains(&kept), "{kept}");
        let messages = histories.by_topic.values().map(|history| history.bytes);
        assert_eq!(
            histories.bytes,
            messages.sum::<usize>() + kept * TOPIC_BYTES
        );
    }
}
