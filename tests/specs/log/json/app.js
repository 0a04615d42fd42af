import { app, log } from "sampan";

app.get("/:name", (req) => {
  log.info("a\n\"quoted\"", { user: "ann", n: 1 });
  console.log("printed");
  if (req.params.name === "boom") throw new Error("boom");
  return "logged";
});
