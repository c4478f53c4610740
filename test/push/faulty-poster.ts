import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { EXTENSION_URI } from "@devtool/schema";
import type { Asked, Config, Dialect, Step } from "./poster-dialect.ts";

/**
 * The steps of posting one notification; each can be replaced by a faulty one.
 */
export interface Posting {
  /** Changes the events of an exchange before they are posted. */
  readonly order: (events: readonly object[]) => readonly object[];
  /** The headers of a post. */
  readonly headers: (config: Config) => Readonly<Record<string, string>>;
  /** Whether a post that was answered so is made again. */
  readonly isRetried: (status: number) => boolean;
  /** Whether a config that was answered so has ended. */
  readonly hasEnded: (status: number) => boolean;
  /** The redirect mode of `fetch`. */
  readonly redirect: "manual" | "follow";
  /** Whether a config that was deleted is posted to. */
  readonly forgets: boolean;
}

const RIGHT: Omit<Posting, "headers"> = {
  order: (events) => events,
  isRetried: (status) => status >= 300 && status !== 410,
  hasEnded: (status) => status === 410,
  redirect: "manual",
  forgets: true,
};

/** The headers of a post as they should be. */
export function rightHeaders({
  contentType,
}: Pick<Dialect, "contentType">): Posting["headers"] {
  return ({ token = "", authentication }) => ({
    "content-type": contentType,
    "x-a2a-notification-token": token,
    ...(authentication && {
      authorization: `${authentication.scheme} ${authentication.credentials}`,
    }),
  });
}

/**
 * A small server that posts, in memory, right but for its faults. Gives its URL
 * and how to end it.
 */
export async function startFaultyPoster(
  dialect: Dialect,
  faults: Partial<Posting>,
) {
  const posting: Posting = {
    ...RIGHT,
    headers: rightHeaders(dialect),
    ...faults,
  };
  const configs = new Map<string, Config>();
  /** The posts of each task that are not over yet. */
  const posts = new Map<string, Promise<void>>();
  const server = createServer(async (request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.method === "GET") {
      const card = {
        name: "poster",
        version: "1",
        capabilities: {
          pushNotifications: true,
          extensions: [{ uri: EXTENSION_URI }],
        },
        ...dialect.place("/"),
      };
      return void response.end(JSON.stringify(card));
    }
    const { id, method, params } = Object(await json(request));
    const asked = dialect.read(method, params);
    // What is on its way comes before the answer: after it nothing does.
    if (asked.what === "delete") await posts.get(asked.taskId);
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: answer(asked) }));
  });

  function answer(asked: Asked): unknown {
    const { what, text, config } = asked;
    const taskId = asked.taskId || randomUUID();
    if (config) configs.set(taskId, config);
    if (what === "delete" && posting.forgets) configs.delete(taskId);
    const steps =
      what === "send"
        ? exchange(taskId, text)
        : what === "cancel"
          ? [canceled(taskId)]
          : [];
    const posted = post(
      configs.get(taskId),
      posting.order(steps.map(dialect.event)),
    );
    // A receiver that has seen what is wrong is gone.
    posts.set(
      taskId,
      posted.catch(() => undefined),
    );
    return dialect.result(asked, steps.at(-1) ?? { taskId, state: "working" });
  }

  async function post(
    config: Config | undefined,
    events: readonly object[],
  ): Promise<void> {
    for (const event of events) {
      const headers = {
        ...(config && posting.headers(config)),
        "devtool-event-id": randomUUID(),
      };
      for (let tries = 0; config && tries < 5; tries++) {
        const body = JSON.stringify(event);
        const { status } = await fetch(config.url, {
          method: "POST",
          headers,
          body,
          redirect: posting.redirect,
        });
        if (posting.hasEnded(status)) return;
        if (!posting.isRetried(status)) break;
      }
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Returns the turn of an agent that asks before it runs anything, and otherwise
 * says hello.
 */
function exchange(taskId: string, text: string): Step[] {
  const begin: Step[] = [
    { taskId, state: "submitted" },
    { taskId, state: "working" },
  ];
  if (text.startsWith("run")) {
    return [...begin, { taskId, state: "input-required" }];
  }
  return [
    ...begin,
    { taskId, state: "working", text: "hello" },
    { taskId, state: "completed" },
  ];
}

function canceled(taskId: string): Step {
  return { taskId, state: "canceled" };
}
