// Bun.serve with Eta. Templates are compiled once and found by their names, which is Eta's shortest way to them.
import { Eta } from "eta";
import { readFileSync } from "node:fs";

const eta = new Eta();
for (const name of ["simple", "loop", "base", "nav", "full"]) {
  eta.loadTemplate(`@${name}`, readFileSync(`templates/${name}.eta`, "utf8"));
}

const items = [];
for (let id = 1; id <= 50; id++) {
  const name = id % 10 === 0 ? "Nuts & bolts" : "Item";
  items.push({ id, name: `${name} ${id}`, active: id % 3 !== 0 });
}

const options = { headers: { "Content-Type": "text/html; charset=utf-8" } };
const page = (name, data) => new Response(eta.render(name, data), options);

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  development: false,
  routes: {
    "/simple": () => page("@simple", { title: "Simple", heading: "Hello, <world>" }),
    "/loop": () => page("@loop", { title: "Loop", items }),
    "/full": () => page("@full", { title: "Stock", user: "ada", count: items.length, items }),
  },
});
