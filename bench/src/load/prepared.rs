//! The load of a route, by what the route is: requests, handshakes, or messages over WebSockets.

use std::path::Path;

use super::sockets::Sockets;
use super::{LoadResult, h2load, handshakes, load};
use crate::measure::case::LoadCase;
use crate::peers::placement::Placement;
use crate::peers::target::{Protocol, Target};
use crate::routes::Route;

/// A load that can begin.
pub(crate) struct Prepared<'a> {
    root: &'a Path,
    placement: &'a Placement,
    target: Target,
    case: LoadCase,
    /// Open connections, which are not what is measured.
    sockets: Option<Sockets>,
}

impl<'a> Prepared<'a> {
    /// Opens WebSockets, where these are the load.
    ///
    /// # Errors
    ///
    /// When one cannot be opened.
    pub(crate) fn new(
        root: &'a Path,
        placement: &'a Placement,
        target: Target,
        case: LoadCase,
    ) -> Result<Self, String> {
        let sockets = case.route.socket();
        let sockets = sockets.map(|load| Sockets::open(placement, target.address, &load));
        Ok(Self {
            root,
            placement,
            target,
            case,
            sockets: sockets.transpose()?,
        })
    }

    /// Puts the server under load.
    ///
    /// # Errors
    ///
    /// When the load cannot be made, or an answer is wrong.
    pub(crate) fn run(&mut self, seconds: u32) -> Result<LoadResult, String> {
        let route = self.case.route;
        if let Some(sockets) = &mut self.sockets {
            return sockets.run(seconds);
        }
        match (route, self.target.protocol) {
            (Route::FullHandshake | Route::ResumedHandshake, _) => {
                handshakes::load(self.placement, self.target.address, route, seconds)
            }
            (_, Protocol::Http2) => h2load::load(self.placement, self.target, route, seconds),
            _ => load(self.root, self.placement, self.target, self.case, seconds),
        }
    }
}
