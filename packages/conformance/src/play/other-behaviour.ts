import { type JsonObject, toJsonString } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import type { Call, Exchange, ProtocolVersion } from "../binding/binding.ts";
import { ExpectationSchema, type Step } from "../protos.ts";
import type { Subject } from "../subject/find-subject.ts";
import {
  agentMust,
  GREETING,
  type Prompts,
  promptKeys,
} from "../suites/prompts.ts";
import { resultsOf } from "./expect.ts";

/** The methods of both versions that send a message. */
const SENDS: ReadonlySet<string> = new Set([
  "message/send",
  "message/stream",
  "SendMessage",
  "SendStreamingMessage",
]);

/** The states in which a task has ended or waits for its client. */
const SETTLED_STATES: Readonly<Record<ProtocolVersion, RegExp>> = {
  "0.3": /^(completed|failed|canceled|rejected|input-required|auth-required)$/,
  "1.0":
    /^TASK_STATE_(COMPLETED|FAILED|CANCELED|REJECTED|INPUT_REQUIRED|AUTH_REQUIRED)$/,
};

/** The states in which a task may be whose agent has said something. */
const AFTER_SAYING = /(completed|input.required)$/i;

/**
 * Returns why the rest of a case cannot be played although nothing is wrong:
 * the agent behaves in another way that A2A allows. Returns undefined otherwise.
 * `problem` is how the answer differs from what the step expects.
 */
export function otherBehaviour(
  step: Step,
  call: Call | undefined,
  { documents }: Exchange,
  {
    subject,
    prompts,
  }: { readonly subject: Subject; readonly prompts: Prompts },
  problem: string | undefined,
): string | undefined {
  const { code } = objectOrEmpty(
    documents
      .map(({ json }) => json.error)
      .find((error) => error !== undefined),
  );
  if (problem && step.declinedWith.includes(Number(code))) {
    return `this agent declines ${step.method}: error ${code}`;
  }
  const isRefusal = step.expect?.errorCode !== undefined;
  if (!call || !opensConversation(call) || isRefusal) return undefined;
  const { protocolVersion } = subject.binding;
  const last = objectOrEmpty(resultsOf(documents).at(-1));
  if (problem && isMessage(last, protocolVersion) && !takesMessage(step)) {
    return "this agent answers with messages, and the case needs a task";
  }
  if (prompts !== GREETING) return undefined;
  const { state } = objectOrEmpty(
    objectOrEmpty(last.statusUpdate ?? last.task ?? last).status,
  );
  const [key] = promptKeys(step);
  const isAsAsked = key === "ends" ? /completed$/i : AFTER_SAYING;
  const isOther =
    (problem !== undefined || key === "ends") && !isAsAsked.test(`${state}`);
  return key && isOther && SETTLED_STATES[protocolVersion].test(`${state}`)
    ? `on "${GREETING[key]}" the task is ${state}: give --prompts with "${key}": ${agentMust(key)}`
    : undefined;
}

/** Whether a call sends a message that starts a task of its own. */
function opensConversation({ method, params }: Call): boolean {
  const { taskId } = objectOrEmpty(objectOrEmpty(params).message);
  return SENDS.has(method) && taskId === undefined;
}

/** Whether a step expects a message, and not only a task. */
function takesMessage({ expect }: Step): boolean {
  return (
    expect !== undefined &&
    toJsonString(ExpectationSchema, expect).includes('"messageId"')
  );
}

function isMessage(result: JsonObject, version: ProtocolVersion): boolean {
  return version === "0.3"
    ? result.kind === "message"
    : result.message !== undefined;
}
