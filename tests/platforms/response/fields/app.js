import { app, text } from "sampan";

app.get("/lists", () => text("x", { headers: { "x-a": ["1", 2], "Set-Cookie": ["a=1", "b=2"] } }));
app.get("/symbol", () => text("x", { headers: { "x-a": "1", [Symbol("x")]: "2" } }));
app.get("/kept", () => {
  const bytes = Buffer.from("before");
  const answer = text(bytes);
  bytes.write("after!");
  return answer;
});
