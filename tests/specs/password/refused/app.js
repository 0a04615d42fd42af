import { app, password, time } from "sampan";

app.get("/empty", () => password.hash(""));
app.get("/huge", () => password.hash("x".repeat(65537)));
app.get("/no_hash", async () => String(await password.verify("x", "hunter2")));
app.get("/costly", async () => String(await password.verify("x", "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")));
app.get("/broken", async () => {
  const began = time.now();
  const answers = [];
  for (const hash of ["", "hunter2", "$2b$10$short", "$2b$03$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"]) {
    answers.push(await password.verify("x", hash));
  }
  return { answers, is_slow: time.now() - began > 0.02 };
});
