import { app, regex } from "sampan";

function told(fn, ...args) {
  try {
    return { ok: true, message: String(fn(...args)) };
  } catch (error) {
    return { ok: false, message: String(error.message) };
  }
}

app.get("/syntax", () => told(regex.test, "a", "(a"));
app.get("/look", () => told(regex.test, "a", "(?=a)"));
app.get("/large", () => told(regex.test, "a", "(\\w{500}){500}"));
app.get("/long", () => told(regex.test, "a", "a".repeat(20000)));
app.get("/text", () => told(regex.test, "a".repeat(1024 * 1024 + 1), "a"));
app.get("/flags", () => told(regex.new, "a", { flags: "g" }));
app.get("/option", () => told(regex.new, "a", { flag: "i" }));
app.get("/result", () => told(regex.replace, "a".repeat(1024 * 1024), "a", "b".repeat(10_000)));
app.get("/long_match", () => told(regex.replace, "a".repeat(64 * 1024), "(?s).+", "$0".repeat(500)));
app.get("/long_groups", () => told(regex.match, "a".repeat(1024 * 1024), "((?:a?){500})*"));
app.get("/replacement", () => told(regex.replace, "a", "a", 1));
app.get("/returned", () => told(regex.replace, "a", "a", () => 1));
app.get("/raised", () => told(regex.replace, "a", "a", () => { throw new Error("mine"); }));
app.get("/inner", () => ({ ok: true, message: regex.replace("ab", "a|b", ({ text }) => regex.replace(text, "a|b", "[$0]")) }));
app.get("/many", () => told(regex.findAll, "a".repeat(100001), "a"));

// A text of letters from a to q without an order, for a pattern that has many states at once.
app.get("/heavy", () => {
  const letters = [];
  let seed = 7;
  for (let i = 0; i < 400000; i++) {
    seed = (seed * 1103 + 12345) % 65536;
    letters.push(String.fromCharCode(97 + seed % 17));
  }
  return told(regex.test, letters.join(""), "[a-h].{300}[r-z]");
});
