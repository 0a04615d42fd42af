import { upgrade } from "sampan";

export default {
  fetch(request: Request) {
    if (new URL(request.url).pathname !== "/socket") return new Response("a page");
    const { socket, response } = upgrade(request);
    socket.onmessage = ({ data }) => socket.send(`you said ${data}`);
    return response;
  },
};
