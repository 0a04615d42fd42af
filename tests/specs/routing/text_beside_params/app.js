import { app } from "sampan";

const answer = (name) => (req) => ({ route: name, params: req.params });

app.get("/report/:id.pdf", { name: "report" }, answer("pdf"));
app.post("/report/:id.pdf", answer("post"));
app.get("/report/summary.pdf", answer("literal"));
app.get("/report/:id", answer("whole"));
app.get("/@:user", answer("user"));
app.get("/@:user/posts/:post", answer("post of a user"));
app.get("/v{:major}/:file.:ext", { name: "file" }, answer("file"));
app.get("/items:batch", answer("batch"));
app.get("/items/:id:cancel", answer("cancel"));
app.get("/items/@%3Alist", answer("list"));
app.group("/size/{:w}x{:h}", (size) => {
  size.use(async (req, next) => {
    const res = await next(req);
    res.headers.set("x-size", "yes");
    return res;
  });
  size.get("/", answer("size"));
  size.get("/*rest", answer("below a size"));
});
app.get("/url", () => [
  app.urlFor("report", { id: "a/b" }), app.urlFor("file", { major: 2, file: "a.tar", ext: "gz", page: 1 }),
]);
app.get("/url/read/otherwise", () => app.urlFor("file", { major: 2, file: "a", ext: "tar.gz" }));
app.get("/url/empty", () => app.urlFor("report", { id: "" }));
