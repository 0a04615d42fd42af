// Bun.serve with its own router.
const threads = Number(process.env.THREADS);

const headers = {};
for (let at = 1; at <= 20; at++) headers[`x-field-${at}`] = `the value of field ${at}`;
const of = (bytes) => "0123456789".repeat(bytes / 10);
const [small, medium, large] = [of(10_000), of(100_000), of(1_000_000)];

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
    "/user/:id": (req) => Response.json({ id: req.params.id }),
    "/echo": { POST: async (req) => Response.json(await req.json()) },
    "/version": Response.json({ version: "1.0" }),
    "/headers": () => new Response("ok", { headers }),
    "/length": {
      POST: async (req) => {
        const body = await req.text();
        return Response.json({ length: body.length });
      },
    },
    "/count": {
      POST: async (req) => {
        const items = await req.json();
        return Response.json({ count: items.length, last: items[items.length - 1].id });
      },
    },
    "/text/10k": () => new Response(small),
    "/text/100k": () => new Response(medium),
    "/text/1m": () => new Response(large),
  },
  error: (error) => Response.json({ error: error.message }, { status: 400 }),
});

// One process for each thread; the kernel spreads the connections.
for (let more = 1; more < threads && !process.env.SECOND; more++) {
  Bun.spawn([process.execPath, import.meta.path], { env: { ...process.env, SECOND: "1" }, stdout: "inherit", stderr: "inherit" });
}
