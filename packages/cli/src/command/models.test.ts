import { serveCodingAgent } from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

describe("devtool models", () => {
  it.each(["connect", "grpc"])("lists them over %s", async (protocol) => {
    await using api = await startFakeGemini();
    await using server = await serveCodingAgent({
      workspace: temporaryDirectory(),
      model: createGeminiModel({ apiKey: "k", baseUrl: api.url }),
    });
    const { url, token } = server;
    const list = (...more: readonly string[]) =>
      runCommand(
        ["models", "--url", url, "--token", token, ...more].concat(
          "--protocol",
          protocol,
        ),
      );
    expect(await list()).toEqual({
      code: 0,
      out: "gemini-test  Gemini Test · 1.0M tokens\n",
      err: "",
    });
    const other = await list("--agent", "other");
    expect([other.code, other.err]).toEqual([
      1,
      expect.stringContaining('"other"'),
    ]);
  });

  it("says that an agent lists none", async () => {
    await using server = await serveCodingAgent({
      workspace: temporaryDirectory(),
    });
    const { url, token } = server;
    expect(
      await runCommand(["models", "--url", url, "--token", token]),
    ).toEqual({
      code: 0,
      out: "",
      err: "the agent lists no models: choose one by its name, as in: devtool run --model NAME\n",
    });
  });
});
