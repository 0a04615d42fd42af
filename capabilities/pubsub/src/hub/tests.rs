//! Tests of the hub.

use super::*;
use crate::hub::rules::TopicRule;

fn hub() -> Hub {
    let hub = Hub::new().expect("a hub");
    let rule = TopicRule {
        pattern: "kept:*".to_owned(),
        history: 3,
    };
    let config = TopicsConfig {
        message_bytes_max: 100,
        ..TopicsConfig::default()
    };
    hub.configure(config, TopicRules([rule].into()));
    hub
}

fn publish(hub: &Hub, topic: &str, text: &str) {
    let payload = Payload::Text(text.to_owned());
    hub.publish(topic.into(), MessageKind::Published, payload);
}

fn texts(inbox: &Inbox) -> Vec<String> {
    let taken = inbox.take().messages;
    let text = |one: &Delivery| one.message.payload.text().expect("text").to_owned();
    taken.iter().map(text).collect()
}

#[test]
fn a_worker_gets_the_messages_of_its_topics_only() {
    let hub = hub();
    let (first, first_inbox) = hub.add_worker(1);
    let (second, second_inbox) = hub.add_worker(2);
    hub.add_interest(first, &"a".into());
    hub.add_interest(second, &"a".into());
    hub.add_interest(second, &"b".into());
    publish(&hub, "a", "1");
    publish(&hub, "b", "2");
    publish(&hub, "c", "3");
    assert_eq!(texts(&first_inbox), ["1"]);
    assert_eq!(texts(&second_inbox), ["1", "2"]);
    hub.remove_interest(second, "a");
    publish(&hub, "a", "4");
    assert_eq!(texts(&first_inbox), ["4"]);
    assert!(texts(&second_inbox).is_empty());
    assert_eq!(hub.state().last, 4, "one without receivers counts too");
}

#[test]
fn a_client_that_was_away_alone_has_missed_what_was_published() {
    let hub = hub();
    let (key, inbox) = hub.add_worker(1);
    let topic: Arc<str> = "a".into();
    hub.add_interest(key, &topic);
    publish(&hub, "a", "1");
    let last = inbox.take().messages[0].message.id.to_string();
    hub.remove_interest(key, "a");
    let resumed = hub.resume(key, &topic, &last).1;
    assert!(matches!(resumed, Missed::These(messages) if messages.is_empty()));
    hub.remove_interest(key, "a");
    publish(&hub, "a", "2");
    assert!(matches!(hub.resume(key, &topic, &last).1, Missed::TooMany));
}

#[test]
fn a_topic_that_keeps_messages_from_a_reload_on_knows_none_of_those_before() {
    let hub = hub();
    let (key, inbox) = hub.add_worker(1);
    let rules = |patterns: &[&str]| {
        let rule = |pattern: &&str| TopicRule {
            pattern: (*pattern).to_owned(),
            history: 3,
        };
        let rules: Vec<_> = patterns.iter().map(rule).collect();
        hub.configure(TopicsConfig::default(), TopicRules(rules.into()));
    };
    let missed = |topic: &str, last: &str| match hub.resume(key, &topic.into(), last).1 {
        Missed::These(messages) => Some(messages.len()),
        Missed::TooMany => None,
    };
    let last_of = |topic: &str| {
        hub.add_interest(key, &topic.into());
        publish(&hub, topic, "1");
        let came = inbox.take().messages;
        publish(&hub, topic, "2");
        hub.remove_interest(key, topic);
        came.back().expect("a message").message.id.to_string()
    };
    let (kept, other) = (last_of("kept:a"), last_of("other"));
    rules(&["kept:*", "other"]);
    publish(&hub, "other", "3");
    assert_eq!(missed("kept:a", &kept), Some(1));
    assert_eq!(missed("other", &other), None);
    // The second worker says the same, and one that keeps none for a while forgets.
    let other = last_of("other");
    rules(&["kept:*", "other"]);
    assert_eq!(missed("other", &other), Some(1));
    rules(&["kept:*"]);
    rules(&["kept:*", "other"]);
    publish(&hub, "other", "4");
    assert_eq!(missed("other", &other), None);
}

#[test]
fn one_worker_runs_the_functions_that_run_once() {
    let hub = hub();
    let (second, second_inbox) = hub.add_worker(2);
    let (first, first_inbox) = hub.add_worker(1);
    for key in [second, first] {
        hub.add_interest(key, &"a".into());
        hub.count_once(key, "a", true);
    }
    let runs = |inbox: &Inbox| inbox.take().messages.iter().any(|one| one.runs_once);
    publish(&hub, "a", "1");
    assert_eq!((runs(&first_inbox), runs(&second_inbox)), (true, false));
    hub.remove_worker(first);
    publish(&hub, "a", "2");
    assert!(runs(&second_inbox));
}

#[test]
fn what_was_missed_is_found_by_the_last_id() {
    let hub = hub();
    let (key, inbox) = hub.add_worker(1);
    let topic: Arc<str> = "kept:x".into();
    hub.add_interest(key, &topic);
    for text in ["1", "2", "3", "4"] {
        publish(&hub, &topic, text);
    }
    let ids: Vec<String> = {
        let taken = inbox.take().messages;
        taken.iter().map(|one| one.message.id.to_string()).collect()
    };
    let missed = |last: &str| match hub.resume(key, &topic, last).1 {
        Missed::These(messages) => Some(messages.len()),
        Missed::TooMany => None,
    };
    assert_eq!(missed(&ids[3]), Some(0));
    assert_eq!(missed(&ids[0]), Some(3));
    publish(&hub, &topic, "5");
    assert_eq!(missed(&ids[0]), None, "too old");
    let other = Hub::new().expect("a hub");
    assert_ne!(other.epoch, hub.epoch, "ids are unique across restarts");
    for unknown in ["0-1", "42", "", &format!("{}-999", hub.epoch)] {
        assert_eq!(missed(unknown), None, "{unknown:?}");
    }
}

#[test]
fn members_come_and_go_and_all_workers_hear_of_it() {
    let hub = hub();
    let (key, inbox) = hub.add_worker(1);
    let (lost, _) = hub.add_worker(2);
    let topic: Arc<str> = "room".into();
    hub.add_interest(key, &topic);
    let ann = hub.join(key, &topic, "\"Ann\"").expect("room");
    hub.join(lost, &topic, "\"Bob\"").expect("room");
    let names = || match hub.members(&topic) {
        Ok(Value::List(members)) => members
            .iter()
            .map(|member| member.get("data").cloned())
            .collect::<Option<Vec<_>>>(),
        _ => None,
    };
    assert_eq!(names(), Some(vec!["Ann".into(), "Bob".into()]));
    hub.leave(&topic, &ann);
    hub.leave(&topic, &ann);
    // A worker that was abandoned: another one takes its place.
    hub.add_worker(2);
    assert_eq!(names(), Some(vec![]));
    let kinds = inbox.take().messages;
    let kinds: Vec<&str> = kinds.iter().map(|one| one.message.kind.name()).collect();
    assert_eq!(kinds, ["join", "join", "leave", "leave"]);
}

#[test]
fn a_message_that_is_too_large_is_refused() {
    let hub = hub();
    assert!(hub.check(&Payload::Bytes(vec![0; 100])).is_ok());
    let error = hub.check(&Payload::Bytes(vec![0; 101])).expect_err("large");
    assert!(error.message().contains("message_bytes_max"), "{error}");
}
