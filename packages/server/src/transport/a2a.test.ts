import {
  A2AService,
  httpBindingsOf,
  MessageQueueService,
} from "@devtool/schema/a2a-v1";
import { REST_OPERATIONS } from "@devtool/schema/a2a-v03";
import { describe, expect, it } from "vitest";
import { servicesWith, silentHandler } from "../../test/serve-routes.ts";
import { a2a } from "./a2a.ts";

describe("a2a()", () => {
  it("knows all paths of A2A 1.0 before what answers them is loaded", () => {
    const rpcs = [A2AService, MessageQueueService].flatMap(
      ({ methods }) => methods,
    );
    const bindings = rpcs.flatMap((method) => httpBindingsOf(method));
    // Each rpc with and without a tenant.
    expect(bindings.length).toBeGreaterThanOrEqual(2 * rpcs.length);
    const unknown = bindings.filter(
      ({ httpMethod, template }) =>
        !isKnown(httpMethod, template.replaceAll(/\{\w+\}/g, "x")),
    );
    expect(unknown).toEqual([]);
  });

  it.each(["", "/agents/one"])(
    "knows all paths of A2A 0.3 below %j",
    (prefix) => {
      const rest = REST_OPERATIONS.flatMap(({ httpMethods }) => httpMethods);
      const asked = [
        ...rest.map((method) => [method, "/v1/message:send"] as const),
        ...["/", "/a2a", "/a2a/"].map((path) => ["POST", path] as const),
        ...["GET", "HEAD"].map(
          (method) => [method, "/.well-known/agent-card.json"] as const,
        ),
      ];
      const unknown = asked.filter(
        ([method, path]) => !isKnown(method, `${prefix}${path}`),
      );
      expect(unknown).toEqual([]);
    },
  );

  it.each(["/hooks", "/ag-ui", "/agents/one/ag-ui", "/listCommands", "/x/y"])(
    "leaves %s to other dialects",
    (path) => expect(isKnown("POST", path)).toBe(false),
  );
});

/** Whether the dialect of a server with an agent `one` takes a request. */
function isKnown(method: string, path: string): boolean {
  const { about, ...services } = servicesWith(silentHandler(() => undefined));
  const agents = new Map([["one", about]]);
  return a2a()({ ...services, about, agents }).some(
    (each) => "matches" in each && each.matches(method, path),
  );
}
