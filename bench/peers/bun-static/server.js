// Bun.serve with its own routes for files.
const threads = Number(process.env.THREADS);
const file = (name) => new Response(Bun.file(`${process.env.FILES}/${name}`));

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  reusePort: threads > 1,
  development: false,
  routes: {
    "/4k.txt": file("4k.txt"),
    "/100k.txt": file("100k.txt"),
    "/10m.txt": file("10m.txt"),
  },
  fetch: () => new Response("not found", { status: 404 }),
});
