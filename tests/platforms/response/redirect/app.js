import { app } from "sampan";

app.get("/path", () => Response.redirect("/there?a=b c"));
app.get("/url", () => Response.redirect("http://example.com/é", 301));
app.get("/relative", () => Response.redirect("there"));
