//! The lanes of requests that the `fetch` of a default export answers. Only the script knows its routes, so the
//! beginning of the path stands for one. The first that come have lanes; all others stay with their worker, since one
//! that is slow would take the quick ones with it.

use crate::gate::control::Control;
use crate::lane::source_mark::SourceMark;
use crate::request::route_info::RouteInfo;
use sampan_host::LaneRule;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The beginnings of paths that have a lane of their own, of two segments and of one. Clients choose paths.
const TWO_SEGMENTS_MAX: usize = 256;
const ONE_SEGMENT_MAX: usize = 320;

/// A longer beginning has no lane of its own.
const BEGINNING_BYTES_MAX: usize = 64;

/// The lanes that one worker has seen.
#[derive(Default)]
pub(crate) struct FetchLanes {
    known: RefCell<HashMap<Box<str>, Rc<RouteInfo>>>,
    /// The largest of the limits above that was found to be reached: it is not asked for again.
    reached: Cell<usize>,
}

impl FetchLanes {
    /// Returns the state of the requests that share a lane with this path: `plain` where it has none.
    pub(crate) fn info(
        &self,
        control: &Control,
        plain: &Rc<RouteInfo>,
        path: &str,
    ) -> Rc<RouteInfo> {
        if control.lane.is_none() {
            return Rc::clone(plain);
        }
        let (two, one) = beginnings(path);
        for (beginning, count_max) in [(two, TWO_SEGMENTS_MAX), (one, ONE_SEGMENT_MAX)] {
            let info = beginning.and_then(|at| self.with_own(control, plain, at, count_max));
            if let Some(info) = info {
                return info;
            }
        }
        Rc::clone(plain)
    }

    fn with_own(
        &self,
        control: &Control,
        plain: &Rc<RouteInfo>,
        beginning: &str,
        count_max: usize,
    ) -> Option<Rc<RouteInfo>> {
        if let Some(known) = self.known.borrow().get(beginning) {
            return Some(Rc::clone(known));
        }
        if count_max <= self.reached.get() {
            return None;
        }
        let made = self.made(control, plain, beginning, count_max);
        if made.is_none() {
            self.reached.set(count_max);
        }
        made
    }

    /// Makes the state of a beginning, if it has a lane or may get one.
    #[cold]
    fn made(
        &self,
        control: &Control,
        plain: &Rc<RouteInfo>,
        beginning: &str,
        count_max: usize,
    ) -> Option<Rc<RouteInfo>> {
        let routes = control.lane.as_ref()?.routes();
        let name = format!("fetch {beginning}");
        let lane = routes.route_within(&name, count_max)?;
        // The file with the code is not known. What was measured of another one counts until its runs are quick.
        routes.declare(&name, LaneRule::Measured, SourceMark::UNKNOWN);
        let info = Rc::new(RouteInfo {
            number: lane.number(),
            lane: Some(lane),
            ..RouteInfo::clone(plain)
        });
        let mut known = self.known.borrow_mut();
        known.insert(beginning.into(), Rc::clone(&info));
        Some(info)
    }
}

/// Returns the first two segments of a path, and the first, where they can be the name of a lane.
fn beginnings(path: &str) -> (Option<&str>, Option<&str>) {
    let mut ends = path
        .bytes()
        .enumerate()
        .skip(1)
        .filter(|(_, byte)| *byte == b'/')
        .map(|(at, _)| at);
    let (first, second) = (ends.next(), ends.next());
    let named = |end: Option<usize>| {
        let beginning = &path[..end.unwrap_or(path.len())];
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
        let is_name = beginning.len() <= BEGINNING_BYTES_MAX && beginning.bytes().all(is_plain);
        is_name.then_some(beginning)
    };
    (first.and_then(|_| named(second)), named(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_path_stands_for_its_route() {
        assert_eq!(beginnings("/"), (None, Some("/")));
        assert_eq!(beginnings("/api"), (None, Some("/api")));
        assert_eq!(beginnings("/api/users"), (Some("/api/users"), Some("/api")));
        assert_eq!(
            beginnings("/api/users/7"),
            (Some("/api/users"), Some("/api"))
        );
        assert_eq!(beginnings("/api/ü"), (None, Some("/api")));
        assert_eq!(beginnings(""), (None, Some("")));
        let long = format!("/a/{}", "b".repeat(BEGINNING_BYTES_MAX));
        assert_eq!(beginnings(&long), (None, Some("/a")));
    }
}
