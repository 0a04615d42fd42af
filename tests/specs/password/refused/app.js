import { app, password } from "sampan";

app.get("/empty", () => password.hash(""));
app.get("/huge", () => password.hash("x".repeat(65537)));
app.get("/no_hash", async () => String(await password.verify("x", "hunter2")));
app.get("/costly", async () => String(await password.verify("x", "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")));
