import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  confirmationPart,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  OPTION_PROCEED_ONCE,
  SenderSchema,
  type Task,
  TaskState,
  toolCallsOf,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { variantsOf } from "../depth.ts";
import { postJson } from "../post-json.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

const RULES = `
[[rule]]
command_prefix = "touch"
decision = "deny"
deny_message = "guests touch nothing"
role = "guests"
priority = 10

[[rule]]
command_prefix = "touch"
decision = "allow"
role = "ops"

[[rule]]
command_prefix = "touch"
decision = "deny"
deny_message = "not for mallory"
principal = "https://login.example#mallory"
priority = 20
`;

describe("rules about roles", () => {
  let base: string;
  let workspace: string;
  let policy: string;
  let issuer: Issuer;
  let server: DevtoolServer;
  beforeEach(async () => {
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    policy = join(base, "rules.toml");
    await mkdir(join(workspace, ".devtool"), { recursive: true });
    await writeFile(policy, RULES);
    // A repository has no say in it.
    await writeFile(
      join(workspace, ".devtool", "policy.toml"),
      '[[rule]]\ndecision = "allow"\nrole = "guests"\npriority = 999\n',
    );
    issuer = await createIssuer();
    server = await start();
  });
  afterEach(() => server.close());

  const start = (policyFiles = [policy]) =>
    serveCodingAgent({
      workspace,
      dataDirectory: join(base, "data"),
      policyFiles,
      authentication: {
        jwt: { ...issuer.options, rolesClaim: "realm_access.roles" },
      },
    });
  const as = async (subject: string, ...roles: string[]) => ({
    url: server.url,
    token: await issuer.tokenFor(subject, undefined, {
      realm_access: { roles },
    }),
  });

  it.each(variantsOf("bindings", Object.entries(CLIENTS), 3))(
    "decide over %s by who sent the message",
    async (binding, open) => {
      const outcomes: (readonly [string, string])[] = [];
      for (const [subject, roles] of [
        ["ada", ["ops"]],
        ["ada", ["guests", "ops"]],
        ["ada", []],
        ["mallory", ["ops"]],
      ] as const) {
        const file = `${binding.replaceAll(/\W/g, "")}${outcomes.length}`;
        const client = open(await as(subject, ...roles));
        const { task } = await client.tasks.sendMessage({
          message: textMessage(crypto.randomUUID(), `run touch ${file}`),
        });
        outcomes.push([outcomeOf(task), isThere(file) ? "made" : ""]);
      }
      expect(outcomes).toEqual([
        ["ran", "made"],
        ["guests touch nothing", ""],
        ["asks", ""],
        ["not for mallory", ""],
      ]);
    },
  );

  it("decide a later message by the roles that its sender has then, and a tenant changes nothing", async () => {
    const first = clientOf(await as("ada", "ops"));
    const { task } = await first.tasks.sendMessage({
      message: textMessage("m1", "run touch one"),
    });
    const later = clientOf(await as("ada", "guests"));
    const { task: again } = await later.tasks.sendMessage({
      taskId: task?.id ?? "",
      message: textMessage("m2", "run touch two"),
    });
    expect([outcomeOf(task), outcomeOf(again)]).toEqual([
      "ran",
      "guests touch nothing",
    ]);
    const { url, token } = await as("mallory", "ops");
    const message = {
      messageId: "m3",
      role: "ROLE_USER",
      parts: [{ text: "run touch three" }],
    };
    const response = await postJson(
      { url, token },
      "/some-tenant/message:send",
      { message },
      { "a2a-version": "1.0" },
    );
    expect(await response.json()).toMatchObject({
      task: { status: { state: "TASK_STATE_COMPLETED" } },
    });
    expect([isThere("two"), isThere("three")]).toEqual([false, false]);
  });

  it("count for a call that waited over a restart, whoever answers", async () => {
    await server.close();
    await writeFile(policy, "");
    server = await start();
    const asked = clientOf(await as("ada", "guests"));
    const { task } = await asked.tasks.sendMessage({
      message: textMessage("m1", "run touch waited"),
    });
    expect(outcomeOf(task)).toBe("asks");
    await server.close();
    await writeFile(policy, RULES);
    server = await start();
    // The answer comes with other roles. The work is still that of a guest.
    const { tasks } = clientOf(await as("ada", "ops"));
    const [call] = task ? pendingToolCalls(task) : [];
    const parts = call ? [confirmationPart(call, OPTION_PROCEED_ONCE)] : [];
    await tasks
      .sendMessage({
        taskId: task?.id ?? "",
        message: { messageId: "m2", parts },
      })
      .catch(() => undefined);
    await expect
      .poll(async () => {
        const { task: now } = await tasks.getTask({ taskId: task?.id ?? "" });
        return now && outcomeOf(now);
      })
      .toBe("guests touch nothing");
    expect(isThere("waited")).toBe(false);
  });

  it("cannot be claimed by a message, and refuse a token whose claim is no list of names", async () => {
    const client = clientOf(await as("ada"));
    await expect(
      client.tasks.sendMessage({
        message: {
          ...textMessage("m1", "run touch forged"),
          sender: create(SenderSchema, { roles: ["ops"] }),
        },
      }),
    ).rejects.toThrow("message.sender");
    for (const roles of [[{ name: "ops" }], "ops\r\nX: y", { ops: 1 }]) {
      const claims = { realm_access: { roles } };
      const token = await issuer.tokenFor("ada", undefined, claims);
      await expect(
        clientOf({ url: server.url, token }).tasks.listTasks({}),
      ).rejects.toThrow('its claim "realm_access.roles"');
    }
  });

  const isThere = (name: string) => existsSync(join(workspace, name));
});

/** What became of the last tool call of a task. */
function outcomeOf(task: Task | undefined): string {
  if (task?.state === TaskState.INPUT_REQUIRED) return "asks";
  const { result } = task?.history.flatMap(toolCallsOf).at(-1) ?? {};
  if (result?.case !== "error") return "ran";
  return (
    /guests touch nothing|not for mallory/.exec(result.value.message)?.[0] ??
    result.value.message
  );
}
