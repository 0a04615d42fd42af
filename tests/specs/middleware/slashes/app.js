import { app, text } from "sampan";

app.use("/admin/*", (req, next) => (req.query.key === "right" ? next(req) : text("refused", 401)));
app.get("/page/:name", (req) => req.params.name);

// Some applications decode a path and merge its slashes before they look at it.
export default {
  fetch(request) {
    const path = decodeURIComponent(new URL(request.url).pathname).replaceAll(/\/+/g, "/");
    return new Response(path.startsWith("/admin/") ? "secret" : "public");
  },
};
