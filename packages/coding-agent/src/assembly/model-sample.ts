import { Role } from "@devtool/schema";
import type { Model } from "../agent/model.ts";
import type { Sample } from "../tool/mcp.ts";
import { textMessage } from "../tool/message-text.ts";

/**
 * Creates the function with which MCP servers ask a model (sampling).
 *
 * Each request is a conversation of its own, without tools, workspace or memory
 * files.
 */
export function modelSample(model: Model): Sample {
  return async ({ systemPrompt, messages }, signal) => {
    const request = {
      history: messages.map(({ role, text }, index) =>
        textMessage(
          role === "user" ? Role.USER : Role.AGENT,
          text,
          `sample-${index}`,
        ),
      ),
      tools: [],
      workspacePath: "",
      instructions: async () => systemPrompt,
      model: "",
    };
    let text = "";
    for await (const event of model.generate(request, signal)) {
      if (event.case === "text") text += event.value;
    }
    return { model: model.name, text };
  };
}
