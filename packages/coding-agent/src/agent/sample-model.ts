import { Role } from "@devtool/schema";
import { textMessage } from "../tool/message-text.ts";
import type { SampleRequest, SampleResponse } from "../tool/tool.ts";
import type { AgentModel, StepRequest } from "./model.ts";

/** The turn that pays for a request to a model, and the model that it chose. */
export type StepTurn = Pick<
  StepRequest,
  "beginStep" | "model" | "traceContext"
>;

/**
 * Asks a model on behalf of an MCP server (sampling).
 *
 * Each request is a conversation of its own, without tools, workspace or memory
 * files. Throws the errors of the model.
 */
export async function sampleModel(
  model: AgentModel,
  { systemPrompt, messages }: SampleRequest,
  turn: StepTurn,
  signal: AbortSignal,
): Promise<SampleResponse> {
  const request: StepRequest = {
    ...turn,
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
  };
  let text = "";
  for await (const event of model.generate(request, signal)) {
    if (event.case === "text") text += event.value;
  }
  return { model: turn.model || model.name, text };
}
