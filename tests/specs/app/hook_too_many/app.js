import { app } from "sampan";

const first = () => {};

app.onStart(first, {}, first);
