import { hash } from "node:crypto";
import { posix } from "node:path";
import { holdsUser } from "@devtool/internal/shown-url";
import { quoted } from "@devtool/server/agent";
import { parse } from "yaml";
import * as z from "zod";
import { AGENT_DIRECTORY } from "../trust/config-files.ts";
import type { RemoteAgent } from "./remote-agents.ts";

/** A file of the directory `.gemini/agents`, by its path. */
export type AgentFile = readonly [path: string, content: Buffer];

/** An agent that a file describes, and that works in our own loop. */
export interface LocalAgent {
  readonly name: string;
  readonly description: string;
  /** What the agent is told before its task. */
  readonly instructions: string;
  /** The tools that it has; undefined for all of the task that calls it. */
  readonly tools: readonly string[] | undefined;
  /** The maximum time of a call, in minutes. Default: that of any turn. */
  readonly timeoutMinutes: number | undefined;
  readonly path: string;
  /** SHA-256 of the file, in hex. */
  readonly digest: string;
}

/** The agents of files, and why others cannot be used. */
export interface FileAgents {
  readonly remote: readonly RemoteAgent[];
  readonly local: readonly LocalAgent[];
  /** A sentence for each file that is left out, or a field that has no effect. */
  readonly problems: readonly string[];
}

/** The maximum number of files that are read. */
const MAX_FILES = 100;

const COMMON = {
  name: z.string().regex(/^[a-z0-9-_]{1,50}$/),
  description: z.string().optional(),
  display_name: z.string().optional(),
};
const Remote = z.strictObject({
  ...COMMON,
  kind: z.literal("remote"),
  agent_card_url: z.url({ protocol: /^https?$/ }).optional(),
  agent_card_json: z.string().optional(),
  auth: z.looseObject({ type: z.string() }).optional(),
});
const Local = z.strictObject({
  ...COMMON,
  kind: z.literal("local").optional(),
  tools: z.array(z.string()).optional(),
  mcp_servers: z.unknown().optional(),
  model: z.string().optional(),
  temperature: z.number().optional(),
  max_turns: z.number().optional(),
  timeout_mins: z
    .number()
    .positive()
    .max(24 * 60)
    .optional(),
});
const BearerAuth = z.strictObject({
  type: z.literal("http"),
  scheme: z.string().regex(/^bearer$/i),
  token: z.string().min(1),
});
/** What a card says of where its agent is, in A2A 1.0 and 0.3. */
const Card = z.looseObject({
  supportedInterfaces: z.array(z.looseObject({ url: z.url() })).optional(),
  url: z.url().optional(),
});

/**
 * Reads the agents of Gemini CLI's files: Markdown with YAML in front, of the
 * kinds `remote`, of which one file may hold a list, and `local`. A file that
 * cannot be used costs only itself.
 *
 * Nothing in a file is replaced by a variable of the environment.
 */
export function readAgentFiles(files: readonly AgentFile[]): FileAgents {
  const remote: RemoteAgent[] = [];
  const local: LocalAgent[] = [];
  const problems: string[] = [];
  if (files.length > MAX_FILES) {
    problems.push(`${files.length} agent files: only ${MAX_FILES} are used`);
  }
  for (const [path, content] of files.slice(0, MAX_FILES)) {
    try {
      const [, head, body = ""] =
        /^---\r?\n([\s\S]*?)^---[ \t]*\r?\n?([\s\S]*)$/m.exec(
          content.toString("utf8").replace(/^\uFEFF/, ""),
        ) ?? [];
      if (head === undefined)
        throw new Error("it has no YAML between --- lines");
      const fields: unknown = parse(head, { maxAliasCount: 0 });
      if (Array.isArray(fields) || Object(fields).kind === "remote") {
        remote.push(...[fields].flat().map(remoteAgent));
        continue;
      }
      const read = Local.parse(fields);
      local.push(localAgent(read, body.trim(), { path, content }));
      const unused = (["model", "temperature", "max_turns"] as const).filter(
        (name) => read[name] !== undefined && read[name] !== "inherit",
      );
      if (unused.length > 0) {
        problems.push(
          `agent file ${quoted(path)}: ${unused.join(", ")} has no effect here`,
        );
      }
    } catch (reason) {
      problems.push(
        `agent file ${quoted(path)} is left out: ${problemOf(reason)}`,
      );
    }
  }
  return { remote, local, problems };
}

function remoteAgent(value: unknown): RemoteAgent {
  const { name, description = "", auth, ...card } = Remote.parse(value);
  const { agent_card_url: url, agent_card_json: json } = card;
  if ((url === undefined) === (json === undefined)) {
    throw new Error(
      `agent ${quoted(name)} needs agent_card_url or agent_card_json, and not both`,
    );
  }
  const bearer = auth && BearerAuth.safeParse(auth);
  if (bearer && !bearer.success) {
    throw new Error(
      `agent ${quoted(name)} has auth of a type that is not supported here: write type http, scheme Bearer and a token, or name the agent in [[remote_agents]] with a token_file`,
    );
  }
  const token = bearer?.data.token;
  if (token !== undefined && /^[$!]/.test(token)) {
    throw new Error(
      `agent ${quoted(name)} takes its token from a variable or a command, which no file of a repository may: name the agent in [[remote_agents]] with a token_file`,
    );
  }
  const place = url ?? placeOf(json ?? "");
  if (holdsUser(place)) {
    throw new Error(
      `agent ${quoted(name)} has a user name or a password in its URL: leave them out, and write auth of type http, scheme Bearer and a token`,
    );
  }
  return {
    name,
    description,
    url: place,
    ...(token !== undefined && { token }),
  };
}

/** Returns where the agent of a card is, whose own card is then read there. */
function placeOf(json: string): string {
  const { supportedInterfaces: [first] = [], url } = Card.parse(
    JSON.parse(json),
  );
  const place = first?.url ?? url;
  if (place === undefined) throw new Error("agent_card_json names no URL");
  return place;
}

function localAgent(
  { name, description = "", tools, ...fields }: z.infer<typeof Local>,
  instructions: string,
  { path, content }: { readonly path: string; readonly content: Buffer },
): LocalAgent {
  if (fields.mcp_servers !== undefined) {
    throw new Error(
      "it brings mcp_servers, which no file of a repository may: put them into [[mcp_servers]]",
    );
  }
  if (instructions === "") {
    throw new Error("it has no text: say what the agent is told");
  }
  const all = tools === undefined || tools.includes("*");
  const odd = tools?.find((tool) => tool !== "*" && !/^[\w-]+$/.test(tool));
  if (odd !== undefined || tools?.length === 0) {
    throw new Error(
      `tools has ${odd === undefined ? "nothing" : quoted(odd)}: give names of tools, or "*" for all`,
    );
  }
  return {
    name,
    description,
    instructions,
    tools: all ? undefined : tools,
    timeoutMinutes: fields.timeout_mins,
    path,
    digest: hash("sha256", content),
  };
}

function problemOf(reason: unknown): string {
  if (reason instanceof z.ZodError) {
    const [issue] = reason.issues;
    return `${issue?.path.join(".") || "its fields"}: ${issue?.message ?? ""}`;
  }
  const { message } = reason instanceof Error ? reason : { message: "" };
  return message.split("\n", 1)[0] ?? "";
}

/** Whether a path is that of an agent file of a workspace. */
export function isAgentFile(path: string): boolean {
  return posix.dirname(path) === AGENT_DIRECTORY && path.endsWith(".md");
}
