import { app } from "sampan";

app.post("/echo", async (req) => await req.json());
app.post("/wrapped", async (req) => ({ got: await req.json() }));
