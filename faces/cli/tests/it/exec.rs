//! `sampan exec`: one script in a project, in both languages, from a folder and in a file of `sampan build`.

use crate::commands::command::{fails, run, sampan};
use crate::support::{Process, Scratch};
use std::fs;
use std::process::Command;

/// A project of one language, with its scripts.
struct Twin {
    app: (&'static str, &'static str),
    /// A file that the project and its scripts share.
    module: (&'static str, &'static str),
    /// Adds two users: the one that it is told, and one in a transaction.
    make: (&'static str, &'static str),
}

const LUA: Twin = Twin {
    app: (
        "app.lua",
        "local app = require 'sampan'
app.on_start(function() app.db.query('SELECT * FROM users') end)
app.get('/', function() return 'hello' end)",
    ),
    module: (
        "users.lua",
        "local db = require('sampan').db
return { add = function(name) db.exec('INSERT INTO users VALUES (?)', { name }) end }",
    ),
    make: (
        "make.lua",
        "local app, users = require 'sampan', require 'users'
local db, time = app.db, app.time
local name, flag = ...
print(name .. ' ' .. flag .. ' ' .. select('#', ...))
users.add(name)
time.sleep(0.001)
db.transaction(function(tx)
  tx:exec('INSERT INTO users VALUES (?)', { 'two' })
  time.sleep(0.001)
end)
print('made')",
    ),
};

const JS: Twin = Twin {
    app: (
        "app.ts",
        "import { app, db } from 'sampan';
app.onStart(() => { db.query('SELECT * FROM users') });
app.get('/', () => 'hello');",
    ),
    module: (
        "users.ts",
        "import { db } from 'sampan';
export const add = (name: string) => db.exec('INSERT INTO users VALUES (?)', [name]);",
    ),
    make: (
        "make.ts",
        "import { db, time } from 'sampan';
import { add } from './users.ts';
export default async (name: string, flag: string) => {
  console.log('%s %s', name, flag, process.argv.length - 2);
  add(name);
  await time.sleep(0.001);
  await db.transaction(async (tx) => {
    tx.exec('INSERT INTO users VALUES (?)', ['two']);
    await time.sleep(0.001);
  });
  console.log('made');
};",
    ),
};

/// The project in a folder `shop`, with further files in it. A migration makes its table.
fn project(twin: &Twin, more: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new(&[]);
    fs::create_dir_all(scratch.file("shop/migrations")).expect("folders");
    let table = (
        "migrations/0001_users.sql",
        "CREATE TABLE users (name TEXT);",
    );
    let files = [twin.app, twin.module, twin.make, table];
    for (path, text) in files.iter().chain(more) {
        fs::write(scratch.file(&format!("shop/{path}")), text).expect("written");
    }
    scratch
}

/// The names of the users in a database.
fn users(db: &str) -> String {
    let sql = "SELECT group_concat(name) AS names FROM users";
    let (code, out, errors) = run(&["db", "--db", db, ".", sql, "--json"]);
    assert_eq!(code, 0, "{errors}");
    out.trim().to_owned()
}

#[test]
fn a_script_runs_in_the_project_and_what_it_wrote_is_kept() {
    for twin in [LUA, JS] {
        let scratch = project(&twin, &[]);
        let (shop, make) = (scratch.file("shop"), twin.make.0);
        let script = format!("{shop}/{make}");
        // All that follows the script is its own.
        let args = ["exec", "--project", &shop, &script, "Ann Lee", "--db"];
        let (code, out, errors) = run(&args);
        assert_eq!(
            (code, out.as_str()),
            (0, "Ann Lee --db 2\nmade\n"),
            "{errors}"
        );
        let names = users(&format!("{shop}/data.db"));
        assert_eq!(names, r#"[{"names":"Ann Lee,two"}]"#);
        // In the folder of the project, with another database.
        let mut command = sampan(&["exec", "--db", "other.db", make, "Bo", "x"]);
        let output = command.current_dir(&shop).output().expect("it starts");
        assert!(output.status.success(), "{output:?}");
        let names = users(&format!("{shop}/other.db"));
        assert_eq!(names, r#"[{"names":"Bo,two"}]"#);
    }
}

#[test]
fn a_script_outside_of_the_project_is_run_as_if_it_lay_in_it() {
    for twin in [LUA, JS] {
        let scratch = project(&twin, &[]);
        let (name, text) = twin.make;
        let outside = scratch.file(name);
        fs::remove_file(scratch.file(&format!("shop/{name}"))).expect("removed");
        fs::write(&outside, text).expect("written");
        let shop = scratch.file("shop");
        let (code, out, errors) = run(&["exec", "--project", &shop, &outside, "Ann", "x"]);
        assert_eq!((code, out.as_str()), (0, "Ann x 2\nmade\n"), "{errors}");
        // The project would import the script in place of its own file.
        let taken = scratch.file(twin.module.0);
        fs::write(&taken, "").expect("written");
        fails(
            &["exec", "--project", &shop, &taken],
            1,
            &[
                "the project has another file",
                "give the script another name",
            ],
        );
    }
}

#[test]
fn an_error_is_told_with_its_place_and_what_was_written_before_is_kept() {
    let lua = "local users = require 'users'
users.add('Ann')
local function fail() error('no name') end
fail()";
    let js = "import { add } from './users.ts';
add('Ann');
function fail(): never { throw new Error('no name'); }
fail();";
    for (twin, file, text) in [(LUA, "fail.lua", lua), (JS, "fail.ts", js)] {
        let scratch = project(&twin, &[(file, text)]);
        let shop = scratch.file("shop");
        let script = format!("{shop}/{file}");
        let (code, out, errors) = run(&["exec", "--project", &shop, &script]);
        assert_eq!((code, out.as_str()), (1, ""), "{errors}");
        for part in [
            format!("sampan: {file}:3: "),
            "no name".to_owned(),
            "    3 | ".to_owned(),
            format!("{file}:4"),
        ] {
            assert!(errors.contains(&part), "{part:?} is not in {errors}");
        }
        assert!(!errors.contains(".call."), "nothing of ours: {errors}");
        let names = users(&format!("{shop}/data.db"));
        assert_eq!(names, r#"[{"names":"Ann"}]"#);
    }
}

#[test]
fn a_script_that_cannot_be_run_is_refused() {
    let more = [
        ("bad.lua", "local a = 1\nlocal b = = 2"),
        ("bad.ts", "const a = 1;\nconst b = ;"),
        ("notes.txt", ""),
    ];
    for (twin, bad, other) in [(LUA, "bad.lua", "bad.ts"), (JS, "bad.ts", "bad.lua")] {
        let scratch = project(&twin, &more);
        let shop = scratch.file("shop");
        let file = |name: &str| format!("{shop}/{name}");
        let (code, _, errors) = run(&["exec", "--project", &shop, &file(bad)]);
        assert_eq!(code, 1, "{errors}");
        let place = format!("sampan: {bad}:2: ");
        assert!(
            errors.contains(&place) && errors.contains("    2 | "),
            "{errors}"
        );
        let none = file(bad).replace("bad", "none");
        for (script, parts) in [
            (file(other), ["the project is in ", "must end in "]),
            (file("notes.txt"), ["neither Lua nor", "must end in .lua"]),
            (none, ["none.", "does not exist"]),
            (file(twin.app.0), ["is the project itself", "another file"]),
        ] {
            fails(&["exec", "--project", &shop, &script], 1, &parts);
        }
        fails(&["exec", "--project", &shop], 2, &["FILE"]);
        // Paths are those of the folder in which the command runs, not of the project.
        let mut command = sampan(&["exec", "--project", &shop, twin.make.0]);
        let output = command
            .current_dir(scratch.file(""))
            .output()
            .expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        let told = format!(": for the one of the project write {}\n", file(twin.make.0));
        assert!(
            errors.contains(" does not exist in /") && errors.ends_with(&told),
            "{errors}"
        );
        let nowhere = scratch.file("none");
        let make = file(twin.make.0);
        fails(
            &["exec", "--project", &nowhere, &make],
            1,
            &["does not exist", "name the project's folder"],
        );
        // The project is loaded first.
        fs::write(file(twin.app.0), "\n= no program").expect("written");
        let (code, out, errors) = run(&["exec", "--project", &shop, &make, "Ann", "x"]);
        assert_eq!((code, out.as_str()), (1, ""), "{errors}");
        let place = format!("sampan: {}:2", twin.app.0);
        assert!(errors.contains(&place), "{errors}");
    }
}

#[test]
fn a_script_may_compute_for_longer_than_a_request() {
    let lua = "local ends = os.clock() + 1 repeat until os.clock() > ends print('done')";
    let js = "const ends = Date.now() + 3000; while (Date.now() < ends); console.log('done');";
    let toml = ("sampan.toml", "[limits]\nscript_millis_max = 300\n");
    for (twin, file, text) in [(LUA, "long.lua", lua), (JS, "long.ts", js)] {
        let scratch = project(&twin, &[(file, text), toml]);
        let shop = scratch.file("shop");
        let script = format!("{shop}/{file}");
        let (code, out, errors) = run(&["exec", "--project", &shop, &script]);
        assert_eq!((code, out.as_str()), (0, "done\n"), "{errors}");
        // It may have a limit of its own.
        let limit = "limits.script_millis_max=300";
        let args = ["exec", "--project", &shop, "--set", limit, &script];
        let (code, _, errors) = run(&args);
        assert!(code == 1 && errors.contains("300 ms"), "{errors}");
    }
}

#[test]
fn a_script_may_write_for_longer_than_a_request() {
    let lua = "local app = require 'sampan'
local db, time = app.db, app.time
local long = [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT max(i) FROM n]]
db.transaction(function(tx)
  time.sleep(0.1)
  tx:exec('INSERT INTO users ' .. long)
end)
db.exec('INSERT INTO users ' .. long)
db.query_async(long)
print('done')";
    let js = "import { db, time } from 'sampan';
const long = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT max(i) FROM n`;
await db.transaction(async (tx) => {
  await time.sleep(0.1);
  tx.exec('INSERT INTO users ' + long);
});
db.exec('INSERT INTO users ' + long);
await db.queryAsync(long);
console.log('done');";
    let toml = (
        "sampan.toml",
        "[db]\ntransaction_millis_max = 20\nwrite_millis_max = 20\n",
    );
    for (twin, file, text) in [(LUA, "long.lua", lua), (JS, "long.ts", js)] {
        let scratch = project(&twin, &[(file, text), toml]);
        let shop = scratch.file("shop");
        let script = format!("{shop}/{file}");
        let (code, out, errors) = run(&["exec", "--project", &shop, &script]);
        assert_eq!((code, out.as_str()), (0, "done\n"), "{errors}");
        for key in ["transaction_millis_max", "write_millis_max"] {
            let limit = format!("db.{key}=20");
            let args = ["exec", "--project", &shop, "--set", &limit, &script];
            let (code, _, errors) = run(&args);
            let told = format!("{key} (20 ms)");
            assert!(code == 1 && errors.contains(&told), "{key}: {errors}");
        }
    }
}

#[test]
fn a_script_lasts_as_long_as_what_it_does_not_await() {
    let begin = "import { app, time } from 'sampan';\n";
    for (js, expected) in [
        (
            "async function main() { await time.sleep(0.05); console.log('done'); } main();",
            "done\n",
        ),
        (
            "const timer = setInterval(() => { clearInterval(timer); console.log('tick'); }, 20); console.log('end');",
            "end\ntick\n",
        ),
        // One timer begins another.
        (
            "setTimeout(() => setTimeout(() => console.log('second'), 20), 20);",
            "second\n",
        ),
        ("(async () => { await new Promise(() => {}); })();", ""),
    ] {
        for hears in ["", "app.subscribe('news', () => {});"] {
            let app = format!("{begin}{hears}\napp.get('/', () => 'hello');\n");
            let scratch = project(
                &JS,
                &[("app.ts", &app), ("left.ts", &format!("{begin}{js}"))],
            );
            let shop = scratch.file("shop");
            let script = format!("{shop}/left.ts");
            let (code, out, errors) = run(&["exec", "--project", &shop, &script]);
            assert_eq!((code, out.as_str()), (0, expected), "{js}: {errors}");
        }
    }
}

#[test]
fn an_error_that_is_not_awaited_is_in_the_log_and_in_the_status() {
    let begin = "import { time } from 'sampan';\n";
    for failing in [
        "Promise.reject(new Error('too bad'));",
        "(async () => { await time.sleep(0.001); throw new Error('too bad'); })();",
        "setTimeout(() => { throw new Error('too bad'); }, 1);",
    ] {
        let js = format!("{begin}{failing}\nawait time.sleep(0.1);\nconsole.log('done');");
        let scratch = project(&JS, &[("left.ts", &js)]);
        let shop = scratch.file("shop");
        let script = format!("{shop}/left.ts");
        let (code, out, errors) = run(&["exec", "--project", &shop, &script]);
        assert_eq!((code, out.as_str()), (1, "done\n"), "{failing}: {errors}");
        assert!(
            errors.contains("in the background: ") && errors.contains("too bad"),
            "{failing}: {errors}"
        );
        assert!(!errors.contains(".call."), "{failing}: {errors}");
        // One that is handled later than it fails, but in the same run, is none.
        let js = "const late = Promise.reject(new Error('x')); try { await late; } catch {}";
        fs::write(&script, js).expect("written");
        let (code, _, errors) = run(&["exec", "--project", &shop, &script]);
        assert_eq!(code, 0, "{errors}");
    }
}

#[test]
fn a_script_chooses_its_exit_status() {
    let add_js = "import { add } from './users.ts'; add('Ann'); ";
    let add_lua = "require('users').add('Ann') ";
    for (twin, text, expected) in [
        (JS, "process.exitCode = 3;", 3),
        (JS, "setTimeout(() => { process.exitCode = 3; }, 5);", 3),
        (JS, "process.exitCode = '0x10';", 16),
        (JS, "process.exitCode = -1;", 255),
        (JS, "process.exitCode = 2 ** 40 + 7;", 7),
        (JS, "process.exitCode = 3; process.exitCode = undefined;", 0),
        (
            JS,
            "process.exitCode = '4'; if (process.exitCode !== '4') throw 1;",
            4,
        ),
        (
            JS,
            "process.exitCode = 3; Promise.reject(new Error('x'));",
            1,
        ),
        (JS, "process.exitCode = 3; throw new Error('x');", 1),
        (LUA, "os.exit(3) error('too far')", 3),
        (LUA, "pcall(os.exit, -1) error('too far')", 255),
        (LUA, "os.exit()", 0),
        (LUA, "os.exit(true)", 0),
        (LUA, "os.exit(false)", 1),
        (
            LUA,
            "require('sampan').db.transaction(function(tx) tx:exec(\"INSERT INTO users VALUES ('Bo')\") os.exit(4) end)",
            4,
        ),
    ] {
        let is_lua = twin.app.0 == "app.lua";
        let (file, add) = match is_lua {
            true => ("end.lua", add_lua),
            false => ("end.ts", add_js),
        };
        let scratch = project(&twin, &[(file, &format!("{add}{text}"))]);
        let shop = scratch.file("shop");
        let script = format!("{shop}/{file}");
        let (code, _, errors) = run(&["exec", "--project", &shop, &script]);
        assert_eq!(code, expected, "{text}: {errors}");
        let names = users(&format!("{shop}/data.db"));
        assert_eq!(names, r#"[{"names":"Ann"}]"#, "{text}");
    }
}

/// Runs a script that gives a wrong exit status in its second line.
fn refuses_status(twin: &Twin, name: &str, script: &str, told: &str) {
    let scratch = project(twin, &[(name, script)]);
    let shop = scratch.file("shop");
    let (code, _, errors) = run(&["exec", "--project", &shop, &format!("{shop}/{name}")]);
    assert_eq!(code, 1, "{script}: {errors}");
    let place = format!("sampan: {name}:2: ");
    assert!(
        errors.contains(&place) && errors.contains(told),
        "{script}: {errors}"
    );
}

#[test]
fn an_exit_status_is_an_integer() {
    let told = "process.exitCode must be an integer from 0 to 255";
    for value in ["1.5", "NaN", "2 ** 60", "''", "'x'", "true", "3n", "{}"] {
        let script = format!("\nprocess.exitCode = {value} as any;");
        refuses_status(&JS, "end.ts", &script, told);
    }
    let told = "os.exit: the status must be an integer";
    for value in ["1.5", "0/0", "1/0", "'x'", "{}"] {
        refuses_status(&LUA, "end.lua", &format!("\nos.exit({value})"), told);
    }
}

#[test]
fn a_promise_that_nothing_settles_is_an_error() {
    let told = "sampan: left.ts: the script awaits a promise that nothing settles: no timer, request or query goes on \
                any more";
    let app = |more: &str| {
        format!(
            "import {{ app, db }} from 'sampan';\nglobalThis.db = db;\n{more}\napp.get('/', () => 'hello');\n"
        )
    };
    for (more, js, expected) in [
        ("", "await new Promise(() => {});", Some(told)),
        // What it wrote before is kept, and its own work ends first.
        (
            "",
            "db.exec(\"INSERT INTO users VALUES ('Ann')\"); setTimeout(() => console.log('timer'), 30);
await new Promise(() => {});",
            Some(told),
        ),
        ("", "export default () => new Promise(() => {});", Some(told)),
        // Work of the project may settle it, and does not here.
        (
            "setTimeout(() => {}, 300);",
            "await new Promise(() => {});",
            Some(told),
        ),
        (
            "globalThis.later = new Promise((resolve) => setTimeout(resolve, 300));",
            "await later; console.log('done');",
            None,
        ),
        (
            "app.onStart(() => { globalThis.later = new Promise((resolve) => setTimeout(resolve, 300)); });",
            "await later; console.log('done');",
            None,
        ),
        (
            "app.subscribe('news', (text) => globalThis.heard(text));",
            "import { app } from 'sampan';
const news = new Promise((resolve) => { globalThis.heard = resolve; });
app.publish('news', 'x');
await news; console.log('done');",
            None,
        ),
    ] {
        let more = app(more);
        let scratch = project(&JS, &[("app.ts", &more), ("left.ts", js)]);
        let shop = scratch.file("shop");
        let script = format!("{shop}/left.ts");
        let (code, out, errors) = run(&["exec", "--project", &shop, &script]);
        match expected {
            Some(told) => assert!(code == 1 && errors.contains(told), "{js}: {code} {out}{errors}"),
            None => assert_eq!((code, out.as_str()), (0, "done\n"), "{js}: {errors}"),
        }
        if js.contains("Ann") {
            assert_eq!(out, "timer\n");
            assert_eq!(users(&format!("{shop}/data.db")), r#"[{"names":"Ann"}]"#);
        }
    }
}

#[test]
fn a_script_takes_as_many_arguments_as_its_language() {
    let lua = "print(select('#', ...))";
    let js = "export default (...all: string[]) => console.log(all.length);";
    let cases = [(LUA, "count.lua", lua, 7_000), (JS, "count.ts", js, 7_001)];
    for (twin, file, text, count) in cases {
        let scratch = project(&twin, &[(file, text)]);
        let shop = scratch.file("shop");
        let script = format!("{shop}/{file}");
        let mut args = vec!["exec", "--project", &shop, &script];
        args.resize(args.len() + count, "x");
        let (code, out, errors) = run(&args);
        assert_eq!((code, out), (0, format!("{count}\n")), "{errors}");
    }
    let scratch = project(&LUA, &[("count.lua", lua)]);
    let (shop, script) = (scratch.file("shop"), scratch.file("shop/count.lua"));
    let mut args = vec!["exec", "--project", &shop, &script];
    args.resize(args.len() + 7_001, "x");
    let (code, _, errors) = run(&args);
    let told = "7001 arguments are too many for Lua, which takes up to 7000: give the script a file to read\n";
    assert!(code == 1 && errors == format!("sampan: {told}"), "{errors}");
}

#[test]
fn ctrl_c_ends_a_script_that_does_not_end() {
    let begin_lua =
        "local app = require 'sampan' require('users').add('Ann') app.log.info('begun') ";
    let begin_js = "import { log, time } from 'sampan'; import { add } from './users.ts';\n\
                    add('Ann'); log.info('begun');\n";
    for (twin, file, begin, endings) in [
        (
            LUA,
            "endless.lua",
            begin_lua,
            ["while true do pcall(error) end", "app.time.sleep(1000)"],
        ),
        (
            JS,
            "endless.ts",
            begin_js,
            [
                "for (;;) { try { throw 1 } catch {} }",
                "await time.sleep(1000);",
            ],
        ),
    ] {
        for ending in endings {
            let scratch = project(&twin, &[(file, &format!("{begin}{ending}"))]);
            let shop = scratch.file("shop");
            let script = format!("{shop}/{file}");
            let mut command = sampan(&["exec", "--project", &shop, &script]);
            let process = Process::start_until(&mut command, "begun");
            process.signal("INT");
            let (status, errors) = process.end();
            assert_eq!(status, Some(130), "{ending}: {errors}");
            assert!(errors.contains("stopped\n"), "{ending}: {errors}");
            let names = users(&format!("{shop}/data.db"));
            assert_eq!(names, r#"[{"names":"Ann"}]"#, "{ending}");
        }
    }
}

#[test]
fn a_built_file_runs_scripts_that_are_in_it_and_on_the_disk() {
    for twin in [LUA, JS] {
        let scratch = project(&twin, &[]);
        let (shop, built) = (scratch.file("shop"), scratch.file("built"));
        let (code, said, errors) = run(&["build", &shop, "-o", &built]);
        assert_eq!(code, 0, "{said}{errors}");
        let (name, text) = twin.make;
        // A folder with nothing of the project in it.
        let folder = scratch.file("served");
        fs::create_dir(&folder).expect("a folder");
        let on_disk = name.replace("make", "again");
        fs::write(format!("{folder}/{on_disk}"), text).expect("written");
        for (script, user) in [(name, "Ann"), (on_disk.as_str(), "Bo")] {
            let mut command = Command::new(&built);
            command.args(["exec", script, user, "--project"]);
            let output = command.current_dir(&folder).output().expect("it starts");
            let out = String::from_utf8_lossy(&output.stdout);
            assert_eq!(out, format!("{user} --project 2\nmade\n"), "{output:?}");
            assert!(output.status.success(), "{output:?}");
        }
        let names = users(&format!("{folder}/data.db"));
        assert_eq!(names, r#"[{"names":"Ann,two,Bo,two"}]"#);
        let none = name.replace("make", "none");
        let mut command = Command::new(&built);
        command.args(["exec", &none]).current_dir(&folder);
        let output = command.output().expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        let begin = format!("sampan: {none} does not exist in ");
        let end = "/served, nor in this program: name the script to run\n";
        assert!(
            errors.starts_with(&begin) && errors.ends_with(end),
            "{errors}"
        );
    }
}
