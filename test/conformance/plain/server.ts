import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ProtocolVersion } from "@devtool/conformance/testing";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
} from "@devtool/internal/json";
import { A2aError, PlainAgent, type PlainTask } from "./agent.ts";
import { frameV03, METHODS_03 } from "./names-v03.ts";

/** How a plain server is spoken to, and what it offers. */
export interface PlainWay {
  readonly protocolVersion: ProtocolVersion;
  readonly binding: "JSONRPC" | "HTTP+JSON";
  /** Whether it offers neither streams nor notifications nor a second card. */
  readonly isBare: boolean;
}

/** The status and headers of an answer. */
export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The prompts by which the agent is made to behave as cases need. */
export const PLAIN_PROMPTS: Readonly<Record<string, string>> = {
  says: "say",
  ends: "say",
  asks: "ask",
  answers: "say",
  "works-long": "long",
  "works-a-while": "while",
  hook: "http://127.0.0.1:1/hook",
};

export const PLAIN_TOKEN = "secret";

/** The names and HTTP statuses of errors, by their codes in JSON-RPC. */
const ERRORS: ReadonlyMap<number, readonly [name: string, status: number]> =
  new Map([
    [-32001, ["TASK_NOT_FOUND", 404]],
    [-32002, ["TASK_NOT_CANCELABLE", 409]],
    [-32003, ["PUSH_NOTIFICATION_NOT_SUPPORTED", 400]],
    [-32004, ["UNSUPPORTED_OPERATION", 400]],
    [-32009, ["VERSION_NOT_SUPPORTED", 400]],
  ]);

/** Answers a call: with a result, or with the stream of a task. */
type Answer =
  | { readonly result: JsonValue }
  | { readonly stream: PlainTask; readonly start: () => void };

/**
 * A server of A2A over `node:http`, without an SDK. Each of its methods, and of
 * its agent's, can be replaced by a fault.
 */
export class PlainServer implements AsyncDisposable {
  readonly agent: PlainAgent;
  readonly way: PlainWay;
  readonly #server: Server;

  constructor(way: PlainWay) {
    this.way = way;
    this.agent = new PlainAgent(way.isBare);
    this.#server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${isObject(address) ? address.port : 0}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  card(): JsonObject {
    const { protocolVersion, binding, isBare } = this.way;
    const url = `${this.url}/a2a`;
    const shared = {
      name: "plain",
      description: "An agent without an SDK.",
      version: "1",
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      skills: [{ id: "say", name: "Say", description: "Says.", tags: ["say"] }],
    };
    const offers = { streaming: !isBare, pushNotifications: !isBare };
    if (protocolVersion === "0.3") {
      return {
        ...shared,
        protocolVersion: "0.3.0",
        url,
        capabilities: offers,
        supportsAuthenticatedExtendedCard: !isBare,
        security: [{ bearer: [] }],
        securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      };
    }
    return {
      ...shared,
      supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion }],
      capabilities: { ...offers, extendedAgentCard: !isBare },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      securitySchemes: {
        bearer: { httpAuthSecurityScheme: { scheme: "bearer" } },
      },
    };
  }

  /** Changes the status and the headers of an answer. */
  head(head: Head, _request: IncomingMessage): Head {
    return head;
  }

  /** Changes a result, or an element of a stream, as it is written. */
  result(json: JsonValue, _method: string): JsonValue {
    return json;
  }

  /** Changes a response of JSON-RPC, or the body of an answer over HTTP+JSON. */
  envelope(json: JsonValue): JsonValue {
    return json;
  }

  /** Writes an event of a stream. */
  event(data: string): string {
    return `data: ${data}\n\n`;
  }

  /** Ends a stream. */
  close(response: ServerResponse, _task: PlainTask): void {
    response.end();
  }

  /** The code of an error. */
  code(code: number, _method: string): number {
    return code;
  }

  async serve(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { pathname } = new URL(request.url ?? "/", this.url);
    if (pathname === "/.well-known/agent-card.json") {
      this.serveCard(request, response);
    } else if (!this.isAllowed(request)) {
      this.send(request, response, {
        head: {
          status: 401,
          headers: { "www-authenticate": "Bearer" },
        },
        json: { error: "unauthenticated" },
      });
    } else if (this.way.binding === "JSONRPC") {
      await this.serveJsonRpc(request, response, body);
    } else {
      await this.serveRest(request, response, body);
    }
  }

  isAllowed({ headers }: IncomingMessage): boolean {
    return headers.authorization === `Bearer ${PLAIN_TOKEN}`;
  }

  serveCard(request: IncomingMessage, response: ServerResponse): void {
    const json = this.card();
    const etag = `"${JSON.stringify(json).length}"`;
    const headers = { etag, "cache-control": "max-age=60" };
    const isKnown = request.headers["if-none-match"] === etag;
    if (isKnown) {
      const head = this.head({ status: 304, headers }, request);
      response.writeHead(head.status, head.headers).end();
    } else {
      this.send(request, response, { head: { status: 200, headers }, json });
    }
  }

  send(
    request: IncomingMessage,
    response: ServerResponse,
    { head, json }: { readonly head: Head; readonly json: JsonValue },
  ): void {
    const headers = { "content-type": "application/json", ...head.headers };
    const sent = this.head({ ...head, headers }, request);
    response.writeHead(sent.status, sent.headers);
    response.end(this.body(JSON.stringify(json)));
  }

  /** Changes the text of an answer that is not a stream. */
  body(text: string): string {
    return text;
  }

  async serveJsonRpc(
    request: IncomingMessage,
    response: ServerResponse,
    body: string,
  ): Promise<void> {
    const call = objectOrEmpty(parseJsonOrUndefined(body));
    const { id = null, method = "" } = call;
    const respond = (outcome: JsonObject): JsonValue =>
      this.envelope({ jsonrpc: "2.0", id, ...outcome });
    const name =
      this.way.protocolVersion === "0.3"
        ? (METHODS_03[String(method)] ?? "")
        : String(method);
    try {
      if (parseJsonOrUndefined(body) === undefined) {
        throw new A2aError(-32700, "not JSON");
      }
      if (call.jsonrpc !== "2.0") throw new A2aError(-32600, "not a request");
      this.assertVersion(request);
      const answer = await this.call(name, objectOrEmpty(call.params));
      if ("stream" in answer) {
        this.stream(request, response, answer, (frame) =>
          respond({ result: this.written(frame, name) }),
        );
      } else {
        const json = respond({ result: this.written(answer.result, name) });
        this.send(request, response, {
          head: { status: 200, headers: {} },
          json,
        });
      }
    } catch (reason) {
      const error = this.error(reason, name);
      this.send(request, response, {
        head: { status: 200, headers: {} },
        json: respond({ error }),
      });
    }
  }

  error(reason: unknown, method: string): JsonObject {
    if (!(reason instanceof A2aError)) throw reason;
    const code = this.code(reason.code, method);
    const { message } = reason;
    const data = this.details(code);
    return data.length === 0 ? { code, message } : { code, message, data };
  }

  /** The details of an error: in A2A 1.0, its name. */
  details(code: number): JsonObject[] {
    const [reason] = ERRORS.get(code) ?? [];
    if (reason === undefined || this.way.protocolVersion === "0.3") return [];
    const type = "type.googleapis.com/google.rpc.ErrorInfo";
    return [{ "@type": type, reason, domain: "a2a-protocol.org" }];
  }

  async serveRest(
    request: IncomingMessage,
    response: ServerResponse,
    body: string,
  ): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", this.url);
    const sent = objectOrEmpty(parseJsonOrUndefined(body));
    const { name, params } = routeOf(
      request.method ?? "",
      pathname.replace("/a2a", ""),
    );
    try {
      this.assertVersion(request);
      const query = Object.fromEntries(searchParams);
      const answer = await this.call(name, { ...query, ...sent, ...params });
      if ("stream" in answer) {
        this.stream(request, response, answer, (frame) =>
          this.envelope(this.written(frame, name)),
        );
      } else {
        this.send(request, response, {
          head: { status: 200, headers: {} },
          json: this.envelope(this.written(answer.result, name) ?? {}),
        });
      }
    } catch (reason) {
      const { code, message = "" } = this.error(reason, name);
      const [, status = Number(code) === -32601 ? 404 : 400] =
        ERRORS.get(Number(code)) ?? [];
      const details = this.details(Number(code));
      const error = { code: status, status: "NAME", message, details };
      this.send(request, response, {
        head: { status, headers: {} },
        json: this.envelope({ error }),
      });
    }
  }

  assertVersion({ headers }: IncomingMessage): void {
    const { protocolVersion } = this.way;
    const asked = String(headers["a2a-version"] ?? protocolVersion);
    if (protocolVersion === "0.3" || /^1\.0(?:\.|$)/.test(asked)) return;
    throw new A2aError(-32009, `no version ${asked}`);
  }

  written(result: JsonValue, method: string): JsonValue {
    const names =
      this.way.protocolVersion === "0.3" && isObject(result)
        ? writtenV03(result, method)
        : result;
    return this.result(names, method);
  }

  stream(
    request: IncomingMessage,
    response: ServerResponse,
    { stream: task, start }: Extract<Answer, { stream: PlainTask }>,
    respond: (frame: JsonObject) => JsonValue,
  ): void {
    const headers = { "content-type": "text/event-stream" };
    const head = this.head({ status: 200, headers }, request);
    response.writeHead(head.status, head.headers).flushHeaders();
    const listener = (frame: JsonObject | undefined): void => {
      if (frame) {
        response.write(this.event(JSON.stringify(respond(frame))));
      } else {
        task.listeners.delete(listener);
        this.close(response, task);
      }
    };
    response.once("close", () => task.listeners.delete(listener));
    const snapshot = { task: this.agent.write(task, undefined) };
    for (const frame of this.snapshot(snapshot)) listener(frame);
    task.listeners.add(listener);
    start();
  }

  /** What a stream starts with. */
  snapshot(frame: JsonObject): readonly JsonObject[] {
    return [frame];
  }

  /** Plays a method, by its name in A2A 1.0. */
  async call(name: string, params: JsonObject): Promise<Answer> {
    const { agent } = this;
    const { id, historyLength, taskId = id } = params;
    switch (name) {
      case "SendMessage":
        return { result: await this.sendMessage(params) };
      case "SendStreamingMessage": {
        this.assertOffered("streaming");
        const task = agent.accept(this.validMessage(params));
        return { stream: task, start: () => agent.work(task) };
      }
      case "SubscribeToTask": {
        this.assertOffered("streaming");
        return this.subscribe(agent.find(id));
      }
      case "GetTask":
        return { result: agent.write(agent.find(id), historyLength) };
      case "CancelTask":
        return { result: agent.write(agent.cancel(id), undefined) };
      case "ListTasks":
        return { result: agent.list(params) };
      case "GetExtendedAgentCard":
        this.assertOffered("extendedAgentCard");
        return { result: this.extendedCard() };
      default:
        return {
          result: this.configs(name, { ...params, ...defined({ taskId }) }),
        };
    }
  }

  extendedCard(): JsonObject {
    return PlainServer.prototype.card.call(this);
  }

  subscribe(task: PlainTask): Answer {
    if (task.state !== "WORKING" && task.state !== "INPUT_REQUIRED") {
      this.agent.refuseEnded();
    }
    return { stream: task, start: () => this.agent.resume(task) };
  }

  /** Sets, reads, lists or deletes notification configs. */
  configs(name: string, params: JsonObject): JsonValue {
    const {
      taskId = "",
      id,
      pushNotificationConfig,
      pushNotificationConfigId,
    } = params;
    const { agent } = this;
    const known = name.includes("PushNotificationConfig");
    if (!known) throw new A2aError(-32601, `no method ${name}`);
    this.assertOffered("pushNotifications");
    const is03 = this.way.protocolVersion === "0.3";
    const configId = is03 ? pushNotificationConfigId : id;
    const write = (config: JsonObject): JsonObject => {
      const { taskId: of = "", ...inner } = config;
      return is03 ? { taskId: of, pushNotificationConfig: inner } : config;
    };
    switch (name) {
      case "CreateTaskPushNotificationConfig": {
        const config = is03
          ? { ...objectOrEmpty(pushNotificationConfig), taskId }
          : { ...params, taskId };
        return write(agent.setConfig(config));
      }
      case "GetTaskPushNotificationConfig":
        return write(agent.getConfig(taskId, configId));
      case "ListTaskPushNotificationConfigs": {
        const configs = agent.configsOf(taskId).map(write);
        return is03 ? configs : { configs, nextPageToken: "" };
      }
      default:
        agent.deleteConfig(taskId, configId);
        return null;
    }
  }

  async sendMessage(params: JsonObject): Promise<JsonObject> {
    const { agent } = this;
    const { returnImmediately, blocking, historyLength } = objectOrEmpty(
      params.configuration,
    );
    const task = agent.accept(this.validMessage(params));
    agent.work(task);
    if (returnImmediately !== true && blocking !== false) {
      await agent.wait(task);
    }
    return { task: agent.write(task, historyLength) };
  }

  validMessage({ message }: JsonObject): JsonObject {
    const { messageId, role, parts } = objectOrEmpty(message);
    const is03 = this.way.protocolVersion === "0.3";
    const isValid =
      typeof messageId === "string" &&
      role === (is03 ? "user" : "ROLE_USER") &&
      listOrEmpty(parts).length > 0 &&
      listOrEmpty(parts).every((part) => "text" in objectOrEmpty(part));
    if (!isValid) throw new A2aError(-32602, "not a message");
    return objectOrEmpty(message);
  }

  assertOffered(name: string): void {
    if (!this.way.isBare) return;
    const code = name === "pushNotifications" ? -32003 : -32004;
    throw new A2aError(code, `${name} is not offered`);
  }
}

/** A result of A2A 1.0 in the names of 0.3, by the method in 1.0. */
function writtenV03(result: JsonObject, method: string): JsonObject {
  if (method === "GetTask" || method === "CancelTask") {
    return frameV03({ task: result });
  }
  return Object.keys(result).length === 1 ? frameV03(result) : result;
}

interface Route {
  readonly name: string;
  readonly params: JsonObject;
}

/** The method of a request over HTTP+JSON, and the parameters in its path. */
function routeOf(verb: string, path: string): Route {
  const [, tasks = "", id = "", action = "", configs = "", config] =
    /^\/([^/]*)(?:\/([^/:]+)(?::(\w+))?)?(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(
      path,
    ) ?? [];
  if (configs !== "") {
    const one = config === undefined ? {} : { id: config };
    const name = `${verb} ${config === undefined ? "all" : "one"}`;
    return { name: CONFIG_ROUTES[name] ?? "", params: { taskId: id, ...one } };
  }
  const params = id === "" ? {} : { id };
  return {
    name: ROUTES[`${tasks}${id && "/"}${action && ":"}${action}`] ?? "",
    params,
  };
}

const ROUTES: Readonly<Record<string, string>> = {
  "message:send": "SendMessage",
  "message:stream": "SendStreamingMessage",
  tasks: "ListTasks",
  "tasks/": "GetTask",
  "tasks/:cancel": "CancelTask",
  "tasks/:subscribe": "SubscribeToTask",
  extendedAgentCard: "GetExtendedAgentCard",
};

const CONFIG_ROUTES: Readonly<Record<string, string>> = {
  "POST all": "CreateTaskPushNotificationConfig",
  "GET all": "ListTaskPushNotificationConfigs",
  "GET one": "GetTaskPushNotificationConfig",
  "DELETE one": "DeleteTaskPushNotificationConfig",
};
