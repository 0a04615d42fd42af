import { app } from "sampan";

app.onError(async (req, err) => {
  const read = await req.text().then(() => true, () => false);
  return { mine: err.message, status: err.status, path: req.path, id: req.params.id, read };
});
app.post("/small/:id", { bodyBytesMax: 10 }, (req) => req.text());
