//! Random programs of requests in JavaScript that share promises and callbacks, beside one another in one isolate:
//! batches that nest, fail, are misused, settle what others wait for and call what others have left. Each request is
//! answered 200 and finds all that it wrote, and each batch is there whole or not at all.
//!
//! `SAMPAN_RANDOM_SECONDS` sets how long (4), `SAMPAN_RANDOM_SEED` repeats a run as far as the clock allows.

mod faults;

use faults::{Project, Random, Server, setting};
use sampan_testkit::wait;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Requests at a time.
const CLIENTS: u64 = 10;

/// Promises that all requests share.
const SLOTS: u64 = 4;

/// The depth to which batches nest.
const DEPTH_MAX: u32 = 3;

const APP: &str = r#"import { app, db, time } from "sampan";
db.exec("CREATE TABLE IF NOT EXISTS rows (id INTEGER, n INTEGER, batch INTEGER)");
const INSERT = "INSERT INTO rows (id, n, batch) VALUES (?, ?, ?)";
const slots = [], hooks = [];
const slot = (at) => slots[at] ??= Promise.withResolvers();
const settle = (at, how) => {
  const made = slot(at);
  slots[at] = undefined;
  made.promise.catch(() => {});
  if (how === 0) made.resolve(at);
  else if (how === 1) made.reject(new Error("rejected"));
  else if (how === 2) made.resolve({ then(done) { done(at); } });
  else made.resolve(Promise.resolve(at));
};
const calm = (promise) => promise.catch(() => {});

// Leaves a callback to others; fulfilled when it has run. What it does belongs to who calls it, and to the batch in
// which that is.
const hooked = (work) => new Promise((done, fail) => hooks.push((run, batch) => {
  try { work(run, batch); done(); } catch (error) { fail(error); }
}));

// What a request has done so far: its plain rows, and its batches with how many rows each has itself.
function write(run, batch) {
  const n = ++run.n;
  db.exec(INSERT, [run.id, n, batch ? batch.number : 0]);
  if (batch) batch.rows++; else run.plain.push(n);
}
function batched(run, around, work) {
  const batch = { number: ++run.count, around: around ? around.number : 0, rows: 0, state: "open" };
  run.batches.push(batch);
  try { db.batch(work(batch)); batch.state = "kept"; } catch { batch.state = "undone"; }
}
// Functions that no batch takes: refused before they run, or taken back when they have returned.
const misuses = [
  (run, batch) => async () => { write(run, batch); },
  (run, batch) => function* () { write(run, batch); },
  (run, batch) => () => { write(run, batch); return Promise.resolve(); },
  (run, batch) => () => { write(run, batch); return calm(Promise.reject(new Error("rejected"))); },
  (run, batch) => () => { write(run, batch); return { then(done) { done(); } }; },
  (run, batch) => (async () => { write(run, batch); await null; }).bind(null),
  (run, batch) => new Proxy(async () => { write(run, batch); await null; }, {}),
];
function now(run, batch, steps) {
  for (const [what, a, b] of steps) {
    if (what === "write") write(run, batch);
    else if (what === "settle") settle(a, b);
    else if (what === "hooks") { for (const hook of hooks.splice(0)) hook(run, batch); }
    else if (what === "throw") throw new Error("thrown");
    else if (what === "batch") batched(run, batch, (inner) => () => now(run, inner, a));
    else if (what === "misuse") {
      batched(run, batch, (inner) => misuses[a](run, inner));
      if (run.batches.at(-1).state === "kept") run.wrong.push(a);
    } else if (what === "loose") {
      calm((async () => { for (let i = 0; i <= a; i++) await null; write(run, undefined); })());
    }
  }
}
async function later(run, steps) {
  for (const step of steps) {
    const [what, a] = step;
    if (what === "null") await null;
    else if (what === "own") await new Promise((done, fail) => queueMicrotask(() => fail(0))).catch(() => 0);
    else if (what === "generator") { for await (const x of (async function* () { yield 1; await null; yield 2; })()) await x; }
    else if (what === "wait") { try { await slot(a).promise; } catch {} }
    else if (what === "chain") await slot(a).promise.then(() => null, () => null).then(() => null);
    else if (what === "job") await slot(a).promise.then(() => 0, () => 0).then(() => now(run, undefined, [["batch", [["write"], ["write"]]]]));
    else if (what === "race") await calm(Promise.race([slot(a).promise, time.sleep(0.002)]));
    else if (what === "sleep") await time.sleep(0.001);
    else if (what === "hook") await hooked((caller, batch) => write(caller, batch));
    else if (what === "hook-or-sleep") await Promise.race([time.sleep(0.2), hooked((caller, batch) => write(caller, batch))]);
    else if (what === "hook-batch") await hooked((caller, batch) => now(caller, batch, [["batch", [["write"], ["write"]]], ["write"]]));
    else if (what === "parallel") await Promise.all(a.map((steps) => later(run, steps)));
    else now(run, undefined, [step]);
  }
}
app.post("/run", async (req) => {
  const { id, steps } = await req.json();
  const run = { id, n: 0, count: 0, plain: [], batches: [], wrong: [] };
  await later(run, steps);
  return { plain: run.plain, batches: run.batches, wrong: run.wrong };
});
const kick = { id: 0, n: 0, count: 0, plain: [], batches: [], wrong: [] };
app.post("/kick", () => { for (let at = 0; at < slots.length; at++) if (slots[at]) settle(at, 0); now(kick, undefined, [["hooks"]]); return "kicked"; });
app.get("/rows/:after", (req) => db.query("SELECT rowid AS at, id, n, batch FROM rows WHERE rowid > ? ORDER BY rowid LIMIT 5000", [Number(req.params.after)]));
"#;

/// The number of ways to misuse a batch.
const MISUSES: u64 = 7;

/// A step that does not wait.
fn prompt_step(random: &mut Random, depth: u32) -> Value {
    let is_in_batch = depth > 0;
    match random.between(0, 11) {
        3 | 4 => json!(["settle", random.between(0, SLOTS - 1), random.between(0, 3)]),
        5 => json!(["hooks"]),
        6 if is_in_batch => json!(["throw"]),
        7 | 8 if depth < DEPTH_MAX => json!(["batch", prompt_steps(random, depth + 1)]),
        9 => json!(["misuse", random.between(0, MISUSES - 1)]),
        10 => json!(["loose", random.between(0, 6)]),
        _ => json!(["write"]),
    }
}

/// The steps of a batch.
fn prompt_steps(random: &mut Random, depth: u32) -> Vec<Value> {
    let count = random.between(1, 4);
    (0..count).map(|_| prompt_step(random, depth)).collect()
}

fn step(random: &mut Random, depth: u32) -> Value {
    let slot = random.between(0, SLOTS - 1);
    match random.between(0, 15) {
        0..=6 => prompt_step(random, 0),
        7 => json!(["own"]),
        8 => json!(["generator"]),
        9..=11 => match random.between(0, 4) {
            0 => json!(["wait", slot]),
            1 => json!(["chain", slot]),
            2 => json!(["race", slot]),
            3 => json!(["job", slot]),
            _ => json!(["sleep"]),
        },
        12 | 13 => match random.between(0, 2) {
            0 => json!(["hook"]),
            1 => json!(["hook-batch"]),
            _ => json!(["hook-or-sleep"]),
        },
        14 if depth < DEPTH_MAX => {
            let sides = [(); 2].map(|()| steps(random, depth + 1));
            json!(["parallel", sides])
        }
        _ => json!(["null"]),
    }
}

fn steps(random: &mut Random, depth: u32) -> Vec<Value> {
    let count = random.between(1, 5);
    (0..count).map(|_| step(random, depth)).collect()
}

/// A request that was answered 200.
struct Told {
    id: u64,
    steps: Value,
    answer: Value,
}

fn client(server: &Server, mut random: Random, ids: &AtomicU64, end: Instant) -> Vec<Told> {
    let mut client = server.client();
    let mut told = Vec::new();
    while Instant::now() < end {
        let id = ids.fetch_add(1, Ordering::Relaxed);
        let steps = json!(steps(&mut random, 0));
        let body = json!({ "id": id, "steps": steps }).to_string();
        let head = format!(
            "POST /run HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        client.send((head + &body).as_bytes()).expect("it is sent");
        let answer = client.read(false).expect("an answer");
        assert_eq!(answer.status, 200, "{} for {steps}", answer.text());
        told.push(Told {
            id,
            steps,
            answer: serde_json::from_str(&answer.text()).expect("JSON"),
        });
    }
    told
}

/// The numbers of the rows that are there, by request and batch.
fn rows(server: &Server) -> HashMap<u64, HashMap<u64, Vec<u64>>> {
    let mut rows: HashMap<u64, HashMap<u64, Vec<u64>>> = HashMap::new();
    let mut after = 0;
    loop {
        let page = server.get(&format!("/rows/{after}"));
        let page: Vec<HashMap<String, u64>> = serde_json::from_str(&page).expect("rows");
        let Some(last) = page.last() else {
            return rows;
        };
        after = last["at"];
        for row in page {
            let of_request = rows.entry(row["id"]).or_default();
            of_request.entry(row["batch"]).or_default().push(row["n"]);
        }
    }
}

/// Returns the fault in the rows of a request, by their batch.
fn fault(answer: &Value, rows: &HashMap<u64, Vec<u64>>) -> Option<String> {
    let number = |value: &Value| value.as_u64().expect("a number");
    if answer["wrong"] != json!([]) {
        return Some(format!("misuses {} are kept", answer["wrong"]));
    }
    let none = Vec::new();
    let plain = rows.get(&0).unwrap_or(&none);
    let lost = answer["plain"].as_array().expect("a list").iter();
    let lost: Vec<u64> = lost.map(number).filter(|n| !plain.contains(n)).collect();
    if !lost.is_empty() {
        return Some(format!("rows {lost:?} are lost"));
    }
    let batches = answer["batches"].as_array().expect("a list");
    let of_number = |wanted: u64| {
        batches
            .iter()
            .find(|batch| number(&batch["number"]) == wanted)
    };
    for batch in batches {
        let mut next = Some(batch);
        let mut is_kept = true;
        while let Some(around) = next {
            is_kept &= around["state"] == "kept";
            next = of_number(number(&around["around"]));
        }
        let expected = if is_kept { number(&batch["rows"]) } else { 0 };
        let found = rows.get(&number(&batch["number"])).map_or(0, Vec::len) as u64;
        if found != expected {
            return Some(format!("{batch} has {found} rows, not {expected}"));
        }
    }
    None
}

#[test]
fn all_that_was_acknowledged_is_there_and_no_batch_is_half_there() {
    let seconds = setting("SAMPAN_RANDOM_SECONDS", 4);
    let project = Project::new("random-batches", "normal", "");
    std::fs::write(project.file("app.js"), APP).expect("a file");
    let server = project.serve(&mut project.command_for("app.js", 1), "server.log");
    let seed = setting(
        "SAMPAN_RANDOM_SEED",
        Random::new().between(1, u64::from(u32::MAX)),
    );
    println!("seed {seed}");
    let ids = AtomicU64::new(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let told: Vec<Told> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|at| {
                let random = Random::seeded(seed + at);
                let (server, ids) = (&server, &ids);
                scope.spawn(move || client(server, random, ids, end))
            })
            .collect();
        // Wakes those who wait for nobody.
        while clients.iter().any(|client| !client.is_finished()) {
            let kicked = faults::ask(&mut server.client(), "POST", "/kick");
            assert_eq!(kicked.expect("an answer").status, 200);
            wait::dawdle(Duration::from_millis(20));
        }
        let told = clients
            .into_iter()
            .map(|client| client.join().expect("it ends"));
        told.flatten().collect()
    });
    let rows = rows(&server);
    let kept = told
        .iter()
        .flat_map(|told| told.answer["batches"].as_array());
    let kept = kept
        .flatten()
        .filter(|batch| batch["state"] == "kept")
        .count();
    println!(
        "{} of {} answered 200, {kept} batches kept",
        told.len(),
        ids.into_inner()
    );
    assert!(told.len() > 100 && kept > 50, "hardly anything was done");
    let none = HashMap::new();
    for told in &told {
        if let Some(fault) = fault(&told.answer, rows.get(&told.id).unwrap_or(&none)) {
            panic!("seed {seed}, request {}: {fault}\n{}", told.id, told.steps);
        }
    }
}
