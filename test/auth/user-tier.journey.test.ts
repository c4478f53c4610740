import { textMessage } from "@devtool/client";
import { codingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CLIENTS, clientOf } from "../client-of.ts";
import { postJson } from "../post-json.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

const EXT =
  "https://github.com/google-gemini/gemini-cli/blob/main/docs/a2a/developer-profile/v0/spec.md";

describe("user_tier (RFC, DevelopmentToolEvent)", () => {
  const dataDirectory = temporaryDirectory();
  const workspace = temporaryDirectory();
  let issuer: Issuer;
  let server: DevtoolServer;
  beforeEach(async () => {
    issuer ??= await createIssuer();
    server = await start();
  });
  afterEach(() => server.close());

  const start = () =>
    createServer({
      agents: { devtool: codingAgent({}) },
      dataDirectory,
      workspace,
      authentication: {
        jwt: { ...issuer.options, tierClaim: "/account/example.plan" },
      },
    });
  const as = async (tier?: unknown) => ({
    url: server.url,
    token: await issuer.tokenFor("ada", undefined, {
      account: { "example.plan": tier },
    }),
  });
  const request = (text: string, taskId = "") => ({
    taskId,
    message: textMessage(crypto.randomUUID(), text),
  });

  it.each(Object.entries(CLIENTS))(
    "is in each event over %s, from the claim of who sent the message",
    async (_binding, over) => {
      const tiersOf = async (tier: unknown, taskId?: string) => {
        const { tasks } = over(await as(tier));
        const sent = request("say 2\nrun touch x", taskId);
        const tiers = new Set<string>();
        let id = "";
        for await (const { event } of tasks.streamMessage({ request: sent })) {
          const { case: kind } = event?.payload ?? {};
          if (event && (kind === "stateChange" || kind === "text")) {
            tiers.add(event.userTier);
          }
          id ||= event?.taskId ?? "";
        }
        return { id, tiers: [...tiers] };
      };
      const { id, tiers } = await tiersOf("pro");
      expect(tiers).toEqual(["pro"]);
      await clientOf(await as()).tasks.cancelTask({ taskId: id });
      expect((await tiersOf(undefined)).tiers).toEqual([""]);
    },
  );

  it("is that of the next message's token, over a restart too, and nobody's without one", async () => {
    const first = clientOf(await as("pro"));
    const { task } = await first.tasks.sendMessage(request("text one"));
    await server.close();
    server = await start();
    const { tasks } = clientOf(await as("free"));
    await tasks.sendMessage(request("text two", task?.id));
    const operator = clientOf(server);
    const { task: own } = await operator.tasks.sendMessage(request("text own"));
    expect(own?.sender).toBeUndefined();
    const seen: string[] = [];
    for await (const { event } of tasks.subscribeTask({
      taskId: task?.id ?? "",
    })) {
      if (event) seen.push(event.userTier);
    }
    expect([...new Set(seen)]).toEqual(["pro", "free"]);
    expect(seen.indexOf("free")).toBe(seen.lastIndexOf("pro") + 1);
  });

  it("is written as the RFC and Gemini CLI have it, and left out where there is none", async () => {
    for (const [tier, shown] of [
      ["pro", "pro"],
      [undefined, undefined],
    ]) {
      const { url, token } = await as(tier);
      const message = {
        kind: "message",
        messageId: crypto.randomUUID(),
        role: "user",
        parts: [{ kind: "text", text: "text Hi." }],
      };
      const response = await postJson(
        { url, token },
        "",
        {
          ...{ jsonrpc: "2.0", id: 1, method: "message/stream" },
          params: { message },
        },
        { "x-a2a-extensions": EXT },
      );
      const kinds = [...(await response.text()).matchAll(/^data: (.*)$/gm)]
        .map(([, data = "{}"]) => JSON.parse(data).result.metadata?.[EXT])
        .filter((event) => event?.kind !== undefined);
      expect(kinds.length).toBeGreaterThan(1);
      for (const { user_tier } of kinds) expect(user_tier).toBe(shown);
    }
  });

  it.each([[["pro"]], [{ name: "pro" }], [7], [""], ["pro\u0000"]])(
    "refuses a token whose claim is %j",
    async (tier) => {
      const client = clientOf(await as(tier));
      await expect(client.tasks.listTasks({})).rejects.toThrow(
        'its claim "/account/example.plan" is not a text of 1 to 256 characters',
      );
    },
  );
});
