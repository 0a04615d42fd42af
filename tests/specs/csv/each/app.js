import { app, csv, time } from "sampan";

function lines(text, options) {
  const all = [];
  const count = csv.each(text, (record) => { all.push(record); }, options);
  return { count, all };
}

const cases = {
  header: () => lines('id,name\r\n1,Ann\r\n2,"B, ""b""\nc"\r\n'),
  lists: () => lines("a,b\n1\n", { header: false }),
  tabs: () => lines("a\tb\n1,2\t3", { separator: "\t" }),
  mark: () => lines('\ufeff"id"\n7'),
  none: () => lines("").count + lines("id\n").count,
  stops: () => {
    let seen = 0;
    const count = csv.each("n\n1\n2\n3\n", (record) => { seen++; return record.n !== "2"; });
    return { count, seen };
  },
  nested: () => {
    const all = [];
    csv.each("n\n1\n2\n", (one) => { csv.each("m\na\nb\n", (two) => { all.push(one.n + two.m); }); });
    return all;
  },
  short: () => lines("a,b\n1\n"),
  quote: () => lines('a\n"b\n'),
  twice: () => lines("a,a\n"),
  no_text: () => lines(new Uint8Array([97, 10, 255, 10])),
  large: () => lines(`a\n${"x".repeat(1048577)}`),
  throws: () => csv.each("a\n1\n", () => { throw new Error("boom"); }),
  waits: () => csv.each("a\n1\n", async () => { await time.sleep(0.001); }),
  no_function: () => csv.each("a\n1\n", 1),
  unknown: () => lines("a\n", { columns: ["a"] }),
  no_flag: () => lines("a\n", { header: 1 }),
};

app.get("/loops", () => csv.each("a\n1\n", () => { for (;;); }));
app.get("/:case", (req) => {
  try {
    return cases[req.params.case]();
  } catch (error) {
    return error.message;
  }
});
