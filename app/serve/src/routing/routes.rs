//! The routes of a project: which one answers a method and a path.
//!
//! All routes stand in one tree of path segments. At each segment the literal part wins over a parameter and a
//! parameter over `*rest`; where a more specific pattern has no route for the method, the search goes on with the next.
//! So
//! `/:page` and `/*rest` may stand side by side, and one search also tells which methods a path has.

use crate::routing::pattern::{Pattern, Segment};
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
}

#[derive(Debug, Default)]
struct RouteNode {
    /// By their literals, sorted.
    literals: Vec<(Box<str>, RouteNode)>,
    param: Option<Box<RouteNode>>,
    rest: Option<Box<Leaf>>,
    leaf: Leaf,
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
        let mut node = &mut self.root;
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
                Segment::Param(_) => node.param.get_or_insert_default(),
                Segment::Rest(_) => return node.rest.get_or_insert_default().put(verb, index),
            };
        }
        node.leaf.put(verb, index)
    }

    /// Finds the route for a method and a path in normal form. Allocates nothing.
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
        match search.walk(&self.root, first) {
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
    /// pattern.
    fn walk(&mut self, node: &RouteNode, start: usize) -> Option<u32> {
        let left = self.path.as_bytes().get(start..).unwrap_or_default();
        let end = start + left.iter().position(|&b| b == b'/').unwrap_or(left.len());
        let part = &self.path[start..end];
        if let Some(child) = literal_child(node, part)
            && let Some(index) = self.enter(child, end)
        {
            return Some(index);
        }
        if let (Some(child), false) = (&node.param, part.is_empty()) {
            let before = self.spans.count();
            self.spans.push(start, end);
            if let Some(index) = self.enter(child, end) {
                return Some(index);
            }
            self.spans.truncate(before);
        }
        let index = self.accept(node.rest.as_ref()?)?;
        self.spans.push(start, self.path.len());
        Some(index)
    }

    /// A segment that ends at `end` led to `node`: either the path ends here too, or there is another segment.
    fn enter(&mut self, node: &RouteNode, end: usize) -> Option<u32> {
        if end == self.path.len() {
            self.accept(&node.leaf)
        } else {
            self.walk(node, end + 1)
        }
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
mod tests {
    use super::*;
    use crate::routing::pattern::PARAMS_MAX;

    fn routes(list: &[(&str, &str)]) -> Routes {
        let mut routes = Routes::default();
        for (index, (method, text)) in list.iter().enumerate() {
            let pattern = Pattern::parse(text).expect("a pattern");
            routes
                .insert(verb(method), &pattern, index)
                .expect("a free place");
        }
        routes
    }

    fn find(routes: &Routes, method: Method, path: &str) -> Option<(usize, Vec<String>)> {
        match routes.find(method, path) {
            RouteMatch::Route(index, spans) => Some((
                index,
                (0..)
                    .map_while(|i| spans.of(path, i))
                    .map(str::to_owned)
                    .collect(),
            )),
            RouteMatch::Nothing(_) => None,
        }
    }

    #[test]
    fn the_most_specific_pattern_wins_and_the_search_backs_up() {
        let routes = routes(&[
            ("GET", "/"),
            ("GET", "/users/new"),
            ("GET", "/users/:id"),
            ("GET", "/users/:id/posts/:post"),
            ("GET", "/users/*rest"),
            ("GET", "/*all"),
            ("GET", "/:page"),
            ("GET", "/users/new/x"),
        ]);
        let get = |path| {
            find(&routes, Method::Get, path).map(|(index, params)| (index, params.join("|")))
        };
        assert_eq!(get("/"), Some((0, String::new())));
        assert_eq!(get("/users/new"), Some((1, String::new())));
        assert_eq!(get("/users/7"), Some((2, "7".into())));
        assert_eq!(get("/users/new/posts/3"), Some((3, "new|3".into())));
        assert_eq!(get("/users/7/posts"), Some((4, "7/posts".into())));
        assert_eq!(get("/users/"), Some((4, String::new())));
        assert_eq!(get("/about"), Some((6, "about".into())));
        assert_eq!(get("/users"), Some((6, "users".into())));
        assert_eq!(get("/about/"), Some((5, "about/".into())));
        assert_eq!(get("/a//b"), Some((5, "a//b".into())));
        assert_eq!(get("*"), None);
    }

    #[test]
    fn a_pattern_has_as_many_parameters_as_allowed() {
        let names: String = (0..PARAMS_MAX).map(|n| format!("/:p{n}")).collect();
        let shorter: String = (0..PARAMS_MAX - 1).map(|n| format!("/:p{n}")).collect();
        let routes = routes(&[("GET", &names), ("GET", &format!("{shorter}/last"))]);
        let values: Vec<String> = (0..PARAMS_MAX).map(|n| n.to_string()).collect();
        let get = |path: String| find(&routes, Method::Get, &path);
        assert_eq!(
            get(format!("/{}", values.join("/"))),
            Some((0, values.clone()))
        );
        let short = &values[..PARAMS_MAX - 1];
        assert_eq!(
            get(format!("/{}/last", short.join("/"))),
            Some((1, short.to_vec()))
        );
    }

    #[test]
    fn a_trailing_slash_is_another_path() {
        let routes = routes(&[("GET", "/a"), ("GET", "/b/")]);
        for (path, found) in [("/a", true), ("/a/", false), ("/b/", true), ("/b", false)] {
            assert_eq!(find(&routes, Method::Get, path).is_some(), found, "{path}");
        }
    }

    #[test]
    fn methods_are_searched_with_the_path() {
        let routes = routes(&[
            ("GET", "/a/b"),
            ("POST", "/a/:x"),
            ("*", "/any"),
            ("GET", "/any"),
            ("PUT", "/a/b"),
        ]);
        assert_eq!(
            find(&routes, Method::Post, "/a/b"),
            Some((1, vec!["b".into()]))
        );
        assert_eq!(find(&routes, Method::Head, "/a/b"), Some((0, vec![])));
        assert_eq!(find(&routes, Method::Get, "/any"), Some((3, vec![])));
        assert_eq!(find(&routes, Method::Other, "/any"), Some((2, vec![])));
        let RouteMatch::Nothing(allow) = routes.find(Method::Delete, "/a/b") else {
            panic!("no DELETE there")
        };
        assert_eq!(allow.field_value(), "GET, HEAD, POST, PUT, OPTIONS");
        let RouteMatch::Nothing(none) = routes.find(Method::Get, "/nowhere") else {
            panic!("nothing there")
        };
        assert!(none.is_empty());
    }

    #[test]
    fn a_taken_place_names_who_took_it() {
        let mut routes = routes(&[("GET", "/users/:id"), ("GET", "/f/*rest")]);
        let parse = |text| Pattern::parse(text).expect("a pattern");
        assert_eq!(
            routes.insert(verb("GET"), &parse("/users/:name"), 2),
            Err(0)
        );
        assert_eq!(routes.insert(verb("GET"), &parse("/f/*"), 3), Err(1));
        assert_eq!(
            routes.insert(verb("POST"), &parse("/users/:name"), 4),
            Ok(())
        );
    }

    #[test]
    fn many_literals_are_found_too() {
        let texts: Vec<String> = (0..50).map(|n| format!("/r{n}/x")).collect();
        let list: Vec<(&str, &str)> = texts.iter().map(|text| ("GET", text.as_str())).collect();
        let routes = routes(&list);
        for (index, text) in texts.iter().enumerate() {
            assert_eq!(find(&routes, Method::Get, text), Some((index, vec![])));
        }
        assert_eq!(find(&routes, Method::Get, "/r50/x"), None);
    }
}
