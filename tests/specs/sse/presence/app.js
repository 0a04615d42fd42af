import { app } from "sampan";

let open;
app.subscribe("room", (member, about) => {
  if (about.event === "leave") open?.close();
}, { presence: true });

app.sse("/room", async (req, events) => {
  open = events;
  events.subscribe("room", { presence: true });
  events.join("room", { name: "Ann" });
  const members = app.presence("room");
  await events.send(`${members.length} ${members[0].data.name}`);
  // The stream is closed once the function above hears of it.
  const [wasThere, again] = [events.leave("room"), events.leave("room")];
  await events.send(`${wasThere} ${again} ${app.presence("room").length}`);
});
