import { Role } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../agent/model.ts";
import type { McpPrompt } from "../tool/mcp.ts";
import { optional, required } from "./arguments.ts";
import { createPromptCommands, type PromptServers } from "./prompt-commands.ts";

const { signal } = new AbortController();
const context = { workspacePath: "/w", contextId: "", principal: "" };

describe("the prompts of MCP servers", () => {
  let notices: string[];
  beforeEach(() => {
    notices = [];
  });
  const weather: McpPrompt = {
    server: "every thing",
    name: "weather report",
    description: "Reports the weather",
    arguments: [required("city", "where"), optional("unit", "C or F")],
    get: async (args) => [
      { role: "user", text: `Weather of ${args.city} in ${args.unit ?? "C"}?` },
      { role: "assistant", text: "Sunny, as always." },
    ],
  };

  it("become commands named by server and prompt, each as one word", async () => {
    const { commands } = await find({ prompts: async () => [weather] });
    expect(commands).toMatchObject([
      {
        path: ["every-thing", "weather-report"],
        description: "Reports the weather",
        arguments: weather.arguments,
      },
    ]);
  });

  it("send the model their messages, read once for all steps", async () => {
    let filled = 0;
    const get: McpPrompt["get"] = (args, waiting) => {
      filled++;
      return weather.get(args, waiting);
    };
    const { commands } = await find({
      prompts: async () => [{ ...weather, get }],
    });
    const model = commands[0]?.play('unit=F "New York"', context);
    const request = {
      history: [],
      tools: [],
      workspacePath: "/w",
      instructions: async () => "",
      beginStep: () => () => undefined,
      traceContext: () => undefined,
      model: "",
    };
    for (const _step of [1, 2]) {
      for await (const event of model?.generate(request, signal) ?? []) {
        expect(event).toEqual({
          case: "text",
          value: "user: Weather of New York in F? / agent: Sunny, as always.",
        });
      }
    }
    expect(filled).toBe(1);
  });

  it("do not start without a required argument", async () => {
    const { commands } = await find({ prompts: async () => [weather] });
    expect(() => commands[0]?.play("unit=F", context)).toThrow(
      "<city> is missing: where",
    );
  });

  it("are missing with a notice when the servers fail, and internal errors are reported to the operator", async () => {
    const found = await find({
      prompts: () => Promise.reject(new Error("no")),
    });
    expect(found).toEqual({
      commands: [],
      notices: [
        expect.stringContaining("the prompts of MCP servers are missing"),
      ],
    });
    expect(notices).toEqual([
      expect.stringMatching(
        /^finding prompts failed inside the server: \{"workspace":"\/w","error":"Error","at":/,
      ),
    ]);
    await find({
      prompts: () =>
        Promise.reject(
          new DevtoolError("the server is away", Code.Unavailable),
        ),
    });
    expect(notices).toHaveLength(1);
  });

  function find(servers: PromptServers) {
    const onNotice = (text: string): unknown => notices.push(text);
    return createPromptCommands({ servers, model: echo(), onNotice }).find(
      { workspacePath: "/w", principal: "me" },
      signal,
    );
  }
});

/** Creates a model that repeats its messages. */
function echo(): Model {
  return {
    name: "echo",
    async *generate({ history }) {
      const said = history.map(
        ({ role, parts }) =>
          `${Role[role].toLowerCase()}: ${parts[0]?.content.value}`,
      );
      yield { case: "text", value: said.join(" / ") };
    },
  };
}
