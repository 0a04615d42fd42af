/** @jsxImportSource preact */
import { html } from "sampan";
import { renderToString } from "preact-render-to-string";
import { useState } from "preact/hooks";

const Counter = ({ from }: { from: number }) => {
  const [count] = useState(from);
  return <output>{count}</output>;
};

export const preactPage = (name: string) =>
  html(
    renderToString(
      <section>
        Hello, {name} <Counter from={3} />
      </section>,
    ),
  );
