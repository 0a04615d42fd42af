import { app } from "sampan";

for (let number = 1; number <= 10001; number += 1) {
  app.get(`/page/${number}`, "page");
}
