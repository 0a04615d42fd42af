// An app on itty-router, which writes `query`, `params` and fields of its own into the request that it is given.
import { AutoRouter, error, withCookies } from "itty-router";

const withUser = (request) => {
  request.user = { name: "ada" };
};
const router = AutoRouter({ before: [withUser, withCookies] });

router.get("/hello/:name", ({ params, query, user }) => ({ name: params.name, query, user: user.name }));
// Parameters with the names of fields that a route's request has.
router.get("/todos/:id/:ip", ({ id, ip, cookies }) => ({ id, ip, cookies }));
router.get("/context", (request, env, context) => ({ ip: context.ip, id: context.id, own: request.ip ?? null }));
router.post("/echo", async (request) => ({ body: await request.json() }));
router.get("/broken", () => error(418, "a teapot"));

export default router;
