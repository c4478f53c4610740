import { grants, OTHERS } from "@devtool/internal/file-access";
import { isInside, realPathOrMissing } from "@devtool/internal/real-path";
import type { Agent, Environment } from "../discovery/places.ts";
import { usersAtPort } from "../transport/port-owner.ts";
import type { Candidate } from "./candidate.ts";

/** Where an agent is started. */
export interface AgentSurroundings {
  readonly agent: Agent;
  readonly cwd: string;
  readonly env: Environment;
  /** The user that runs it; undefined where there are no users. */
  readonly user?: number | undefined;
  /** The process that Gemini CLI takes for the editor; undefined: unknown. */
  readonly idePid: number | undefined;
  /** Whether a process runs. */
  isRunning(pid: number): boolean;
}

const PORT_VARIABLES: Readonly<Record<Agent, string>> = {
  "gemini-cli": "GEMINI_CLI_IDE_SERVER_PORT",
  "qwen-code": "QWEN_CODE_IDE_SERVER_PORT",
  "claude-code": "CLAUDE_CODE_SSE_PORT",
  devtool: "GEMINI_CLI_IDE_SERVER_PORT",
};

/**
 * Returns why an agent does not consider a file; undefined when it does, which
 * says nothing of whether it can connect.
 */
export function refusalOf(
  candidate: Candidate,
  surroundings: AgentSurroundings,
): string | undefined {
  const { unreadable, pid, isLegacy, path, mode } = candidate;
  const { agent, idePid, isRunning } = surroundings;
  if (unreadable !== undefined) return unreadable;
  if (agent === "devtool" && grants(candidate, OTHERS)) {
    return `other users can read or change it (mode ${mode.toString(8)}): chmod 600 ${path}`;
  }
  if (isLegacy) {
    return idePid !== undefined && pid !== idePid
      ? `Gemini CLI reads it only in the terminals of process ${pid}, and here of ${idePid}: remove it`
      : undefined;
  }
  const mismatch = mismatchOf(candidate, surroundings);
  if (mismatch !== undefined) return mismatch;
  return agent !== "gemini-cli" && pid > 0 && !isRunning(pid)
    ? `its process (${pid}) is gone: start the companion again`
    : undefined;
}

/**
 * Returns why an agent cannot use what it has chosen, before it connects.
 * Gemini CLI tries nothing else after that.
 */
export function faultOf(
  candidate: Candidate,
  surroundings: AgentSurroundings,
): string | undefined {
  const { agent, env } = surroundings;
  if (agent === "devtool") return strangerAt(candidate, surroundings);
  if (agent !== "gemini-cli") return undefined;
  return candidate.editor === "" && !isKnown(env)
    ? "it does not name its editor, and the terminal is of none that Gemini CLI knows: update the companion, or use the editor's own terminal"
    : mismatchOf(candidate, surroundings);
}

/**
 * Returns which other user listens where the companion should. Agents of others
 * do not look, and would give the token away.
 */
export function strangerAt(
  { port }: Pick<Candidate, "port">,
  { user }: Pick<AgentSurroundings, "user">,
): string | undefined {
  const other = usersAtPort(port)?.find((each) => each !== user);
  return other === undefined || user === undefined
    ? undefined
    : `a program of another user (${other}) listens at port ${port}: start the companion again`;
}

/** Returns why the folders of an editor are not those of an agent. */
function mismatchOf(
  { folders }: Candidate,
  { cwd }: AgentSurroundings,
): string | undefined {
  if (folders.length === 0) return "no folder is open in the editor: open one";
  const here = realPathOrMissing(cwd);
  return folders.some((folder) => isInside(realPathOrMissing(folder), here))
    ? undefined
    : `it is for ${folders.map((folder) => `"${folder}"`).join(", ")}: run the agent there, or open "${cwd}" in the editor`;
}

/** Whether Gemini CLI knows the editor by the terminal. */
function isKnown(env: Environment): boolean {
  return (
    ["vscode", "sublime", "Zed"].includes(env.TERM_PROGRAM ?? "") ||
    Boolean(env.ZED_SESSION_ID || env.XCODE_VERSION_ACTUAL) ||
    /jetbrains/i.test(env.TERMINAL_EMULATOR ?? "")
  );
}

/**
 * Sorts the files that an agent considers: it takes the first one. Gemini CLI
 * tries no other file after that.
 */
export function inOrderOfChoice(
  candidates: readonly Candidate[],
  { agent, env, idePid, isRunning }: AgentSurroundings,
): Candidate[] {
  const port = Number(env[PORT_VARIABLES[agent]]);
  const ranks = (candidate: Candidate): readonly number[] => {
    const isPort = Number(candidate.port === port);
    if (agent !== "gemini-cli") return [isPort, candidate.writtenAtMs];
    const isEditor = Number(candidate.pid === idePid);
    const isFirst = Number(candidate.isLegacy && isEditor === 1);
    const isAlive = Number(isRunning(candidate.pid));
    return [isFirst, isPort, isEditor, isAlive, candidate.pid];
  };
  return [...candidates].sort((one, other) => {
    const [left, right] = [ranks(one), ranks(other)];
    const at = left.findIndex((rank, index) => rank !== right[index]);
    return at < 0 ? 0 : (right[at] ?? 0) - (left[at] ?? 0);
  });
}
