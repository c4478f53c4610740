import { create } from "@bufbuild/protobuf";
import { type PushConfig, PushConfigSchema } from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ServedRoutes,
  serveRoutes,
  servicesWith,
  silentHandler,
} from "../../../test/serve-routes.ts";
import { Code, DevtoolError } from "../../errors.ts";
import type { ServerMethods } from "../../handler/guarded-handler.ts";
import { a2a } from "../a2a.ts";

const HOOK = { id: "h1", url: "https://hooks.example/x", token: "t" };

describe("push configs over the HTTP+JSON binding of A2A 0.3 (PUSH-1)", () => {
  let agent: ServedRoutes;
  beforeAll(async () => {
    const push = memoryPush();
    const handler = silentHandler(() => undefined, { push });
    const served = a2a()(servicesWith(handler));
    agent = await serveRoutes(served.filter((each) => "matches" in each));
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  it.each([
    { form: "bare", body: HOOK },
    {
      form: "with the name of the task",
      body: { name: "tasks/t/x", pushNotificationConfig: HOOK },
    },
    {
      form: "in a request of the proto",
      body: {
        parent: "tasks/t",
        configId: "h1",
        config: nested({ ...HOOK, id: "" }),
      },
    },
    {
      form: "in snake_case",
      body: { config_id: "h1", config: { push_notification_config: HOOK } },
    },
  ])(
    "can be set $form, and then read, listed and deleted",
    async ({ body }) => {
      const set = await ask("POST", "", body);
      expect(set).toMatchObject({
        status: 200,
        json: { name: "tasks/t/pushNotificationConfigs/h1" },
      });
      expect(set.json.pushNotificationConfig).toMatchObject(HOOK);
      expect((await ask("GET", "/h1")).json).toEqual(set.json);
      expect((await ask("GET", "")).json).toEqual({ configs: [set.json] });
      expect(await ask("DELETE", "/h1")).toEqual({ status: 200, json: {} });
      expect((await ask("GET", "")).json).toEqual({ configs: [] });
      expect((await ask("GET", "/h1")).status).toBe(404);
    },
  );

  it("cannot be set by a body with a byte order mark, which JSON does not permit", async () => {
    const body = `\uFEFF${JSON.stringify(HOOK)}`;
    const headers = { "content-type": "application/json" };
    const response = await fetch(
      `${agent.url}v1/tasks/t/pushNotificationConfigs`,
      { method: "POST", headers, body },
    );
    expect(response.status).toBe(400);
  });

  async function ask(method: string, path: string, body?: object) {
    const response = await fetch(
      `${agent.url}v1/tasks/t/pushNotificationConfigs${path}`,
      {
        method,
        headers: { "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      },
    );
    return { status: response.status, json: JSON.parse(await response.text()) };
  }
});

function nested(config: object) {
  return {
    name: "tasks/t/pushNotificationConfigs/h1",
    pushNotificationConfig: config,
  };
}

function memoryPush(): ServerMethods["push"] {
  const configs = new Map<string, PushConfig>();
  return {
    setPushConfig({ config = create(PushConfigSchema) }) {
      configs.set(config.id, config);
      return { config };
    },
    getPushConfig({ configId }) {
      const config = configs.get(configId);
      if (!config) {
        throw new DevtoolError(
          `push config "${configId}" does not exist: list them`,
          Code.NotFound,
        );
      }
      return { config };
    },
    listPushConfigs: () => ({ configs: [...configs.values()] }),
    deletePushConfig({ configId }) {
      configs.delete(configId);
      return {};
    },
  };
}
