import { app } from "sampan";

app.post("/echo", async (req) => await req.json());
app.post("/caught", async (req) => {
  try {
    await req.json();
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error.message };
  }
});
