import { app } from "sampan";

const guard = () => {};

app.get("/x", {}, guard, () => "never");
