import {
  createServer,
  type IncomingHttpHeaders,
  type ServerResponse,
} from "node:http";

/** A post as it came in. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver of notifications on loopback. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** Its `host:port`, as an operator lists it. */
  readonly target: string;
  readonly received: readonly Received[];
  /** Resolves when this number of posts has arrived. */
  reached(count: number): Promise<void>;
  /** Answers the posts from now on. */
  answerWith(answer: (response: ServerResponse, post: Received) => void): void;
}

/** Listens on a free port, or on a given one, and keeps what comes in. */
export async function receive(port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const arrived = new Set<() => void>();
  let answer = (response: ServerResponse, _post: Received): void =>
    void response.writeHead(204).end();
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const post = {
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    received.push(post);
    answer(response, post);
    for (const look of arrived) look();
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const target = `127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  return {
    url: `http://${target}/hook`,
    target,
    received,
    reached: (count) => waitFor(() => received.length >= count, arrived),
    answerWith: (next) => {
      answer = next;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function waitFor(
  isTrue: () => boolean,
  looks: Set<() => void>,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (isTrue()) resolve();
  };
  looks.add(look);
  look();
  await promise;
  looks.delete(look);
}
