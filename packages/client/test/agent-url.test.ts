import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { AgentCardSchema } from "@devtool/schema/a2a-v1";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createA2aTransport,
  createAgentTransport,
  fetchAgentCard,
} from "../src/a2a.ts";
import { createGeminiCliTransport } from "../src/gemini-cli.ts";

const card = create(AgentCardSchema, {
  supportedInterfaces: [
    {
      url: "http://127.0.0.1:41242/a2a",
      protocolVersion: "1.0",
      protocolBinding: "JSONRPC",
    },
  ],
});

describe("the URL of an agent", () => {
  it.each(["", "localhost:41242", "127.0.0.1:41242", "/a2a", "ftp://a"])(
    "is named in the error where it is not one: %j",
    async (url) => {
      const uses: readonly (() => unknown)[] = [
        () => fetchAgentCard({ url }, AbortSignal.timeout(60_000)),
        () => createAgentTransport(card, { url }),
        () => createA2aTransport({ url }),
        () => createA2aTransport({ url, protocolVersion: "1.0" }),
        () => createGeminiCliTransport({ url }),
      ];
      for (const use of uses) {
        const reason = await Promise.resolve()
          .then(use)
          .then(
            () => undefined,
            (thrown: unknown) => ConnectError.from(thrown),
          );
        expect(reason).toMatchObject({
          code: Code.InvalidArgument,
          rawMessage: `${JSON.stringify(url)} is not the URL of an agent: write it as http://127.0.0.1:41242`,
        });
      }
    },
  );

  it.each([
    ["https://me:s3cret@a.example", '"https://a.example/" has a user name'],
    ["https://me:s3/cret@a.example", '"https://…" is not the URL'],
  ])(
    "is not used, and not shown with its password: %s",
    async (url, problem) => {
      const signal = AbortSignal.timeout(60_000);
      await expect(fetchAgentCard({ url }, signal)).rejects.toThrow(problem);
      expect(() => createGeminiCliTransport({ url })).toThrow(problem);
    },
  );

  it("is shown without its query where it has no card", async () => {
    const fetch: typeof globalThis.fetch = () =>
      Promise.resolve(new Response("", { status: 404 }));
    await expect(
      fetchAgentCard(
        { url: "https://a.example?key=s3cret", fetch },
        AbortSignal.timeout(60_000),
      ),
    ).rejects.toThrow("the agent at https://a.example/ has no card");
  });

  it("may be relative in a web page", async () => {
    vi.stubGlobal("location", new URL("http://127.0.0.1:41242/app/"));
    onTestFinished(() => void vi.unstubAllGlobals());
    const asked: string[] = [];
    const fetch: typeof globalThis.fetch = (input) => {
      asked.push(String(input));
      return Promise.resolve(new Response("", { status: 404 }));
    };
    await expect(
      fetchAgentCard({ url: "/agent", fetch }, AbortSignal.timeout(60_000)),
    ).rejects.toThrow("has no card");
    expect(asked[0]).toBe(
      "http://127.0.0.1:41242/agent/.well-known/agent-card.json",
    );
  });
});
