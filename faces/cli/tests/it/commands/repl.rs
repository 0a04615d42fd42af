//! `sampan repl`: both languages, in a pipe and on a terminal.

use crate::commands::command::{self, fails};
use crate::commands::terminal::Terminal;
use crate::support::Scratch;

const LUA: &str = "local app = require 'sampan'
app.on_start(function() app.db.exec('CREATE TABLE IF NOT EXISTS t(a, b)') end)
function greet(name) if not name then error('no name') end return 'hello ' .. name end
app.use('*', function() return app.json({ refused = true }, { status = 401 }) end)";
const JS: &str = "import { app, db } from 'sampan';
app.onStart(() => { db.exec('CREATE TABLE IF NOT EXISTS t(a, b)') });
globalThis.greet = (name) => { if (!name) throw new Error('no name'); return 'hello ' + name };
app.use('*', () => new Response('no', { status: 401 }));";

fn piped(args: &[&str], text: &str) -> (i32, String, String) {
    command::piped(&[&["repl"], args].concat(), text)
}

#[test]
fn the_name_of_the_file_may_have_a_dot() {
    let app = "local m = require 'm' function greet() return m end";
    let scratch = Scratch::new(&[("my.app.lua", app), ("m.lua", "return 'hello'")]);
    let (code, out, errors) = piped(&[&scratch.file("my.app.lua")], "greet()\n");
    assert_eq!((code, out.as_str()), (0, "\"hello\"\n"), "{errors}");
}

#[test]
fn lua_has_the_environment_of_the_app() {
    let scratch = Scratch::new(&[("app.lua", LUA)]);
    let input = "greet('you')
x = { 1, 2, nested = { deep = true } }
x
for i = 1, 2 do
  db.exec('INSERT INTO t VALUES (?, ?)', { i, 'b' .. i })
end
db.query('SELECT * FROM t')
time.sleep(0.01)
print('a', 1)
= 1, nil
app.repl == nil
";
    let (code, out, errors) = piped(&[&scratch.file("")], input);
    assert_eq!(code, 0, "{out}{errors}");
    assert_eq!(
        out,
        "\"hello you\"\n{ [1] = 1, [2] = 2, nested = { deep = true } }\n{ { a = 1, b = \"b1\" }, { a = 2, b = \"b2\" \
         } }\nnil\na\t1\n1\nnil\nfalse\n"
    );
    // What was written is kept.
    let (_, out, _) = crate::commands::command::run(&[
        "db",
        &scratch.file(""),
        "SELECT count(*) AS n FROM t",
        "--json",
    ]);
    assert_eq!(out, "[{\"n\":2}]\n");
}

#[test]
fn a_prompt_opens_beside_the_server() {
    // The address of the measurements of the server that runs.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let metrics = taken.local_addr().expect("bound").to_string();
    let toml = format!("[metrics]\nlisten = {metrics:?}\n");
    let scratch = Scratch::new(&[("app.lua", LUA), ("sampan.toml", &toml)]);
    let (code, out, errors) = piped(&[&scratch.file("")], "greet('you')\n");
    assert!(code == 0 && out.contains("hello you"), "{out}{errors}");
}

#[test]
fn javascript_has_await_declarations_and_the_environment_of_the_app() {
    let scratch = Scratch::new(&[("app.js", JS)]);
    let input = "greet('you')
const { a, list } = { a: 1, list: [1, 2, { deep: true }] };
list
await time.sleep(0.01); a + 1
function twice(n) {
  return n * 2;
}
twice(21)
db.exec('INSERT INTO t VALUES (?, ?)', [1, 'b']).changes
const rows = db.query('SELECT * FROM t')
rows
console.log('a', [1])
{ a: 'object' }
`one
two`
undefined
";
    let (code, out, errors) = piped(&[&scratch.file("")], input);
    assert_eq!(code, 0, "{out}{errors}");
    assert_eq!(
        out,
        "\"hello you\"\n[1, 2, { deep: true }]\n2\n42\n1\n[{ a: 1, b: \"b\" }]\na [1]\n{ a: \"object\" \
         }\n\"one\\ntwo\"\n"
    );
}

#[test]
fn errors_have_their_stack_and_end_a_pipe() {
    for (file, source, place) in [("app.lua", LUA, "app.lua:3"), ("app.js", JS, "app.js:3")] {
        let scratch = Scratch::new(&[(file, source)]);
        let (code, out, errors) = piped(&[&scratch.file("")], "1\n\ngreet()\n2\n");
        assert_eq!((code, out.as_str()), (1, "1\n"), "{errors}");
        assert!(
            errors.contains("line 3: ") && errors.contains("no name") && errors.contains(place),
            "{errors}"
        );
        assert!(!errors.contains(".repl."), "nothing of ours: {errors}");
    }
    let scratch = Scratch::new(&[("app.lua", "x x")]);
    let (code, _, errors) = piped(&[&scratch.file("")], "1");
    assert!(code == 1 && errors.contains("app.lua:1"), "{errors}");
    let scratch = Scratch::new(&[]);
    fails(&["repl", &scratch.file("")], 1, &["no app.lua"]);
}

#[test]
fn places_in_a_pipe_are_lines_of_it() {
    let scratch = Scratch::new(&[("app.js", JS)]);
    let input = "1
function fail() {
  throw new Error('no');
}

fail()
";
    let (code, _, errors) = piped(&[&scratch.file("")], input);
    assert_eq!(code, 1, "{errors}");
    assert!(
        errors.contains("line 3") && errors.contains("(line 6)") && !errors.contains("<input>"),
        "{errors}"
    );
}

#[test]
fn a_folder_without_a_project_speaks_the_language_that_is_named() {
    let scratch = Scratch::new(&[]);
    let (code, out, errors) = piped(
        &["--lang", "lua", &scratch.file("")],
        "codec.hex_encode('a')\n",
    );
    assert_eq!((code, out.as_str()), (0, "\"61\"\n"), "{errors}");
    let (code, out, errors) = piped(
        &["--lang", "js", &scratch.file("")],
        "codec.hexEncode('a')\n",
    );
    assert_eq!((code, out.as_str()), (0, "\"61\"\n"), "{errors}");
    assert!(
        !scratch.path().join("data.db").exists(),
        "a project without a database gets no file"
    );
}

#[test]
fn ctrl_c_stops_a_runaway_line_alone() {
    for (file, source, name, endless, waiting) in [
        (
            "app.lua",
            LUA,
            "lua> ",
            "while true do pcall(error) end",
            "time.sleep(1000)",
        ),
        (
            "app.js",
            JS,
            "js> ",
            "for (;;) { try { throw 1 } catch {} }",
            "await time.sleep(1000)",
        ),
    ] {
        let scratch = Scratch::new(&[(file, source)]);
        let Some(mut terminal) = Terminal::start(&["repl", &scratch.file("")], scratch.path())
        else {
            return;
        };
        for line in [endless, waiting] {
            terminal.wait_for(name);
            terminal.run_and_interrupt(line, "stopped");
        }
        terminal.wait_for(name);
        // Tab completes the name of a field.
        terminal.type_line_until("gre\t('you')", "\"hello you\"");
        terminal.wait_for(name);
        terminal.type_line("db.sql_or_not == db.que\t");
        terminal.wait_for("false");
        terminal.wait_for(name);
        terminal.type_keys("\x04");
        assert_eq!(terminal.end(), 0);
    }
}

#[test]
fn help_and_exit_are_known_in_both_languages() {
    for (file, app, own) in [
        ("app.lua", LUA, "help = 7"),
        ("app.js", JS, "globalThis.help = 7"),
    ] {
        let scratch = Scratch::new(&[(file, app)]);
        for (help, exit) in [("help", "exit"), (".help", ".exit"), ("help()", "exit()")] {
            let input = format!("{help}\n1 + 1\n{exit}\n2 + 3\n");
            let (code, out, errors) = piped(&[&scratch.file("")], &input);
            assert_eq!(code, 0, "{out}{errors}");
            assert!(out.contains("db.query('SELECT 1')"), "{out}");
            assert!(out.ends_with("\n2\n"), "{out}");
        }
        // A name of the script's own is the script's.
        let (code, out, errors) = piped(&[&scratch.file("")], &format!("{own}\nhelp\n.exit\n"));
        assert_eq!(code, 0, "{errors}");
        assert!(out.ends_with("7\n") && !out.contains("SELECT"), "{out}");
    }
}
