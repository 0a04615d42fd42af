import { app } from "sampan";

app.get("/", () => {
  const lines = [];
  for (let i = 1; i <= 40000; i++) lines.push(`line ${i}\n`);
  return lines.join("");
});
app.get("/wrong", () => "x");
