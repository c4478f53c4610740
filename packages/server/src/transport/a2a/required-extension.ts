import type { HandlerContext } from "@connectrpc/connect";
import { EXTENSION_URI } from "@devtool/schema";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { AskedView } from "./activation.ts";

/** The conversation that a call belongs to. */
export interface CallPlace {
  /** The task that the call names; empty when it names none. */
  readonly taskId: string;
  /** The context that a message names; empty when it names none. */
  readonly contextId: string;
  /**
   * Whether the call is a message, which begins a conversation where it names
   * none.
   */
  readonly isMessage: boolean;
}

/** A call to a server that requires the extension. */
export interface RequiringCall {
  readonly view: AskedView;
  readonly place: CallPlace;
  readonly context: HandlerContext;
}

/**
 * Whether a server that requires the extension accepts a call (CARD-1).
 *
 * It does when the call uses the extension, or belongs to a conversation in
 * which the extension is active. Throws `Code.NotFound` for a task that does
 * not exist.
 */
export async function meetsRequirement(
  { tasks }: RequestHandler,
  call: RequiringCall,
): Promise<boolean> {
  const { view, place, context } = call;
  if (view !== "inherited") return view === "extension";
  if (place.taskId !== "") {
    const { taskId } = place;
    const { task } = await tasks.getTask({ taskId }, context);
    return task?.extensionActive ?? false;
  }
  if (!place.isMessage) return true;
  if (place.contextId === "") return false;
  const { contextId } = place;
  const page = await tasks.listTasks({ contextId, pageSize: 1 }, context);
  return page.tasks[0]?.lastEvent?.extensionActive ?? false;
}

/**
 * Returns the error message for a call that does not meet the requirement.
 *
 * `header` is the name it has in a version of A2A.
 */
export function extensionNeeded(header: string): string {
  return `this agent needs the development-tool extension: name ${EXTENSION_URI} in the header ${header}, or send the message with AgentSettings ({"workspace_path": "/…"}) under that URI in its metadata`;
}
