import { expect } from "vitest";
import { modernMeta, type RawHost } from "../mcp/raw-host.ts";

/** A host that cannot run in our tests, by what it sends first. */
export interface StandIn {
  readonly name: string;
  readonly revision: "2025-11-25" | "2026-07-28";
  readonly capabilities: object;
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** What it adds to the `_meta` of a call. */
  readonly meta?: object;
  /** How it learns what its user answers: in a form, or from its model. */
  readonly asks: "form" | "model";
}

/**
 * The hosts, as traces of them on public pages show them in autumn 2026. Cursor
 * sends capabilities that only servers have, VS Code those of the tasks of 2025.
 */
export const STAND_INS: readonly StandIn[] = [
  {
    name: "Claude Code 2.1.293",
    revision: "2026-07-28",
    capabilities: {
      roots: { listChanged: true },
      elicitation: { form: {}, url: {} },
    },
    clientInfo: { name: "claude-code", version: "2.1.293" },
    asks: "form",
  },
  {
    name: "Claude Code 2.1.163 in an agent's session, which has no forms",
    revision: "2025-11-25",
    capabilities: { roots: { listChanged: true } },
    clientInfo: { name: "claude-code", version: "2.1.163" },
    asks: "model",
  },
  {
    name: "Cursor 3.20.17",
    revision: "2025-11-25",
    capabilities: {
      tools: true,
      prompts: true,
      resources: true,
      logging: false,
      elicitation: {},
      roots: { listChanged: false },
    },
    clientInfo: { name: "cursor-vscode", version: "1.0.0" },
    asks: "form",
  },
  {
    name: "VS Code 1.140.0",
    revision: "2025-11-25",
    capabilities: {
      roots: { listChanged: true },
      sampling: {},
      elicitation: { form: {}, url: {} },
      tasks: {
        list: {},
        cancel: {},
        requests: {
          sampling: { createMessage: {} },
          elicitation: { create: {} },
        },
      },
      extensions: {
        "io.modelcontextprotocol/ui": {
          mimeTypes: ["text/html;profile=mcp-app"],
        },
      },
    },
    clientInfo: { name: "Visual Studio Code", version: "1.140.0" },
    meta: {
      progressToken: "8ff26c2f-6d0b-4a1e-8f2b-0b5f1f9d9c51",
      "vscode.conversationId": "1c7f2a40-52f3-4fd6-9a53-5c1f3d8b6a11",
      "vscode.requestId": "request_1",
    },
    asks: "form",
  },
];

/** A call that waits for the host's user. */
interface AskedCall {
  /** What the user is shown. */
  readonly text: string;
  /** Approves, and returns the structured content of the call's result. */
  approve(): Promise<unknown>;
}

const APPROVE = { action: "accept", content: { answer: "proceed_once" } };

/** A stand-in that has begun. */
interface BegunHost {
  /** Calls a tool that asks the host's user. */
  call(name: string, args: object): Promise<AskedCall>;
  /** The id of the task that changed last. */
  newestTaskId(): Promise<string>;
}

/** Begins as the host does. */
export async function beginAs(
  { revision, capabilities, clientInfo, meta, asks }: StandIn,
  raw: RawHost,
): Promise<BegunHost> {
  const isModern = revision === "2026-07-28";
  const _meta = {
    ...meta,
    ...(isModern && modernMeta(capabilities, clientInfo)),
  };
  if (isModern) {
    const { result } = await raw.request("server/discover", { _meta });
    expect(result.supportedVersions).toContain(revision);
  } else {
    const params = { protocolVersion: revision, capabilities, clientInfo };
    const { result } = await raw.request("initialize", params);
    expect(result.protocolVersion).toBe(revision);
    raw.notify("notifications/initialized");
  }
  // Hosts ask for lists that a server does not say it has.
  expect((await raw.request("prompts/list", { _meta })).error.code).toBe(
    -32_601,
  );
  const { result } = await raw.request("tools/list", { _meta });
  const tools = result.tools.map(({ name }: { name: string }) => name);
  expect(tools.includes("task_answer")).toBe(asks === "model");
  const request = async (params: object) =>
    (await raw.request("tools/call", { ...params, _meta })).result;

  const call: BegunHost["call"] = async (name, args) => {
    const params = { name, arguments: args };
    if (asks === "form" && !isModern) {
      const id = raw.send("tools/call", { ...params, _meta });
      const asked = await raw.asked("elicitation/create");
      return {
        text: asked.params.message,
        approve: async () => {
          raw.write({ jsonrpc: "2.0", id: asked.id, result: APPROVE });
          return (await raw.response(id)).result.structuredContent;
        },
      };
    }
    const answer = await request(params);
    if (asks === "model") {
      const { taskId, questions } = answer.structuredContent;
      const [{ id: question, text }] = questions;
      const given = { taskId, question, option: "proceed_once" };
      const answering = { name: "task_answer", arguments: given };
      return {
        text,
        approve: async () => (await request(answering)).structuredContent,
      };
    }
    const { inputRequests, requestState } = answer;
    const [key = ""] = Object.keys(inputRequests);
    const inputResponses = { [key]: APPROVE };
    return {
      text: inputRequests[key].params.message,
      approve: async () =>
        (await request({ ...params, inputResponses, requestState }))
          .structuredContent,
    };
  };
  const newestTaskId = async () =>
    (await raw.request("resources/list", { _meta })).result.resources[0].name;
  return { call, newestTaskId };
}
