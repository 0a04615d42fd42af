import { app } from "sampan";

app.get("/é/a b/{x}", () => "found");
