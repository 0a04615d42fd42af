import { app, regex } from "sampan";

const pattern = regex.new("(?<first>[a-z])\\w*", { flags: "i" });
const line = regex.new("^.$", { flags: "ms" });

app.get("/test", () => [pattern.test("Ada"), pattern.test("1"), line.test("ab\nc\nde")]);
app.get("/find", () => [pattern.find("1 Ada"), pattern.find("1") ?? "nothing"]);
app.get("/find_all", () => pattern.findAll("Ada, Grace"));
app.get("/match", () => pattern.match("Ada"));
app.get("/match_all", () => pattern.matchAll("Ada, Grace").map((found) => found.named.first));
app.get("/replace", () => [pattern.replace("Ada 1", "<$0>"), pattern.replace("Ada", (found) => found.groups[0])]);
app.get("/split", () => pattern.split("1 Ada 2"));
app.get("/many", () => {
  let n = 0;
  for (let at = 1; at <= 200; at++) if (regex.test(`a${at}`, `^a${at}$`)) n++;
  return [n];
});
