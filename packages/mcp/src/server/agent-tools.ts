import { hash } from "node:crypto";
import type { Tool } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { PortAgent } from "./port.ts";

/** The tools beside those of the agents. */
export const TASK_TOOLS = {
  wait: "task_wait",
  answer: "task_answer",
  cancel: "task_cancel",
} as const;

const taskId = z
  .string()
  .min(1)
  .describe("The id of the task, as a result names it.");

/** A file for an agent: its content, or where it is. */
export interface GivenFile {
  readonly name?: string | undefined;
  readonly mimeType?: string | undefined;
  /** In base64. */
  readonly data?: string | undefined;
  readonly uri?: string | undefined;
}

/** The arguments of an agent's tool. */
export const AgentArguments: z.ZodType<{
  readonly prompt: string;
  readonly taskId?: string | undefined;
  readonly workspace?: string | undefined;
  readonly files?: readonly GivenFile[] | undefined;
}> = z.strictObject({
  prompt: z
    .string()
    .min(1)
    .describe("What the agent shall do, with all that it has to know."),
  taskId: taskId
    .optional()
    .describe(
      "A task to go on with: the agent remembers what was said and done in it. Left out: a new task.",
    ),
  workspace: z
    .string()
    .optional()
    .describe(
      "Absolute path of the directory to work in. Left out: the server's default. A task keeps its own.",
    ),
  files: z
    .array(
      z
        .strictObject({
          name: z.string().optional(),
          mimeType: z.string().optional(),
          data: z.base64().min(1).optional(),
          uri: z.url().optional(),
        })
        .refine(
          ({ data, uri }) => (data === undefined) !== (uri === undefined),
          {
            error: "a file has data or a uri, and not both",
          },
        ),
    )
    .optional()
    .describe(
      "Files that belong to the prompt, such as images: each with its content in base64 (data) or with its address (uri).",
    ),
});

/** The arguments of `task_wait` and `task_cancel`. */
export const TaskArguments: z.ZodType<{ readonly taskId: string }> =
  z.strictObject({ taskId });

/** The arguments of `task_answer`. */
export const AnswerArguments: z.ZodType<{
  readonly taskId: string;
  readonly question: string;
  readonly option: string;
  readonly text?: string | undefined;
}> = z.strictObject({
  taskId,
  question: z.string().min(1).describe("The id of the question."),
  option: z
    .string()
    .min(1)
    .describe("The id of one of the options of the question."),
  text: z
    .string()
    .optional()
    .describe("Words to the agent, where the question asks for them."),
});

/** What every tool returns beside its text, as JSON Schema. */
const RESULT_SCHEMA = {
  type: "object",
  required: ["taskId", "state", "text", "questions"],
  properties: {
    taskId: { type: "string" },
    state: {
      type: "string",
      description:
        "submitted or working: the agent works on; input-required: it waits; completed, failed, canceled or rejected: it has ended.",
    },
    text: { type: "string", description: "What the agent says." },
    questions: {
      type: "array",
      description: "The questions that wait for an answer.",
      items: {
        type: "object",
        required: ["id", "text", "options"],
        properties: {
          id: { type: "string" },
          text: { type: "string" },
          options: {
            type: "array",
            items: {
              type: "object",
              required: ["id", "name"],
              properties: {
                id: { type: "string" },
                name: { type: "string" },
              },
            },
          },
          path: {
            type: "array",
            description:
              "Through whom the question came: the agent that was called, then what it names itself: the agents below it, and the tool that asks. Left out: the agent of the task asks.",
            items: { type: "string" },
          },
        },
      },
    },
  },
} as const;

/**
 * Lists the tools of a host: one for each agent, and those for its tasks. A
 * host that asks its user itself gets no tool with which its model could answer
 * in the user's place.
 */
export function listTools(
  agents: readonly PortAgent[],
  { asksUser }: { readonly asksUser: boolean },
): Tool[] {
  return [
    ...agents.map(agentTool),
    {
      name: TASK_TOOLS.wait,
      title: "Wait for a task",
      description:
        "Waits until the task of an agent has ended or asks something, at most about 45 seconds. Call it again while the state is working.",
      inputSchema: schemaOf(TaskArguments),
      outputSchema: RESULT_SCHEMA,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    ...(asksUser
      ? []
      : [
          {
            name: TASK_TOOLS.answer,
            title: "Answer a question",
            description:
              "Answers a question of an agent, such as whether it may run a command. Show your user the whole question first, and answer as your user says.",
            inputSchema: schemaOf(AnswerArguments),
            outputSchema: RESULT_SCHEMA,
            annotations: { readOnlyHint: false, destructiveHint: true },
          },
        ]),
    {
      name: TASK_TOOLS.cancel,
      title: "Cancel a task",
      description: "Stops the agent that works on a task.",
      inputSchema: schemaOf(TaskArguments),
      outputSchema: RESULT_SCHEMA,
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: true,
      },
    },
  ];
}

/** Returns the agent whose tool has a name; undefined if none has. */
export function agentOfTool(
  agents: readonly PortAgent[],
  tool: string,
): PortAgent | undefined {
  return agents.find((agent) => toolName(agent) === tool);
}

function agentTool(agent: PortAgent): Tool {
  const skills = agent.skills.map(
    ({ name, description }) => `- ${name}: ${description}`,
  );
  const description = [
    agent.description,
    ...(skills.length > 0 ? [`Skills:\n${skills.join("\n")}`] : []),
    "The agent works on its own and may ask your user. Its result names its task: one that is still working goes on when this call returns, and task_wait waits for it. To withdraw this call cancels the task.",
  ].join("\n\n");
  return {
    name: toolName(agent),
    title: agent.displayName,
    description,
    inputSchema: schemaOf(AgentArguments),
    outputSchema: RESULT_SCHEMA,
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
  };
}

/** The maximum length of an agent's name in that of its tool, in characters. */
const MAX_NAME_LENGTH = 48;

/**
 * Returns the name of an agent's tool: `agent_` and its name, in the characters
 * that all hosts take.
 */
function toolName({ name, displayName }: PortAgent): string {
  const words = name || displayName.toLowerCase();
  const safe = words.replaceAll(/[^A-Za-z0-9_-]+/g, "_");
  if (safe.length <= MAX_NAME_LENGTH) return `agent_${safe}`;
  // Two long names may begin alike.
  const ending = `_${hash("sha256", words).slice(0, 8)}`;
  return `agent_${safe.slice(0, MAX_NAME_LENGTH - ending.length)}${ending}`;
}

/** The part of JSON Schema that arguments have in MCP. */
const ObjectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.json()),
  required: z.array(z.string()).optional(),
});

function schemaOf(schema: z.ZodType): Tool["inputSchema"] {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema);
  return ObjectSchema.parse(rest);
}
