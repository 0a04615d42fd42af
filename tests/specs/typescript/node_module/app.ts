import { app } from "sampan";
import { read } from "reads-files";

app.get("/", () => read());
