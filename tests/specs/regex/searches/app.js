import { app, regex } from "sampan";

const DATE = String.raw`(?<year>\d{4})-(?<month>\d\d)(-(\d\d))?`;

app.get("/test", () => [regex.test("on 2026-11-23", DATE), regex.test("never", DATE)]);
app.get("/find", () => [regex.find("a1 b22", "\\d+"), regex.find("a", "\\d+") ?? "nothing"]);
app.get("/find_all", () => regex.findAll("a1 b22 c", "\\p{L}\\d+"));
app.get("/match", () => regex.match("on 2026-11", DATE));
app.get("/none", () => ({ none: regex.match("never", DATE) === null }));
app.get("/match_all", () => regex.matchAll("2026-11-23 2027-01-02", DATE).map(({ named, groups }) => `${named.year}/${groups[3]}`));
app.get("/replace", () => [
  regex.replace("2026-11 2027-01", DATE, "$month.${year}"),
  regex.replace("a-b", "-", "$$"),
  regex.replace("ada grace", "\\w+", ({ text }) => text.toUpperCase() + "!"),
]);
app.get("/split", () => regex.split("a, b,c", ",\\s*"));
app.get("/escape", () => [regex.escape("1+1?"), regex.test("1+1?", `^${regex.escape("1+1?")}$`)]);
app.get("/exponential", () => [regex.test("a".repeat(50000) + "!", "^(a+)+$")]);
