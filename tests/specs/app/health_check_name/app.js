import { app } from "sampan";

app.health("disk", () => {});
