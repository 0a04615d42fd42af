import { app } from "sampan";

app.get("/eat", () => {
  const t = [];
  for (let i = 0; i < 1e9; i++) t.push("x".repeat(1000) + i);
});
const kept = [];
app.get("/keep", () => {
  for (let i = 0; i < 1e9; i++) kept.push("x".repeat(1000) + i);
});
app.get("/fine", () => "fine");
