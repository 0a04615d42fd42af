// The `serve` of our package, on Bun or Node.js.
import { serve } from "sampan";

serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  routes: {
    "/version": Response.json({ version: "1.0" }),
    "/health": () => Response.json({ status: "ok", runtime: "sampan", version: "1.0" }),
    "/greet/:name": (req) => Response.json({ greeting: `Hello, ${req.params.name}` }),
    "/user/:id": (req) => Response.json({ id: req.params.id }),
    "/echo": { POST: async (req) => Response.json(await req.json()) },
  },
  error: (error) => Response.json({ error: error.message }, { status: 400 }),
});
