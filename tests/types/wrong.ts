// Each line below a directive must be an error: one that is none is an error itself.
import { app, db, env, type SampanRequest, upgrade } from "sampan";
// @ts-expect-error a parameter that the pattern does not have
app.get("/users/:id", (req) => req.params.name);
// @ts-expect-error text beside a parameter is no part of its name
app.get("/:id.json", (req) => req.params["id.json"]);
// @ts-expect-error a colon behind a word is text
app.post("/:id:cancel", (req) => req.params.cancel);
// @ts-expect-error a host without a parameter
app.host("*.example.org", (all) => { all.get("/", (req) => req.params.tenant); });
// @ts-expect-error another parameter than that of the host
app.host(":tenant.example.org", (site) => { site.get("/", (req) => req.params.example); });
// @ts-expect-error a handler that returns a function
app.get("/f", () => () => 1);
// @ts-expect-error a handler that takes too much
app.get("/g", (req, next) => 1);
// @ts-expect-error nothing is no value
app.get("/h", undefined);
// @ts-expect-error a class is a function
app.get("/c", class {});
// @ts-expect-error it may be null
const key: string = env.get("KEY");
// @ts-expect-error a column that the row does not have
db.query<{ id: number }>("SELECT 1")[0].email;
// @ts-expect-error there may be no row
db.one<{ id: number }>("SELECT 1").id;
// @ts-expect-error the function of a batch does not wait
db.batch(async () => { db.exec("x"); });
// @ts-expect-error there are no data until it is known that there are no errors
app.validate({}, {}).data.name;
// @ts-expect-error a request of another pattern
app.get("/typed/:id", (req: SampanRequest<"/typed/:name">) => req.params.name);
// @ts-expect-error a limit without its time
app.rateLimit({ limit: 1 });
// @ts-expect-error an option that does not exist
app.rateLimit({ limt: 1, per: 1 });
// @ts-expect-error neither verify nor tokens
app.bearerAuth({ realm: "x" });
// @ts-expect-error origins are missing
app.cors({ methods: ["GET"] });
// @ts-expect-error a type that does not exist
app.validate({}, { name: "text" });
// @ts-expect-error an option of a field that does not exist
app.validate({}, { name: { requird: true } });
const checked = app.validate({}, { age: { type: "integer" } });
// @ts-expect-error a field that the schema does not have
if (checked.errors === null) checked.data.name;
// @ts-expect-error it may be missing
if (checked.errors === null) checked.data.age.toFixed();
// @ts-expect-error an option that does not exist
upgrade(new Request("http://x/"), { colour: "red" });
// @ts-expect-error the time that a cron was to run is a number
app.cron("@daily", "daily", (run, job) => { job.progress(run.due.length); });
// @ts-expect-error an option that crons do not have
app.cron("@daily", "daily", { unique: true }, () => {});
