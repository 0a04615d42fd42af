//! The hub where a database carries the messages between processes.

use super::members::{Member, MemberOwner, member_id};
use super::{CarriedOrder, Hub};
use sampan_host::carrier::{
    Arrival, Arrivals, Beginning, Carrier, CarrierSettings, OwnMember, ProcessMember,
};
use sampan_host::topics::MessageKind;
use std::sync::Arc;

impl Hub {
    /// Has messages go by `carrier` from now on, and waits until they come. All calls name the same one.
    pub(crate) fn carry_by(self: &Arc<Self>, carrier: Arc<dyn Carrier>) {
        let carrier = Arc::clone(self.carrier.get_or_init(|| carrier));
        let arrivals: Arc<dyn Arrivals> = Arc::<Self>::clone(self);
        carrier.begin(arrivals);
    }

    /// The carrier of the messages, if there is one.
    pub(crate) fn carrier(&self) -> Option<&Arc<dyn Carrier>> {
        self.carrier.get()
    }

    /// Reports whether a member is one of this process.
    fn is_own(&self, id: &str) -> bool {
        let process = id.rsplit_once('-').map(|(process, _)| process);
        process == Some(&*self.epoch)
    }
}

impl Arrivals for Hub {
    fn process(&self) -> Arc<str> {
        Arc::clone(&self.epoch)
    }

    fn settings(&self) -> CarrierSettings {
        let config = self.state().config.unwrap_or_default();
        CarrierSettings {
            keep: config.keep,
            presence: config.presence,
        }
    }

    fn keeps_messages(&self) -> bool {
        !self.state().rules.0.is_empty()
    }

    fn own_members(&self) -> Vec<OwnMember> {
        self.state().members.own()
    }

    fn begin(&self, beginning: Beginning) {
        let Beginning {
            epoch,
            last,
            members_at,
            members,
        } = beginning;
        let mut state = self.state();
        state.carried = Some(CarriedOrder { epoch, members_at });
        state.last = last;
        state.histories.clear(last);
        let is_other = |owner| owner == MemberOwner::OtherProcess;
        drop(state.members.remove_of(is_other));
        for ProcessMember {
            process,
            member,
            joined,
        } in members
        {
            if process != self.epoch
                && let Some(other) = Member::other(member.json, joined)
            {
                // A topic that is full shows no more of them.
                let _ = state.members.add(&member.topic, &Arc::new(other));
            }
        }
        for (topic, interested) in &state.topics {
            for interest in interested {
                interest.inbox.miss(topic);
            }
        }
    }

    fn arrived(&self, arrival: Arrival) {
        let Arrival {
            number,
            topic,
            kind,
            payload,
        } = arrival;
        let mut state = self.state();
        let Some(CarriedOrder { epoch, members_at }) = &state.carried else {
            return;
        };
        let (epoch, is_known) = (Arc::clone(epoch), number <= *members_at);
        state.last = number;
        // This process knows its own members itself. Others may hold it for dead while it cannot reach the database.
        let json = payload.text().unwrap_or_default();
        match kind {
            MessageKind::Published => {}
            MessageKind::Joined | MessageKind::Left if is_known => return,
            MessageKind::Joined => {
                if let Some(member) = Member::other(json.to_owned(), number)
                    && !self.is_own(member.id())
                {
                    let _ = state.members.add(&topic, &Arc::new(member));
                }
            }
            MessageKind::Left => {
                if let Some(id) = member_id(json)
                    && !self.is_own(&id)
                {
                    state.members.remove(&topic, &id);
                }
            }
        }
        if state.reaches_any(&topic, kind) {
            state.deliver(epoch, topic, kind, payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TopicsConfig;
    use crate::hub::inbox::Inbox;
    use crate::hub::rules::{TopicRule, TopicRules};
    use sampan_host::Value;
    use sampan_host::topics::{Missed, Payload};
    use std::sync::Mutex;

    /// Remembers what it is told.
    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Carrier for Told {
        fn begin(self: Arc<Self>, _: Arc<dyn Arrivals>) {}

        fn publish(
            &self,
            _: sampan_host::carrier::Publication,
            _: sampan_host::carrier::Published,
        ) {
        }

        fn join(&self, member: OwnMember) {
            let text = format!("join {} {}", member.topic, member.json);
            self.0.lock().expect("no panic").push(text);
        }

        fn leave(&self, number: u64) {
            self.0
                .lock()
                .expect("no panic")
                .push(format!("leave {number}"));
        }
    }

    fn hub() -> (Arc<Hub>, Arc<Told>) {
        let hub = Arc::new(Hub::new().expect("a hub"));
        let rule = TopicRule {
            pattern: "room".to_owned(),
            history: 3,
        };
        hub.configure(TopicsConfig::default(), TopicRules([rule].into()));
        let told = Arc::<Told>::default();
        hub.carry_by(Arc::<Told>::clone(&told));
        (hub, told)
    }

    fn begin(hub: &Hub, last: u64, members_at: u64, members: Vec<ProcessMember>) {
        hub.begin(Beginning {
            epoch: "db".into(),
            last,
            members_at,
            members,
        });
    }

    fn arrive(hub: &Hub, number: u64, kind: MessageKind, text: &str) {
        hub.arrived(Arrival {
            number,
            topic: "room".into(),
            kind,
            payload: Payload::Json(text.to_owned()),
        });
    }

    fn numbers(inbox: &Inbox) -> Vec<u64> {
        let taken = inbox.take().messages;
        taken.iter().map(|one| one.message.id.number).collect()
    }

    fn names(hub: &Hub) -> Vec<Value> {
        let Ok(Value::List(members)) = hub.members("room") else {
            panic!("no list");
        };
        let data = members.iter().map(|member| member.get("data").cloned());
        data.map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn messages_keep_the_numbers_that_the_carrier_gave() {
        let (hub, _) = hub();
        let (key, inbox) = hub.add_worker(1);
        let topic: Arc<str> = "room".into();
        begin(&hub, 10, 12, Vec::new());
        for number in [11, 12, 15] {
            arrive(&hub, number, MessageKind::Published, "1");
        }
        let missed = |last: &str| match hub.resume(key, &topic, last) {
            (since, Missed::These(messages)) => (since, Some(messages.len())),
            (since, Missed::TooMany) => (since, None),
        };
        assert_eq!(missed("db-11"), (15, Some(2)));
        assert_eq!(missed("db-10"), (15, Some(3)));
        assert_eq!(missed("db-9"), (15, None), "before the beginning");
        assert_eq!(missed("db-20"), (20, Some(0)), "got by another process");
        assert_eq!(missed("db-999999999"), (15, None));
        assert_eq!(missed("other-11"), (15, None));
        arrive(&hub, 16, MessageKind::Published, "1");
        assert_eq!(numbers(&inbox), [16]);
    }

    #[test]
    fn a_gap_is_told_and_nothing_before_it_is_known() {
        let (hub, _) = hub();
        let (key, inbox) = hub.add_worker(1);
        hub.add_interest(key, &"room".into());
        begin(&hub, 10, 10, Vec::new());
        assert!(inbox.take().missed.contains("room"));
        arrive(&hub, 11, MessageKind::Published, "1");
        begin(&hub, 90, 90, Vec::new());
        let taken = inbox.take();
        assert!(taken.missed.contains("room") && taken.messages.len() == 1);
        let (_, missed) = hub.resume(key, &"room".into(), "db-11");
        assert!(matches!(missed, Missed::TooMany));
    }

    #[test]
    fn members_of_other_processes_are_known_and_own_ones_stay() {
        let (hub, told) = hub();
        let (key, inbox) = hub.add_worker(1);
        let topic: Arc<str> = "room".into();
        let other = |process: &str, number: u64, name: &str| ProcessMember {
            process: process.into(),
            member: OwnMember {
                number,
                topic: "room".into(),
                json: format!("{{\"id\":\"{process}-m{number}\",\"data\":\"{name}\"}}"),
            },
            joined: number,
        };
        begin(&hub, 5, 7, vec![other("b", 3, "Bob"), other("c", 4, "Cid")]);
        let ann = hub.join(key, &topic, "\"Ann\"").expect("room");
        hub.add_interest(key, &topic);
        inbox.take();
        // The list of members knows of these already.
        arrive(
            &hub,
            6,
            MessageKind::Joined,
            &other("d", 1, "Dan").member.json,
        );
        assert_eq!(names(&hub), ["Bob".into(), "Cid".into(), "Ann".into()]);
        // Its own members come back, and may be held for dead.
        arrive(&hub, 8, MessageKind::Joined, ann.json());
        arrive(&hub, 9, MessageKind::Left, ann.json());
        arrive(
            &hub,
            10,
            MessageKind::Left,
            &other("b", 3, "Bob").member.json,
        );
        arrive(
            &hub,
            11,
            MessageKind::Joined,
            &other("e", 1, "Eve").member.json,
        );
        assert_eq!(names(&hub), ["Cid".into(), "Ann".into(), "Eve".into()]);
        assert_eq!(numbers(&inbox), [8, 9, 10, 11]);
        assert_eq!(hub.own_members().len(), 1);
        hub.leave(&topic, &ann);
        hub.leave(&topic, &ann);
        begin(&hub, 20, 20, Vec::new());
        assert!(names(&hub).is_empty());
        let told = told.0.lock().expect("no panic");
        let joined = format!("join room {}", ann.json());
        assert_eq!(*told, [joined, format!("leave {}", ann.number())]);
    }
}
