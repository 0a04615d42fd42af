import { app } from "sampan";

app.get("/never", async () => {
  await new Promise(() => {});
  return "too late";
});
app.get("/fine", () => "fine");
