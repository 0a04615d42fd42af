import { app, session } from "sampan";

app.post("/login", (req) => { req.session.user_id = 7; });
app.get("/list", async () => ({ sessions: (await session.list({ user_id: 7 })).length }));
