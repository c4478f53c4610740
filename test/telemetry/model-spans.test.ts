import { createAnthropicModel } from "@devtool/anthropic";
import { startFakeAnthropic } from "@devtool/anthropic/testing";
import { textMessage } from "@devtool/client";
import { type Model, serveCodingAgent } from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createOpenAiModel } from "@devtool/openai";
import { startFakeOpenAi } from "@devtool/openai/testing";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { startTelemetry } from "./telemetry.ts";

const MODELS = {
  "gcp.gemini": {
    start: startFakeGemini,
    createModel: (baseUrl: string) =>
      createGeminiModel({ apiKey: "k", baseUrl, model: "test-model" }),
  },
  anthropic: {
    start: startFakeAnthropic,
    createModel: (baseUrl: string): Model =>
      createAnthropicModel({ apiKey: "k", baseUrl, model: "test-model" }),
  },
  openai: {
    start: startFakeOpenAi,
    createModel: (url: string): Model =>
      createOpenAiModel({
        apiKey: "k",
        baseUrl: `${url}/v1`,
        model: "test-model",
      }),
  },
};

describe.for(Object.entries(MODELS))(
  "the spans of a turn with a model of %s",
  ([provider, { start, createModel }]) => {
    it.for([
      ["text Done.", ["stop"]],
      ["read a.txt\nnext\ntext Done.", ["tool_call", "stop"]],
      ["text It is\nfinish MAX_TOKENS", ["length"]],
      ["fail 400", ["error"]],
    ] as const)("say how each answer ended: %s", async ([text, reasons]) => {
      await using fake = await start();
      await using told = await startTelemetry({ content: true });
      await using server = await serveCodingAgent({
        workspace: temporaryDirectory(),
        model: createModel(fake.url),
        observer: told.observer,
      });
      const { tasks } = clientOf(server);
      await tasks.sendMessage({ message: textMessage("m", text) });
      await server.close();
      await told.flush();

      const chats = told.spans.filter(({ name }) => name === "chat test-model");
      expect(
        chats.map(({ attributes }) => [
          attributes["gen_ai.provider.name"],
          attributes["gen_ai.response.finish_reasons"],
        ]),
      ).toEqual(reasons.map((reason) => [provider, [reason]]));
      const turn = await told.find("invoke_agent devtool");
      const sum = (name: string): number =>
        chats.reduce(
          (all, { attributes }) => all + Number(attributes[name]),
          0,
        );
      for (const { attributes, status } of chats) {
        const isWhole = status !== 2;
        expect(attributes).toMatchObject({
          "gen_ai.operation.name": "chat",
          ...(isWhole && {
            "gen_ai.response.time_to_first_chunk": expect.any(Number),
            "gen_ai.usage.input_tokens": expect.any(Number),
            "gen_ai.usage.output_tokens": expect.any(Number),
          }),
        });
      }
      if (!text.includes("Done")) return;
      for (const name of [
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
      ]) {
        expect(turn.attributes[name]).toBe(sum(name));
      }
      expect(turn.attributes["gen_ai.output.messages"]).toBe(
        '[{"role":"assistant","parts":[{"type":"text","content":"Done."}],"finish_reason":"stop"}]',
      );
    });
  },
);
