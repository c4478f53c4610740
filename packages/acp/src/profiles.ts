/**
 * The profile of an agent that speaks the Agent Client Protocol: how to start
 * it, and how it differs from others.
 */
export interface AcpProfile {
  /** The name on command lines: `gemini`. */
  readonly name: string;
  /** The name for people: `Gemini CLI`. */
  readonly title: string;
  /** The program, as it is looked up in PATH. */
  readonly program: string;
  /** The arguments that make the program speak ACP. */
  readonly args: readonly string[];
  /**
   * The variables of the operator's environment that the agent gets: names, or
   * beginnings of names that end in `*`.
   */
  readonly variables: readonly string[];
  /** The command that installs the program. */
  readonly install: string;
  /** How its user logs in, once, outside of devtool. */
  readonly login: string;
  /**
   * The session mode in which the agent asks before it acts. Undefined if it
   * asks in the mode that it starts in.
   */
  readonly askingMode: string | undefined;
  /**
   * The differences from other agents, for the documentation. Empty if none are
   * known.
   */
  readonly notes: readonly string[];
  /** Why our tests do not run the agent. Undefined if they do. */
  readonly untested: string | undefined;
}

const DEFAULTS = {
  askingMode: undefined,
  notes: [],
  untested: undefined,
} as const;

/** The agents that have a name. */
export const ACP_PROFILES: readonly AcpProfile[] = [
  {
    ...DEFAULTS,
    name: "gemini",
    title: "Gemini CLI",
    program: "gemini",
    args: ["--acp"],
    variables: ["GEMINI_*", "GOOGLE_*"],
    install: "npm install -g @google/gemini-cli",
    login: "run gemini once and sign in, or set GEMINI_API_KEY",
    askingMode: "default",
    notes: [
      "It reads files itself: when it reads them through the client, it cannot create new ones (0.61).",
      "A call is first seen when it asks; only calls that need no approval are announced.",
      "The output of a shell command is not streamed.",
      "It reports its mode as text, not as an update.",
    ],
  },
  {
    ...DEFAULTS,
    name: "codex-acp",
    title: "Codex over ACP",
    program: "codex-acp",
    args: [],
    variables: ["CODEX_*", "OPENAI_*"],
    install: "npm install -g @agentclientprotocol/codex-acp",
    login: "run codex login, with a key: codex login --with-api-key",
    askingMode: "read-only",
    notes: [
      "It starts in a mode in which a second model reviews what the first one does; in the mode read-only it asks its user.",
      "The output of a command is in `_meta`, beside the fields of the protocol.",
    ],
  },
  {
    ...DEFAULTS,
    name: "opencode",
    title: "opencode",
    program: "opencode",
    args: ["acp"],
    variables: [
      "OPENCODE_*",
      "OPENAI_API_KEY",
      "ANTHROPIC_API_KEY",
      "GEMINI_API_KEY",
      "OPENROUTER_API_KEY",
    ],
    install: "npm install -g opencode-ai",
    login: "run opencode auth login",
    notes: [
      "It asks only for what its own configuration says (`permission` in opencode.json).",
      "The status of a call goes back from running to pending when it asks.",
      "It writes files through the client.",
    ],
  },
  {
    ...DEFAULTS,
    name: "qwen",
    title: "Qwen Code",
    program: "qwen",
    args: ["--acp"],
    variables: ["QWEN_*", "OPENAI_*", "DASHSCOPE_*", "BAILIAN_*"],
    install: "npm install -g @qwen-code/qwen-code",
    login:
      "run qwen once and choose how to sign in, or set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL",
    askingMode: "default",
    notes: [
      "It starts in a mode in which a model approves what it takes for safe; in the mode default it asks its user.",
      "It needs Node 22 or newer.",
      "It sends requests that are not in the protocol; they are refused, and it goes on.",
    ],
  },
  {
    ...DEFAULTS,
    name: "vibe",
    title: "Mistral Vibe",
    program: "vibe-acp",
    args: [],
    variables: ["VIBE_*", "MISTRAL_*"],
    install: "uv tool install mistral-vibe",
    login: "run vibe once and enter a key, or set MISTRAL_API_KEY",
    askingMode: "ask",
    notes: [
      "It needs Python 3.12 or newer.",
      "It starts in a mode in which it edits files unasked; in the mode ask it asks its user.",
    ],
  },
  {
    ...DEFAULTS,
    name: "claude",
    title: "Claude Code",
    program: "claude-agent-acp",
    args: [],
    variables: ["CLAUDE_*", "ANTHROPIC_*"],
    install: "npm install -g @agentclientprotocol/claude-agent-acp",
    login: "run claude once and sign in, or set ANTHROPIC_API_KEY",
    notes: ["It needs Node 22 or newer."],
    untested: "the licence of the program that it starts does not allow it",
  },
];

/** Returns the profile with a name, or undefined. */
export function findAcpProfile(name: string): AcpProfile | undefined {
  return ACP_PROFILES.find((profile) => profile.name === name);
}

/**
 * Splits the command line of an agent into words: the program and its
 * arguments.
 *
 * Quotes and backslashes group characters as in a POSIX shell; nothing is
 * expanded, and no shell is started. Returns no words for an empty command line
 * and for one whose quotes do not match.
 */
export function commandWords(line: string): readonly string[] {
  const words: string[] = [];
  let rest = line.trim();
  while (rest !== "") {
    const [word = ""] = WORD.exec(rest) ?? [];
    if (word === "") return [];
    words.push(
      word.replace(
        PIECE,
        (_, single?: string, double?: string, escaped?: string) =>
          single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? "",
      ),
    );
    rest = rest.slice(word.length).trimStart();
  }
  return words[0] === "" ? [] : words;
}

/** The pieces of a word: single quotes, double quotes, an escaped character. */
const PIECE = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g;
const WORD = /^(?:'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\])+(?=\s|$)/;
