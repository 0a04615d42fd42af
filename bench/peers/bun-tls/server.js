// Bun.serve over TLS.
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  development: false,
  tls: { cert: Bun.file(process.env.CERTIFICATE), key: Bun.file(process.env.KEY) },
  routes: {
    "/health": () => Response.json({ status: "ok", runtime: "bun", version: "1.0" }),
    "/version": Response.json({ version: "1.0" }),
  },
});
