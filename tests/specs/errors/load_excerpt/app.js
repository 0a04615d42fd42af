import { app } from "sampan";

app.get("/", () => { return return "twice"; });
