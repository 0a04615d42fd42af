//! Streams of a script as bodies of answers: what is sent, when the source is asked, and whose bytes they are.

mod common;

use common::{App, TestAnswer, get, load, load_with};
use sampan_host::{Chunk, Error, ErrorKind, ScriptLimits, StreamedBody};
use std::task::{Context, Poll, Waker};

/// An application that answers with a stream of this source and strategy. `all` makes a long chunk of a letter.
fn app(source: &str) -> App {
    load(&format!(
        "import {{ app, time }} from 'sampan';
         const seen = [];
         const bytes = (text) => new TextEncoder().encode(text);
         const all = (letter) => new Uint8Array(20000).fill(letter.charCodeAt());
         app.get('/', () => new Response(new ReadableStream({source})));
         app.get('/seen', () => seen);
         app.get('/later', () => globalThis.later());"
    ))
}

fn open(app: &App) -> Box<dyn StreamedBody> {
    let answer = app.nth(0, get("/")).expect("an answer");
    answer.stream.expect("a stream")
}

fn read(app: &App) -> Result<String, Error> {
    let mut answer: TestAnswer = app.nth(0, get("/")).expect("an answer");
    let body = app.read(&mut answer)?;
    Ok(String::from_utf8(body).expect("text"))
}

fn seen(app: &App) -> String {
    app.nth(1, get("/seen")).expect("an answer").text()
}

fn poll(stream: &mut Box<dyn StreamedBody>) -> Poll<Option<Result<Chunk, Error>>> {
    stream.poll_chunk(&mut Context::from_waker(Waker::noop()))
}

/// The chunk that is ready.
fn next(stream: &mut Box<dyn StreamedBody>) -> Chunk {
    match poll(stream) {
        Poll::Ready(Some(Ok(chunk))) => chunk,
        other => panic!("no chunk: {other:?}"),
    }
}

#[test]
fn each_way_to_feed_a_stream() {
    for (source, expected) in [
        ("{ start(c) { for (const x of 'abc') c.enqueue(bytes(x)); c.close(); } }", "abc"),
        ("{ n: 0, pull(c) { c.enqueue(bytes(String(this.n++))); if (this.n == 4) c.close(); } }", "0123"),
        ("{ n: 0, async pull(c) { c.enqueue(bytes(String(this.n++))); if (this.n == 4) c.close(); } }", "0123"),
        // Several at once, and all of them before the end.
        ("{ n: 0, pull(c) { for (const x of 'ab') c.enqueue(bytes(x + this.n)); if (++this.n == 3) c.close(); } }", "a0b0a1b1a2b2"),
        // Nothing now, something later.
        ("{ n: 0, pull(c) { setTimeout(() => { if (this.n == 3) return; c.enqueue(bytes(String(this.n++))); if \
         (this.n == 3) c.close(); }, 1); } }", "012"),
        ("{ n: 0, async pull(c) { await time.sleep(0.001); c.enqueue(bytes(String(this.n++))); if (this.n == 3) \
         c.close(); } }", "012"),
        ("{ n: 0, pull(c) { queueMicrotask(() => { c.enqueue(bytes(String(this.n++))); if (this.n == 3) c.close(); \
         }); } }", "012"),
        // Only when it is asked.
        ("{ n: 0, pull(c) { c.enqueue(bytes(String(this.n++))); if (this.n == 4) c.close(); } }, { highWaterMark: 0 }", "0123"),
        ("{ n: 0, pull(c) { if (this.n++ == 3) c.close(); else c.enqueue(bytes('x')); } }, { highWaterMark: 0 }", "xxx"),
        // A strategy of its own.
        ("{ n: 0, pull(c) { seen.push(c.desiredSize); c.enqueue(bytes(String(this.n++))); if (this.n == 4) c.close(); \
         } },
          { highWaterMark: 3, size: (chunk) => chunk.length * 2 }", "0123"),
        ("{ type: 'bytes', pull(c) { c.enqueue(bytes('b')); c.close(); } }", "b"),
        // What `pull` returns is of no interest.
        ("{ pull(c) { c.enqueue(bytes('r')); c.close(); return 'text'; } }", "r"),
        ("{ n: 0, pull(c) { c.enqueue(bytes('t')); if (this.n++ == 2) c.close(); return { then(done) { done(); } }; } }", "ttt"),
        ("{ pull(c) { c.close(); } }", ""),
    ] {
        let app = app(source);
        assert_eq!(read(&app).expect("a body"), expected, "{source}");
        let reports = app.reports.borrow();
        assert!(reports.is_empty(), "{source}: {reports:?}");
    }
}

#[test]
fn an_async_iterator_is_a_body() {
    let app = load(
        "import { app, time } from 'sampan';
         async function* pieces() { yield 'a'; await time.sleep(0.001); yield new Uint8Array([98]); }
         app.get('/', () => new Response(pieces()));",
    );
    assert_eq!(read(&app).expect("a body"), "ab");
}

#[test]
fn what_fails_a_stream() {
    for (source, expected) in [
        ("{ pull() { throw new Error('thrown'); } }", "thrown"),
        (
            "{ async pull() { throw new Error('rejected'); } }",
            "rejected",
        ),
        (
            "{ pull: () => Promise.reject(new Error('rejected')) }, { highWaterMark: 0 }",
            "rejected",
        ),
        (
            "{ n: 0, pull(c) { if (this.n++ == 2) throw new Error('third'); c.enqueue(bytes('x')); } }",
            "third",
        ),
        (
            "{ start: () => Promise.reject(new Error('start')) }",
            "start",
        ),
        // An error drops what is in the queue.
        (
            "{ start(c) { c.enqueue(bytes('x')); c.error(new Error('error')); } }",
            "error",
        ),
        (
            "{ pull(c) { c.enqueue(bytes('x')); c.close(); c.enqueue(bytes('y')); } }",
            "is closed or errored",
        ),
        (
            "{ start(c) { try { c.enqueue(bytes('x')); } catch {} } }, { size: () => -1 }",
            "the size of a chunk",
        ),
        (
            "{ start(c) { try { c.enqueue(bytes('x')); } catch {} } }, { size() { throw new Error('size'); } }",
            "size",
        ),
        (
            "{ pull(c) { c.enqueue('text'); } }",
            "must give Uint8Array chunks",
        ),
        (
            "{ pull(c) { c.enqueue(); } }",
            "must give Uint8Array chunks",
        ),
        (
            "{ pull(c) { c.enqueue(null); } }",
            "must give Uint8Array chunks",
        ),
        (
            "{ pull(c) { c.enqueue(new Uint16Array(2)); } }",
            "must give Uint8Array chunks",
        ),
        (
            "{ pull(c) { c.enqueue(Promise.resolve(bytes('x'))); } }",
            "must give Uint8Array chunks",
        ),
        (
            "{ pull(c) { c.enqueue(new DataView(new ArrayBuffer(2))); } }, { highWaterMark: 0 }",
            "must give Uint8Array chunks",
        ),
    ] {
        let app = app(source);
        let error = read(&app).expect_err("an error");
        assert!(error.message().contains(expected), "{source}: {error}");
    }
}

#[test]
fn the_source_is_asked_when_there_is_room() {
    for (strategy, expected) in [
        ("", "[1,2,3]"),
        (", { highWaterMark: 0 }", "[0,1,2]"),
        (", { highWaterMark: 4 }", "[4,5,6]"),
        (", { highWaterMark: 4, size: () => 2 }", "[2,3,4]"),
    ] {
        let app = app(&format!(
            "{{ n: 0, pull(c) {{ this.n++; seen[0] = this.n; c.enqueue(bytes('x')); }} }}{strategy}"
        ));
        let mut stream = open(&app);
        let mut counts = Vec::new();
        for _ in 0..3 {
            counts.push(seen(&app).trim_matches(['[', ']']).to_owned());
            next(&mut stream);
        }
        let first = if counts[0].is_empty() {
            "0"
        } else {
            &counts[0]
        };
        let counts = format!("[{first},{},{}]", counts[1], counts[2]);
        assert_eq!(counts, expected, "{strategy}");
    }
}

#[test]
fn a_reader_that_leaves_is_told_to_the_source_once() {
    for strategy in ["", ", { highWaterMark: 0 }"] {
        let app = app(&format!(
            "{{ pull(c) {{ c.enqueue(all('x')); }}, cancel() {{ seen.push('cancelled'); }} }}{strategy}"
        ));
        let mut stream = open(&app);
        let chunk = next(&mut stream);
        assert_eq!(seen(&app), "[]");
        stream.cancel();
        assert_eq!(seen(&app), "[\"cancelled\"]");
        assert!(matches!(poll(&mut stream), Poll::Ready(None)));
        drop(stream);
        // What was lent may live longer.
        assert_eq!(chunk.into_bytes().len(), 20000);
        assert_eq!(seen(&app), "[\"cancelled\"]");
    }
}

#[test]
fn long_chunks_are_lent_until_the_script_runs() {
    let app = app(
        "{ pull(c) { const chunk = all('x'); globalThis.later ??= () => chunk.buffer.transfer().byteLength; \
         c.enqueue(chunk); } }",
    );
    let mut stream = open(&app);
    let chunk = next(&mut stream);
    let Chunk::LentBriefly(lent) = &chunk else {
        panic!("it is copied")
    };
    assert_eq!((**lent).as_ref(), [b'x'; 20000]);
    let later = app.nth(2, get("/later")).expect("an answer");
    assert_eq!(later.text(), "20000");
    // Its memory is another's now, and is not looked at.
    assert_eq!((**lent).as_ref(), b"");
    let next = next(&mut stream);
    assert_eq!(next.keep().into_bytes(), [b'x'; 20000]);
}

#[test]
fn the_bytes_are_those_of_the_read() {
    let letters = |app: &App, count: usize| -> String {
        let mut stream = open(app);
        let chunks = (0..count).map(|_| next(&mut stream).into_bytes());
        chunks
            .map(|bytes| {
                assert!(bytes.iter().all(|byte| *byte == bytes[0]), "mixed");
                char::from(bytes[0])
            })
            .collect()
    };
    for (source, expected) in [
        // One buffer for all chunks: each is read before the source is asked again.
        ("{ n: 0, b: all('-'), pull(c) { this.b.fill(97 + this.n++); c.enqueue(this.b); } }, { highWaterMark: 0 }", "abc"),
        // Jobs run after the read.
        ("{ n: 0, b: all('-'), pull(c) { this.b.fill(97 + this.n++); c.enqueue(this.b); queueMicrotask(() => \
         this.b.fill(45)); } },
          { highWaterMark: 0 }", "abc"),
        ("{ n: 0, b: all('-'), async pull(c) { this.b.fill(97 + this.n++); c.enqueue(this.b); await null; \
         this.b.fill(45); } },
          { highWaterMark: 0 }", "abc"),
        // Behind a queue the source has run once more before a chunk is read.
        ("{ n: 0, b: all('-'), pull(c) { this.b.fill(97 + this.n++); c.enqueue(this.b); } }", "bcd"),
        // A part of a buffer, and one that is resized later.
        ("{ pull(c) { const b = new Uint8Array(60000).fill(45); b.fill(120, 20000, 40000); \
         c.enqueue(b.subarray(20000, 40000)); } }", "xxx"),
        ("{ pull(c) { const buffer = new ArrayBuffer(20000, { maxByteLength: 90000 }); const b = new \
         Uint8Array(buffer, 0, 20000);
           b.fill(121); c.enqueue(b); buffer.resize(80000); } }", "yyy"),
        ("{ pull(c) { const buffer = new ArrayBuffer(90000, { maxByteLength: 90000 }); const b = new Uint8Array(buffer);
           b.fill(122); buffer.resize(20000); c.enqueue(b); } }", "zzz"),
    ] {
        assert_eq!(letters(&app(source), 3), expected, "{source}");
    }
    // Detached after it was enqueued, it has no bytes.
    let app = app(
        "{ n: 0, pull(c) { const b = all('x'); c.enqueue(b); b.buffer.transfer(); if (this.n++ == 2) { \
         c.enqueue(bytes('end')); c.close(); } } }",
    );
    assert_eq!(read(&app).expect("a body"), "end");
}

#[test]
fn patched_built_ins_break_no_stream() {
    let app = app(
        "{ n: 0, pull(c) {
             Array.prototype.push = () => { throw new Error('push'); };
             Array.prototype.shift = () => { throw new Error('shift'); };
             Promise.prototype.then = () => { throw new Error('then'); };
             Promise.resolve = () => { throw new Error('resolve'); };
             globalThis.queueMicrotask = () => { throw new Error('queueMicrotask'); };
             Function.prototype.bind = Function.prototype.call = () => { throw new Error('bind'); };
             ArrayBuffer.isView = () => false;
             Object.defineProperty(Object.prototype, 'first', { set() { throw new Error('first'); }, configurable: \
              true });
             for (const x of 'ab') c.enqueue(bytes(x + this.n));
             if (this.n++ == 3) c.close();
           } }",
    );
    assert_eq!(read(&app).expect("a body"), "a0b0a1b1a2b2a3b3");
}

#[test]
fn streams_that_were_touched_are_no_bodies() {
    for (touch, expected) in [
        ("s.getReader();", "locked"),
        (
            "const r = s.getReader(); r.read(); r.releaseLock();",
            "read",
        ),
    ] {
        let app = load(&format!(
            "import {{ app }} from 'sampan';
             const make = () => new ReadableStream({{ pull(c) {{ c.enqueue(new Uint8Array(1)); }} }});
             app.get('/before', () => {{ const s = make(); {touch} return new Response(s); }});
             app.get('/after', () => {{ const s = make(); const a = new Response(s); {touch} return a; }});"
        ));
        for (index, path) in ["/before", "/after"].into_iter().enumerate() {
            let refused = app.nth(index, get(path)).expect_err("an error");
            assert!(refused.message().contains(expected), "{path}: {refused}");
        }
    }
    let app = load(
        "import { app } from 'sampan'; app.get('/', () => { const r = new Response('x'); r.body.getReader(); return r; \
         });",
    );
    let refused = app.only(get("/")).expect_err("an error");
    assert!(refused.message().contains("locked"), "{refused}");
}

#[test]
fn what_is_made_of_a_stream_is_a_body_too() {
    let source = "new ReadableStream({ n: 0, pull(c) { c.enqueue(new TextEncoder().encode(String(this.n++))); if \
     (this.n == 4) c.close(); } })";
    for (body, expected) in [
        (format!("{source}.tee()[1]"), "0123"),
        (
            format!(
                "{source}.pipeThrough(new TransformStream({{ transform(x, c) {{ c.enqueue(x); c.enqueue(x); }} }}))"
            ),
            "00112233",
        ),
        (
            format!(
                "ReadableStream.from((async function* () {{ for await (const x of {source}) yield x; }})())"
            ),
            "0123",
        ),
    ] {
        let app = load(&format!(
            "import {{ app }} from 'sampan'; app.get('/', () => new Response({body}));"
        ));
        assert_eq!(read(&app).expect("a body"), expected, "{body}");
    }
}

#[test]
fn a_source_that_loops_is_stopped() {
    for source in [
        "{ pull() { for (;;); } }",
        "{ n: 0, pull(c) { if (this.n++) for (;;); c.enqueue(bytes('x')); } }",
        "{ pull() { for (;;); } }, { highWaterMark: 0 }",
        "{ pull(c) { try { c.enqueue(bytes('x')); } catch {} } }, { size() { for (;;); } }",
    ] {
        let app = app(source);
        // The source is asked first when the stream is made, or when it is read.
        let read = app
            .nth(0, get("/"))
            .and_then(|mut answer| app.read(&mut answer));
        let error = read.expect_err("it is stopped");
        assert_eq!(error.kind(), ErrorKind::Stopped, "{source}: {error}");
    }
}

#[test]
fn streams_that_nobody_reads_are_collected() {
    let source = "import { app } from 'sampan';
        app.get('/', () => {
          let kept;
          // The stream refers to itself.
          new ReadableStream({ start(c) { kept = c; c.enqueue(new Uint8Array(10000)); c.enqueue(kept); }, pull: () => \
           kept });
          return 'made';
        });";
    let limits = ScriptLimits {
        memory_bytes_max: 8 << 20,
        ..ScriptLimits::default()
    };
    let app = load_with(&[("app.js", source)], limits).expect("it loads");
    for _ in 0..3000 {
        assert_eq!(app.text(get("/")), "made");
    }
}
