import { app } from "sampan";

app.post("/login", (req) => { req.session.user = "ann"; });
app.ws("/session", {
  message(ws, message) {
    if (message === "set") {
      try {
        ws.req.session.seen = 1;
      } catch (error) {
        ws.send(error.message.match(/a socket cannot [^,]*/)[0]);
      }
    } else ws.send(String(ws.req.session.user ?? "nil"));
  },
});
