import { app, json } from "sampan";

app.get("/fine", json({}, 201));
app.get("/wrong", json({}, 1000));
