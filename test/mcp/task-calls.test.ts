import { fileURLToPath } from "node:url";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Tool } from "@devtool/coding-agent/tool";
import type { McpServers } from "@devtool/mcp/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  errorOf,
  nodeServer,
  play,
  serversOf,
  textOf,
  toolNamed,
} from "./servers.ts";

const PROGRAM = fileURLToPath(new URL("task-server.ts", import.meta.url));
const signal = AbortSignal.timeout(300_000);

describe("a call that its server makes a task (SEP-2663)", () => {
  let servers: McpServers;
  let tools: readonly Tool[];

  beforeAll(async () => {
    servers = serversOf([
      nodeServer("tasks", ["--experimental-transform-types", PROGRAM]),
    ]).servers;
    tools = await servers.tools(signal);
  });
  afterAll(() => servers[Symbol.asyncDispose]());

  it("is of a tool that is offered to clients alone that declare the Tasks extension", () => {
    const names = tools.map(({ declaration }) => declaration.name);
    expect(names).toContain("mcp__tasks__ask");
  });

  it("asks the user once, sends the answer, and has the result of the task", async () => {
    const asked: string[] = [];
    const played = await play(
      toolNamed(tools, "__ask"),
      {},
      signal,
      (question) => {
        asked.push(JSON.stringify(question.details));
        return { optionId: "proceed_once", text: "Ada" };
      },
    );
    expect(textOf(played)).toBe(
      'hello {"action":"accept","content":{"name":"Ada"}}',
    );
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("Who are you?");
    const shown = played.events.flatMap((event) =>
      event.case === "progress" ? [event.value.text] : [],
    );
    expect(shown[0]).toBe("is working");
    const log = await logged();
    expect(log.filter((entry) => entry.method === "tasks/update")).toHaveLength(
      1,
    );
  });

  it("fails with the error of the task", async () => {
    const played = await play(toolNamed(tools, "__fail"), {}, signal);
    expect(errorOf(played)).toMatchObject({
      type: "mcp_tool_error",
      message: "no paper",
    });
  });

  it("cancels the task when it is cancelled", async () => {
    await logged();
    const cancel = new AbortController();
    const invocation = await toolNamed(tools, "__slow").prepare({}, signal);
    await expect(async () => {
      for await (const event of invocation.execute(cancel.signal)) {
        if (event.case === "progress") cancel.abort();
      }
    }).rejects.toThrow();
    expect(await logged()).toContainEqual({
      method: "tasks/cancel",
      taskId: "slow",
    });
  });

  it("cancels a task that asks more than 100 questions, and asks none", async () => {
    await logged();
    const played = await play(toolNamed(tools, "__many"), {}, signal, () => {
      throw new Error("asked");
    });
    expect(errorOf(played)).toMatchObject({
      message: expect.stringContaining("asks more than 100 questions"),
    });
    expect(await logged()).toContainEqual({
      method: "tasks/cancel",
      taskId: "many",
    });
  });

  it("withdraws a question that the server asks no more", async () => {
    const events: string[] = [];
    const invocation = await toolNamed(tools, "__gone").prepare({}, signal);
    for await (const event of invocation.execute(signal)) {
      if (event.case === "question") {
        event.withdrawn.addEventListener("abort", () =>
          events.push("withdrawn"),
        );
      }
      events.push(event.case === "progress" ? event.value.text : event.case);
    }
    const at = events.indexOf("withdrawn");
    expect(events.slice(0, at)).toContain("question");
    expect(events.slice(at)).toEqual(["withdrawn", "is working", "result"]);
  });

  it("does not end at the timeout of a call while its server answers", async () => {
    const { servers: impatient } = serversOf([
      nodeServer("tasks", ["--experimental-transform-types", PROGRAM], {
        callTimeout: durationFromMs(1500),
      }),
    ]);
    await using _servers = impatient;
    const tool = toolNamed(await impatient.tools(signal), "__gone");
    expect(textOf(await play(tool, {}, signal))).toBe("without you");
  });

  interface Logged {
    readonly method?: string;
    readonly taskId?: string;
  }

  async function logged(): Promise<readonly Logged[]> {
    const played = await play(toolNamed(tools, "__log"), {}, signal);
    return JSON.parse(textOf(played));
  }
});
