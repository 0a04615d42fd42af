import { app } from "sampan";

app.get("/a", { name: "one" }, () => "a");
app.get("/b", { name: "one" }, () => "b");
