import { Level } from "../protos.ts";
import type { Requirement } from "./requirement.ts";
import { A2A_1_REQUIREMENTS, A2A_03_REQUIREMENTS } from "./requirements-a2a.ts";

/**
 * The requirements of the development-tool extension by their ids
 * (docs/wire.md).
 */
const WIRE_REQUIREMENTS: Readonly<Record<string, Requirement>> = {
  "CARD-1": {
    behaviour:
      "the card is at both well-known paths and declares the extension",
    source: "RFC, Agent card; A2A 0.3 §5",
  },
  "CARD-2": {
    behaviour: "the version is in the URI and follows SemVer",
    source: "RFC, Versioning",
  },
  "CARD-3": {
    behaviour:
      "the extension stays active for a conversation; clients without it get text",
    source: "A2A 0.3 extensions; own",
  },
  "META-1": {
    behaviour: "custom data is keyed by the extension's URI",
    source: "RFC, Metadata",
  },
  "META-2": {
    behaviour:
      "data that the RFC has no kind or field for is keyed by a separate URI",
    source: "own",
    level: Level.MAY,
    untestedBecause:
      "optional for a server; test/docs/wire-docs.test.ts tests devtool's own",
  },
  "JSON-1": {
    behaviour: "payloads have the RFC's snake_case names and enum names",
    source: "RFC, Schemas",
  },
  "JSON-2": {
    behaviour:
      "defaults may be omitted and both spellings of fields are read; decisions are read strictly; sizes are limited",
    source: "own",
  },
  "JSON-3": {
    behaviour: "integers that a double cannot represent are strings",
    source: "own",
  },
  "JSON-4": {
    behaviour:
      "numbers that would lose digits, integers not in digits, and names given twice are refused",
    source: "own",
  },
  "SESSION-1": {
    behaviour: "the first message names a workspace, which is validated",
    source: "RFC, Initialization",
  },
  "SESSION-2": {
    behaviour: "settings hold for the whole context",
    source: "own",
  },
  "SESSION-3": {
    behaviour:
      "settings beyond the RFC are keyed by a separate URI and can only restrict",
    source: "own",
  },
  "SESSION-4": {
    behaviour:
      "the model, the approval mode, the agent's options and MCP servers may change with a message",
    source: "own",
  },
  "SESSION-5": {
    behaviour: "a session belongs to one agent; an unknown agent is an error",
    source: "own",
  },
  "STREAM-1": {
    behaviour:
      "a stream starts with the task or a status and ends with a final update",
    source: "A2A 0.3 §7.2",
  },
  "STREAM-2": {
    behaviour: "each kind of event carries its payload",
    source: "RFC, DevelopmentToolEvent",
  },
  "STREAM-3": {
    behaviour:
      "events have ids; a stream resumes after an id without gaps or duplicates",
    source: "own",
  },
  "STREAM-4": {
    behaviour: "the example of Appendix A is played in order",
    source: "RFC, Appendix A",
  },
  "STREAM-5": {
    behaviour: "a message continues a completed task",
    source: "RFC",
  },
  "STREAM-6": {
    behaviour: "disconnecting does not stop a task; cancel does",
    source: "A2A 0.3 §7.4",
  },
  "STREAM-7": {
    behaviour: "sending the same message again is a retry",
    source: "own",
  },
  "STREAM-8": {
    behaviour:
      "a message to a busy task is queued, processed in order, and can be withdrawn until then",
    source: "own",
  },
  "STREAM-9": {
    behaviour: "an answer has only its own exchange, the task has all of them",
    source: "own",
  },
  "STREAM-10": {
    behaviour:
      "without the extension, the answer of a turn is an artifact, once; with it, nothing changes",
    source: "own",
  },
  "TOOL-1": {
    behaviour: "each update has the whole call; its status never moves back",
    source: "RFC, ToolCall",
  },
  "TOOL-2": {
    behaviour: "all questions of a step are sent before one input-required",
    source: "RFC, ConfirmationRequest",
  },
  "TOOL-3": {
    behaviour: "confirmation details match the kind of tool",
    source: "RFC, ConfirmationRequest",
  },
  "TOOL-4": {
    behaviour: "only options that apply are offered, and each works",
    source: "RFC, ConfirmationOption",
  },
  "TOOL-5": {
    behaviour:
      "an invalid answer is an error and changes nothing; the first valid answer counts",
    source: "RFC, ToolCallConfirmation",
  },
  "TOOL-6": {
    behaviour: "the user's content replaces the proposed one",
    source: "RFC, ModifiedFileDetails",
  },
  "TOOL-7": {
    behaviour: "live output is complete, coalesced and limited",
    source: "RFC, ToolCall",
  },
  "TOOL-8": {
    behaviour: "a failure has a type from a closed list",
    source: "RFC, ErrorDetails",
  },
  "TOOL-9": {
    behaviour:
      "the stages of a call are in order, and its digest identifies what was shown",
    source: "own",
    level: Level.MAY,
    untestedBecause:
      "optional for a server; test/docs/wire-docs.test.ts tests devtool's own",
  },
  "TOOL-10": {
    behaviour: "a question of a running call is a call of its own",
    source: "own",
    untestedBecause:
      "needs a tool that asks while it runs; test/docs/wire-docs.test.ts tests devtool's own with an MCP server",
  },
  "TOOL-11": {
    behaviour:
      "an answer that names its question is refused when the call asks another one",
    source: "own",
  },
  "TOOL-12": {
    behaviour:
      "arguments that the user changed are checked, and asked about before they run",
    source: "own",
  },
  "CMD-1": {
    behaviour: "commands and sub-commands are listed and executed",
    source: "RFC, Slash commands",
  },
  "CMD-2": {
    behaviour: "a command that cannot start reports why",
    source: "RFC, CommandExecutionStatus",
  },
  "CMD-3": { behaviour: "the built-in commands exist", source: "own" },
  "PUSH-1": {
    behaviour:
      "the events of a task are posted to its configs, at least once and in order",
    source: "A2A 0.3 §9.5; own",
    mode: "push",
    untestedBecause:
      "the push suite tests it, with a receiver that the server can reach",
  },
  "PUSH-2": {
    behaviour: "a forbidden webhook target is refused when it is set",
    source: "own",
  },
  "PUSH-3": {
    behaviour: "the secrets of a push config are not given back",
    source: "own",
  },
  "CLIENT-1": {
    behaviour:
      "server-sent events are read by their standard, and their ids are not ids of A2A",
    source: "own",
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-2": {
    behaviour: "a message is posted once, and an error ends the conversation",
    source: "own",
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-3": {
    behaviour:
      "artifacts are replaced or appended to, and the end of a task is its end",
    source: "A2A 0.3 §7.2.3; own",
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-4": {
    behaviour:
      "after a broken stream that cannot be resumed, the task is fetched",
    source: "A2A 0.3 §7.9; own",
    level: Level.SHOULD,
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-5": {
    behaviour: "one element that cannot be read costs only itself",
    source: "A2A 1.0 §5.7; own",
    level: Level.SHOULD,
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-6": {
    behaviour: "of a card, an interface that the client supports is used",
    source: "A2A 0.3 §5.5; A2A 1.0 §8",
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-7": {
    behaviour: "an answer is shown: a message, or a task with its updates",
    source: "A2A 0.3 §7.2; A2A 1.0 §3.1.2",
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-8": {
    behaviour:
      "cards that break the standard are read if they lead to an interface",
    source: "own",
    level: Level.SHOULD,
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "CLIENT-9": {
    behaviour: "an error of the agent is shown with its text",
    source: "own",
    level: Level.SHOULD,
    mode: "client",
    untestedBecause: "the agent suite tests it, with a client",
  },
  "ERR-1": {
    behaviour: "errors have the codes of the specifications and name the field",
    source: "JSON-RPC 2.0; A2A 0.3 §8",
  },
  "ERR-2": {
    behaviour: "a request over a limit gets an error that names the limit",
    source: "own",
  },
};

/**
 * Every requirement by its id: of A2A 0.3, of A2A 1.0, and of the
 * development-tool extension.
 */
export const REQUIREMENTS: Readonly<Record<string, Requirement>> = {
  ...A2A_03_REQUIREMENTS,
  ...A2A_1_REQUIREMENTS,
  ...WIRE_REQUIREMENTS,
};
