import { app } from "sampan";

const count = async (req) => ({ bytes: (await req.bytes()).length });
app.post("/general", count);
app.post("/small", { bodyBytesMax: 10 }, count);
app.post("/large", { bodyBytesMax: 5000 }, count);
app.post("/units", { bodyBytesMax: "2 kB" }, count);
