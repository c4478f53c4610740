import { A2AService, MessageQueueService } from "@devtool/schema/a2a-v1";
import { describe, expect, it } from "vitest";
import { servicesWith, silentHandler } from "../../test/serve-routes.ts";
import { a2a } from "./a2a.ts";
import { createA2a } from "./a2a-routes.ts";

describe("a2a()", () => {
  it("knows all of its paths before what answers them is loaded", async () => {
    const { about, ...services } = servicesWith(silentHandler(() => undefined));
    const agents = new Map([["one", about]]);
    const given = { ...services, about, agents };
    const known = a2a()(given).filter((each) => "matches" in each);
    const { routes } = await createA2a(given);
    const methods = ["GET", "POST", "PUT", "DELETE"];
    const paths = ["", "/agents/one"].flatMap((prefix) =>
      PATHS.map((path) => `${prefix}${path}`),
    );
    const served = paths.flatMap((path) =>
      methods
        .filter((method) => routes.some((route) => route.matches(method, path)))
        .map((method) => [method, path] as const),
    );
    // Each rpc with and without a tenant, and what 0.3 has.
    expect(served.length).toBeGreaterThan(2 * RPCS);
    expect(
      served.filter(
        ([method, path]) => !known.some((route) => route.matches(method, path)),
      ),
    ).toEqual([]);
  });

  it.each(["/hooks", "/ag-ui", "/agents/one/ag-ui", "/listCommands", "/x/y"])(
    "leaves %s to other dialects",
    (path) => {
      const services = servicesWith(silentHandler(() => undefined));
      const known = a2a()(services).filter((each) => "matches" in each);
      expect(known.some((route) => route.matches("POST", path))).toBe(false);
    },
  );
});

const RPCS = [A2AService, MessageQueueService].flatMap(
  ({ methods }) => methods,
).length;

const PATHS = [
  ...["/", "/a2a", "/a2a/", "/v1/", "/v1/message:send", "/v1/x/y"],
  ...["/commands", "/commands:execute", "/.well-known/agent-card.json"],
  ...["", "/tenant"].flatMap((tenant) =>
    [
      ...["message:send", "message:stream", "message:withdraw"],
      ...["tasks", "tasks/t", "tasks/t:cancel", "tasks/t:subscribe"],
      ...["tasks/t/pushNotificationConfigs"],
      ...["tasks/t/pushNotificationConfigs/p", "extendedAgentCard"],
    ].map((path) => `${tenant}/${path}`),
  ),
];
