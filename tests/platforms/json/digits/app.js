import { app } from "sampan";

app.post("/beside", async (req) => ({ exact: 9007199254740993n, text: await req.text() }));
