//! The rules of topics, by patterns of their names.

use std::sync::Arc;

/// The rule for the topics whose names match a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRule {
    /// A name, or the beginning of names with `*` at the end.
    pub pattern: String,
    /// The number of messages that such a topic keeps.
    pub history: usize,
}

impl TopicRule {
    fn matches(&self, topic: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(beginning) => topic.starts_with(beginning),
            None => topic == self.pattern,
        }
    }
}

/// The rules of a project. The first that matches counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicRules(pub Arc<[TopicRule]>);

impl TopicRules {
    /// Returns the number of messages that a topic keeps.
    pub(crate) fn history(&self, topic: &str) -> usize {
        let rule = self.0.iter().find(|rule| rule.matches(topic));
        rule.map_or(0, |rule| rule.history)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_matches_counts() {
        let rule = |pattern: &str, history| TopicRule {
            pattern: pattern.to_owned(),
            history,
        };
        let rules = TopicRules([rule("room:lobby", 7), rule("room:*", 3)].into());
        assert_eq!(rules.history("room:lobby"), 7);
        assert_eq!(rules.history("room:"), 3);
        assert_eq!(rules.history("room"), 0);
        assert_eq!(TopicRules::default().history("room:lobby"), 0);
    }
}
