import { connect, createServer as createTcpServer } from "node:net";
import { serveCodingAgent } from "@devtool/coding-agent";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "./testing/run-command.ts";

describe("what a refused command says", () => {
  let server: DevtoolServer;

  beforeAll(async () => {
    server = await serveCodingAgent({ workspace: "." });
  });
  afterAll(() => server.close());

  const COMMANDS = [["tasks"], ["watch", "t1"], ["run", "text Hello."]];

  it.each(["connect", "grpc", "a2a"])(
    "is the server's sentence for a wrong token, over %s",
    async (protocol) => {
      for (const words of COMMANDS) {
        const { code, err } = await devtool(
          ...words,
          "--url",
          server.url,
          "--token",
          "wrong",
          "--protocol",
          protocol,
        );
        expect([words, code, err]).toEqual([
          words,
          1,
          expect.stringMatching(
            /^devtool: the bearer token is missing or wrong/,
          ),
        ]);
      }
    },
  );

  it.each(["connect", "grpc", "a2a"])(
    "is the server's sentence for an address that it does not serve, over %s",
    async (protocol) => {
      await using other = await forwarded(server.url);
      for (const words of COMMANDS) {
        const { code, err } = await devtool(
          ...words,
          "--url",
          other.url,
          "--token",
          server.token,
          "--protocol",
          protocol,
        );
        expect([words, code, err]).toEqual([
          words,
          1,
          expect.stringContaining(
            `host "${new URL(other.url).host}" is not served`,
          ),
        ]);
      }
    },
  );

  it.each([
    ["http://me:s3cret@localhost", '"http://localhost/" has a user name'],
    ["http://me:s3/cret@localhost", '"http://…" is not the URL of a server'],
  ])("shows no password of the URL %s", async (url, problem) => {
    const { code, err } = await devtool("tasks", "--url", url);
    expect([code, err]).toEqual([1, expect.stringContaining(problem)]);
  });

  it.each(["nonsense", "localhost:41242", "ftp://localhost"])(
    "is a sentence for the URL %s",
    async (url) => {
      const { code, err } = await devtool("tasks", "--url", url);
      expect([code, err]).toEqual([
        1,
        `devtool: "${url}" is not the URL of a server: write it as http://127.0.0.1:41242\n`,
      ]);
    },
  );

  it.each(["connect", "grpc", "a2a"])(
    "is a sentence when nobody listens, over %s",
    async (protocol) => {
      const other = await forwarded(server.url);
      await other[Symbol.asyncDispose]();
      const { code, err } = await devtool(
        "tasks",
        "--url",
        other.url,
        "--protocol",
        protocol,
      );
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(
          /^devtool: the agent at .* cannot be used: nothing listens at .* \(ECONNREFUSED\)/,
        ),
      ]);
    },
  );

  async function devtool(
    ...words: readonly string[]
  ): Promise<{ readonly code: number; readonly err: string }> {
    const { code, err } = await runCommand(words);
    return { code, err };
  }
});

/** Another port that leads to a server, as port forwarding makes one. */
async function forwarded(
  url: string,
): Promise<AsyncDisposable & { readonly url: string }> {
  const { hostname, port } = new URL(url);
  const forwarder = createTcpServer((socket) => {
    const onward = connect(Number(port), hostname);
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => end.destroy());
  });
  await new Promise<void>((resolve) =>
    forwarder.listen(0, "127.0.0.1", resolve),
  );
  const address = forwarder.address();
  const at = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${at}`,
    [Symbol.asyncDispose]: async () => void forwarder.close(),
  };
}
