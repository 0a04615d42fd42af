import { app } from "sampan";

app.get("/nan", () => ({ x: 0 / 0 }));
app.get("/infinity", () => ({ x: Infinity }));
app.get("/negative", () => ({ x: -Infinity }));
app.get("/zero", () => ({ x: 0 }));
app.get("/minus_zero", () => ({ x: [-0] }));
app.get("/tiny", () => ({ x: 5e-324, y: 1.7976931348623157e308, z: 0.1 + 0.2 }));
