import { app } from "sampan";
import "./lib/broken";

app.get("/", () => 1);
