import { lookup as resolveName } from "node:dns/promises";
import type { RequestOptions } from "node:http";
import { grants, OTHERS } from "@devtool/internal/file-access";
import { faultOfDirectory } from "../discovery/own-directory.ts";
import {
  AGENT_NAMES,
  type Agent,
  discoveryDirectories,
  type Environment,
} from "../discovery/places.ts";
import { probe } from "../transport/probe.ts";
import { type Candidate, readCandidates } from "./candidate.ts";
import {
  type AgentSurroundings,
  faultOf,
  inOrderOfChoice,
  refusalOf,
  strangerAt,
} from "./choose-candidate.ts";
import { VARIABLES_PATH, withVariables } from "./variables.ts";

const HERE = "127.0.0.1";

/** Where agents are started. */
export interface Surroundings {
  readonly cwd: string;
  readonly env: Environment;
  /** The user that runs them; undefined where there are no users. */
  readonly user: number | undefined;
  readonly isInContainer: boolean;
  /** The process that Gemini CLI takes for the editor; undefined: unknown. */
  readonly idePid: number | undefined;
  isRunning(pid: number): boolean;
  /** How names are resolved. Default: as the system does. */
  readonly lookup?: RequestOptions["lookup"];
}

/** What becomes of a discovery file, or of the variables of the terminal. */
export interface FoundFile {
  /** The path of the file, or the name of the variable with the port. */
  readonly path: string;
  /**
   * `chosen`: the agent connects by it. `broken`: the agent chooses it, and
   * cannot connect. `passed_over`: it would do, but another one is chosen.
   * `refused`: the agent does not consider it.
   */
  readonly verdict: "chosen" | "broken" | "passed_over" | "refused";
  /** Why, or for a chosen file to what it leads. */
  readonly says: string;
  /** What is wrong beside that. Empty: nothing. */
  readonly warning: string;
}

/** What an agent finds. */
export interface AgentReport {
  /** The name of the agent, for people. */
  readonly agent: string;
  readonly directory: string;
  readonly files: readonly FoundFile[];
}

/** Finds companions as each agent would, and says what becomes of each file. */
export async function findCompanions(
  surroundings: Surroundings,
): Promise<AgentReport[]> {
  const directories = discoveryDirectories(surroundings.env);
  const agents = ["gemini-cli", "qwen-code", "claude-code", "devtool"] as const;
  return await Promise.all(
    agents.map(async (agent) => ({
      agent: AGENT_NAMES[agent],
      directory: directories[agent],
      files: await findFiles(agent, directories[agent], surroundings),
    })),
  );
}

async function findFiles(
  agent: Agent,
  directory: string,
  surroundings: Surroundings,
): Promise<FoundFile[]> {
  const own: AgentSurroundings = { agent, ...surroundings };
  const found = await readCandidates(agent, directory, surroundings.user);
  const foreign = await faultOfDirectory(directory);
  const { order, refused } = sortOut(found, own, foreign);
  const host = await hostFor(agent, surroundings);
  const { lookup } = surroundings;
  const files: FoundFile[] = [];
  let isDone = false;
  for (const [index, candidate] of order.entries()) {
    const { port, token } = candidate;
    const fault = faultOf(candidate, own);
    const stranger =
      host === HERE ? strangerAt(candidate, surroundings) : undefined;
    const problem =
      fault ?? stranger ?? (await probe({ agent, host, port, token, lookup }));
    const verdict = isDone
      ? "passed_over"
      : problem === undefined
        ? "chosen"
        : "broken";
    // When it cannot connect, Qwen Code and devtool go on, and Gemini CLI to
    // variables.
    const goesOn =
      agent === "qwen-code" ||
      agent === "devtool" ||
      order[index + 1]?.path === VARIABLES_PATH;
    isDone ||= problem === undefined || !goesOn;
    // A fault stops Gemini CLI, also before variables.
    isDone ||= fault !== undefined && agent === "gemini-cli";
    const says =
      problem ?? `${candidate.editor || "an editor"} at ${host}:${port}`;
    files.push({
      path: candidate.path,
      verdict,
      says,
      warning: warningOf(candidate, foreign),
    });
  }
  return [
    ...files,
    ...refused.map(({ candidate, says }) => ({
      path: candidate.path,
      verdict: "refused" as const,
      says,
      warning: warningOf(candidate, foreign),
    })),
  ];
}

/**
 * Says what an agent tries, in its order, and why it does not consider others.
 * `foreign` says why the directory is not the user's own: only devtool minds.
 */
function sortOut(
  found: readonly Candidate[],
  own: AgentSurroundings,
  foreign: string | undefined,
) {
  const refused = found.flatMap((candidate) => {
    const minds = own.agent === "devtool" ? foreign : undefined;
    const says = minds ?? refusalOf(candidate, own);
    return says === undefined ? [] : [{ candidate, says }];
  });
  const considered = found.filter(
    (each) => !refused.some(({ candidate }) => candidate === each),
  );
  const files = inOrderOfChoice(considered, own);
  // Gemini CLI takes a file for other folders before the variables, and fails.
  const isStopped =
    files.length === 0 &&
    refused.some(
      ({ candidate: { unreadable, isLegacy } }) =>
        unreadable === undefined && !isLegacy,
    );
  const order =
    own.agent === "gemini-cli" && !isStopped
      ? withVariables(files, own.env)
      : files;
  return { order, refused };
}

function warningOf(
  { path, mode, unreadable }: Candidate,
  foreign: string | undefined,
): string {
  if (foreign !== undefined && path !== VARIABLES_PATH) return foreign;
  return unreadable === undefined && grants({ mode }, OTHERS)
    ? `other users can read its token (mode ${mode.toString(8)}): chmod 600 ${path}`
    : "";
}

/** Returns the host at which an agent looks for its editor. */
async function hostFor(
  agent: Agent,
  { env, isInContainer }: Surroundings,
): Promise<string> {
  const outside = "host.docker.internal";
  if (!isInContainer) return HERE;
  switch (agent) {
    case "gemini-cli":
      return env.SSH_CONNECTION ||
        env.REMOTE_CONTAINERS ||
        env.VSCODE_REMOTE_CONTAINERS_SESSION
        ? HERE
        : outside;
    case "qwen-code":
      return await resolveName(outside).then(
        () => outside,
        () => HERE,
      );
    case "claude-code":
    case "devtool":
      return HERE;
  }
}
