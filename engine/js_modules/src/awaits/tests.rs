//! Tests of the calls that lack an `await`.

use super::*;

fn found(body: &str) -> Vec<(u32, String)> {
    let source = format!("import {{ app, db }} from \"sampan\";\n{body}");
    let found = missing_awaits("app.ts", &source).into_iter();
    found.map(|one| (one.line, one.call)).collect()
}

#[test]
fn what_is_waited_for_is_no_fault() {
    for body in [
        "app.get('/', async () => { const rows = await db.query('x'); return rows; });",
        "app.get('/', () => db.query('x'));",
        "app.get('/', () => { return db.one('x'); });",
        "app.get('/', async () => Promise.all([db.one('x'), db.one('y')]));",
        "app.get('/', () => db.one('x').then((row) => row.id));",
        "app.get('/', async () => { const a = db.one('x'); return (await a).id; });",
        "app.get('/', async () => (await db.sql`x`).length);",
        "app.get('/', async () => { await db.batch(() => { [1].forEach(() => { db.exec('y'); }); }); });",
        "app.get('/', async () => { await db.transaction(async (tx) => { await tx.exec('x'); }); });",
        "app.get('/', async (req) => { const row = req.ok ? await db.one('x') : null; });",
        "db.exec('at the top');",
        "function f(db) { db.exec('another'); }",
        "app.post('/', () => { void db.exec('x'); });",
        "const rows = () => db.query('x'); app.get('/', () => rows());",
        "const rows = () => db.query('x'); app.get('/', async () => (await rows()).length);",
        "const add = () => db.exec('x'); app.get('/', async () => { await db.batch(() => { add(); }); });",
        "const rows = () => [1]; app.get('/', () => rows().length);",
        "let rows = () => db.query('x'); rows = () => [1]; app.get('/', () => rows().length);",
    ] {
        assert_eq!(found(body), [], "{body}");
    }
    let other = "import { db } from './db.js';\nexport const f = () => { db.exec('x'); };";
    assert_eq!(missing_awaits("app.js", other), []);
    assert_eq!(
        missing_awaits("app.js", "import { db } from 'sampan'; f( db.exec("),
        []
    );
}

#[test]
fn what_nothing_waits_for_is_found_with_its_line() {
    for (body, call) in [
        (
            "app.get('/', () => { const rows = db.query('x'); return rows.length; });",
            "db.query",
        ),
        (
            "app.get('/', () => { db.exec('x'); return 1; });",
            "db.exec",
        ),
        ("app.get('/', () => ({ id: db.one('x').id }));", "db.one"),
        ("app.get('/', () => ({ rows: db.query('x') }));", "db.query"),
        (
            "app.get('/', () => db.query('x').map((row) => row.id));",
            "db.query",
        ),
        (
            "app.get('/', () => { for (const row of db.query('x')) return row; });",
            "db.query",
        ),
        (
            "app.get('/', () => { if (!db.one('x')) return 404; });",
            "db.one",
        ),
        (
            "app.get('/', () => { const { id } = db.one('x'); return id; });",
            "db.one",
        ),
        ("app.get('/', () => { db.batch(() => {}); });", "db.batch"),
        ("app.get('/', () => db.sql`x`.length);", "db.sql"),
        ("app.get('/', () => { app.db.exec('x'); });", "db.exec"),
        (
            "app.get('/', async () => { await db.transaction((tx) => { tx.exec('x'); }); });",
            "tx.exec",
        ),
        ("app.get('/', () => [...db.query('x')]);", "db.query"),
        (
            "const rows = () => db.query('x'); app.get('/', () => rows().length);",
            "rows",
        ),
        (
            "const find = async (id) => db.sql`x`; app.get('/', (req) => { if (!find(1)) return 404; });",
            "find",
        ),
        (
            "app.get('/', () => { const row = db.one('x') as any; return row.id; });",
            "db.one",
        ),
    ] {
        assert_eq!(found(body), [(2, call.to_owned())], "{body}");
    }
}
