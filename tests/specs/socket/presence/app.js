import { app } from "sampan";

app.subscribe("room:p", (member, about) => {
  app.publish("told", typeof member === "object" ? `${about.event} ${member.data.name}` : `message ${member}`);
}, { presence: true, once: true });

app.ws("/rooms/:room", {
  open(ws) {
    ws.subscribe("told");
    ws.send("ready");
  },
  message(ws, text) {
    const [verb, name] = text.split(" ");
    if (verb === "join") ws.join("room:p", { name });
    else if (verb === "leave") ws.send(String(ws.leave("room:p")));
    else if (verb === "who") ws.send(`here: ${app.presence("room:p").map((member) => member.data.name).join(" ")}`);
    else app.publish("room:p", text);
  },
});
