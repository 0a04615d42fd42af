import { app } from "sampan";

// What each call says that is refused.
const refused = (options) => {
  try {
    app.cached(options);
    return "accepted";
  } catch (error) {
    return error.message;
  }
};
const texts = [
  refused({}),
  refused({ seconds: 0 }),
  refused({ seconds: NaN }),
  refused({ seconds: 1e300 }),
  refused({ seconds: "10" }),
  refused({ seconds: 1, query: "page" }),
  refused({ seconds: 1, query: [1] }),
  refused({ seconds: 1, vary: ["Cookie"] }),
  refused({ seconds: 1, vary: ["a\0"] }),
  refused({ seconds: 1, ttl: 1 }),
  refused({ seconds: 1, query: [] }),
];
app.get("/", () => texts);
