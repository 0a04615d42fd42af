import { app } from "sampan";

app.ws("/same", { message: (ws, text) => ws.send(text) });
