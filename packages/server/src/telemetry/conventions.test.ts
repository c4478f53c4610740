import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** Where the names of attributes are from. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  // open-telemetry/semantic-conventions-genai at CONVENTIONS_COMMIT: the
  // registries of `model/a2a`, `model/gen-ai` and `model/mcp`.
  genai: [
    "a2a.message.id",
    "a2a.method.name",
    "a2a.protocol.version",
    "a2a.task.id",
    "a2a.task.state",
    "a2a.tenant",
    "gen_ai.agent.name",
    "gen_ai.conversation.id",
    "gen_ai.input.messages",
    "gen_ai.operation.name",
    "gen_ai.output.messages",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.result",
    "gen_ai.tool.name",
    "gen_ai.tool.type",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "mcp.method.name",
  ],
  // open-telemetry/semantic-conventions 1.45.0.
  general: [
    "error.type",
    "http.request.method",
    "rpc.system.name",
    "server.address",
    "server.port",
    "session.id",
    "user.id",
  ],
  openInference: ["openinference.span.kind"],
  own: [
    "devtool.append.count",
    "devtool.append.duration",
    "devtool.approval.option",
    "devtool.approval.rule",
    "devtool.binding",
    "devtool.event.count",
    "devtool.outcome",
    "devtool.push.config.id",
    "devtool.sequence",
    "devtool.task.id",
  ],
};

const read = (name: string): string =>
  readFileSync(`${import.meta.dirname}/${name}`, "utf8");

describe("the names of attributes", () => {
  const known = Object.values(NAMES).flat().sort();

  it("are those of the conventions, and ours", () => {
    const named = read("conventions.ts").match(/(?<=^ {2}\| ")[\w.]+/gm);
    expect(named?.sort()).toEqual(known);
  });

  it("are the only ones that the code writes", () => {
    const source = readdirSync(import.meta.dirname)
      .filter((name) => /^(?!conventions)[\w-]+(?<!\.test)\.ts$/.test(name))
      .map(read)
      .join("\n");
    const written = new Set(
      source.match(/(?<=")(a2a|gen_ai|mcp|session|user|rpc)\.[\w.]+(?=")/g),
    );
    expect(written.size).toBeGreaterThan(20);
    expect([...written.difference(new Set(known))]).toEqual([]);
  });
});
