import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  TaskIdParamsSchema,
  TaskQueryParamsSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { TaskState } from "../gen/devtool/v1alpha/task_pb.ts";
import {
  type WithdrawMessageRequest,
  WithdrawMessageRequestSchema,
} from "../gen/devtool/v1alpha/task_service_pb.ts";
import { decodeRfcJson } from "../rfc-json.ts";
import { missing, quote, WireError } from "../wire-error.ts";
import { decodeState } from "./state.ts";

/**
 * Decodes the parameters of a method that takes a task. Throws a `WireError` if
 * they name none.
 */
export function decodeTaskId(params: JsonValue | undefined): string {
  const { id } = decodeRfcJson(TaskIdParamsSchema, params ?? {});
  if (id === "") throw missing("id", "name the task");
  return id;
}

/**
 * Decodes the parameters of `message/withdraw`. Throws a `WireError` if the id
 * of the task or of the message is missing.
 */
export function decodeWithdrawal(
  params: JsonValue | undefined,
): WithdrawMessageRequest {
  const request = decodeRfcJson(WithdrawMessageRequestSchema, params ?? {});
  if (request.taskId === "") {
    throw missing("taskId", "name the task");
  }
  if (request.messageId === "") {
    throw missing("messageId", "name the queued message");
  }
  return request;
}

/**
 * Decodes the parameters of `tasks/get`. Without a history length, all messages
 * are returned.
 */
export function decodeTaskQuery(params: JsonValue | undefined): {
  readonly taskId: string;
  readonly historyLength: number | undefined;
} {
  const { historyLength } = decodeRfcJson(TaskQueryParamsSchema, params ?? {});
  if (historyLength !== undefined && historyLength < 0) {
    throw new WireError(
      "historyLength",
      quote(historyLength),
      "must be 0 or more",
    );
  }
  return { taskId: decodeTaskId(params), historyLength };
}

/** Which tasks to list, and what to include of each. */
export interface TaskListQuery {
  /** Only tasks of this conversation; empty for all. */
  readonly contextId: string;
  /** Only tasks in this state; UNSPECIFIED for all. */
  readonly state: TaskState;
  /** Maximum number of tasks: 0, which leaves it to the server, to 999,999. */
  readonly pageSize: number;
  /** Where to go on, as an earlier page gave it; empty for the first page. */
  readonly pageToken: string;
  /** Maximum number of messages in each history, newest kept; 0 for none. */
  readonly historyLength: number;
  readonly includeArtifacts: boolean;
}

/**
 * Decodes the parameters of a list of tasks, which are strings in the query of
 * a URL. Throws a `WireError` for an unknown state, and for a number that is not
 * one.
 */
export function decodeTaskList(params: JsonValue | undefined): TaskListQuery {
  const given = isObject(params) ? params : {};
  const text = (name: string, snake: string, absent = ""): string =>
    String(given[name] ?? given[snake] ?? absent);
  const status = text("status", "state");
  // Both spellings of A2A 0.3 are read: that of JSON-RPC, and that of its
  // proto, which has another word for canceled.
  const name = status
    .replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
  const state =
    status === ""
      ? TaskState.UNSPECIFIED
      : decodeState(name === "cancelled" ? "canceled" : name);
  if (status !== "" && state === TaskState.UNSPECIFIED) {
    throw new WireError(
      "status",
      quote(status),
      "is not a state: write it as in a task, for instance TASK_STATE_WORKING",
    );
  }
  return {
    contextId: text("contextId", "context_id"),
    state,
    pageSize: numberIn("pageSize", text("pageSize", "page_size", "0")),
    pageToken: text("pageToken", "page_token"),
    historyLength: numberIn(
      "historyLength",
      text("historyLength", "history_length", "0"),
    ),
    includeArtifacts: text("includeArtifacts", "include_artifacts") === "true",
  };
}

function numberIn(field: string, text: string): number {
  if (/^(?:0|[1-9]\d{0,5})$/.test(text)) return Number(text);
  throw new WireError(field, quote(text), "must be a number, 0 or more");
}
