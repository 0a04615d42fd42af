import { app, db } from "sampan";

app.ws("/", {
  message(ws, message) {
    if (message === "write") db.exec("create table items (name text not null)");
    ws.data.fate = ws.send("done");
  },
  drain(ws) {
    const { fate } = ws.data;
    ws.data.fate = null;
    if (fate) ws.send(`read what was ${fate}`);
  },
});
