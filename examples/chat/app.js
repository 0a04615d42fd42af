// Chat: take a name, talk in rooms, see who is here and who is typing.   sampan run examples/chat/app.js
import { app, db, first, redirect, time } from "sampan";

const NAME = { name: { required: true, max: 40 } };
const TEXT = { text: { required: true, max: 2000 } };
// The messages that a page begins with, and the most that a socket catches up with.
const MESSAGES_MAX = 100;
// The most events of one socket within so many seconds.
const EVENTS_MAX = 30, EVENTS_SECONDS = 10;

app.use(app.secureHeaders({ csp: "default-src 'self'" }));

const status = (errors) => (Object.keys(errors).length ? 422 : 200);

// A name is all that the chat asks for. examples/notes has users with passwords.
const enterPage = (req, form, errors) => req.render("enter.html", { form, errors }, status(errors));

app.get("/enter", (req) => enterPage(req, {}, {}));

app.post("/enter", async (req) => {
  const form = await req.form();
  const { data, errors } = app.validate(form, NAME);
  if (errors) return enterPage(req, form, errors);
  req.session.name = data.name;
  return redirect("/", 303);
});

app.post("/leave", (req) => {
  req.session.clear();
  return redirect("/enter", 303);
});

// All that follows is for those with a name: pages, forms and sockets.
function namedOnly(req, next) {
  req.state.name = req.session.name;
  return req.state.name ? next(req) : redirect("/enter", 303);
}
app.use("/", namedOnly);
app.use("/rooms/*", namedOnly);

const rooms = () => db.query("SELECT id, name FROM rooms ORDER BY name LIMIT 200");

const roomsPage = async (req, form, errors) =>
  req.render("rooms.html", { rooms: await rooms(), name: req.state.name, form, errors }, status(errors));

app.get("/", (req) => roomsPage(req, {}, {}));

app.post("/rooms/new", async (req) => {
  const form = await req.form();
  const { data, errors } = app.validate(form, NAME);
  if (errors) return roomsPage(req, form, errors);
  await db.exec("INSERT INTO rooms (name) VALUES (:name) ON CONFLICT DO NOTHING", data);
  const room = await db.one("SELECT id FROM rooms WHERE name = :name", data);
  return redirect(`/rooms/${room.id}`, 303);
});

async function find(req) {
  const [id] = req.params.id.match(/^\d{1,15}$/) ?? [0];
  const room = await db.one("SELECT id, name FROM rooms WHERE id = ?", [id]);
  if (!room) throw Object.assign(new Error("there is no such room"), { status: 404 });
  return room;
}

// The newest messages of a room behind one, the oldest first.
const messages = (room, after) => db.query(`
  SELECT * FROM (SELECT id, name, text, at FROM messages WHERE room_id = ? AND id > ? ORDER BY id DESC LIMIT ?) AS m
  ORDER BY id`, [room, after, MESSAGES_MAX]);

const topic = (room) => `room:${room}`;

// Keeps a message, and sends it to the room once it is on disk.
async function say(room, name, text) {
  const { data } = app.validate({ text }, TEXT);
  if (!data) return;
  const message = await db.one(`
    INSERT INTO messages (room_id, name, text) VALUES (?, ?, ?) RETURNING id, name, text, at`, [room, name, data.text]);
  app.publish(topic(room), { message });
}

app.get("/rooms/:id", async (req) => {
  const room = await find(req);
  return req.render("room.html", {
    room, rooms: await rooms(), name: req.state.name, messages: await messages(room.id, 0),
    messages_max: MESSAGES_MAX, people: app.presence(topic(room.id)),
  });
});

// Without a script in the browser a message comes as a form.
app.post("/rooms/:id", async (req) => {
  const room = await find(req);
  await say(room.id, req.state.name, first((await req.form()).text));
  return redirect(`/rooms/${room.id}`, 303);
});

app.ws("/rooms/:id/socket", {
  messageBytesMax: "8 KB",
  upgrade: async (req) => ({ room: (await find(req)).id, name: req.state.name, events: 0, since: 0 }),

  // Subscribes first and then reads what was missed and who is here, so that nothing falls between the two.
  async open(ws) {
    const { room, name } = ws.data;
    ws.subscribe(topic(room), { presence: true });
    const missed = await messages(room, Number(first(ws.req.query.after)) || 0);
    ws.join(topic(room), { name });
    ws.sendJson({ missed, people: app.presence(topic(room)) });
  },

  // A text is a message. An empty one says that its sender is typing.
  message(ws, text, isText) {
    if (!isText) return ws.close(1003);
    const { data } = ws, now = time.now();
    if (now - data.since > EVENTS_SECONDS) Object.assign(data, { events: 0, since: now });
    data.events += 1;
    if (data.events > EVENTS_MAX) return ws.close(4008, "too much at once");
    if (text !== "") return say(data.room, data.name, text);
    app.publish(topic(data.room), { typing: data.name });
  },
});

const errorPage = (req, status) => req.render("error.html", { status }, status);
app.notFound((req) => errorPage(req, 404));
app.onError((req, error) => errorPage(req, error.status ?? 500));
