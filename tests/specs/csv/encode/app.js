import { app, csv, db } from "sampan";

db.exec("CREATE TABLE IF NOT EXISTS people (name TEXT, id INTEGER, score REAL, note TEXT)");
db.exec("DELETE FROM people");
db.exec("INSERT INTO people VALUES ('Ann', 1, 1.5, NULL), ('Bob, \"B\"', 9007199254740993, -2, 'a' || char(10) || 'b')");

const hostile = { get a() { throw new Error("no a"); } };
const cycle = { a: 1 };
cycle.b = cycle;

const cases = {
  rows: () => csv.encode(db.query("SELECT * FROM people ORDER BY id")),
  maps: () => csv.encode([{ a: true, b: 1 }, { a: "x" }]),
  lists: () => csv.encode([[1, "two", false], [" a", "b ", ""]]),
  one_empty: () => csv.encode([[""], ["a"]]),
  // What is not there in a list of JavaScript is an empty field.
  hole: () => csv.encode([[1, 2, 3], [1, , 3]]),
  hole_at_first: () => csv.encode([[undefined, 2, 3]]),
  missing_row: () => csv.encode([[1], undefined, [2]]),
  longer: () => csv.encode([[1, 2], [1, 2, 3]]),
  shorter: () => csv.encode([[1, 2], [1]]),
  mixed: () => csv.encode([{ a: 1 }, [1, 2]]),
  names_late: () => csv.encode([[1], { a: 1 }]),
  too_wide: () => csv.encode([[1, 2, 3]], { columns: ["a", "b"] }),
  nested_in_list: () => csv.encode([[1, {}]]),
  columns: () => csv.encode([{ a: 1, b: 2 }, { c: 3 }], { columns: ["c", "a"] }),
  none: () => `${csv.encode([], { columns: ["id", "name"] })}|${csv.encode([])}`,
  separator: () => csv.encode([["a;b", "c,d"]], { separator: ";" }),
  formulas: () => csv.encode([["=1+1", -5, "-5", "@x", "a=b", "\t"]], { spreadsheet: true }),
  as_is: () => csv.encode([["=1+1", "+49", "@x"]]),
  more: () => csv.encode([{ a: 1 }, { a: 2, b: 3 }]),
  empty_row: () => csv.encode([{}]),
  scalar: () => csv.encode([1]),
  text: () => csv.encode("a"),
  nested: () => csv.encode([{ a: [1] }]),
  cycle: () => csv.encode([cycle]),
  infinity: () => csv.encode([[1 / 0]]),
  // What is no text in JavaScript: bytes.
  no_text: () => csv.encode([[new Uint8Array([255])]]),
  throws: () => csv.encode([hostile, { a: 1 }], { columns: ["a"] }),
  unknown: () => csv.encode([], { header: false }),
  bad_separator: () => csv.encode([], { separator: "--" }),
  bad_columns: () => csv.encode([], { columns: [1] }),
  // Names in another order than in the first row.
  wide: () => {
    const names = Array.from({ length: 16000 }, (_, i) => `k${i + 1}`);
    const row = (names) => Object.fromEntries(names.map((name) => [name, Number(name.slice(1))]));
    const other = row(names.toReversed());
    return String(csv.encode([{ a: 1, ...row(names) }, other, other, other, other, other, other, other]).length);
  },
  beyond: () => csv.encode([Array(20000).fill(1)]),
  huge: () => csv.encode([Array(1000).fill("x".repeat(1000000))]),
};

app.get("/:case", (req) => {
  try {
    return cases[req.params.case]();
  } catch (error) {
    return error.message;
  }
});
