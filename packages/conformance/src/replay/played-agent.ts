import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { create, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { closeServer, listen, readBody } from "../loopback/http-server.ts";
import { mismatch } from "../match/match.ts";
import { Variables } from "../match/variables.ts";
import {
  type AgentAnswer,
  AgentAnswerSchema,
  type AgentCase,
  type AgentDialect,
} from "../protos.ts";

/**
 * An agent on loopback that answers a client word by word.
 */
export interface PlayedAgent extends AsyncDisposable {
  /**
   * `http://127.0.0.1:port`.
   */
  readonly url: string;
  /**
   * Mistakes of the client, in words.
   */
  readonly problems: readonly string[];
  /**
   * Returns the number of messages that the client has sent.
   */
  messages(): number;
  /**
   * Whether the client sent its message without a stream, and the script
   * answers streams alone.
   */
  avoidsStreams(): boolean;
}

/**
 * What an agent plays: a case in one dialect, with one form of its card and of
 * the events of its streams.
 */
export interface AgentScript {
  readonly one: AgentCase;
  readonly dialect: AgentDialect;
  readonly card: string;
  readonly event: string;
  /**
   * The bearer token that the client must send. Empty if it needs none.
   */
  readonly token: string;
}

/**
 * Starts an agent that plays a script.
 */
export async function startPlayedAgent(
  script: AgentScript,
): Promise<PlayedAgent> {
  const player = new AgentPlayer(script);
  const sockets = new Set<Socket>();
  let url = "";
  const server = createServer((request, response) => {
    player.answer(request, response, url).catch((reason: unknown) => {
      player.problems.push(String(reason));
      response.destroy();
    });
  }).on("connection", (socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)));
  });
  url = await listen(server);
  return {
    url,
    problems: player.problems,
    messages: () => player.messages,
    avoidsStreams: () => player.avoidsStreams,
    [Symbol.asyncDispose]: () => closeServer(server, sockets),
  };
}

interface RpcRequest {
  readonly id: JsonValue;
  readonly method: string;
  readonly params: JsonValue;
}

class AgentPlayer {
  readonly problems: string[] = [];
  messages = 0;
  avoidsStreams = false;
  readonly #script: AgentScript;
  readonly #left: AgentAnswer[];

  constructor(script: AgentScript) {
    this.#script = script;
    this.#left = [...script.one.answers];
  }

  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    url: string,
  ): Promise<void> {
    const { one, dialect, card, token } = this.#script;
    const path = request.url ?? "/";
    if (path === (one.cardPath || "/.well-known/agent-card.json")) {
      const found = dialect.cards[card];
      if (!found) throw new Error(`card ${JSON.stringify(card)} is missing`);
      const variables = new Variables({ url, port: new URL(url).port });
      response.end(JSON.stringify(variables.fill(found)));
    } else if (request.method !== "POST" || !/^\/a2a\/?$/.test(path)) {
      response.writeHead(404).end();
    } else if (
      token !== "" &&
      request.headers.authorization !== `Bearer ${token}`
    ) {
      this.problems.push("the bearer token is missing or wrong");
      response.writeHead(401).end();
    } else {
      this.#call(JSON.parse(await readBody(request)), response);
    }
  }

  #call(rpc: RpcRequest, response: ServerResponse): void {
    const method = methodOf(rpc.method, this.#script.dialect);
    if (/^Send/.test(method)) this.#checkMessage(rpc);
    const answer = this.#nextAnswer(method);
    this.avoidsStreams ||= method === "SendMessage" && answer === NO_METHOD;
    const { results, error, httpStatus } = answer;
    if (httpStatus > 0) {
      response.writeHead(httpStatus).end(String(error?.message));
      return;
    }
    const outcomes = [
      ...results.map((name) => ({ result: this.#result(name) })),
      ...(error ? [{ error }] : []),
    ].map((outcome) => ({ jsonrpc: "2.0", id: rpc.id, ...outcome }));
    const [first] = outcomes;
    if (!first) {
      response.destroy();
    } else if (results.length > 0 && /^SendStr|^Subscr/.test(method)) {
      response.setHeader("content-type", "text/event-stream");
      response.end(outcomes.map((one, at) => this.#event(one, at)).join(""));
    } else {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(first));
    }
  }

  #checkMessage({ params }: RpcRequest): void {
    this.messages++;
    const { params: expected } = this.#script.one;
    const problem =
      expected && mismatch(toJson(ValueSchema, expected), params, "params");
    if (problem !== undefined) this.problems.push(problem);
  }

  /**
   * Takes the next answer of a method, and leaves the last one.
   */
  #nextAnswer(method: string): AgentAnswer {
    const mine = this.#left.filter((answer) => answer.method === method);
    const [next] = mine;
    if (next && mine.length > 1) this.#left.splice(this.#left.indexOf(next), 1);
    return next ?? NO_METHOD;
  }

  #result(name: string): JsonObject {
    const result = this.#script.dialect.results[name];
    if (!result) throw new Error(`result ${JSON.stringify(name)} is missing`);
    return result;
  }

  #event(element: JsonObject, index: number): string {
    const { event } = this.#script;
    const lines = JSON.stringify(element, null, 1)
      .split("\n")
      .map((line) => `data: ${line}`);
    return (index === 0 ? event : event.replace(/^\ufeff/, ""))
      .replace("<data>", () => JSON.stringify(element))
      .replace("<lines>", () => lines.join("\n"));
  }
}

const NO_METHOD = create(AgentAnswerSchema, {
  error: { code: -32601, message: "no such method" },
});

const METHODS_V03: Readonly<Record<string, string>> = {
  "message/send": "SendMessage",
  "message/stream": "SendStreamingMessage",
  "tasks/get": "GetTask",
  "tasks/resubscribe": "SubscribeToTask",
};

function methodOf(name: string, { protocolVersion }: AgentDialect): string {
  return protocolVersion === "0.3" ? (METHODS_V03[name] ?? "") : name;
}
