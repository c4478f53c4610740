import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whose files lead agents to a companion. */
export type Agent = "gemini-cli" | "qwen-code" | "claude-code" | "devtool";

/** The agents, each with the directory in which it looks for files. */
export function discoveryDirectories(
  env: Environment,
): Readonly<Record<Agent, string>> {
  const home = env.HOME || homedir();
  const gemini = join(env.TMPDIR || tmpdir(), "gemini", "ide");
  return {
    "gemini-cli": gemini,
    // It reads the files that every companion writes for Gemini CLI.
    devtool: gemini,
    "qwen-code": join(env.QWEN_HOME || join(home, ".qwen"), "ide"),
    "claude-code": join(env.CLAUDE_CONFIG_DIR || join(home, ".claude"), "ide"),
  };
}

const GEMINI_FILE = /^gemini-ide-server-(?<pid>\d+)(?:-(?<port>\d+))?\.json$/;

/** The names of files in each directory. */
export const FILE_NAMES: Readonly<Record<Agent, RegExp>> = {
  "gemini-cli": GEMINI_FILE,
  devtool: GEMINI_FILE,
  "qwen-code": /^(?<port>\d+)\.lock$/,
  "claude-code": /^(?<port>\d+)\.lock$/,
};

/** Returns the name of an agent for people. */
export const AGENT_NAMES: Readonly<Record<Agent, string>> = {
  "gemini-cli": "Gemini CLI",
  devtool: "devtool",
  "qwen-code": "Qwen Code",
  "claude-code": "Claude Code",
};
