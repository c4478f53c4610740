import { ACP_PROFILES, type AcpProfile } from "@devtool/acp/profiles";

/** The program of an agent that has a name. */
export type AgentProgram = Pick<
  AcpProfile,
  | "name"
  | "title"
  | "program"
  | "args"
  | "variables"
  | "install"
  | "login"
  | "untested"
>;

/** Codex, through its app-server. */
export const CODEX: AgentProgram = {
  name: "codex",
  title: "Codex",
  program: "codex",
  args: ["app-server"],
  variables: ["CODEX_*", "OPENAI_*"],
  install: "npm install -g @openai/codex",
  login: "run codex login, or set OPENAI_API_KEY",
  untested: undefined,
};

/** The programs of the agents that have a name. */
export const AGENT_PROGRAMS: readonly AgentProgram[] = [CODEX, ...ACP_PROFILES];
