//! Server-sent events with real clients: topics over workers, slow and leaving clients, heartbeats, reloads and stops,
//! in both languages, over HTTP/1.1 and HTTP/2.

mod app;
mod feed;
mod held;
mod http2;
mod life;
mod limits;
mod missed;
mod mistakes;
mod presence;
mod rollback;
mod topics;
