import { fileURLToPath } from "node:url";
import { textResult } from "@devtool/coding-agent/tool";
import { describe, expect, it } from "vitest";
import { nodeServer, serversOf, toolNamed } from "./servers.ts";

const PROGRAM = fileURLToPath(new URL("hesitant-server.ts", import.meta.url));

describe("a question of an MCP server that no longer needs an answer", () => {
  it.each([
    ["the server withdraws it", "regret", false],
    ["the server ends its call without the answer", "forget", true],
  ])("is withdrawn when %s", async (_when, name, isAtEnd) => {
    const signal = AbortSignal.timeout(60_000);
    const { servers } = serversOf([nodeServer("hesitant", [PROGRAM])]);
    await using _servers = servers;
    const tool = toolNamed(await servers.tools(signal), name);
    const { execute } = await tool.prepare({}, signal);
    const seen: string[] = [];
    for await (const event of execute(signal)) {
      seen.push(event.case);
      if (event.case === "question") {
        // As the scheduler does: the next event is read when the question ends.
        const { withdrawn } = event;
        if (!withdrawn.aborted) {
          await new Promise((resolve) =>
            withdrawn.addEventListener("abort", resolve),
          );
        }
        const why = String(withdrawn.reason);
        expect(why.includes("the call has ended")).toBe(isAtEnd);
      } else {
        expect(event).toEqual(textResult("done"));
      }
    }
    expect(seen).toEqual(["question", "result"]);
  });
});
