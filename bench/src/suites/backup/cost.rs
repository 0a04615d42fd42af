//! Writes with a copy and without.

use super::BackupBench;
use crate::load::load;
use crate::measure::case::LoadCase;
use crate::measure::setup;
use crate::measure::{Sample, Series, Skipped, rounds, sample};
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::Durability;
use crate::peers::{JS_COPIED, LUA_COPIED, Peer};
use crate::routes::{self, Headers, check, rows};
use crate::suites::db;

/// The time for which a server is warmed up, in seconds. It is longer than the pause between two copies.
const WARM_UP_SECONDS: u32 = 2;

impl BackupBench<'_> {
    /// The durabilities that were asked for.
    pub(super) fn durabilities(&self) -> Vec<Durability> {
        setup::chosen(
            &self.options.durability,
            &[Durability::Normal, Durability::Full],
        )
    }

    /// In each round one case after the other: without the copy, and with it.
    pub(super) fn costs(&self, skipped: &mut Vec<Skipped>) -> Vec<Series> {
        let mut series = Vec::new();
        for route in setup::chosen(&self.options.routes, routes::BACKUP) {
            for durability in self.durabilities() {
                let case = LoadCase {
                    durability: Some(durability),
                    ..LoadCase::plain(route, Headers::Plain, 1)
                };
                let peers = self.setup.installed.iter();
                series.extend(peers.map(|(peer, _)| Series::new(peer, case)));
            }
        }
        rounds(series, self.options.shared.rounds, skipped, |one, round| {
            self.cost(one.peer, one.case, round)
        })
    }

    fn cost(&self, peer: &'static Peer, case: LoadCase, round: u32) -> Result<Sample, String> {
        let durability = case.durability.ok_or("it needs a durability")?;
        let placement = Placement::here(1);
        if [LUA_COPIED, JS_COPIED].contains(&peer.id) {
            let storage = self.storage(durability)?;
            let copied = self.start_copied(peer, &placement, storage)?;
            return self.write(&copied.server, &placement, case, round);
        }
        // As the other, but for the copy.
        let lines = "[metrics]\nenabled = true\n";
        let storage = self.setup.storage(durability, lines)?;
        let server = self.setup.start_with(peer, &placement, 1, Some(&storage))?;
        self.write(&server, &placement, case, round)
    }

    fn write(
        &self,
        server: &PeerServer,
        placement: &Placement,
        case: LoadCase,
        round: u32,
    ) -> Result<Sample, String> {
        check::check(server.address(), case.route)?;
        let load = |seconds| load(&self.setup.root, placement, server.address(), case, seconds);
        let warmed = load(WARM_UP_SECONDS)?;
        let sample = sample(server, round, || load(self.options.shared.seconds))?;
        let acknowledged = warmed.fulfilled() + sample.seen.fulfilled();
        db::audit(server, case, rows::SEEDED, acknowledged)?;
        Ok(sample)
    }
}
