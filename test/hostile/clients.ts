import { type ClientHttp2Session, connect } from "node:http2";
import { type Dispatcher, Pool } from "undici";

/** The answer of a server. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly trailers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** One request. */
export interface Question {
  readonly method?: string;
  readonly path: string;
  readonly type: string;
  readonly body: Uint8Array | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks a server and takes whatever it answers. */
export interface Client extends Disposable {
  ask(question: Question): Promise<Answer>;
}

/** Asks over HTTP/1.1, on connections that stay. */
export function http1Client(url: string, token: string): Client {
  const pool = new Pool(url, { connections: 50 });
  const authorization = `Bearer ${token}`;
  const ask = ({
    method = "POST",
    path,
    type,
    body,
    headers,
  }: Question): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const all = { "content-type": type, authorization, ...headers };
      pool.dispatch(
        { method, path, headers: all, body: body === "" ? null : body },
        new Taker(resolve, reject),
      );
    });
  return { ask, [Symbol.dispose]: () => void pool.destroy() };
}

/**
 * Takes one answer as it comes, without the stream that an answer is otherwise
 * made into.
 */
class Taker implements Dispatcher.DispatchHandler {
  readonly #chunks: Buffer[] = [];
  #status = 0;
  #headers: Answer["headers"] = {};

  constructor(
    readonly done: (answer: Answer) => void,
    readonly failed: (reason: Error) => void,
  ) {}

  onRequestStart(): void {}

  onResponseStart(
    _: unknown,
    status: number,
    headers: Answer["headers"],
  ): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(_: unknown, trailers: Answer["trailers"]): void {
    this.done({
      status: this.#status,
      headers: this.#headers,
      trailers,
      body: Buffer.concat(this.#chunks),
    });
  }

  onResponseError(_: unknown, reason: Error): void {
    this.failed(reason);
  }
}

/**
 * Asks over one HTTP/2 connection without TLS, as gRPC does, and over a new one
 * after the server closed it for idleness.
 */
export function http2Client(url: string, token: string): Client {
  let session = connect(url);
  const ask = (question: Question): Promise<Answer> => {
    if (session.closed || session.destroyed) session = connect(url);
    return askIn(session, token, question);
  };
  return { ask, [Symbol.dispose]: () => session.destroy() };
}

function askIn(
  session: ClientHttp2Session,
  token: string,
  question: Question,
): Promise<Answer> {
  const { method = "POST", path, type, body, headers = {} } = question;
  return new Promise((resolve, reject) => {
    const head = {
      ":method": method,
      ":path": path,
      "content-type": type,
      te: "trailers",
      authorization: `Bearer ${token}`,
    };
    const stream = session.request({ ...head, ...headers });
    const chunks: Buffer[] = [];
    let answered: Readonly<Record<string, unknown>> = {};
    let trailers: Readonly<Record<string, unknown>> = {};
    stream.on("response", (found) => (answered = { ...found }));
    stream.on("trailers", (found) => (trailers = { ...found }));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject).on("end", () => {
      resolve({
        status: Number(answered[":status"]),
        headers: answered,
        trailers,
        body: Buffer.concat(chunks),
      });
    });
    stream.end(body);
  });
}
