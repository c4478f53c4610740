import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Code } from "@connectrpc/connect";
import { createAnthropicModel } from "@devtool/anthropic";
import { startFakeAnthropic } from "@devtool/anthropic/testing";
import {
  createDevtoolClient,
  createTaskView,
  type DevtoolClient,
} from "@devtool/client";
import { createA2aTransport } from "@devtool/client/a2a";
import { type Model, serveCodingAgent } from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createOpenAiModel } from "@devtool/openai";
import { startFakeOpenAi } from "@devtool/openai/testing";
import type { DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";

const signal = AbortSignal.timeout(300_000);

describe("the models of an agent", () => {
  it.each([
    {
      api: "Gemini",
      start: () => startFakeGemini(),
      createModel: (url: string) =>
        createGeminiModel({ apiKey: "k", baseUrl: url }),
      listed: [
        {
          name: "gemini-test",
          displayName: "Gemini Test",
          contextWindowTokens: 1_048_576n,
        },
      ],
      windowTokens: 1_048_576n,
    },
    {
      api: "OpenAI",
      start: () => startFakeOpenAi({ models: ["gpt-test", "gpt-tiny"] }),
      createModel: (url: string) =>
        createOpenAiModel({
          apiKey: "k",
          baseUrl: `${url}/v1`,
          maxInputTokens: 9000,
        }),
      listed: [
        { name: "gpt-test", displayName: "", contextWindowTokens: 0n },
        { name: "gpt-tiny", displayName: "", contextWindowTokens: 0n },
      ],
      windowTokens: 9000n,
    },
    {
      api: "Anthropic",
      start: () => startFakeAnthropic({ models: ["claude-test"] }),
      createModel: (url: string) =>
        createAnthropicModel({ apiKey: "k", baseUrl: url }),
      listed: [
        {
          name: "claude-test",
          displayName: "claude-test",
          contextWindowTokens: 0n,
        },
      ],
      windowTokens: 200_000n,
    },
  ])(
    "of $api are listed, and each step says how full the context is",
    async (play) => {
      await using fake = await play.start();
      await using served = await serve(play.createModel(fake.url));
      const { models } = await served.client.agents.listModels({}, { signal });
      expect(models).toMatchObject(play.listed);
      const first = await usageAfter(served.client, "text one");
      expect(first.contextWindowTokens).toBe(play.windowTokens);
      expect(first.contextTokens).toBe(first.inputTokens + first.outputTokens);
    },
  );

  it("are none where the agent knows none, and an agent that does not exist is named", async () => {
    await using served = await serve(undefined);
    expect(
      (await served.client.agents.listModels({}, { signal })).models,
    ).toEqual([]);
    await expect(
      served.client.agents.listModels({ agent: "other" }, { signal }),
    ).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });

  it("are not listed when their API refuses, which is said without the key", async () => {
    await using fake = await startFakeOpenAi();
    await using served = await serve(
      createOpenAiModel({ baseUrl: `${fake.url}/v1`, model: "m" }),
    );
    const refused = await served.client.agents
      .listModels({}, { signal })
      .catch((reason: unknown) => String(reason));
    expect(refused).toContain("You didn't provide an API key");
  });

  it("are not listed while their API fails, and nobody is told to send a message", async () => {
    const api = createHttpServer((_request, response) =>
      response.writeHead(503).end("{}"),
    ).listen(0, "127.0.0.1");
    await once(api, "listening");
    const { port } = api.address() as AddressInfo;
    await using served = await serve(
      createOpenAiModel({
        ...{ apiKey: "k", model: "m" },
        baseUrl: `http://127.0.0.1:${port}/v1`,
      }),
    );
    await expect(
      served.client.agents.listModels({}, { signal }),
    ).rejects.toMatchObject({
      code: Code.Unavailable,
      rawMessage: "the model answered with status 503: try again later",
    });
    api.close();
  });

  it.each(["0.3", "1.0"])(
    "say over A2A %s how full the context is, too",
    async (protocolVersion) => {
      await using fake = await startFakeGemini();
      await using served = await serve(
        createGeminiModel({ apiKey: "k", baseUrl: fake.url }),
      );
      const { url, token } = served.server;
      const client = createDevtoolClient(
        createA2aTransport({ url, token, protocolVersion }),
      );
      const usage = await usageAfter(client, "text one");
      expect(usage).toMatchObject({ contextWindowTokens: 1_048_576n });
      expect(usage.contextTokens).toBeGreaterThan(0n);
    },
  );
});

/** Serves the coding agent in a workspace of its own. */
async function serve(model: Model | undefined) {
  const workspace = temporaryDirectory();
  const server: DevtoolServer = await serveCodingAgent({
    workspace,
    sandbox: "none",
    ...(model && { model }),
  });
  return {
    server,
    client: clientOf(server),
    [Symbol.asyncDispose]: async () => {
      await server.close();
    },
  };
}

/** Sends a message, and returns what the task then says about tokens. */
async function usageAfter(client: DevtoolClient, text: string) {
  const view = createTaskView(client);
  await view.send(text, signal);
  const { usage } = view.snapshot().task;
  if (!usage) throw new Error("the task has no usage");
  return usage;
}
