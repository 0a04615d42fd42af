//! `cargo xtask bench`: Sampan and its peers, the same routes on the same number of threads.
//!
//! [`suites::hello()`] measures HTTP and scripts, [`suites::db()`] the database, [`suites::stream()`] large bodies,
//! [`suites::Template`] templates, [`suites::Limit`] the least that an answer can cost, [`suites::static_files()`]
//! files, [`suites::petclinic()`] a whole application, [`suites::gust()`] and [`suites::golua()`] the libraries for
//! JavaScript and Go, [`suites::tls()`], [`suites::h2()`] and [`suites::ws()`] encryption, HTTP/2 and WebSockets,
//! [`suites::fetch()`] requests to other servers, [`suites::jobs()`] jobs, [`suites::postgres()`] PostgreSQL,
//! [`suites::backup()`] the copy of the database, [`suites::load()`] quick requests beside slow ones. The order of
//! things in all: install the peers and start them (`peers`), check their answers (`routes`), warm up and measure in
//! rounds (`measure`, with the load of `sampan bench`), and write it all down (`report`).

mod checkout;
mod error;
mod load;
mod measure;
mod peers;
mod report;
mod routes;
mod suites;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    bin_name = "cargo xtask bench",
    about = "Measures Sampan beside its peers, or beside an older Sampan (--before)"
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
enum Benchmark {
    /// The routes of examples/hello: JSON, a parameter, an echo, a precomputed answer
    Hello(suites::HelloOptions),
    /// The database: writes, reads and both, beside Bun, Node.js and Go with SQLite
    Db(suites::DbOptions),
    /// Large bodies, both ways, beside Bun
    Stream(suites::StreamOptions),
    /// Pages from templates, beside Bun with Eta
    Template(suites::SideOptions<suites::Template>),
    /// A JSON route of a script beside an epoll loop in C that parses nothing
    Limit(suites::SideOptions<suites::Limit>),
    /// Files of 4 kB, 100 kB and 10 MB, beside nginx and Bun
    Static(suites::SideOptions<suites::Static>),
    /// PetClinic under 1,000 connections, beside Spring PetClinic
    Petclinic(suites::PetClinicOptions),
    /// Our package of npm, beside Gust, Bun.serve, Hono and others, on Bun and on Node.js
    Gust(suites::GustOptions),
    /// Our package for Go, beside net/http with LuaJIT and with gopher-lua
    Golua(suites::SideOptions<suites::GoLua>),
    /// The routes of examples/hello over TLS 1.3, and handshakes, beside nginx and Bun
    Tls(suites::FigureOptions<suites::Tls>),
    /// Those routes by HTTP/2 over TLS, beside nginx and Node.js
    H2(suites::SideOptions<suites::H2>),
    /// Messages over WebSockets, beside Bun and Node.js with ws
    Ws(suites::FigureOptions<suites::Ws>),
    /// JSON of another server, passed on, beside Bun, Node.js and nginx
    Fetch(suites::FigureOptions<suites::Fetch>),
    /// Jobs: empty ones, beside River, graphile-worker and BullMQ; adding them; their start; requests meanwhile
    Jobs(suites::JobsOptions),
    /// PostgreSQL: reads, writes and transactions, beside Bun, Node.js and Go
    Postgres(suites::PostgresOptions),
    /// The copy of the database: its cost, its lag, and a restore
    Backup(suites::BackupOptions),
    /// Load that does not spread: quick requests beside slow ones, overload, and many connections of one client
    Load(suites::LoadOptions),
    /// Hold idle keep-alive connections open until standard input ends (the benchmark starts this itself)
    #[command(hide = true)]
    IdleClient(load::IdleClient),
    /// Shake hands by TLS (the benchmark starts this itself)
    #[command(hide = true)]
    HandshakeClient(load::handshakes::HandshakeClient),
    /// Send messages over WebSockets (the benchmark starts this itself)
    #[command(hide = true)]
    SocketClient(load::socket_client::SocketClient),
    /// Publish messages to WebSockets (the benchmark starts this itself)
    #[command(hide = true)]
    RoomClient(load::room::RoomClient),
}

fn main() -> ExitCode {
    let command = Benchmark::parse();
    if let Err(error) = peers::children::end_with_this_process() {
        eprintln!("error: cannot watch for signals: {error}");
        return ExitCode::FAILURE;
    }
    let outcome = match &command {
        Benchmark::Hello(options) => suites::hello(options),
        Benchmark::Db(options) => suites::db(options),
        Benchmark::Stream(options) => suites::stream(options),
        Benchmark::Template(options) => options.run(),
        Benchmark::Limit(options) => options.run(),
        Benchmark::Static(options) => suites::static_files(options),
        Benchmark::Petclinic(options) => suites::petclinic(options),
        Benchmark::Gust(options) => suites::gust(options),
        Benchmark::Golua(options) => suites::golua(options),
        Benchmark::Tls(options) => suites::tls(options),
        Benchmark::H2(options) => suites::h2(options),
        Benchmark::Ws(options) => suites::ws(options),
        Benchmark::Fetch(options) => suites::fetch(options),
        Benchmark::Jobs(options) => suites::jobs(options),
        Benchmark::Postgres(options) => suites::postgres(options),
        Benchmark::Backup(options) => suites::backup(options),
        Benchmark::Load(options) => suites::load(options),
        Benchmark::HandshakeClient(options) => load::handshakes::handshake_client(options),
        Benchmark::SocketClient(options) => load::socket_client::socket_client(options),
        Benchmark::RoomClient(options) => load::room::room_client(options),
        Benchmark::IdleClient(options) => load::idle_client(options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
