import type { Requirement } from "./requirement.ts";
import { A2A_1_REQUIREMENTS, A2A_03_REQUIREMENTS } from "./requirements-a2a.ts";

/** The requirements of the wire by their ids (docs/wire.md). */
const WIRE_REQUIREMENTS: Readonly<Record<string, Requirement>> = {
  "CARD-1": {
    behaviour: "the card is at both well-known paths and declares the extension",
    source: "RFC, Agent card; A2A 0.3 §5",
  },
  "CARD-2": { behaviour: "the version is in the URI and follows SemVer", source: "RFC, Versioning" },
  "CARD-3": {
    behaviour: "the extension stays active in a conversation and is named; others get text",
    source: "A2A 0.3 extensions; own",
  },
  "META-1": { behaviour: "custom data is keyed by the extension's URI", source: "RFC, Metadata" },
  "META-2": {
    behaviour: "what the RFC has no kind or field for is keyed by a URI of our own",
    source: "own",
    owed: "a server need not have it; test/wire-docs.test.ts tests ours",
  },
  "JSON-1": { behaviour: "payloads have the RFC's snake_case names and enum names", source: "RFC, Schemas" },
  "JSON-2": {
    behaviour: "fields have their defaults and both spellings; what decides something is read strictly; all is bounded",
    source: "own",
  },
  "JSON-3": { behaviour: "integers that a double cannot hold are strings", source: "own" },
  "SESSION-1": { behaviour: "the first message carries a workspace that is checked", source: "RFC, Initialization" },
  "SESSION-2": { behaviour: "settings stay for a context", source: "own" },
  "SESSION-3": { behaviour: "settings beyond the RFC travel under a URI of their own and only narrow", source: "own" },
  "SESSION-4": { behaviour: "the model may change with every message, nothing else", source: "own" },
  "SESSION-5": { behaviour: "a session belongs to one agent; one that is not served is an error", source: "own" },
  "STREAM-1": { behaviour: "a stream begins with the task or a status and ends with final", source: "A2A 0.3 §7.2" },
  "STREAM-2": { behaviour: "each kind of event carries its payload", source: "RFC, DevelopmentToolEvent" },
  "STREAM-3": { behaviour: "events have ids; a stream resumes after one without gap or double", source: "own" },
  "STREAM-4": { behaviour: "Appendix A appears in order", source: "RFC, Appendix A" },
  "STREAM-5": { behaviour: "a message continues a completed task", source: "RFC" },
  "STREAM-6": { behaviour: "leaving stops nothing; cancel stops all", source: "A2A 0.3 §7.4" },
  "STREAM-7": { behaviour: "the same message is a retry", source: "own" },
  "STREAM-8": {
    behaviour:
      "a message to a task that cannot take it now waits, is taken in its turn, and can be withdrawn until then",
    source: "own",
  },
  "STREAM-9": { behaviour: "an answer holds its exchange alone, the task everything", source: "own" },
  "TOOL-1": { behaviour: "the whole call is sent; its status never moves back", source: "RFC, ToolCall" },
  "TOOL-2": { behaviour: "all questions of a step come before one input-required", source: "RFC, ConfirmationRequest" },
  "TOOL-3": { behaviour: "details fit the kind of tool", source: "RFC, ConfirmationRequest" },
  "TOOL-4": { behaviour: "only options that make sense are offered, and they work", source: "RFC, ConfirmationOption" },
  "TOOL-5": {
    behaviour: "a bad answer is an error and changes nothing; the first answer wins",
    source: "RFC, ToolCallConfirmation",
  },
  "TOOL-6": { behaviour: "the user's content replaces the proposed one", source: "RFC, ModifiedFileDetails" },
  "TOOL-7": { behaviour: "live output is whole, coalesced and capped", source: "RFC, ToolCall" },
  "TOOL-8": { behaviour: "a failure has a type from a closed list", source: "RFC, ErrorDetails" },
  "TOOL-9": {
    behaviour: "the stages of a call move in order, and its digest says what was shown",
    source: "own",
    owed: "a server need not have it; test/wire-docs.test.ts tests ours",
  },
  "TOOL-10": {
    behaviour: "what a running call asks is a call of its own",
    source: "own",
    owed: "needs a tool that asks while it runs; test/wire-docs.test.ts tests ours with an MCP server",
  },
  "CMD-1": { behaviour: "commands and sub-commands are listed and executed", source: "RFC, Slash commands" },
  "CMD-2": { behaviour: "a command that cannot start says why", source: "RFC, CommandExecutionStatus" },
  "CMD-3": { behaviour: "the built-in commands are there", source: "own" },
  "PUSH-1": {
    behaviour: "the events of a task are posted to its configs, at least once and in order",
    source: "A2A 0.3 §9.5; own",
    mode: "push",
    owed: "is shown by the push suite, with a receiver that the server may reach",
  },
  "PUSH-2": { behaviour: "a webhook target that must not be called is refused when it is set", source: "own" },
  "ERR-1": {
    behaviour: "errors have the specifications' codes and name the field",
    source: "JSON-RPC 2.0; A2A 0.3 §8",
  },
  "ERR-2": { behaviour: "limits answer with an error that gives them", source: "own" },
};

/** Every requirement by its id: of A2A 0.3, of A2A 1.0, and of the wire. */
export const REQUIREMENTS: Readonly<Record<string, Requirement>> = {
  ...A2A_03_REQUIREMENTS,
  ...A2A_1_REQUIREMENTS,
  ...WIRE_REQUIREMENTS,
};
