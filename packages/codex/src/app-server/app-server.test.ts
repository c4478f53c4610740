import { tmpdir } from "node:os";
import type { StdioCommand } from "@devtool/server/agent";
import { describe, expect, it } from "vitest";
import { AppServer } from "./app-server.ts";

const { signal } = new AbortController();

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
        `{"id":${id},"result":${method === "initialize" ? "{}" : `[${"0,".repeat(300_000)}0]`}}`,
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

  it("I37: answers a request with the digits of its id, on a line with others", async () => {
    const command = {
      ...commandOf(() => ""),
      args: [
        "-e",
        `let asked;
        require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
          const { id, method } = JSON.parse(line);
          if (method === "initialize") {
            console.log('{"id":' + id + ',"result":{}}');
          } else if (method === "model/list") {
            asked = id;
            console.log('{"method":"x"}{"id":9007199254740993,"method":"ask"}');
          } else if (method === undefined) {
            console.log(JSON.stringify({ id: asked, error: { message: line } }));
          }
        });`,
      ],
    };
    const limits = { requestTimeoutMs: 60_000, maxUnread: 100 };
    await using server = await AppServer.start(command, limits, signal);
    const ended = server.request("model/list", {}, signal);
    await expect(ended).rejects.toThrow('{"id":9007199254740993,');
  });

  it("I37: ends a request whose answer is broken, and shows the data of errors", async () => {
    const command = commandOf((id, method) =>
      method === "initialize"
        ? `{"id":${id},"result":{}}`
        : method === "account/read"
          ? `{"id":${id},"result":{`
          : `{"id":${id},"error":{"message":"no","data":{"why":"said"}}}`,
    );
    const limits = { requestTimeoutMs: 60_000, maxUnread: 100 };
    await using server = await AppServer.start(command, limits, signal);
    const broken = server.request("account/read", {}, signal);
    await expect(broken).rejects.toThrow("it is not JSON");
    const refused = server.request("model/list", {}, signal);
    await expect(refused).rejects.toThrow('no: {"why":"said"}');
  });

  it("B6: keeps the digits of numbers in what tools get and give", async () => {
    const command = commandOf(
      (id) =>
        `{"id":${id},"result":{"durationMs":9007199254740993,"arguments":{"n":9007199254740993},"result":{"structuredContent":{"n":1e400}}}}`,
    );
    await using server = await AppServer.start(
      command,
      { requestTimeoutMs: 60_000, maxUnread: 100 },
      signal,
    );
    await expect(server.request("account/read", {}, signal)).resolves.toEqual({
      durationMs: 9007199254740992,
      arguments: { n: "9007199254740993" },
      result: { structuredContent: { n: "1e400" } },
    });
  });

  it.each([
    ['"error":"plain"', 'invalid answer: "plain"'],
    ['"error":{"code":1}', 'invalid answer: {"code":1}'],
    ['"result":5', "invalid answer: 5"],
    ['"result":["a"]', 'invalid answer: ["a"]'],
    ['"jsonrpc":"2.0"', 'invalid answer: "no result"'],
    ['"error":{"message":"busy"},"result":{}', "busy"],
  ])("F10: ends a request that it answers with %s", async (members, error) => {
    const program = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const members = method === "initialize" ? '"error":null,"result":{}' : ${JSON.stringify(members)};
      console.log('{"id":"' + id + '",' + members + "}");
    });`;
    const command = { ...commandOf(() => ""), args: ["-e", program] };
    await using server = await AppServer.start(
      command,
      { requestTimeoutMs: 60_000, maxUnread: 100 },
      signal,
    );
    await expect(server.request("account/read", {}, signal)).rejects.toThrow(
      `Codex refused account/read: ${error}`,
    );
  });

  it("is read as empty where it answers with null", async () => {
    const command = commandOf((id) => `{"id":${id},"result":null}`);
    await using server = await AppServer.start(
      command,
      { requestTimeoutMs: 60_000, maxUnread: 100 },
      signal,
    );
    expect(await server.request("account/read", {}, signal)).toEqual({});
  });
});
