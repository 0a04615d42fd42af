import { db, t, time } from "sampan";

const ANN = { email: "ann@example.org", password: "correct horse" };

const newest = () => t.mails().at(-1);
// The path of the link in a mail.
const link = (mail) => mail.text.match(/http:\/\/127\.0\.0\.1:8080(\/\S+)/)[1];
const token = (path) => path.match(/token=(\S+)/)[1];
const location = (answer) => answer.headers.location;

async function register() {
  t.equal(location(await t.post("/register", { form: ANN })), "/sent");
  return link(newest());
}
const confirm = (path) => t.post("/confirm", { form: { token: token(path) } });
const logIn = (password = ANN.password) => t.post("/login", { form: { email: ANN.email, password } });

t.test("a mail asks to confirm, and only then one can log in", async () => {
  const path = await register();
  t.equal(newest().to, ["ann@example.org"]);
  t.equal(newest().subject, "Confirm your address");
  t.contains(newest().html, "confirm your address</a>");
  t.equal(location(await logIn()), "/sent");
  t.equal(t.mails().length, 2, "the mail is sent again");
  t.contains((await t.get(path)).html.text("main"), "One step is left");
  t.equal(location(await confirm(path)), "/login");
  t.contains((await t.get("/login")).html.text(".flash"), "is confirmed");
  t.equal(location(await logIn()), "/");
  t.equal((await t.get("/")).html.text(".who"), "ann@example.org");
});

t.test("a wrong password does not tell that it is not confirmed", async () => {
  await register();
  const answer = await logIn("wrong horse");
  t.equal(answer.status, 422);
  t.equal(answer.html.text("#password-error"), "Password does not fit the address");
});

t.test("a link that was changed or is a day old confirms nothing", async () => {
  const path = await register();
  t.equal((await t.get(`${path}x`)).status, 410);
  t.equal((await t.get("/confirm")).status, 410);
  t.setTime(time.now() + 24 * 3600 + 1);
  t.equal((await confirm(path)).status, 410);
  t.equal(location(await logIn()), "/sent");
});

t.test("a link to confirm is none to choose a password", async () => {
  t.equal((await t.get(`/password?token=${token(await register())}`)).status, 410);
});

t.test("an address that was not confirmed can be registered again, and the earlier link is worth nothing", async () => {
  const earlier = await register();
  await t.post("/register", { form: { email: "ANN@example.org", password: "another horse" } });
  t.equal((await t.get(earlier)).status, 410);
  await confirm(link(newest()));
  t.equal((await logIn()).status, 422);
  t.equal(location(await logIn("another horse")), "/");
});

t.test("the page does not tell who has an account, and a mail does", async () => {
  await confirm(await register());
  const again = await t.post("/register", { form: { email: ANN.email, password: "of someone else" } });
  t.equal(location(again), "/sent");
  t.equal(newest().subject, "You have an account");
  t.equal(location(await logIn()), "/");
  t.equal(location(await t.post("/forgotten", { form: { email: "nobody@example.org" } })), "/sent");
  t.equal(t.mails().length, 2);
});

t.test("a forgotten password is replaced by a link, once", async () => {
  await confirm(await register());
  await logIn();
  await t.post("/forgotten", { form: { email: ANN.email } });
  t.equal(newest().subject, "Choose a new password");
  const path = link(newest());
  t.equal((await t.get(path)).html.count("#password"), 1);
  const form = { token: token(path), password: "short" };
  t.equal((await t.post("/password", { form })).status, 422);
  form.password = "battery staple";
  t.equal(location(await t.post("/password", { form, browser: "another" })), "/login");
  t.equal(location(await t.get("/")), "/login", "all sessions have ended");
  t.equal((await t.post("/password", { form })).status, 410);
  t.equal((await logIn()).status, 422);
  t.equal(location(await logIn("battery staple")), "/");
});

t.test("a link for a password is good for an hour", async () => {
  await confirm(await register());
  await t.post("/forgotten", { form: { email: ANN.email } });
  const path = link(newest());
  t.setTime(time.now() + 3601);
  t.equal((await t.get(path)).status, 410);
});

t.test("at night those are removed who did not confirm", async () => {
  t.setTime(1792800000); // 2026-10-24 00:00 UTC
  await confirm(await register());
  await t.post("/register", { form: { email: "bob@example.org", password: "correct horse" } });
  t.equal((await t.runJobs()).ran, 0);
  t.setTime(1792811000); // 03:03 of the same night
  t.equal((await t.runJobs()).ran, 1);
  t.equal((await db.one("SELECT count(*) AS count FROM users")).count, 2);
  t.setTime(1792897400); // 03:03 of the next
  t.equal((await t.runJobs()).ran, 1);
  t.equal(await db.query("SELECT email FROM users"), [{ email: "ann@example.org" }]);
});

t.test("mails cannot be asked for without end", async () => {
  const form = { email: "nobody@example.org" };
  for (let n = 0; n < 20; n += 1) t.equal((await t.post("/forgotten", { form })).status, 303);
  t.equal((await t.post("/forgotten", { form })).status, 429);
  t.equal((await t.get("/forgotten")).status, 200);
});
