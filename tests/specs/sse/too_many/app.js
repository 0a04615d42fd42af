import { app } from "sampan";

const feed = () => {};

app.sse("/s", {}, feed, feed);
