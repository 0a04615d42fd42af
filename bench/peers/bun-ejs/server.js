// Bun.serve with EJS. Templates are compiled once, in EJS's fast mode: no `with`, and includes from its cache.
import ejs from "ejs";
import { readFileSync } from "node:fs";

const root = `${import.meta.dir}/templates`;
const compile = (name) => {
  const filename = `${root}/${name}.ejs`;
  const options = { filename, root, cache: true, compileDebug: false, strict: true, localsName: "it" };
  return ejs.compile(readFileSync(filename, "utf8"), options);
};
const [simple, loop, full] = ["simple", "loop", "full"].map(compile);

const items = [];
for (let id = 1; id <= 50; id++) {
  const name = id % 10 === 0 ? "Nuts & bolts" : "Item";
  items.push({ id, name: `${name} ${id}`, active: id % 3 !== 0 });
}

const options = { headers: { "Content-Type": "text/html; charset=utf-8" } };

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  development: false,
  routes: {
    "/simple": () => new Response(simple({ title: "Simple", heading: "Hello, <world>" }), options),
    "/loop": () => new Response(loop({ title: "Loop", items }), options),
    "/full": () => new Response(full({ title: "Stock", user: "ada", count: items.length, items }), options),
  },
});
