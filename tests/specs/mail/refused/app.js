import { app, mail } from "sampan";

function refused(change) {
  try {
    mail.source({ to: "ann@example.org", from: "app@example.com", subject: "Hello", text: "x", ...change });
    return "sent";
  } catch (error) {
    return error.message;
  }
}

app.get("/", () => [
  refused({ subject: "Hello\r\nBcc: x@example.org" }),
  refused({ subject: "Hello\nBcc: x@example.org" }),
  refused({ to: "ann@example.org\r\nBcc: x@example.org" }),
  refused({ from: { name: "A\nB", address: "app@example.com" } }),
  refused({ headers: { "X-A": "1\r\nX-B: 2" } }),
  refused({ headers: { "X-A: 1\r\nX-B": "2" } }),
  refused({ headers: { bcc: "x@example.org" } }),
  refused({ attachments: [{ name: "a\r\nb", content: "x" }] }),
  refused({ inline: [{ name: 'x>";y.png', content: "x" }] }),
  refused({ inline: [{ name: "a.png", content: "x" }, { name: "b c.png", content: "x" }] }),
  refused({ to: "nobody" }),
  refused({ to: [] }),
  refused({ attachments: [{ name: "a" }] }),
  refused({ attachments: [{ name: "a", content: "x", contentType: "none" }] }),
  refused({ template: "welcome" }),
  refused({ data: {} }),
  refused({ priority: 1 }),
  refused({ text: "x".repeat(3000) }),
]);
