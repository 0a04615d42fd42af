// Bun.serve whose handlers ask another server with Bun's fetch.
const item = `${process.env.ORIGIN}/item`;

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  development: false,
  routes: {
    "/passed": () => fetch(item),
    "/read": async () => {
      const { id, name } = await (await fetch(item)).json();
      return Response.json({ id, name });
    },
  },
  fetch: () => new Response("not found", { status: 404 }),
});
