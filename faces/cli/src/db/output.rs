//! The printing of rows: a table, CSV, JSON or a line per value.

use super::Mode;
use crate::terminal::escaped;
use crate::terminal::paint;
use sampan_db::PlanStep;
use sampan_db::console::{Cell, Output};
use sampan_project::archive::format::hex;
use std::collections::HashSet;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows that are looked at for the widths of a table's columns. Those after them keep to these.
const LOOKED_AT_MAX: usize = 1_000;
/// The widest cell on a terminal.
const CELL_CHARS_MAX: usize = 60;

/// Prints to standard output.
pub(super) struct Printer {
    pub(super) mode: Mode,
    out: BufWriter<Stdout>,
    is_terminal: bool,
    names: Vec<String>,
    /// Rows of a table that wait until the widths are known.
    waiting: Vec<Vec<(String, bool)>>,
    widths: Vec<usize>,
    rows: u64,
}

impl Printer {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            mode,
            out: BufWriter::new(io::stdout()),
            is_terminal: io::stdout().is_terminal(),
            names: Vec::new(),
            waiting: Vec::new(),
            widths: Vec::new(),
            rows: 0,
        }
    }

    /// Lines of text, such as a schema.
    pub(super) fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        if self.mode == Mode::Json {
            writeln!(self.out, "{}", serde_json::json!(lines))?;
        } else {
            for line in lines {
                writeln!(self.out, "{line}")?;
            }
        }
        self.out.flush()
    }

    /// After a fault: what was begun is not printed any more.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.waiting.clear();
        self.widths.clear();
        self.rows = 0;
        self.out.flush()
    }

    /// Prints the rows that wait, with the widths that they need.
    fn print_waiting(&mut self) -> io::Result<()> {
        if self.widths.is_empty() {
            self.widths = self.names.iter().map(|name| name.width()).collect();
            for row in &self.waiting {
                for (width, (text, _)) in self.widths.iter_mut().zip(row) {
                    *width = (*width).max(text.width());
                }
            }
            let mut header = String::new();
            for (name, width) in self.names.iter().zip(&self.widths) {
                push_cell(&mut header, name, *width, false);
            }
            let rule: Vec<String> = self.widths.iter().map(|width| "─".repeat(*width)).collect();
            writeln!(
                self.out,
                "{}",
                paint::bold(header.trim_end(), self.is_terminal)
            )?;
            writeln!(
                self.out,
                "{}",
                paint::dim(&rule.join("  "), self.is_terminal)
            )?;
        }
        for row in std::mem::take(&mut self.waiting) {
            let mut line = String::new();
            for ((text, is_number), width) in row.iter().zip(&self.widths) {
                push_cell(&mut line, text, *width, *is_number);
            }
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Adds a cell with two blanks before it, unless it is the first.
fn push_cell(line: &mut String, text: &str, width: usize, is_number: bool) {
    if !line.is_empty() {
        line.push_str("  ");
    }
    let blanks = " ".repeat(width.saturating_sub(text.width()));
    match is_number {
        true => {
            line.push_str(&blanks);
            line.push_str(text);
        }
        false => {
            line.push_str(text);
            line.push_str(&blanks);
        }
    }
}

impl Output for Printer {
    fn columns(&mut self, names: &[&str]) -> io::Result<()> {
        self.names = match self.mode {
            Mode::Json => distinct(names),
            _ => names.iter().map(|name| (*name).to_owned()).collect(),
        };
        self.rows = 0;
        self.widths.clear();
        match self.mode {
            Mode::Csv => {
                let names = names.iter().map(|name| csv(name));
                writeln!(self.out, "{}", names.collect::<Vec<_>>().join(","))
            }
            Mode::Json => write!(self.out, "["),
            Mode::Table | Mode::Line => Ok(()),
        }
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        self.rows += 1;
        match self.mode {
            Mode::Table => {
                let shown = cells.iter().map(|cell| {
                    let text = shown(cell, self.is_terminal);
                    (text, matches!(cell, Cell::Int(_) | Cell::Real(_)))
                });
                self.waiting.push(shown.collect());
                if !self.widths.is_empty() || self.waiting.len() >= LOOKED_AT_MAX {
                    self.print_waiting()?;
                }
                Ok(())
            }
            Mode::Csv => {
                let cells = cells.iter().map(|cell| csv(&plain(cell)));
                writeln!(self.out, "{}", cells.collect::<Vec<_>>().join(","))
            }
            Mode::Json => {
                let start = if self.rows == 1 { "" } else { ",\n " };
                write!(self.out, "{start}{{")?;
                for (at, (name, cell)) in self.names.iter().zip(cells).enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(
                        self.out,
                        "{comma}{}:{}",
                        serde_json::json!(name),
                        json(cell)
                    )?;
                }
                write!(self.out, "}}")
            }
            Mode::Line => {
                if self.rows > 1 {
                    writeln!(self.out)?;
                }
                let width = self
                    .names
                    .iter()
                    .map(|name| name.width())
                    .max()
                    .unwrap_or(0);
                for (name, cell) in self.names.iter().zip(cells) {
                    let blanks = " ".repeat(width - name.width());
                    writeln!(self.out, "{blanks}{name} = {}", shown(cell, false))?;
                }
                Ok(())
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        match self.mode {
            Mode::Table => {
                self.print_waiting()?;
                if self.is_terminal {
                    let count = format!("{} {}", self.rows, plural(self.rows, "row"));
                    writeln!(self.out, "{}", paint::dim(&count, true))?;
                }
            }
            Mode::Json => writeln!(self.out, "]")?,
            Mode::Csv | Mode::Line => {}
        }
        self.out.flush()
    }

    fn changed(&mut self, rows: u64) -> io::Result<()> {
        match self.mode {
            Mode::Json => writeln!(self.out, "{{\"changes\":{rows}}}")?,
            Mode::Table | Mode::Line if rows > 0 => {
                writeln!(self.out, "{rows} {} changed", plural(rows, "row"))?;
            }
            _ => {}
        }
        self.out.flush()
    }

    fn plan(&mut self, steps: &[PlanStep]) -> io::Result<()> {
        if self.mode == Mode::Json {
            let steps = steps.iter().map(|step| {
                serde_json::json!({ "depth": step.depth, "step": step.words, "hint": step.hint, "sqlite": step.sqlite })
            });
            writeln!(self.out, "{}", serde_json::Value::from_iter(steps))?;
            return self.out.flush();
        }
        for line in tree(steps, self.is_terminal) {
            writeln!(self.out, "{line}")?;
        }
        self.out.flush()
    }
}

/// Returns names for the keys of an object: a second `id` is `id:1`, as SQLite calls it in a subquery. Most readers of
/// JSON keep only one value of a key.
fn distinct(names: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut seen = HashSet::new();
    let keys = names.iter().map(|name| {
        let mut numbered = (1_u64..).map(|number| format!("{name}:{number}"));
        let free = match seen.insert(*name) {
            true => None,
            false => numbered.find(|key| taken.insert(key.clone())),
        };
        free.unwrap_or_else(|| (*name).to_owned())
    });
    keys.collect()
}

fn plural(count: u64, word: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{word}{end}")
}

/// The steps as a tree, each hint below its step.
fn tree(steps: &[PlanStep], is_terminal: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let after = &steps[at + 1..];
        // Whether another step follows at this depth before one that is less deep.
        let goes_on = |depth: usize| {
            let next = after.iter().find(|other| other.depth <= depth);
            next.is_some_and(|other| other.depth == depth)
        };
        let mut lead: String = (0..step.depth)
            .map(|depth| if goes_on(depth) { "│  " } else { "   " })
            .collect();
        let branch = if goes_on(step.depth) {
            "├─ "
        } else {
            "└─ "
        };
        lines.push(format!("{lead}{branch}{}", step.words));
        if let Some(hint) = &step.hint {
            lead.push_str(if goes_on(step.depth) { "│  " } else { "   " });
            let hint = format!("hint: {hint}");
            lines.push(format!("{lead}{}", paint::yellow(&hint, is_terminal)));
        }
    }
    lines
}

/// A value as people read it, on one line.
fn shown(cell: &Cell<'_>, is_cut: bool) -> String {
    let text = match cell {
        Cell::Null => return "NULL".to_owned(),
        Cell::Blob(bytes) => format!("x'{}'", hex(bytes)),
        _ => plain(cell),
    };
    let mut line = String::with_capacity(text.len());
    let mut width = 0;
    for one in text.chars() {
        if is_cut && width >= CELL_CHARS_MAX {
            line.push('…');
            break;
        }
        width += one.width().unwrap_or(1);
        match one {
            '\n' => line.push('⏎'),
            one => escaped::push(&mut line, one),
        }
    }
    line
}

/// A value as it is; bytes in hex.
fn plain(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Int(number) => number.to_string(),
        Cell::Real(number) if number.is_infinite() => (if *number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        })
        .to_owned(),
        Cell::Real(number) => format!("{number:?}"),
        Cell::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Cell::Blob(bytes) => hex(bytes),
    }
}

/// A value of JSON: bytes as hex, what is not a number as null.
fn json(cell: &Cell<'_>) -> serde_json::Value {
    match cell {
        Cell::Null => serde_json::Value::Null,
        Cell::Int(number) => (*number).into(),
        Cell::Real(number) => (*number).into(),
        Cell::Text(_) | Cell::Blob(_) => plain(cell).into(),
    }
}

/// A field of CSV (RFC 4180).
fn csv(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_tree() {
        let step = |depth, words: &str, hint: Option<&str>| PlanStep {
            depth,
            words: words.to_owned(),
            hint: hint.map(str::to_owned),
            sqlite: String::new(),
        };
        let steps = [
            step(0, "a", None),
            step(1, "b", Some("c")),
            step(1, "d", None),
            step(0, "e", Some("f")),
        ];
        assert_eq!(
            tree(&steps, false),
            [
                "├─ a",
                "│  ├─ b",
                "│  │  hint: c",
                "│  └─ d",
                "└─ e",
                "   hint: f"
            ]
        );
    }

    #[test]
    fn columns_of_one_name_have_keys_of_their_own() {
        assert_eq!(distinct(&["id", "name"]), ["id", "name"]);
        assert_eq!(
            distinct(&["id", "id", "id:1", "id", "name"]),
            ["id", "id:2", "id:1", "id:3", "name"]
        );
    }

    #[test]
    fn cells_stay_on_their_line() {
        assert_eq!(shown(&Cell::Text(b"a\nb\x1b[2J"), true), "a⏎b\\u{1b}[2J");
        assert_eq!(shown(&Cell::Blob(&[0, 255]), true), "x'00ff'");
        assert_eq!(
            shown(&Cell::Text("ä".repeat(80).as_bytes()), true)
                .chars()
                .count(),
            61
        );
        assert_eq!(csv("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
