import { app } from "sampan";

app.get("/route", () => "route first");

// Middleware sees what the request of `fetch` does not have.
app.use(async (req, next) => {
  const res = await next(req);
  if (req.method === "OPTIONS") res.headers.set("x-path", req.path);
  return res;
});

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (request.method === "OPTIONS") return new Response(pathname);
    if (pathname === "/json") return Response.json({ method: request.method }, { status: 201 });
    if (pathname === "/echo") {
      return new Response(await request.text(), { headers: { "x-type": request.headers.get("content-type") } });
    }
    if (pathname === "/nothing") return new Response(null, { headers: { "x-url": request.url } });
    if (pathname === "/length") return new Response(null, { headers: { "content-length": "123" } });
    return new Response("fetch says no", { status: 404 });
  },
};
