import { app } from "sampan";

const read = async (req) => {
  await req.form();
  return "read";
};
app.post("/form", { bodyBytesMax: "2 KiB" }, read);
app.post("/streamed", { stream: true, bodyBytesMax: "2 KiB" }, read);
