import {
  assertJson,
  type Dialect,
  loadOnce,
  readBody,
  route,
} from "@devtool/server/dialect";
import { assertOperator } from "@devtool/server/operator";
import type { IdeBridgeOptions } from "./bridge-answers.ts";

/**
 * The user's editor for programs that speak plain HTTP, and hold the operator's
 * token: `GET /context` says what it shows, `POST /diff` shows a change there
 * and answers when the user has decided.
 */
export function ideBridge(options: IdeBridgeOptions): Dialect {
  const load = loadOnce(() => import("./bridge-answers.ts"));
  return (services) => [
    route(services, "GET", "/context", async (call) => {
      assertOperator(call.context);
      const { answerContext } = await load();
      await answerContext(options, call);
    }),
    route(services, "POST", "/diff", async (call) => {
      assertOperator(call.context);
      assertJson(call.request);
      const body = await readBody(call.request, services.maxRequestBytes);
      const { answerDiff } = await load();
      await answerDiff(options, body, call);
    }),
  ];
}
