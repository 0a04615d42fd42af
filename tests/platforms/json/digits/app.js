import { app } from "sampan";

// Everything else is written as JSON.stringify does.
class Money {
  constructor(cents) { this.cents = cents; }
  toJSON(key) { return { [key]: this.cents }; }
}
app.get("/all", () => ({
  big: -9007199254740993n, list: [1n, undefined, () => 1, "\ud800", new Date(0)], none: undefined, price: new Money(12n), plain: { toJSON: () => 2n },
  boxed: new Number(3), large: 1e21, nan: NaN,
}));
app.get("/refused", () => ({ big: 1n, kept: new Money(new Map()) }));

app.post("/beside", async (req) => ({ exact: 9007199254740993n, text: await req.text() }));
