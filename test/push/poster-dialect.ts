import { randomUUID } from "node:crypto";

/** Where a small server posts the events of a task. */
export interface Config {
  readonly url: string;
  readonly token?: string;
  readonly authentication?: {
    readonly scheme: string;
    readonly credentials: string;
  };
}

/** A request of a client to a small server that posts notifications. */
export interface Asked {
  readonly what: "send" | "set" | "delete" | "cancel";
  /** Empty for a new task. */
  readonly taskId: string;
  readonly text: string;
  readonly config: Config | undefined;
}

/** Where a task is, and what its agent says there. */
export interface Step {
  readonly taskId: string;
  readonly state:
    | "submitted"
    | "working"
    | "input-required"
    | "completed"
    | "canceled";
  readonly text?: string;
}

/** How a version of A2A has what a small server reads and writes. */
export interface Dialect {
  readonly version: "0.3" | "1.0";
  /** The media type of a post. */
  readonly contentType: string;
  /** The part of a card that says where the server is. */
  place(url: string): object;
  read(method: string, params: object): Asked;
  /** The answer to what was asked. */
  result(asked: Asked, step: Step): unknown;
  /** Returns the body that is posted for a step. */
  event(step: Step): object;
}

/** A2A 0.3 over JSON-RPC. */
export const DIALECT_V03: Dialect = {
  version: "0.3",
  contentType: "application/json",
  place: (url) => ({
    protocolVersion: "0.3.0",
    url,
    preferredTransport: "JSONRPC",
  }),
  read(method, params) {
    const { id, taskId, message, configuration, pushNotificationConfig } =
      Object(params);
    return {
      what: METHODS.get(method) ?? "send",
      taskId: taskId ?? id ?? "",
      text: message?.parts[0].text ?? "",
      config: configuration?.pushNotificationConfig ?? pushNotificationConfig,
    };
  },
  result({ what, config }, step) {
    if (what === "set") {
      return { taskId: step.taskId, pushNotificationConfig: config };
    }
    return what === "delete" ? null : taskV03(step);
  },
  event(step) {
    if (step.state === "submitted") return taskV03(step);
    const { taskId, state, text } = step;
    const message = {
      kind: "message",
      messageId: randomUUID(),
      role: "agent",
      parts: [{ kind: "text", text }],
    };
    const status = { state, ...(text !== undefined && { message }) };
    return {
      kind: "status-update",
      taskId,
      contextId: "c",
      status,
      final: state !== "working",
    };
  },
};

/** A2A 1.0 over JSON-RPC. */
export const DIALECT_V1: Dialect = {
  version: "1.0",
  contentType: "application/a2a+json",
  place: (url) => ({
    supportedInterfaces: [
      { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
  }),
  read(method, params) {
    const { id, taskId, message, configuration, ...config } = Object(params);
    const what = METHODS.get(method) ?? "send";
    return {
      what,
      taskId: taskId ?? id ?? "",
      text: message?.parts[0].text ?? "",
      config:
        what === "set"
          ? { ...config, id }
          : configuration?.taskPushNotificationConfig,
    };
  },
  result({ what, config }, step) {
    if (what === "set") return { ...config, taskId: step.taskId };
    if (what === "delete") return {};
    return what === "send" ? { task: taskV1(step) } : taskV1(step);
  },
  event(step) {
    if (step.state === "submitted") return { task: taskV1(step) };
    return {
      statusUpdate: {
        taskId: step.taskId,
        contextId: "c",
        status: statusV1(step),
      },
    };
  },
};

const METHODS: ReadonlyMap<string, Asked["what"]> = new Map([
  ["tasks/pushNotificationConfig/set", "set"],
  ["tasks/pushNotificationConfig/delete", "delete"],
  ["tasks/cancel", "cancel"],
  ["CreateTaskPushNotificationConfig", "set"],
  ["DeleteTaskPushNotificationConfig", "delete"],
  ["CancelTask", "cancel"],
]);

function taskV03({ taskId, state }: Step): object {
  return { kind: "task", id: taskId, contextId: "c", status: { state } };
}

function taskV1(step: Step): object {
  return { id: step.taskId, contextId: "c", status: statusV1(step) };
}

function statusV1({ state, text }: Step): object {
  const message = {
    messageId: randomUUID(),
    role: "ROLE_AGENT",
    parts: [{ text }],
  };
  return {
    state: `TASK_STATE_${state.toUpperCase().replace("-", "_")}`,
    ...(text !== undefined && { message }),
  };
}
