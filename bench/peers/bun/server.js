// Bun.serve with its own router.
const threads = Number(process.env.THREADS);

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  reusePort: threads > 1,
  development: false,
  routes: {
    "/health": () => Response.json({ status: "ok", runtime: "bun", version: "1.0" }),
    "/greet/:name": {
      GET: (req) => Response.json({ greeting: `Hello, ${req.params.name}` }),
      POST: async (req) => {
        const { greeting } = await req.json();
        return Response.json({ greeting: `${greeting}, ${req.params.name}` });
      },
    },
    "/echo": { POST: async (req) => Response.json(await req.json()) },
    "/version": Response.json({ version: "1.0" }),
  },
  error: (error) => Response.json({ error: error.message }, { status: 400 }),
});

// One process for each thread; the kernel spreads the connections.
for (let more = 1; more < threads && !process.env.SECOND; more++) {
  Bun.spawn([process.execPath, import.meta.path], { env: { ...process.env, SECOND: "1" }, stdout: "inherit", stderr: "inherit" });
}
