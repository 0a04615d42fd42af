import { app, html } from "sampan";

app.notFound(() => html("<p>the script's</p>"));
