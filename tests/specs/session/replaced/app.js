import { app } from "sampan";

app.get("/session", (req) => { req.session = { user_id: 7 }; return "lost"; });
app.get("/own", (req) => { req.mine = { user_id: 7 }; return req.mine; });
