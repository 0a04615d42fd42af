// Bun.serve with large bodies, both ways.
const chunk = new Uint8Array(64000).fill(120);

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  development: false,
  maxRequestBodySize: 1e9,
  idleTimeout: 0,
  routes: {
    "/upload": {
      POST: async (req) => {
        let bytes = 0;
        for await (const part of req.body) bytes += part.length;
        return Response.json({ bytes });
      },
    },
    "/download": () => {
      let left = 1600;
      return new Response(new ReadableStream({
        pull(controller) {
          controller.enqueue(chunk);
          left -= 1;
          if (left === 0) controller.close();
        },
      }));
    },
  },
});
