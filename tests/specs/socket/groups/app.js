import { app, db } from "sampan";

db.exec("create table if not exists items (id integer primary key, name text unique not null)");

app.ws("/", {
  message(ws, message) {
    if (message === "count") {
      ws.send(String(db.one("select count(*) as n from items").n));
      return;
    }
    db.exec("insert into items (name) values (?)", [message]);
    ws.send(ws.send(`stored ${message}`));
  },
});
