import { app, regex } from "sampan";

const word = regex.new("(?<first>[a-z])\\w*", { flags: "i" });
const line = regex.new("^.$", { flags: "ms" });

app.get("/test", () => [word.test("Ada"), word.test("1"), line.test("ab\nc\nde")]);
app.get("/find", () => [word.find("1 Ada"), word.find("1") ?? "nothing"]);
app.get("/find_all", () => word.findAll("Ada, Grace"));
app.get("/match", () => word.match("Ada"));
app.get("/match_all", () => word.matchAll("Ada, Grace").map((found) => found.named.first));
app.get("/replace", () => [word.replace("Ada 1", "<$0>"), word.replace("Ada", (found) => found.groups[0])]);
app.get("/split", () => word.split("1 Ada 2"));
app.get("/many", () => {
  let n = 0;
  for (let at = 1; at <= 200; at++) if (regex.test(`a${at}`, `^a${at}$`)) n++;
  return [n];
});
