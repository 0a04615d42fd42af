/** @jsxImportSource react */
import { html } from "sampan";
import React, { createContext, useContext, useMemo } from "react";
import { renderToStaticMarkup } from "react-dom/server";

const Name = createContext("nobody");

const Greeting = () => {
  const name = useContext(Name);
  const text = useMemo(() => `Hello, ${name}`, [name]);
  return <p data-version={React.version}>{text}</p>;
};

export const reactPage = (name: string) =>
  html(
    renderToStaticMarkup(
      <Name.Provider value={name}>
        <Greeting />
      </Name.Provider>,
    ),
  );
