import { app } from "sampan";

app.get("/printed", () => app.renderString("[{{ nope }}]"));
app.get("/tested", () => app.renderString("[{% if nope %}x{% endif %}]"));
app.get("/each", () => app.renderString("[{% for x in nope %}x{% endfor %}]"));
app.get("/deeper", () => app.renderString("[{{ nope.deeper }}]"));
