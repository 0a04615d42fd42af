import { app } from "sampan";

app.publish("news", "too early");
