import { app } from "sampan";

app.get("/route", () => "route first");

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (request.method === "OPTIONS") return new Response(pathname, { headers: { "x-path": request.path } });
    if (pathname === "/json") return Response.json({ method: request.method }, { status: 201 });
    if (pathname === "/echo") {
      return new Response(await request.text(), { headers: { "x-type": request.headers.get("content-type") } });
    }
    if (pathname === "/nothing") return new Response(null, { headers: { "x-url": request.url } });
    if (pathname === "/length") return new Response(null, { headers: { "content-length": "123" } });
    return new Response("fetch says no", { status: 404 });
  },
};
