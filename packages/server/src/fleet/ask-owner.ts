import { create } from "@bufbuild/protobuf";
import { InboxRefusalSchema, type InboxRequest } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { InboxReply } from "../store/task-inbox.ts";
import type { SharedTasks } from "../store/task-store.ts";
import { Bell } from "../stream/bell.ts";

/**
 * The time in milliseconds after which the reply is looked for without a
 * notification.
 */
const POLL_MS = 1000;

/**
 * The time in milliseconds to wait for a reply. Another server takes over from
 * one that died in a tenth of it.
 */
const MAX_WAIT_MS = 60_000;

/**
 * The same for a task that this server cannot take over: a server that can does
 * so soon, or not at all.
 */
const MAX_WAIT_ELSEWHERE_MS = 10_000;

/**
 * Requests a change of a task from the server that runs it, whichever that is
 * when it takes the request.
 *
 * Returns the sequence of the event that records the change. Throws the error
 * with which the server refused it, and `Code.Unavailable` when no server took
 * it in a minute.
 *
 * @param unreachable why this server cannot run the task; it is part of the
 * error when no other took the request. Default: it can
 */
export async function askOwner(
  { inbox, changes }: SharedTasks,
  taskId: string,
  request: InboxRequest,
  unreachable?: DevtoolError,
): Promise<bigint> {
  const waited = AbortSignal.timeout(
    unreachable ? MAX_WAIT_ELSEWHERE_MS : MAX_WAIT_MS,
  );
  const bell = new Bell(waited);
  using _watch = changes.watch(taskId, () => bell.ring());
  const entry = await inbox.put(taskId, request);
  const poll = setInterval(() => bell.ring(), POLL_MS);
  try {
    while (!waited.aborted) {
      bell.reset();
      const reply = await inbox.takeReply(entry);
      if (reply) return sequenceOf(reply);
      await bell.rung;
    }
  } finally {
    clearInterval(poll);
  }
  const problem = `no server has taken the request for task ${quoted(taskId)} yet`;
  if (unreachable) {
    throw new DevtoolError(
      `${problem}, and ${unreachable.problem}`,
      Code.Unavailable,
      { remedy: unreachable.remedy },
    );
  }
  throw new DevtoolError(problem, Code.Unavailable, {
    remedy: "read the task before you send it again",
  });
}

/** Creates the reply that refuses a request with an error. */
export function refusalOf(reason: unknown): InboxReply {
  const { code, problem, remedy, details } = DevtoolError.from(reason);
  const context = {
    field: details?.field ?? "",
    value: details?.value ?? "",
    remedy,
  };
  return {
    case: "refused",
    refusal: create(InboxRefusalSchema, { code, problem, context }),
  };
}

function sequenceOf(reply: InboxReply): bigint {
  if (reply.case === "taken") return reply.sequence;
  const { code, problem, context } = reply.refusal;
  const { field = "", value = "", remedy = "" } = context ?? {};
  const known = Object.values(Code).find((each) => each === code);
  throw new DevtoolError(
    problem,
    typeof known === "number" ? known : Code.Internal,
    {
      remedy,
      details: field === "" ? undefined : { field, value },
    },
  );
}
