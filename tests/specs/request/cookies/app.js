import { app, text } from "sampan";

app.get("/", (req) => req.cookies);
app.get("/set", () => text("set", { headers: [["Set-Cookie", "a=1; Path=/"], ["Set-Cookie", "b=2; HttpOnly"]] }));
