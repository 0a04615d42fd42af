import { app } from "sampan";

app.get("/", () => app.renderString("[{{ nope }}{{ nope.deeper }}{% for x in nope %}x{% endfor %}]"));
