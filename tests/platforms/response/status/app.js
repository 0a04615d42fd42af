import { app } from "sampan";

app.get("/strange", (req) => fetch(`http://${req.headers.get("x-strange")}/`));
app.get("/fine", () => "fine");
