import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whose files lead agents to a companion. */
export type Agent = "gemini-cli" | "qwen-code" | "claude-code";

/** The agents, each with the directory in which it looks for files. */
export function discoveryDirectories(
  env: Environment,
): Readonly<Record<Agent, string>> {
  const home = env.HOME || homedir();
  return {
    "gemini-cli": join(env.TMPDIR || tmpdir(), "gemini", "ide"),
    "qwen-code": join(env.QWEN_HOME || join(home, ".qwen"), "ide"),
    "claude-code": join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), "ide"),
  };
}

/** The names of files in each directory. */
export const FILE_NAMES: Readonly<Record<Agent, RegExp>> = {
  "gemini-cli": /^gemini-ide-server-(?<pid>\d+)(?:-(?<port>\d+))?\.json$/,
  "qwen-code": /^(?<port>\d+)\.lock$/,
  "claude-code": /^(?<port>\d+)\.lock$/,
};

/** Returns the name of an agent for people. */
export const AGENT_NAMES: Readonly<Record<Agent, string>> = {
  "gemini-cli": "Gemini CLI",
  "qwen-code": "Qwen Code",
  "claude-code": "Claude Code",
};
