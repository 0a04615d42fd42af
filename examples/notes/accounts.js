// Accounts: register, confirm the address, log in, and choose a new password after the old one was forgotten.
import { app, crypto, db, env, first, log, mail, password, redirect, session, time } from "sampan";

const HOUR = 3600, DAY = 24 * 3600;
// The address of this site for links in mails. A request cannot tell it: a client may send any Host.
const SITE = env.get("NOTES_SITE") ?? "http://127.0.0.1:8080";

const PASSWORD = { required: true, min: 8, max: 200, trim: false };
const REGISTRATION = { email: { type: "email", required: true, max: 200 }, password: PASSWORD };

// Passwords cannot be tried quickly, and no one gets mails without end. Showing a form is not counted.
const careful = app.rateLimit({ limit: 20, per: 300, key: (req) => (req.method === "POST" ? req.ip : undefined) });
for (const path of ["/register", "/login", "/forgotten"]) app.use(path, careful);

// One value of a form or a query as a text, also where a client sends a list or a file.
const text = (value) => String(first(value) ?? "");

const formPage = (req, name, form, errors) =>
  req.render(name, { form, errors }, Object.keys(errors).length ? 422 : 200);

const refusal = (status, message) => Object.assign(new Error(message), { status });

// Links in mails. Each has a sealed text with the user's id and the hash of the password, so no one else can make it,
// it expires, and it is worth nothing once there is another password.

// Without keys for that the app does not start.
app.onStart(() => { crypto.seal("", "start"); });

const link = (path, user, seconds) =>
  `${SITE}${path}?token=${crypto.seal(`${user.id} ${user.password}`, path, { maxAge: seconds })}`;

async function userOf(path, token) {
  const sealed = new TextDecoder().decode(crypto.open(text(token), path) ?? undefined);
  const [, id, hash] = sealed.match(/^(\d+) (.+)$/) ?? [];
  const user = id && await db.one("SELECT id, password FROM users WHERE id = ?", [Number(id)]);
  if (!user || user.password !== hash) throw refusal(410, "the link was used or is too old");
  return user;
}

async function askToConfirm(user) {
  await db.exec("UPDATE users SET invited_at = ? WHERE id = ?", [time.now(), user.id]);
  await mail.send({
    to: user.email, subject: "Confirm your address", template: "mails/confirm",
    data: { link: link("/confirm", user, DAY) },
  });
}

// Register

app.get("/register", (req) => formPage(req, "register.html", {}, {}));

app.post("/register", async (req) => {
  const form = await req.form();
  const { data, errors } = app.validate(form, REGISTRATION);
  if (errors) return formPage(req, "register.html", form, errors);
  // An address that was not confirmed can be registered again. The earlier password and link are worth nothing then.
  const user = await db.one(`
    INSERT INTO users (email, password, invited_at) VALUES (?, ?, ?)
    ON CONFLICT (email) DO UPDATE SET password = excluded.password WHERE users.is_confirmed = 0
    RETURNING id, email, password`, [data.email, await password.hash(data.password), time.now()]);
  // The page is the same either way: it tells no one who has an account.
  if (user) await askToConfirm(user);
  else await mail.send({ to: data.email, subject: "You have an account", template: "mails/known", data: { site: SITE } });
  return redirect("/sent", 303);
});

app.get("/sent", (req) => req.render("sent.html"));

// A link only shows a page with a button: programs that check mails follow links too.
app.get("/confirm", async (req) => {
  await userOf("/confirm", req.query.token);
  return req.render("confirm.html", { token: text(req.query.token) });
});

app.post("/confirm", async (req) => {
  const { token } = await req.form();
  const { id } = await userOf("/confirm", token);
  await db.exec("UPDATE users SET is_confirmed = 1 WHERE id = ?", [id]);
  req.flash("notice", "Your address is confirmed. You can log in now.");
  return redirect("/login", 303);
});

// Log in and out

app.get("/login", (req) => formPage(req, "login.html", {}, {}));

app.post("/login", async (req) => {
  const form = await req.form();
  const user = await db.one("SELECT id, email, password, is_confirmed FROM users WHERE email = ?", [text(form.email)]);
  // Without a user it takes as long, so that no one can find out who has an account.
  if (!(await password.verify(text(form.password), user?.password))) {
    return formPage(req, "login.html", form, { password: "does not fit the address" });
  }
  if (!user.is_confirmed) {
    await askToConfirm(user);
    return redirect("/sent", 303);
  }
  req.session.regenerate(); // an id that someone else knew is worth nothing after the login
  req.session.userId = user.id;
  return redirect("/", 303);
});

app.post("/logout", (req) => {
  req.session.clear();
  return redirect("/login", 303);
});

// A new password

app.get("/forgotten", (req) => req.render("forgotten.html"));

app.post("/forgotten", async (req) => {
  const { email } = await req.form();
  const user = await db.one("SELECT id, email, password FROM users WHERE email = ?", [text(email)]);
  if (user) {
    await mail.send({
      to: user.email, subject: "Choose a new password", template: "mails/forgotten",
      data: { link: link("/password", user, HOUR) },
    });
  }
  return redirect("/sent", 303);
});

app.get("/password", async (req) => {
  await userOf("/password", req.query.token);
  return formPage(req, "password.html", { token: text(req.query.token) }, {});
});

app.post("/password", async (req) => {
  const form = await req.form();
  const user = await userOf("/password", form.token);
  const { data, errors } = app.validate(form, { password: PASSWORD });
  if (errors) return formPage(req, "password.html", form, errors);
  // The old hash once more: of two requests with one link the first counts.
  const changed = await db.exec("UPDATE users SET password = ?, is_confirmed = 1 WHERE id = ? AND password = ?",
    [await password.hash(data.password), user.id, user.password]);
  if (!changed.changes) throw refusal(410, "the link was used");
  await session.endAll({ userId: user.id }); // someone else may be logged in with the old password
  req.session.clear();
  req.flash("notice", "Your password was changed. You can log in now.");
  return redirect("/login", 303);
});

// Each night: addresses that were not confirmed while their link was valid.
app.cron("0 3 * * *", "forget", async (run) => {
  const removed = await db.exec("DELETE FROM users WHERE is_confirmed = 0 AND invited_at < ?", [run.due - DAY]);
  log.info("registrations that were never confirmed were removed", { count: removed.changes });
});

// Middleware for pages of users.
export async function usersOnly(req, next) {
  const id = req.session.userId;
  req.state.user = id && await db.one("SELECT id, email FROM users WHERE id = ?", [id]);
  return req.state.user ? next(req) : redirect("/login", 303);
}
