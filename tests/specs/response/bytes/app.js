import { app } from "sampan";

const view = () => new Uint8Array([1, 2, 3]).subarray(1);
const blob = () => new Blob(["<b>"], { type: "text/html" });
app.get("/buffer", () => new Uint8Array([1, 2, 3]).buffer);
app.get("/view", view);
app.get("/blob", blob);
app.get("/untyped", () => new Blob(["x"]));
app.get("/stream", () => new ReadableStream({
  start(controller) {
    for (const part of ["one", "two"]) controller.enqueue(new TextEncoder().encode(part));
    controller.close();
  },
}));
app.use("/wrapped/*", (req, next) => next(req));
app.get("/wrapped/blob", blob);
app.get("/wrapped/view", view);
