import { app, time } from "sampan";

await time.sleep(0.001);
app.get("/", () => "never");
