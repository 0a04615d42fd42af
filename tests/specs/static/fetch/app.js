import { app } from "sampan";

app.get("/route.txt", () => "a route");

export default {
  fetch: (request) => new Response(`${request.method} ${new URL(request.url).pathname}`),
};
