//! Bodies that come in pieces, both ways: their memory, their pace, and their ends.

use crate::faults::{rss_kib, until};
use crate::support::{Log, get, project, send, write};
use futures_util::{StreamExt, stream};
use sampan::{App, Error, ErrorKind, Request, RequestBody, Response, Server, body_bytes_max};
use sampan_client::wait;
use std::io::{Error as IoError, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PIECE: usize = 64 * 1024;
/// 100 MB.
const PIECES: usize = 1_600;

fn start(app: App) -> Server {
    let app = app.listen("127.0.0.1:0").workers(1);
    app.start().expect("it starts")
}

fn quiet(app: App) -> Server {
    start(app.log(|_, _| {}))
}

/// Pieces that say where they stand, and count how many were asked for.
fn pieces(count: usize, asked: &Arc<AtomicUsize>) -> Response {
    let asked = Arc::clone(asked);
    let all = stream::iter(0..count).map(move |at| {
        asked.fetch_add(1, Ordering::SeqCst);
        Ok::<_, IoError>(vec![at as u8; PIECE])
    });
    Response::stream(all)
}

/// A connection on which these bytes have been sent.
fn client(server: &Server, head: &str) -> TcpStream {
    let mut client = TcpStream::connect(server.address()).expect("a connection");
    let patience = Some(Duration::from_secs(20));
    client.set_read_timeout(patience).expect("a timeout");
    client.write_all(head.as_bytes()).expect("sent");
    client
}

/// Reads to the end of a chunked answer, gives the size of its body, and looks at each byte of it.
fn read_pieces(client: TcpStream) -> usize {
    let mut input = std::io::BufReader::new(client);
    let mut line = String::new();
    let mut next = |input: &mut std::io::BufReader<TcpStream>| {
        line.clear();
        std::io::BufRead::read_line(input, &mut line).expect("a line");
        line.trim_end().to_owned()
    };
    while !next(&mut input).is_empty() {}
    let (mut size, mut chunk) = (0, Vec::new());
    loop {
        let len = usize::from_str_radix(&next(&mut input), 16).expect("a size");
        chunk.resize(len + 2, 0);
        input.read_exact(&mut chunk).expect("a chunk");
        if len == 0 {
            return size;
        }
        for (at, byte) in chunk[..len].iter().enumerate() {
            assert_eq!(*byte, ((size + at) / PIECE) as u8);
        }
        size += len;
    }
}

async fn count(_: Request, mut body: RequestBody) -> Result<String, Error> {
    let mut size = 0;
    while let Some(piece) = body.next().await {
        size += piece?.len();
    }
    Ok(size.to_string())
}

/// Other tests of this process would be measured too, so it runs in one of its own.
#[test]
fn large_bodies_pass_in_little_memory() {
    const ALONE: &str = "SAMPAN_TEST_ALONE";
    const GROWTH_KIB_MAX: usize = 8 * 1024;
    if std::env::var_os(ALONE).is_none() {
        let myself = std::env::current_exe().expect("this program");
        let name = "streams::large_bodies_pass_in_little_memory";
        let status = std::process::Command::new(myself)
            .args(["--exact", name, "--nocapture"])
            .env(ALONE, "1")
            .status();
        assert!(status.expect("it runs").success());
        return;
    }
    let largest = Arc::new(AtomicUsize::new(0));
    let measuring = Arc::clone(&largest);
    let asked = Arc::new(AtomicUsize::new(0));
    let server = quiet(
        App::new()
            .get("/down/:pieces", move |request: Request| {
                let count = request.param("pieces").and_then(|count| count.parse().ok());
                pieces(count.unwrap_or(0), &asked)
            })
            .post("/up", body_bytes_max(PIECES * PIECE, count)),
    );
    std::thread::spawn(move || {
        loop {
            measuring.fetch_max(rss_kib(), Ordering::SeqCst);
            wait::dawdle(Duration::from_millis(2));
        }
    });
    let down = |count: usize| {
        let head = format!("GET /down/{count} HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(read_pieces(client(&server, &head)), count * PIECE);
    };
    let up = |count: usize| {
        let size = count * PIECE;
        let head = format!(
            "POST /up HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
        );
        let mut client = client(&server, &head);
        let piece = vec![b'x'; PIECE];
        (0..count).for_each(|_| client.write_all(&piece).expect("sent"));
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        assert!(answer.ends_with(&format!("\r\n\r\n{size}")), "{answer}");
    };
    down(16);
    up(16);
    let before = rss_kib();
    largest.store(0, Ordering::SeqCst);
    down(PIECES);
    up(PIECES);
    let after = largest.load(Ordering::SeqCst);
    assert!(
        after <= before + GROWTH_KIB_MAX,
        "{before} KiB before, {after} KiB"
    );
    server.stop();
}

#[test]
fn a_slow_side_slows_the_other_down() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let (go, gate) = tokio::sync::watch::channel(false);
    let server = quiet(
        App::new()
            .get("/down", move |_: Request| pieces(PIECES, &counted))
            .post(
                "/up",
                body_bytes_max(
                    PIECES * PIECE,
                    move |request: Request, body: RequestBody| {
                        let mut gate = gate.clone();
                        async move {
                            drop(gate.wait_for(|open| *open).await);
                            count(request, body).await
                        }
                    },
                ),
            ),
    );
    // The buffers of the system hold some megabytes.
    const AHEAD_MAX: usize = 300;
    let reader = client(&server, "GET /down HTTP/1.1\r\nHost: h\r\n\r\n");
    until(|| asked.load(Ordering::SeqCst) > 0);
    let ahead = wait::settled("the pieces", || asked.load(Ordering::SeqCst));
    assert!(ahead < AHEAD_MAX, "{ahead} pieces for nobody");
    assert_eq!(read_pieces(reader), PIECES * PIECE);

    let size = PIECES * PIECE;
    let head = format!(
        "POST /up HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n"
    );
    let mut writer = client(&server, &head);
    let sent = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&sent);
    let sending = std::thread::spawn(move || {
        let piece = vec![b'x'; PIECE];
        for _ in 0..PIECES {
            writer.write_all(&piece).expect("sent");
            counting.fetch_add(1, Ordering::SeqCst);
        }
        let mut answer = String::new();
        writer.read_to_string(&mut answer).expect("an answer");
        answer
    });
    until(|| sent.load(Ordering::SeqCst) > 0);
    let ahead = wait::settled("the pieces", || sent.load(Ordering::SeqCst));
    assert!(ahead < AHEAD_MAX, "{ahead} pieces that nobody reads");
    go.send(true).expect("somebody waits");
    let answer = sending.join().expect("a thread");
    assert!(answer.ends_with(&format!("\r\n\r\n{size}")), "{answer}");
    server.stop();
}

#[test]
fn each_piece_is_sent_as_soon_as_it_is_there() {
    let server = quiet(App::new().get("/events", |_: Request| {
        let events = stream::iter(["data: 1\n\n"]).map(Ok::<_, IoError>);
        let rest = stream::pending::<Result<&'static str, IoError>>();
        Response::stream(events.chain(rest)).header("Content-Type", "text/event-stream")
    }));
    let mut client = client(&server, "GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    let mut seen = String::new();
    let mut bytes = [0; 1_024];
    while !seen.contains("data: 1\n\n") {
        let len = client.read(&mut bytes).expect("an event");
        assert!(len > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..len]));
    }
    assert!(
        seen.to_lowercase()
            .contains("content-type: text/event-stream"),
        "{seen}"
    );
    drop(client);
    server.stop();
}

#[test]
fn a_reader_is_an_answer_and_a_body_can_be_read_from() {
    let server = quiet(
        App::new()
            .get("/", |_: Request| Response::reader(&b"from a reader"[..]))
            .post(
                "/echo",
                async |_: Request, mut body: RequestBody| -> Result<Vec<u8>, Error> {
                    let mut all = Vec::new();
                    tokio::io::copy(&mut body, &mut all).await?;
                    Ok(all)
                },
            )
            // An answer that comes while its request still does.
            .post("/double", |_: Request, body: RequestBody| {
                let answer = Response::stream(body.map(|piece| piece.map(|piece| piece.repeat(2))));
                std::future::ready(answer)
            }),
    );
    let text = get(server.address(), "/").body;
    assert!(text.contains("from a reader"), "{text}");
    let head = "Host: h\r\nConnection: close\r\nTransfer-Encoding: chunked";
    let ask = |path: &str| {
        let body = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        send(
            server.address(),
            &format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\n{body}"),
        )
    };
    assert_eq!(ask("/echo").body, "abcde");
    let doubled = ask("/double").body;
    assert!(
        doubled.contains("abcdeabcde") || doubled.contains("abcabc"),
        "{doubled}"
    );
    server.stop();
}

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_client_that_leaves_ends_both_kinds() {
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&alive);
    let failed = Arc::new(Mutex::new(Vec::new()));
    let failures = Arc::clone(&failed);
    let server = quiet(
        App::new()
            .get("/down", move |_: Request| {
                let held = Counted::new(&counted);
                let forever = stream::unfold(held, async |held| {
                    tokio::task::yield_now().await;
                    Some((Ok::<_, IoError>(vec![b'x'; 100]), held))
                });
                Response::stream(forever)
            })
            .post("/up", move |_: Request, mut body: RequestBody| {
                let failures = Arc::clone(&failures);
                async move {
                    while let Some(piece) = body.next().await {
                        if let Err(error) = piece {
                            failures.lock().expect("a list").push(error.kind());
                            assert!(body.next().await.is_none(), "an error is the end");
                        }
                    }
                }
            }),
    );
    let clients: Vec<TcpStream> = (0..20)
        .map(|_| client(&server, "GET /down HTTP/1.1\r\nHost: h\r\n\r\n"))
        .collect();
    until(|| alive.load(Ordering::SeqCst) == 20);
    drop(clients);
    until(|| alive.load(Ordering::SeqCst) == 0);
    let head = "POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nonly this";
    drop(client(&server, head));
    until(|| *failed.lock().expect("a list") == [ErrorKind::Body]);
    server.stop();
}

#[test]
fn a_stream_that_fails_cuts_the_connection_and_is_logged() {
    let log = Log::default();
    let server = start(
        App::new()
            .log(log.taker())
            .set("limits.stream_idle_millis_max=200")
            .get("/fails", |_: Request| {
                let some = [Ok("begun"), Err(IoError::other("the disk is gone"))];
                Response::stream(stream::iter(some))
            })
            .get("/stalls", |_: Request| {
                Response::stream(stream::pending::<Result<&str, IoError>>())
            }),
    );
    let cut = |path: &str| {
        let mut client = client(&server, &format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        let mut answer = Vec::new();
        // A reset is an end too.
        let _ = client.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
        answer
    };
    assert!(cut("/fails").contains("begun"));
    cut("/stalls");
    let told = log.text();
    let failed = "GET /fails: (stream) the disk is gone";
    assert!(told.contains(failed), "{told}");
    assert!(told.contains("GET /stalls: (stream) cut"), "{told}");
    server.stop();
}

#[test]
fn a_head_request_asks_nothing_of_the_stream() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let server = quiet(App::new().get("/down", move |_: Request| {
        let answer = pieces(PIECES, &counted).header("X-Pieces", PIECES.to_string());
        answer.expect("a header")
    }));
    let head = "HEAD /down HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let answer = send(server.address(), head);
    assert_eq!((answer.status, &*answer.body), (200, ""));
    assert!(answer.head.contains("X-Pieces: 1600"), "{}", answer.head);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    server.stop();
}

#[test]
fn the_limit_holds_for_a_body_that_comes_in_pieces() {
    let server = quiet(
        App::new()
            .set("limits.body_bytes_max=10")
            .post("/small", count)
            .post(
                "/whole",
                body_bytes_max(20, |request: Request| request.body().len().to_string()),
            )
            .post("/larger", body_bytes_max(20, count))
            .post(
                "/copied",
                async |_: Request, mut body: RequestBody| -> Result<String, Error> {
                    let copied = tokio::io::copy(&mut body, &mut tokio::io::sink()).await?;
                    Ok(copied.to_string())
                },
            ),
    );
    let post = |path: &str, framing: &str, body: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{framing}");
        send(server.address(), &format!("{head}\r\n\r\n{body}"))
    };
    let chunked = "Transfer-Encoding: chunked";
    let (eight, twelve) = (
        "8\r\n12345678\r\n0\r\n\r\n",
        "6\r\n123456\r\n6\r\n789012\r\n0\r\n\r\n",
    );
    for (path, body, status) in [
        ("/small", eight, 200),
        ("/small", twelve, 413),
        ("/copied", eight, 200),
        ("/copied", twelve, 413),
        ("/larger", twelve, 200),
        ("/whole", twelve, 200),
    ] {
        let answer = post(path, chunked, body);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    for (path, size, status) in [
        ("/small", 11, 413),
        ("/larger", 11, 200),
        ("/larger", 21, 413),
    ] {
        let answer = post(path, &format!("Content-Length: {size}"), &"x".repeat(size));
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
    server.stop();
}

#[test]
fn streams_pass_through_middleware_of_the_script() {
    let lua = "local app = require 'sampan'
        app.use('/*rest', function(req, next)
          local read = req.query.read and req:text()
          local res = next(req)
          res.headers['X-Around'] = read or 'yes'
          return res
        end)";
    let js = "import { app } from 'sampan';
        app.use('/*rest', async (req, next) => {
          const read = req.query.read && (await req.text());
          const res = await next(req);
          res.headers.set('X-Around', read || 'yes');
          return res;
        });";
    for (name, text) in [("app.lua", lua), ("app.js", js)] {
        let folder = project(&[(name, text)]);
        let app = App::new().project(folder.path());
        let server = quiet(
            app.get("/down", |_: Request| {
                Response::stream(stream::iter(["a", "b"]).map(Ok::<_, IoError>))
            })
            .post("/up", count),
        );
        let answer = get(server.address(), "/down");
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        assert!(answer.head.contains("x-around: yes"), "{name}: {answer:?}");
        let has = |letter| answer.body.contains(letter);
        assert!(has('a') && has('b'), "{name}: {answer:?}");
        // What the middleware has read is not there for the handler any more.
        for (path, status, around) in [("/up", 200, "yes"), ("/up?read=1", 500, "abc")] {
            let head = "Host: h\r\nConnection: close\r\nContent-Length: 3";
            let request = format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\nabc");
            let answer = send(server.address(), &request);
            assert_eq!(answer.status, status, "{name} {path}: {answer:?}");
            let around = format!("x-around: {around}");
            assert!(answer.head.contains(&around), "{name} {path}: {answer:?}");
        }
        server.stop();
    }
}

#[test]
fn a_reload_lets_a_stream_of_the_program_go_on() {
    let lua = "local app = require 'sampan' app.get('/', function() return 'first' end)\n\
        app.get('/script', function() return app.stream(function(write)\n\
        while true do write('x') app.time.sleep(0.01) end end) end)\n";
    let folder = project(&[("app.lua", lua)]);
    let (next, pieces) = tokio::sync::mpsc::channel::<&'static str>(1);
    let pieces = Arc::new(Mutex::new(Some(pieces)));
    let app = App::new().project(folder.path());
    let app = app.set("limits.shutdown_millis_max=100");
    let server = quiet(app.get("/down", move |_: Request| {
        let pieces = pieces.lock().expect("a channel").take().expect("once");
        Response::stream(stream::unfold(pieces, async |mut pieces| {
            let piece = pieces.recv().await?;
            Some((Ok::<_, IoError>(piece), pieces))
        }))
    }));
    let mut script = client(&server, "GET /script HTTP/1.1\r\nHost: h\r\n\r\n");
    let mut client = client(
        &server,
        "GET /down HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    );
    next.blocking_send("before").expect("somebody takes it");
    let mut part = [0; 1024];
    assert!(script.read(&mut part).is_ok_and(|len| len > 0));
    write(folder.path(), "app.lua", &lua.replace("first", "second"));
    server.reload().expect("it loads");
    assert_eq!(get(server.address(), "/").body, "second");
    wait::until("the end of the script's stream", || {
        !matches!(script.read(&mut part), Ok(1..))
    });
    next.blocking_send("after").expect("somebody takes it");
    drop(next);
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer");
    assert!(
        answer.contains("before") && answer.contains("after"),
        "{answer}"
    );
    assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
    server.stop();
}
