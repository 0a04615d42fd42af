import { app } from "sampan";

app.get("/direct", (req) => {
  return req.nothing.name;
});
