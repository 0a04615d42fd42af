import { app } from "sampan";

app.get("/loop", () => { for (;;); });
app.get("/fine", () => "fine");
