import { app } from "sampan";

app.get("/route", () => "route first");

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/json") return Response.json({ method: request.method }, { status: 201 });
    if (pathname === "/echo") {
      return new Response(await request.text(), { headers: { "x-type": request.headers.get("content-type") } });
    }
    return new Response("fetch says no", { status: 404 });
  },
};
