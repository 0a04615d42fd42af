import { app } from "sampan";

const fault = (options) => {
  try {
    app.cors(options);
    return "taken";
  } catch (error) {
    return error.message;
  }
};
const faults = [
  fault({ origins: "*", credentials: true }),
  fault({ origins: ["https://a.example", "*"], credentials: true }),
  fault({ origins: "null" }),
  fault({ origins: ["https://a.example/"] }),
  fault({ origins: [1] }),
  fault({}),
  fault({ origin: "*" }),
  fault({ origins: "*", methods: "GET POST" }),
  fault({ origins: "*", expose: ["x\r\ny"] }),
  fault({ origins: "*", credentials: "yes" }),
  fault({ origins: "*", maxAge: -1 }),
];
app.get("/faults", () => faults);
app.get("/late", () => { app.use(app.cors({ origins: "*" })); });
