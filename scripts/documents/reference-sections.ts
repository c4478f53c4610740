/** A section of the reference. */
export interface Section {
  readonly title: string;
  /** One sentence: what the section is about. */
  readonly about: string;
  /**
   * The form of field names in JSON or, for files that people write, in TOML.
   */
  readonly names: "lowerCamelCase" | "snake_case" | "toml";
  /** The files, without `.proto`, in the order in which to show them. */
  readonly files: readonly string[];
}

/**
 * The sections of the reference, in order: what is on the wire first, files of
 * the server last.
 */
export const SECTIONS: readonly Section[] = [
  {
    title: "The extension's messages",
    about:
      "The messages of the development-tool extension, as its RFC defines them.",
    names: "snake_case",
    files: paths(
      "devtool/a2a/v1alpha",
      "settings",
      "event",
      "tool_call",
      "confirmation",
      "command",
    ),
  },
  {
    title: "Tasks",
    about:
      "The service that runs tasks, the state of a task, and the events that it consists of.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/v1alpha",
      "task_service",
      "task",
      "task_event",
      "goal",
      "ide_context",
      "workflow",
      "agent_mesh",
      "ai_catalog",
    ),
  },
  {
    title: "Settings",
    about: "Settings of sessions and messages that the RFC does not have.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/v1alpha",
      "session_settings",
      "message_settings",
      "turn_settings",
      "budget",
      "mcp_server",
    ),
  },
  {
    title: "Slash commands",
    about: "The service that lists and runs slash commands.",
    names: "lowerCamelCase",
    files: paths("devtool/v1alpha", "slash_command_service"),
  },
  {
    title: "Push notifications",
    about: "The service that manages where the events of a task are posted.",
    names: "lowerCamelCase",
    files: paths("devtool/v1alpha", "push_service", "web_push"),
  },
  {
    title: "Agents and browsers",
    about:
      "The services that list agents, and that give a web browser access to the server.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/v1alpha",
      "agent_list_service",
      "workspace_service",
      "browser_access_service",
    ),
  },
  {
    title: "Audit log and backup",
    about: "The services that read the audit log, and back a server up.",
    names: "lowerCamelCase",
    files: paths("devtool/v1alpha", "audit", "backup_service"),
  },
  {
    title: "Errors and readiness",
    about:
      "Details of errors, and how a client finds a running server and checks that it is ready.",
    names: "lowerCamelCase",
    files: paths("devtool/v1alpha", "error", "discovery"),
  },
  {
    title: "Log",
    about: "What `devtool serve` writes to standard error.",
    names: "lowerCamelCase",
    files: paths("devtool/v1alpha", "log_line"),
  },
  {
    title: "Configuration files",
    about: "The files that operators and users of a server write, in TOML.",
    names: "toml",
    files: paths(
      "devtool/v1alpha",
      "server_config",
      "acp_registry",
      "authentication",
      "policy_file",
      "command_file",
    ),
  },
  {
    title: "Stored files",
    about: "What a server stores in its data directory or its database.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/v1alpha",
      "event_row",
      "inbox",
      "checkpoint",
      "trust",
      "signing_key",
    ),
  },
  {
    title: "A2A 1.0",
    about:
      "The service and messages of A2A 1.0, and a service that our servers add for queued messages.",
    names: "lowerCamelCase",
    files: ["lf/a2a/v1/a2a", "devtool/queue/v1alpha/message_queue_service"],
  },
  {
    title: "Codex's queues",
    about:
      "Sessions as submissions and events, in the shape of the queues inside Codex.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/codex/v1alpha",
      "session_service",
      "submission",
      "event",
    ),
  },
  {
    title: "A2A 0.3",
    about: "The methods and messages of A2A 0.3.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/a2a/v1alpha",
      "agent_service",
      "envelope",
      "agent_card",
    ),
  },
  {
    title: "Gemini CLI",
    about:
      "The JSON that Gemini CLI's own A2A server and its clients exchange in addition to A2A 0.3.",
    names: "lowerCamelCase",
    files: paths("devtool/coder_agent/v1alpha", "stream", "tool_call", "http"),
  },
  {
    title: "AG-UI",
    about:
      "The requests and events of AG-UI 1.0 that the server reads and writes.",
    names: "lowerCamelCase",
    files: paths("devtool/ag_ui/v1alpha", "run", "message", "event"),
  },
  {
    title: "Editors",
    about:
      "What an editor shows a companion, how agents find the companion, and what it tells them.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/ide/v1alpha",
      "context",
      "diff",
      "diagnostics",
      "discovery",
      "gemini_cli",
      "claude",
      "stdio",
    ),
  },
  {
    title: "Conformance kit",
    about:
      "Conformance cases, the messages that a program under test reads and writes, and reports.",
    names: "lowerCamelCase",
    files: paths(
      "devtool/conformance/v1alpha",
      "case",
      "push",
      "client",
      "program",
      "report",
    ),
  },
];

function paths(directory: string, ...names: readonly string[]): string[] {
  return names.map((name) => `${directory}/${name}`);
}
