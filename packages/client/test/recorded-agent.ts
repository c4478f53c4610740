import {
  createServer,
  type IncomingHttpHeaders,
  type ServerResponse,
} from "node:http";

/** A request that a test agent received. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    readonly id?: number;
    readonly method?: string;
    readonly params?: Readonly<Record<string, unknown>>;
  };
}

/** A test agent that sends recorded answers over real HTTP. */
export interface RecordedAgent extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
}

/**
 * Starts an agent that sends the answers in order. The last one answers all
 * further requests.
 */
export async function startRecordedAgent(
  ...answers: readonly ((response: ServerResponse, id: number) => void)[]
): Promise<RecordedAgent> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = text === "" ? {} : JSON.parse(text);
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, headers, body });
    answers[Math.min(requests.length, answers.length) - 1]?.(
      response,
      body.id ?? 0,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    [Symbol.asyncDispose]: close,
  };
}

/** Answers with JSON. */
export function json(
  body: unknown,
  status = 200,
): (response: ServerResponse) => void {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

/** Answers with a JSON-RPC result. */
export function result(
  value: unknown,
): (response: ServerResponse, id: number) => void {
  return (response, id) =>
    json({ jsonrpc: "2.0", id, result: value })(response);
}

/**
 * Answers with a stream of frames and ends it. A string is sent as it is;
 * anything else becomes a JSON-RPC result.
 */
export function sse(
  ...frames: readonly unknown[]
): (response: ServerResponse, id: number) => void {
  return (response, id) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const frame of frames) {
      response.write(typeof frame === "string" ? frame : frameText(frame, id));
    }
    response.end();
  };
}

/** Never answers. */
export function silence(): void {}

function frameText(frame: unknown, id: number): string {
  return `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: frame })}\n\n`;
}
