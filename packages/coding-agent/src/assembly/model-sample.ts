import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema, Role } from "@devtool/schema";
import type { Model } from "../agent/model.ts";
import type { Sample } from "../tool/mcp.ts";

/** Asks a model what an MCP server wants to know, as a conversation of its own: without tools, workspace or memory. */
export function modelSample(model: Model): Sample {
  return async ({ systemPrompt, messages }, signal) => {
    const history = messages.map(({ role, text }, index) => messageOf(index, role, text));
    const request = { history, tools: [], workspacePath: "", instructions: async () => systemPrompt, model: "" };
    let text = "";
    for await (const event of model.generate(request, signal)) if (event.case === "text") text += event.value;
    return { model: model.name, text };
  };
}

function messageOf(index: number, role: "user" | "assistant", text: string): Message {
  return create(MessageSchema, {
    messageId: `sample-${index}`,
    role: role === "user" ? Role.USER : Role.AGENT,
    parts: [{ content: { case: "text", value: text } }],
  });
}
