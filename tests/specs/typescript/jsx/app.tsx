/** A page by a small runtime of its own, as `jsxImportSource` names it. */
import { app, html } from "sampan";
import { Title } from "./title.jsx";

const Item = ({ name, big = false }: { name: string; big?: boolean }) => <li class={big ? "big" : undefined}>{name}</li>;

app.get("/", () =>
  html(
    String(
      <main id="top">
        <Title text="Fruit" />
        <ul>
          {["apple", "<pear>"].map((name) => (
            <Item name={name} big />
          ))}
        </ul>
        <>
          two <b>words</b>
        </>
      </main>,
    ),
  ),
);
