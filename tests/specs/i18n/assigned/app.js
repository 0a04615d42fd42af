import { app } from "sampan";

app.use("/user/*", (req, next) => {
  req.locale = "fa";
  return next(req);
});
app.get("/user/page", (req) => `${req.locale} ${req.textDirection}`);
app.get("/changed", (req) => {
  const before = `${req.locale} ${req.textDirection}`;
  req.locale = req.query.to;
  return [before, `${req.locale} ${req.textDirection}`, req.t("hello", { name: "Ann" }), req.formatNumber(1234.5)];
});
app.get("/page", (req) => {
  req.locale = req.query.to;
  return req.render("page.html", {});
});
app.get("/back", (req) => {
  req.locale = "de";
  req.locale = "en-GB";
  return req.locale;
});
app.get("/refused", (req) => {
  const refusal = (value) => {
    try {
      req.locale = value;
      return "taken";
    } catch (error) {
      return error.message;
    }
  };
  const found = ["xx", "", "d\0e", 1, {}, "x".repeat(100000)].map(refusal);
  return [
    found.map((message) => message.length < 300 && message.includes("locale")), refusal("xx") === "taken",
    refusal("xx").match(/there is.*/)[0], req.locale,
  ];
});
app.get("/thrown", (req) => {
  req.locale = "xx";
});
