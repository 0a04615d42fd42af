import { app } from "sampan";

app.post("/plain", (req) => req.json());
app.post("/touched", (req) => { req.body; return req.json(); });
app.post("/twin", (req) => req.clone().json());
app.post("/twin-of-twin", (req) => req.clone().clone().json());
app.post("/beside-its-twin", async (req) => { req.clone(); return req.json(); });
app.post("/streamed", { stream: true }, (req) => { req.body; return req.json(); });
app.post("/another", async (req) => new Request("http://h/", { method: "POST", body: await req.text() }).json());
app.post("/answer", async (req) => new Response(await req.text()).json());
app.post("/caught", async (req) => {
  const { body } = req;
  try {
    return { locked: body.locked, value: await req.json() };
  } catch (error) {
    return { status: error.status };
  }
});
