export default {
  stream: true,
  bodyBytesMax: "200 kB",
  async fetch(request) {
    if (request.body === null) return Response.json({ bytes: 0, has_body: false });
    let bytes = 0;
    for await (const chunk of request.body) bytes += chunk.length;
    return Response.json({ bytes, has_body: true });
  },
};
