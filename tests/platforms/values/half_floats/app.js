import { app, db } from "sampan";

const words = new Uint16Array([0x3141, 0x3242]);
// Older versions of Node.js have no such class.
const halves = () => (typeof Float16Array === "undefined" ? words : new Float16Array(words.buffer));
app.get("/sent", () => halves());
app.get("/stored", () => db.one("SELECT hex(?) AS bytes", [halves()]));
app.get("/clamped", () => new Uint8ClampedArray([0x41, 0x42]));
app.get("/view", () => new DataView(words.buffer, 1, 2));
