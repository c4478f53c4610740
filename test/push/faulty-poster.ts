import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

/** What a server that posts does with one post; each part can be put in place of the right one. */
export interface Posting {
  /** The order in which the events of an exchange are posted. */
  readonly order: (events: readonly object[]) => readonly object[];
  /** The headers of a post. */
  readonly headers: (token: string) => Readonly<Record<string, string>>;
  /** Whether a post that was answered so is made again. */
  readonly isRetried: (status: number) => boolean;
  /** Whether a config that was answered so has ended. */
  readonly hasEnded: (status: number) => boolean;
  /** What `fetch` does with redirects. */
  readonly redirect: "manual" | "follow";
  /** Whether a config that was deleted is posted to. */
  readonly forgets: boolean;
}

const RIGHT: Posting = {
  order: (events) => events,
  headers: (token) => ({ "content-type": "application/json", "x-a2a-notification-token": token }),
  isRetried: (status) => status >= 300 && status !== 410,
  hasEnded: (status) => status === 410,
  redirect: "manual",
  forgets: true,
};

interface Config {
  readonly url: string;
  readonly token: string;
}

/** A small server of A2A 0.3 that posts, in memory, right but for its faults. Gives its URL and how to end it. */
export async function startFaultyPoster(faults: Partial<Posting>) {
  const posting: Posting = { ...RIGHT, ...faults };
  const configs = new Map<string, Config>();
  const server = createServer(async (request, response) => {
    // It has no card.
    if (request.method === "GET") return void response.writeHead(404).end();
    const { id, method, params } = Object(await json(request));
    const result = await answer(method, params);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });

  async function answer(method: string, params: Parameters): Promise<unknown> {
    const taskId = params.taskId ?? params.id ?? randomUUID();
    const given = params.configuration?.pushNotificationConfig ?? params.pushNotificationConfig;
    if (given) configs.set(taskId, given);
    if (method.endsWith("/set")) return { taskId, pushNotificationConfig: given };
    if (method.endsWith("/delete")) {
      if (posting.forgets) configs.delete(taskId);
      return null;
    }
    const asks = params.message?.parts[0]?.text?.startsWith("run") ?? false;
    const events = method === "tasks/cancel" ? [update(taskId, "canceled")] : exchange(taskId, asks);
    void post(configs.get(taskId), posting.order(events));
    const state = method === "tasks/cancel" ? "canceled" : asks ? "input-required" : "completed";
    return { kind: "task", id: taskId, contextId: "c", status: { state } };
  }

  async function post(config: Config | undefined, events: readonly object[]): Promise<void> {
    for (const event of events) {
      const headers = { ...posting.headers(config?.token ?? ""), "devtool-event-id": randomUUID() };
      for (let tries = 0; config && tries < 5; tries++) {
        const body = JSON.stringify(event);
        const { status } = await fetch(config.url, { method: "POST", headers, body, redirect: posting.redirect });
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

interface Parameters {
  readonly id?: string;
  readonly taskId?: string;
  readonly message?: { readonly parts: readonly { readonly text?: string }[] };
  readonly configuration?: { readonly pushNotificationConfig?: Config };
  readonly pushNotificationConfig?: Config;
}

function exchange(taskId: string, asks: boolean): object[] {
  const begin = [
    { kind: "task", id: taskId, contextId: "c", status: { state: "submitted" } },
    update(taskId, "working"),
  ];
  if (asks) return [...begin, update(taskId, "input-required")];
  const said = { kind: "message", messageId: "m", role: "agent", parts: [{ kind: "text", text: "hello" }] };
  return [
    ...begin,
    { ...update(taskId, "working"), status: { state: "working", message: said } },
    update(taskId, "completed"),
  ];
}

function update(taskId: string, state: string): object {
  const final = !["working", "submitted"].includes(state);
  return { kind: "status-update", taskId, contextId: "c", status: { state }, final };
}
