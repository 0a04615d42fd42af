import { app } from "sampan";

for (;;);
