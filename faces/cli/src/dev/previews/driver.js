import { mail, previews } from "sampan";

const all = {};
for (const [name, value] of Object.entries(made)) {
  if (name !== "default") all[name] = value;
  else if (typeof value === "function") all[stem] = value;
  else Object.assign(all, value);
}
for (const name of Object.keys(all).sort()) {
  if (typeof all[name] === "function") previews.declare(name, async () => { mail.send(await all[name]()); });
}
