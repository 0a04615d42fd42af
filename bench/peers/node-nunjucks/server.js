// Node.js `http` with Nunjucks. Templates are compiled once.
import http from "node:http";
import nunjucks from "nunjucks";

const env = new nunjucks.Environment(new nunjucks.FileSystemLoader("templates"), { autoescape: true });
const [simple, loop, full] = ["simple.html", "loop.html", "full.html"].map((name) => env.getTemplate(name, true));

const items = [];
for (let id = 1; id <= 50; id++) {
  const name = id % 10 === 0 ? "Nuts & bolts" : "Item";
  items.push({ id, name: `${name} ${id}`, active: id % 3 !== 0 });
}

const routes = {
  "/simple": () => simple.render({ title: "Simple", heading: "Hello, <world>" }),
  "/loop": () => loop.render({ title: "Loop", items }),
  "/full": () => full.render({ title: "Stock", user: "ada", count: items.length, items }),
};

function handle(req, res) {
  const route = routes[req.url];
  const body = route ? route() : "not found";
  const type = route ? "text/html; charset=utf-8" : "text/plain";
  res.writeHead(route ? 200 : 404, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) });
  res.end(body);
}

http.createServer(handle).listen(Number(process.env.PORT), "127.0.0.1");
