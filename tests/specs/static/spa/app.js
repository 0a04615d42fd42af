import { app } from "sampan";

app.get("/api/items", () => [1]);
app.post("/api/items", () => [2]);
app.post("/only-post", () => [3]);
app.notFound(() => ({ missing: true }));
