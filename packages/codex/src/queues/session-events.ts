import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { visibleText } from "@devtool/internal/visible-text";
import {
  type ConfirmationOption,
  type ConfirmationRequest,
  confirmationsOf,
  type FileDiff,
  isEnded,
  type StateChange,
  type TaskEvent,
  TaskState,
  type ToolCall,
  ToolCallStatus,
  type Usage,
} from "@devtool/schema";
import {
  CallOutcome,
  type FileChangeSchema,
  type InputOptionSchema,
  type SessionEvent,
  SessionEventSchema,
} from "@devtool/schema/codex";
import { type EventPlace, encodePlace } from "./place.ts";
import { answerTo, decisionsOf } from "./question.ts";

type Msg = NonNullable<MessageInitShape<typeof SessionEventSchema>["msg"]>;

/** An event of a session and its place. */
export interface PlacedEvent {
  readonly place: EventPlace;
  readonly shown: SessionEvent;
}

/**
 * Encodes the events of a task, from its first one on, as events of a session.
 * The same log gives the same events.
 */
export class SessionEvents {
  /** The submission that the agent works on. */
  #id = "";
  #isWorking = false;
  readonly #calls = new Map<string, ToolCall>();
  /** The digest of the last question of each call. */
  readonly #asked = new Map<string, string>();

  /**
   * Returns the events that show the next event of the task; none for one that
   * a session does not show.
   */
  receive(event: TaskEvent): PlacedEvent[] {
    return this.#messagesOf(event).map((msg, index) => {
      const place = { sequence: event.sequence, index };
      return {
        place,
        shown: create(SessionEventSchema, {
          id: this.#id,
          seq: encodePlace(place),
          msg,
        }),
      };
    });
  }

  #messagesOf({ payload, state, toolCallDetail }: TaskEvent): Msg[] {
    switch (payload.case) {
      case "created":
        return this.#begin(payload.value.message?.messageId ?? "");
      case "message":
        if (confirmationsOf(payload.value).length === 0) {
          return this.#begin(payload.value.messageId);
        }
        this.#id = payload.value.messageId;
        return [];
      case "messageTaken":
        return this.#begin(payload.value.messageId);
      case "text":
        return [
          { case: "agentMessageDelta", value: { delta: payload.value.text } },
        ];
      case "thought": {
        const { subject, description: text } = payload.value;
        return [{ case: "agentReasoning", value: { subject, text } }];
      }
      case "toolCall":
        return this.#call(
          payload.value,
          toolCallDetail?.digest ?? new Uint8Array(),
        );
      case "usage":
        return [tokenCount(payload.value)];
      case "notice":
        return [
          { case: "backgroundEvent", value: { message: payload.value.text } },
        ];
      case "reply":
        return [
          ...payload.value.parts.flatMap(({ content }): Msg[] =>
            content.case === "text"
              ? [{ case: "agentMessageDelta", value: { delta: content.value } }]
              : [],
          ),
          ...this.#rest(TaskState.COMPLETED),
        ];
      case "stateChange":
        return this.#rest(state, payload.value);
      case "summary":
      case "citation":
      case "artifact":
      case "messageQueued":
      case "messageWithdrawn":
      case "renamed":
      case "sessionTools":
      case "goalProgress":
      case "workflowRun":
      case "ideContext":
      case undefined:
        return [];
      default:
        return payload satisfies never;
    }
  }

  #begin(id: string): Msg[] {
    this.#id = id;
    const hasBegun = !this.#isWorking;
    this.#isWorking = true;
    return hasBegun ? [{ case: "turnStarted", value: {} }] : [];
  }

  #rest(state: TaskState, change?: StateChange): Msg[] {
    const { text = "", error = "", openCalls = [] } = change ?? {};
    if (!this.#isWorking || openCalls.length > 0) return [];
    const msg = restOf(state, text, error);
    this.#isWorking = msg === undefined;
    return msg ? [msg] : [];
  }

  /**
   * Returns the messages about a new version of a call: what it adds to the one
   * before.
   */
  #call(call: ToolCall, digest: Uint8Array): Msg[] {
    const {
      toolCallId: callId,
      toolName,
      description = "",
      inputParameters,
      liveContent,
      confirmationRequest,
    } = call;
    const before = this.#calls.get(callId);
    this.#calls.set(callId, call);
    const msgs: Msg[] = [];
    if (!before) {
      const value = {
        callId,
        toolName,
        description,
        ...(inputParameters && { arguments: inputParameters }),
      };
      msgs.push({ case: "toolCallBegin", value });
    }
    const question = Buffer.from(digest).toString("base64");
    const isAsked =
      before?.confirmationRequest !== undefined &&
      this.#asked.get(callId) === question;
    if (
      confirmationRequest &&
      !isAsked &&
      call.status === ToolCallStatus.PENDING
    ) {
      this.#asked.set(callId, question);
      msgs.push(questionOf(call, confirmationRequest, digest));
    }
    if (liveContent !== undefined && liveContent !== before?.liveContent) {
      msgs.push({
        case: "toolCallOutput",
        value: { callId, content: liveContent },
      });
    }
    if (isEnded(call) && !(before && isEnded(before))) msgs.push(endOf(call));
    return msgs;
  }
}

/**
 * Returns the event that ends a turn in a state. Undefined for states in which
 * it goes on.
 */
function restOf(
  state: TaskState,
  text: string,
  error: string,
): Msg | undefined {
  switch (state) {
    case TaskState.COMPLETED:
    case TaskState.INPUT_REQUIRED:
    case TaskState.AUTH_REQUIRED:
      return { case: "turnComplete", value: { message: text } };
    case TaskState.CANCELED:
      return { case: "turnAborted", value: {} };
    case TaskState.FAILED:
    case TaskState.REJECTED:
      return { case: "turnFailed", value: { message: error || text } };
    case TaskState.UNSPECIFIED:
    case TaskState.SUBMITTED:
    case TaskState.WORKING:
      return undefined;
    default:
      return state satisfies never;
  }
}

function questionOf(
  call: ToolCall,
  request: ConfirmationRequest,
  digest: Uint8Array,
): Msg {
  const { toolCallId: callId, description = "", inputParameters = {} } = call;
  const { details } = request;
  const kind = answerTo(request);
  const decisions = decisionsOf(request);
  const availableDecisions = decisions.map(([decision]) => decision);
  const allowed = decisions.map(([, option]) => inputOptionFrom(option));
  const approval = {
    callId,
    availableDecisions,
    options: allowed,
    description,
    digest,
  };
  if (kind === "execApproval" && details.case === "executeDetails") {
    const { command, workingDirectory: cwd = "" } = details.value;
    return {
      case: "execApprovalRequest",
      value: { ...approval, command, cwd },
    };
  }
  if (details.case === "fileEditDetails") {
    return {
      case: "applyPatchApprovalRequest",
      value: { ...approval, change: changeOf(details.value) },
    };
  }
  const options = request.options.map(inputOptionFrom);
  let question =
    details.case === "genericDetails" ? details.value.description : "";
  if (details.case === "mcpDetails") {
    const { serverName, toolName } = details.value;
    // The arguments may have changed since the call began.
    const args = visibleText(JSON.stringify(inputParameters));
    question = `Call ${toolName} of the MCP server ${serverName} with ${args}?`;
  }
  return {
    case: "requestUserInput",
    value: { callId, question, options, digest },
  };
}

function inputOptionFrom({
  id,
  name,
  description = "",
}: ConfirmationOption): MessageInitShape<typeof InputOptionSchema> {
  return { id, label: name, description };
}

function endOf({ toolCallId: callId, status, result }: ToolCall): Msg {
  const outcome = OUTCOMES[status] ?? CallOutcome.CANCELLED;
  if (result.case === "error") {
    const { message: text, statusCode: exitCode = 0 } = result.value;
    return { case: "toolCallEnd", value: { callId, outcome, text, exitCode } };
  }
  const output = result.case === "output" ? result.value.result : undefined;
  switch (output?.case) {
    case "text":
      return {
        case: "toolCallEnd",
        value: { callId, outcome, text: output.value },
      };
    case "diff":
      return {
        case: "toolCallEnd",
        value: { callId, outcome, change: changeOf(output.value) },
      };
    case "structuredData":
      return {
        case: "toolCallEnd",
        value: { callId, outcome, structured: output.value },
      };
    case undefined:
      return { case: "toolCallEnd", value: { callId, outcome } };
    default:
      return output satisfies never;
  }
}

const OUTCOMES: Readonly<Partial<Record<ToolCallStatus, CallOutcome>>> = {
  [ToolCallStatus.SUCCEEDED]: CallOutcome.SUCCEEDED,
  [ToolCallStatus.FAILED]: CallOutcome.FAILED,
  [ToolCallStatus.CANCELLED]: CallOutcome.CANCELLED,
};

function changeOf({
  filePath,
  oldContent,
  newContent,
  formattedDiff = "",
}: FileDiff): MessageInitShape<typeof FileChangeSchema> {
  const change = { path: filePath, newContent, unifiedDiff: formattedDiff };
  return oldContent === undefined ? change : { ...change, oldContent };
}

function tokenCount(usage: Usage): Msg {
  const value = {
    inputTokens: usage.inputTokens,
    cachedInputTokens: usage.cachedTokens,
    outputTokens: usage.outputTokens,
    reasoningOutputTokens: usage.thoughtTokens,
    modelContextWindow: usage.contextWindowTokens,
  };
  return { case: "tokenCount", value };
}
