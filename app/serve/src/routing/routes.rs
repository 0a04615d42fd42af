//! The routes of a project: which one answers a method and a path.
//!
//! All routes stand in one tree of path segments. At each segment the literal part wins over one with text and
//! parameters, that over a parameter alone and a parameter over `*rest`; where a more specific pattern has no route for
//! the method, the search goes on with the next. So `/:page` and `/*rest` may stand side by side, and one search also
//! tells which methods a path has. Each host with routes of its own has a tree, and so have the hosts in front of each
//! domain. These trees are searched before the tree of all hosts, those of more specific hosts first.

use crate::routing::host_pattern::HostTable;
use crate::routing::mixed::MixedPart;
use crate::routing::pattern::Pattern;
use crate::routing::segment::Segment;
use crate::routing::spans::Spans;
use sampan_http::Method;

/// The methods that routes are declared for, in the order in which `Allow` lists them. HEAD is answered by GET.
const VERBS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The number of verbs.
const VERB_COUNT: usize = VERBS.len();

/// A set of methods, one bit for each of those that routes are declared for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow(u8);

impl Allow {
    /// No method.
    pub const NONE: Self = Self(0);
    /// Every method that a route can have.
    pub const ALL: Self = Self((1 << VERB_COUNT) - 1);

    /// Adds GET.
    pub fn with_get(self) -> Self {
        Self(self.0 | 1)
    }

    /// Reports whether there is no method in it: no route has this path.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The value of an `Allow` field (RFC 9110 section 10.2.1): with HEAD, which GET answers, and OPTIONS, which the
    /// server does.
    pub fn field_value(self) -> String {
        let mut names = Vec::with_capacity(VERB_COUNT + 1);
        for (bit, verb) in VERBS.iter().enumerate() {
            if self.0 & (1 << bit) != 0 || *verb == "OPTIONS" {
                names.push(*verb);
                if *verb == "GET" {
                    names.push("HEAD");
                }
            }
        }
        names.join(", ")
    }
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub enum RouteMatch {
    /// The index of the route, and its parameters.
    Route(usize, Spans),
    /// No route; but these methods have one for the path.
    Nothing(Allow),
}

/// The tree.
#[derive(Debug, Default)]
pub struct Routes {
    root: RouteNode,
    /// True if any pattern has a part of text and parameters. The search of other projects does not look for them.
    has_mixed: bool,
    /// The routes of some hosts each.
    hosts: HostTable<Routes>,
}

#[derive(Debug, Default)]
struct RouteNode {
    /// By their literals, sorted.
    literals: Vec<(Box<str>, RouteNode)>,
    params: Option<Box<ParamNodes>>,
    rest: Option<Box<Leaf>>,
    leaf: Leaf,
}

/// The nodes behind a part with a parameter.
#[derive(Debug, Default)]
struct ParamNodes {
    /// The node behind `:name`; an empty one leads nowhere.
    whole: RouteNode,
    /// Those behind parts that have text too, in the order in which they are tried.
    mixed: Vec<(MixedPart, RouteNode)>,
}

/// The routes at the end of a pattern: indices of routes.
#[derive(Debug, Default)]
struct Leaf {
    verbs: [Option<u32>; VERB_COUNT],
    all: Option<u32>,
}

impl Routes {
    /// Adds the route with the number `index`. The error is the index of the route that already stands there.
    pub fn insert(
        &mut self,
        verb: Option<usize>,
        pattern: &Pattern,
        index: usize,
    ) -> Result<(), usize> {
        let routes = match &pattern.host {
            None => self,
            Some(host) => self.hosts.entry(host),
        };
        let mut node = &mut routes.root;
        for segment in &pattern.segments {
            node = match segment {
                Segment::Literal(literal) => {
                    let at = match node
                        .literals
                        .binary_search_by(|(key, _)| (**key).cmp(literal.as_str()))
                    {
                        Ok(at) => at,
                        Err(at) => {
                            node.literals
                                .insert(at, (literal.as_str().into(), RouteNode::default()));
                            at
                        }
                    };
                    &mut node.literals[at].1
                }
                Segment::Mixed(part) => {
                    routes.has_mixed = true;
                    let mixed = &mut node.params.get_or_insert_default().mixed;
                    let at = match mixed.binary_search_by(|(known, _)| known.order(part)) {
                        Ok(at) => at,
                        Err(at) => {
                            mixed.insert(at, (part.clone(), RouteNode::default()));
                            at
                        }
                    };
                    &mut mixed[at].1
                }
                Segment::Param(_) => &mut node.params.get_or_insert_default().whole,
                Segment::Rest(_) => return node.rest.get_or_insert_default().put(verb, index),
            };
        }
        node.leaf.put(verb, index)
    }

    /// Reports whether any host has routes of its own.
    pub(crate) fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Finds the route for a request to a host, in the form of [`crate::routing::host_name`]: one of the most specific
    /// hosts that match it, or else one of all hosts.
    pub(crate) fn find_at(&self, host: Option<&str>, method: Method, path: &str) -> RouteMatch {
        let own = host.into_iter().flat_map(|host| self.hosts.matching(host));
        let mut allow = Allow::NONE;
        for routes in own.chain([self]) {
            match routes.find(method, path) {
                RouteMatch::Nothing(Allow(more)) => allow.0 |= more,
                found => return found,
            }
        }
        RouteMatch::Nothing(allow)
    }

    /// Finds the route for a method and a path in normal form, of those for all hosts. Allocates nothing.
    pub fn find(&self, method: Method, path: &str) -> RouteMatch {
        let mut search = Search {
            path,
            verb: verb_of(method),
            spans: Spans::default(),
            allow: Allow::default(),
        };
        let Some(first) = path.starts_with('/').then_some(1) else {
            return RouteMatch::Nothing(Allow::default());
        };
        let found = match self.has_mixed {
            false => search.walk::<false>(&self.root, first),
            true => search.walk::<true>(&self.root, first),
        };
        match found {
            Some(index) => RouteMatch::Route(index as usize, search.spans),
            None => RouteMatch::Nothing(search.allow),
        }
    }
}

/// The place of a method's name among those that routes are declared for.
pub fn verb(name: &str) -> Option<usize> {
    VERBS.iter().position(|verb| *verb == name)
}

fn verb_of(method: Method) -> Option<usize> {
    Some(match method {
        Method::Get | Method::Head => 0,
        Method::Post => 1,
        Method::Put => 2,
        Method::Patch => 3,
        Method::Delete => 4,
        Method::Options => 5,
        _ => return None,
    })
}

impl Leaf {
    fn put(&mut self, verb: Option<usize>, index: usize) -> Result<(), usize> {
        let slot = match verb {
            Some(verb) => &mut self.verbs[verb],
            None => &mut self.all,
        };
        match slot {
            Some(taken) => Err(*taken as usize),
            None => {
                *slot = Some(index as u32);
                Ok(())
            }
        }
    }
}

struct Search<'a> {
    path: &'a str,
    verb: Option<usize>,
    spans: Spans,
    allow: Allow,
}

impl Search<'_> {
    /// Goes on at the segment that begins at `start`. Visits each node at most once, and as deep as the longest
    /// pattern. Without `MIXED`, parts with text and parameters are not looked for.
    fn walk<const MIXED: bool>(&mut self, node: &RouteNode, start: usize) -> Option<u32> {
        let left = self.path.as_bytes().get(start..).unwrap_or_default();
        let end = start + left.iter().position(|&b| b == b'/').unwrap_or(left.len());
        let part = &self.path[start..end];
        if let Some(child) = literal_child(node, part)
            && let Some(index) = self.enter::<MIXED>(child, end)
        {
            return Some(index);
        }
        if MIXED
            && let Some(params) = &node.params
            && let Some(index) = self.enter_mixed(&params.mixed, start, end)
        {
            return Some(index);
        }
        if let (Some(params), false) = (&node.params, part.is_empty()) {
            let before = self.spans.count();
            self.spans.push(start, end);
            if let Some(index) = self.enter::<MIXED>(&params.whole, end) {
                return Some(index);
            }
            self.spans.truncate(before);
        }
        let index = self.accept(node.rest.as_ref()?)?;
        self.spans.push(start, self.path.len());
        Some(index)
    }

    /// A segment that ends at `end` led to `node`: either the path ends here too, or there is another segment.
    fn enter<const MIXED: bool>(&mut self, node: &RouteNode, end: usize) -> Option<u32> {
        if end == self.path.len() {
            self.accept(&node.leaf)
        } else {
            self.walk::<MIXED>(node, end + 1)
        }
    }

    /// Tries the parts with text and parameters on the segment from `start` to `end`.
    fn enter_mixed(
        &mut self,
        mixed: &[(MixedPart, RouteNode)],
        start: usize,
        end: usize,
    ) -> Option<u32> {
        for (part, child) in mixed {
            let Some(places) = part.places(&self.path[start..end]) else {
                continue;
            };
            let before = self.spans.count();
            for (from, to) in places {
                self.spans.push(start + from, start + to);
            }
            if let Some(index) = self.enter::<true>(child, end) {
                return Some(index);
            }
            self.spans.truncate(before);
        }
        None
    }

    /// Reports whether the leaf answers the method; if not, its methods are noted.
    fn accept(&mut self, leaf: &Leaf) -> Option<u32> {
        let found = self.verb.and_then(|verb| leaf.verbs[verb]).or(leaf.all);
        if found.is_none() {
            for (bit, route) in leaf.verbs.iter().enumerate() {
                self.allow.0 |= u8::from(route.is_some()) << bit;
            }
        }
        found
    }
}

/// The child for a literal part. Few children are compared one by one: most differ in their length.
fn literal_child<'a>(node: &'a RouteNode, part: &str) -> Option<&'a RouteNode> {
    /// Above this many, halving beats walking.
    const WALKED_MAX: usize = 8;
    if node.literals.len() <= WALKED_MAX {
        return node
            .literals
            .iter()
            .find(|(key, _)| **key == *part)
            .map(|(_, child)| child);
    }
    let at = node
        .literals
        .binary_search_by(|(key, _)| (**key).cmp(part))
        .ok()?;
    Some(&node.literals[at].1)
}

#[cfg(test)]
mod tests;
