import { app } from "sampan";
import type { Absent } from "absent-types";
import { absent } from "@some/absent/part";

app.get("/", (): Absent => absent);
