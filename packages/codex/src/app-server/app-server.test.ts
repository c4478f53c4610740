import { tmpdir } from "node:os";
import type { StdioCommand } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { AppServer } from "./app-server.ts";

const signal = AbortSignal.timeout(300_000);

/**
 * The command of a program that answers each request with what `answer`
 * returns, as a line.
 */
function commandOf(
  answer: (id: number, method: string) => string,
): StdioCommand {
  const program = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id !== undefined) console.log((${answer})(id, method));
  });`;
  return {
    command: process.execPath,
    args: ["-e", program],
    workingDirectory: tmpdir(),
    environment: {},
  };
}

describe("an app-server that is hostile", () => {
  it.each<
    readonly [
      what: string,
      answer: (id: number, method: string) => string,
      error: string,
    ]
  >([
    [
      "nests its answer deeply",
      (id, method) =>
        `{"id":${id},"result":${method === "initialize" ? "{}" : "[".repeat(9000) + "]".repeat(9000)}}`,
      "nests deeper than 64 levels",
    ],
    [
      "has too many values in its answer",
      (id, method) =>
        `{"id":${id},"result":[${method === "initialize" ? "" : "0,".repeat(300_000)}0]}`,
      "limit is 200000",
    ],
  ])("is ended when it %s", async (_what, answer, error) => {
    const command = commandOf(answer);
    await using server = await AppServer.start(
      command,
      { requestTimeoutMs: 60_000, maxUnread: 100 },
      signal,
    );
    await expect(server.request("account/read", {}, signal)).rejects.toThrow(
      error,
    );
    expect(server.failure?.message).toContain(error);
  });

  it("is read as empty where it answers with no object", async () => {
    const command = commandOf((id) => `{"id":${id},"result":null}`);
    await using server = await AppServer.start(
      command,
      { requestTimeoutMs: 60_000, maxUnread: 100 },
      signal,
    );
    expect(await server.request("account/read", {}, signal)).toEqual({});
  });
});
