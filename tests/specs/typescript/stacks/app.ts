import { app } from "sampan";

interface One {
  a: number;
}

// These lines are not in the code that runs.
type Two = One & {
  b: string;
};

function fail(two: Two | undefined): never {
  throw new Error("in TypeScript");
}

class Custom extends Error {
  constructor(message: string) {
    super(message);
    Error.captureStackTrace(this, Custom);
  }
}

app.get("/throw", () => {
  fail(undefined);
});

app.get("/shown", () => {
  try {
    fail(undefined);
  } catch (error: unknown) {
    return (error as Error).stack!.split("\n").slice(0, 2).map((line) => line.trim());
  }
});

app.get("/custom", () => {
  const error: Error = new Custom("x");
  return error.stack!.split("\n")[0].trim();
});

app.get("/type", (req: { nope?: () => void }) => {
  return req.nope!();
});

app.get("/bundled", async () => {
  const bundled = await import("./dist/bundle.js");
  bundled.broken({} as Two);
});

app.get("/inline", async () => {
  const inline = await import("./dist/inline.js");
  inline.broken();
});
