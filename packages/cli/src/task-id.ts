import { Code, ConnectError } from "@connectrpc/connect";
import type { DevtoolClient } from "@devtool/client";

/**
 * The length of the ids that lists show. Two of 10,000 tasks share it once in a
 * hundred lists.
 */
const SHORT_LENGTH = 8;

/** The form of the ids that devtool's servers give. */
const WHOLE_ID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

/**
 * Returns the beginning of a task's id that lists show, or the whole id if it
 * is not one of a devtool server.
 */
export function shortTaskId(id: string): string {
  return WHOLE_ID.test(id) ? id.slice(0, SHORT_LENGTH) : id;
}

/**
 * Returns the id of the task that a user names by the beginning of its id.
 * Returns ids in the form of other servers as they are, and those that no task
 * has or that the protocol cannot search, so that the server says what is
 * wrong.
 *
 * Throws when several tasks begin like that.
 */
export async function findTaskId(
  client: DevtoolClient,
  named: string,
  signal: AbortSignal,
): Promise<string> {
  if (!/^[\da-f-]{4,35}$/.test(named)) return named;
  const listed = client.tasks.listTasks(
    { idPrefix: named, pageSize: 10 },
    { signal },
  );
  const { tasks } = await listed.catch((reason: unknown) => {
    // A2A cannot search for ids.
    if (ConnectError.from(reason).code === Code.Unimplemented) {
      return searchTasks(client, named, signal);
    }
    throw reason;
  });
  if (tasks.some(({ id }) => id === named) || tasks.length === 0) return named;
  if (tasks.length === 1) return tasks[0]?.id ?? named;
  throw new Error(
    `"${named}" is the beginning of several task ids: give more characters of ${tasks.map(({ id }) => id).join(", ")}`,
  );
}

/** Maximum number of pages of tasks in which the beginning of an id is sought. */
const MAX_PAGES = 20;

/**
 * Finds the tasks whose ids begin with a text in the list of all tasks. None if
 * the protocol has no list.
 */
async function searchTasks(
  client: DevtoolClient,
  start: string,
  signal: AbortSignal,
): Promise<{ readonly tasks: readonly { readonly id: string }[] }> {
  const tasks: { readonly id: string }[] = [];
  let pageToken = "";
  for (let page = 0; page < MAX_PAGES; page++) {
    const list = await client.tasks
      .listTasks({ pageSize: 100, pageToken }, { signal })
      .catch((reason: unknown) => {
        if (ConnectError.from(reason).code !== Code.Unimplemented) throw reason;
        return { tasks: [], nextPageToken: "" };
      });
    tasks.push(...list.tasks.filter(({ id }) => id.startsWith(start)));
    pageToken = list.nextPageToken;
    if (pageToken === "") break;
  }
  return { tasks };
}
