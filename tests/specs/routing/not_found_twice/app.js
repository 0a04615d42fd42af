import { app } from "sampan";

app.notFound(() => "first");
app.notFound(() => "second");
