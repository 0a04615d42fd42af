import { app } from "sampan";

app.ws("/w", { message(ws, text) { ws.send(text); } }, 3);
