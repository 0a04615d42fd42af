import { app } from "sampan";

const TEXT = "all work and no play makes jack a dull boy. ".repeat(20);

app.get("/route", () => TEXT);
export default { fetch: () => new Response(TEXT), compress: false };
