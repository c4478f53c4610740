import { createServer as createHttpServer } from "node:http";
import { serveCodingAgent } from "@devtool/coding-agent";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chat } from "../command/chat.ts";
import { run } from "../command/run.ts";
import { tasks } from "../command/tasks.ts";
import { pipedIo } from "../testing/run-command.ts";
import { createClient } from "./connection.ts";

describe("the command with --protocol a2a", () => {
  let server: DevtoolServer;
  let workspace: string;

  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({
      ...{ workspace, sandbox: "none" },
      a2a: { grpcInCard: true },
    });
  });
  afterAll(() => server.close());

  it.each([
    ["1.0", "JSONRPC"],
    ["1.0", "HTTP+JSON"],
    ["1.0", "GRPC"],
    ["0.3", "JSONRPC"],
    ["0.3", "HTTP+JSON"],
  ])(
    "runs a job on an agent that speaks A2A %s over %s alone",
    async (version, binding) => {
      await using agent = await speaking({ version, binding });
      const { io, out } = pipedIo();
      const file = `${version}-${binding.replace("+", "-")}.txt`;
      const options = {
        url: agent.url,
        token: server.token,
        protocol: "a2a",
        approve: "all",
      };
      const code = await run(
        `text Hello.\nwrite ${file} made\ntext Done.`,
        options,
        io,
      );
      expect([code, fileText(workspace, file)]).toEqual([0, "made"]);
      expect(out()).toMatch(/Hello\.[\s\S]*Done\./);
    },
  );

  it("talks with an agent that speaks A2A 1.0 alone, past the end of its first task, and lists what there is", async () => {
    await using agent = await speaking({ version: "1.0", binding: "JSONRPC" });
    const options = { url: agent.url, token: server.token, protocol: "a2a" };
    const talk = pipedIo({ stdin: "text One.\n/about\ntext Two.\n/exit\n" });
    expect(await chat(options, talk.io)).toBe(0);
    expect(talk.out()).toMatch(/One\.[\s\S]*model: scripted[\s\S]*Two\./);
    const list = pipedIo();
    expect(await tasks({ ...options, json: true }, list.io)).toBe(0);
    expect(list.out().split("\n").length).toBeGreaterThan(3);
  });

  it("runs a job on an agent that does not have the extension: its text and its states", async () => {
    await using agent = await speaking({
      version: "1.0",
      binding: "HTTP+JSON",
      extension: false,
    });
    const { io, out } = pipedIo();
    const options = {
      url: agent.url,
      token: server.token,
      protocol: "a2a",
      approve: "never",
    };
    expect([await run("text Hello.", options, io), out()]).toEqual([
      0,
      expect.stringContaining("Hello."),
    ]);
  });

  it("says what an agent offers when nothing of it is spoken here", async () => {
    await using agent = await speaking({
      version: "0.3",
      binding: "HTTP+JSON",
      called: "SEMAPHORE",
    });
    await expect(
      createClient({ url: agent.url, token: "" }, "a2a"),
    ).rejects.toThrow(/0\.3 over SEMAPHORE at .*: choose/);
  });

  /**
   * An agent whose card shows one interface of the server, as if there were no
   * other.
   */
  async function speaking(only: {
    readonly version: string;
    readonly binding: string;
    /** The name of the binding in the card. Default: the real one. */
    readonly called?: string;
    readonly extension?: false;
  }): Promise<AsyncDisposable & { readonly url: string }> {
    const response = await fetch(`${server.url}/.well-known/agent-card.json`, {
      headers: { "a2a-version": "1.0" },
    });
    const card: Card = JSON.parse(await response.text());
    const { called = only.binding } = only;
    const supportedInterfaces = card.supportedInterfaces
      .filter(
        (item) =>
          item.protocolVersion === only.version &&
          item.protocolBinding === only.binding,
      )
      .map((item) => ({ ...item, protocolBinding: called }));
    expect(supportedInterfaces).toHaveLength(1);
    const capabilities = only.extension === false ? {} : card.capabilities;
    const text = JSON.stringify({ ...card, capabilities, supportedInterfaces });
    const front = createHttpServer((_request, answer) => answer.end(text));
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    const address = front.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const close = async (): Promise<void> => {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    };
    return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close };
  }
});

interface Card {
  readonly capabilities: object;
  readonly supportedInterfaces: readonly {
    readonly protocolVersion: string;
    readonly protocolBinding: string;
  }[];
}
