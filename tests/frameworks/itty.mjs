// An app on itty-router, which writes `query`, `params` and fields of its own into the request that it is given.
import { AutoRouter, error } from "itty-router";

const withUser = (request) => {
  request.user = { name: "ada" };
};
const router = AutoRouter({ before: [withUser] });

router.get("/hello/:name", ({ params, query, user }) => ({ name: params.name, query, user: user.name }));
router.post("/echo", async (request) => ({ body: await request.json() }));
router.get("/broken", () => error(418, "a teapot"));

export default router;
