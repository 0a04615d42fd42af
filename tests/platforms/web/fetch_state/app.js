import { app } from "sampan";

app.use((req, next) => {
  req.state.user = "ann";
  return next(req);
});

export default {
  fetch: (request, env, context) => Response.json({ user: context.state.user, ip: context.ip, own: "state" in request }),
};
