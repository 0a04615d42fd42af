import { app } from "sampan";

const message = (ws, text) => ws.send(text);
app.ws("/same", { message });
app.ws("/listed", { origins: ["https://a.example"], message });
app.ws("/all", { origins: "*", message });
