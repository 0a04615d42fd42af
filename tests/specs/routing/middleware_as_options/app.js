import { app } from "sampan";

const guard = app.basicAuth({ users: { ann: "secret" } });
const handler = () => "never";

const refused = (declare, ...given) => {
  let text = "accepted";
  try {
    declare(...given);
  } catch (error) {
    text = error.message;
  }
  if (!text.endsWith("it takes one handler: declare what runs before it with app.use")) throw new Error(text);
};
refused(app.get, "/a", guard);
refused(app.get, "/b", handler, guard);
refused(app.sse, "/c", guard, handler);
refused(app.ws, "/d", guard);

app.get("/", guard, handler);
