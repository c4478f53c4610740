import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { defined, isObject, objectOrEmpty } from "@devtool/internal/json";
import { A2aError } from "./agent.ts";
import type { Head, PlainServer, PlainWay } from "./server.ts";

/** A small fault of a plain server, and the one requirement that it breaks. */
export interface PlainFault {
  /** Empty for what only warns. */
  readonly requirement: string;
  readonly fault: string;
  /** Words of the message, which name what to change. */
  readonly says: string;
  /** How the server is spoken to: JSON-RPC, and all that is optional. */
  readonly way: Partial<PlainWay>;
  /** Plants the fault. */
  readonly plant: (server: PlainServer) => void;
}

type Plant = PlainFault["plant"];

/**
 * Faults by what is wrong: the words of the message, how the server gets the
 * fault, and how it is spoken to.
 */
type FaultsOfOne = Readonly<
  Record<string, readonly [says: string, plant: Plant, way?: Partial<PlainWay>]>
>;

/** Faults by the requirement that they break. */
type Faults = Readonly<Record<string, FaultsOfOne>>;

/** The same faults of two requirements, whose names end differently. */
function ofBoth(
  endings: Readonly<Record<string, string>>,
  faults: FaultsOfOne,
): Faults {
  return Object.fromEntries(
    Object.entries(endings).map(([requirement, ending]) => [
      requirement,
      Object.fromEntries(
        Object.entries(faults).map(([what, one]) => [`${what} ${ending}`, one]),
      ),
    ]),
  );
}

/** Changes the text of results, and of elements of streams. */
function text(
  from: RegExp,
  to: string,
  methods = /(?:Send.*|.*Task.*)/,
): Plant {
  return (server) => {
    server.result = (json, method) =>
      methods.test(method)
        ? JSON.parse(JSON.stringify(json).replaceAll(from, to))
        : json;
  };
}

/** Changes the results of some methods. */
function result(
  method: RegExp,
  change: (json: JsonObject) => JsonValue,
): Plant {
  return (server) => {
    server.result = (json, name) =>
      isObject(json) && method.test(name) ? change(json) : json;
  };
}

/** Changes responses of JSON-RPC, or bodies over HTTP+JSON. */
function envelope(change: (json: JsonObject) => JsonValue): Plant {
  return (server) => {
    server.envelope = (json) => change(objectOrEmpty(json));
  };
}

/** Changes the card. */
function card(change: (card: JsonObject) => JsonObject): Plant {
  return (server) => {
    const original = server.card();
    server.card = () => {
      const url = `${server.url}/a2a`;
      const { supportedInterfaces } = original;
      const own = Array.isArray(supportedInterfaces)
        ? {
            supportedInterfaces: supportedInterfaces.map((one) => ({
              ...objectOrEmpty(one),
              url,
            })),
          }
        : { url };
      return change({ ...original, ...own });
    };
  };
}

function without(name: string): (json: JsonObject) => JsonObject {
  return ({ [name]: _left, ...others }) => others;
}

/** Changes the status and headers of the answers to some requests. */
function head(type: RegExp, change: (head: Head) => Partial<Head>): Plant {
  return (server) => {
    server.head = (sent, { url = "" }) => {
      const of = `${url} ${sent.headers["content-type"] ?? ""} ${sent.status}`;
      return type.test(of) ? { ...sent, ...change(sent) } : sent;
    };
  };
}

function contentType(of: RegExp, type: string): Plant {
  return head(of, ({ headers }) => {
    const { "content-type": _old, ...others } = headers;
    return {
      headers: type === "" ? others : { ...others, "content-type": type },
    };
  });
}

/** Fails some calls with another code. */
function code(from: number, to: number, method = /(?:)/): Plant {
  return (server) => {
    server.code = (sent, name) =>
      sent === from && method.test(name) ? to : sent;
  };
}

const REST = { binding: "HTTP+JSON" } as const;
const BARE = { isBare: true } as const;
const STREAM = /event-stream/;
const POSTED = /a2a application\/json/;

const CARD: Faults = {
  "A2A1-CARD": {
    "the card has no skills": ["skills is missing", card(without("skills"))],
    "the card has no description": [
      "description is missing",
      card(without("description")),
    ],
    "the card names its output modes in snake_case": [
      "default_output_modes must be written defaultOutputModes",
      card(({ defaultOutputModes = [], ...others }) => {
        return { ...others, default_output_modes: defaultOutputModes };
      }),
    ],
    "a skill of the card has no tags": [
      "skills[0].tags is missing",
      card((json) => ({
        ...json,
        skills: [{ id: "say", name: "Say", description: "Says." }],
      })),
    ],
    "the card is sent as HTML": [
      "content-type must contain",
      contentType(/agent-card/, "text/html"),
    ],
  },
  "A2A1-CARD-CACHE": {
    "the card has no ETag": [
      "etag is missing",
      head(/agent-card/, ({ headers: { etag: _etag, ...headers } }) => ({
        headers,
      })),
    ],
    "the card has no Cache-Control": [
      "cache-control must contain",
      head(
        /agent-card/,
        ({ headers: { "cache-control": _cache, ...headers } }) => ({ headers }),
      ),
    ],
    "the ETag of the card is not compared": [
      "must be 304: got 200",
      (server) => {
        server.card = () => ({
          ...Object.getPrototypeOf(server).card.call(server),
          description:
            crypto.randomUUID() +
            "x".repeat(Math.round(performance.now() * 10) % 1000),
        });
      },
    ],
  },
  "A2A03-CARD": {
    "the card has no version": ["version is missing", card(without("version"))],
    "the card has no input modes": [
      "defaultInputModes is missing",
      card(without("defaultInputModes")),
    ],
  },
  "A2A1-EXTENDED-CARD": {
    "the extended card has no skills": [
      "skills is missing",
      (server) => {
        server.extendedCard = () =>
          without("skills")(Object.getPrototypeOf(server).card.call(server));
      },
    ],
    "the extended card is an error": [
      "no error was expected",
      (server) => {
        server.extendedCard = () => {
          throw new A2aError(-32603, "none");
        };
      },
    ],
  },
};

const ACCESS: Faults = {
  "A2A1-AUTH": {
    "any token is accepted": [
      "an error was expected",
      (server) => {
        server.isAllowed = ({ headers }) => headers.authorization !== undefined;
      },
    ],
    "no token is needed": [
      "an error was expected",
      (server) => {
        server.isAllowed = () => true;
      },
    ],
  },
  "A2A1-AUTH-CHALLENGE": {
    "a missing token gets 403": [
      "must be 401: got 403",
      head(/ 401$/, () => ({ status: 403 })),
    ],
    "401 has no WWW-Authenticate": [
      "www-authenticate is missing",
      head(
        / 401$/,
        ({ headers: { "www-authenticate": _way, ...headers } }) => ({
          headers,
        }),
      ),
    ],
  },
  "A2A03-AUTH": {
    "no token is needed in 0.3": [
      "an error was expected",
      (server) => {
        server.isAllowed = () => true;
      },
    ],
  },
  "A2A1-VERSION": {
    "every version is accepted": [
      "a2a-version 99.0",
      (server) => {
        server.assertVersion = () => undefined;
      },
    ],
    "a patch version is refused": [
      "a2a-version 1.0.1",
      (server) => {
        server.assertVersion = ({ headers }) => {
          if (headers["a2a-version"] === "1.0") return;
          throw new A2aError(-32009, "no such version");
        };
      },
    ],
    "an unknown version is an invalid request": [
      "must be -32009",
      code(-32009, -32600),
    ],
  },
};

const CONTENT: Faults = {
  "A2A1-CONTENT-TYPE": {
    "streams are sent as JSON": [
      "the content type must be text/event-stream: got application/json",
      contentType(STREAM, "application/json"),
    ],
    "streams are sent as text": [
      "the content type must be text/event-stream: got text/plain",
      contentType(STREAM, "text/plain"),
    ],
    "answers are sent as text": [
      "the content type must be application/json: got text/plain",
      contentType(POSTED, "text/plain"),
    ],
    "answers have no content type": [
      "the content type must be application/json: got none",
      contentType(POSTED, ""),
    ],
    "answers are sent as streams": [
      "a stream must have server-sent events",
      contentType(POSTED, "text/event-stream"),
    ],
    "no event has a blank line after it": [
      "a blank line must end each event",
      (server) => {
        server.event = (data) => `data: ${data}\n`;
      },
    ],
    "events are lines of JSON": [
      "a stream must have server-sent events",
      (server) => {
        server.event = (data) => `${data}\n`;
      },
    ],
    "the data of an event is not JSON": [
      "the data of event 1 is not valid JSON",
      (server) => {
        server.event = (data) => `data: ${data.replaceAll('"', "'")}\n\n`;
      },
    ],
    "answers are cut off": [
      "the body is not valid JSON",
      (server) => {
        server.body = (json) =>
          json.includes("jsonrpc") ? json.slice(0, -1) : json;
      },
    ],
    "answers are HTML": [
      "the answer must be JSON: got HTTP 200 with text/html",
      (server) => {
        contentType(POSTED, "text/html")(server);
        server.body = (json) =>
          json.includes("jsonrpc") ? "<html></html>" : json;
      },
    ],
    "streams over HTTP+JSON are sent as JSON": [
      "the content type must be text/event-stream: got application/json",
      contentType(STREAM, "application/json"),
      REST,
    ],
  },
  "A2A03-CONTENT-TYPE": {
    "streams are sent as JSON in 0.3": [
      "the content type must be text/event-stream: got application/json",
      contentType(STREAM, "application/json"),
    ],
    "answers are sent as text in 0.3": [
      "the content type must be application/json: got text/plain",
      contentType(POSTED, "text/plain"),
    ],
    "no event has a blank line after it in 0.3": [
      "a blank line must end each event",
      (server) => {
        server.event = (data) => `data: ${data}\n`;
      },
    ],
  },
};

const JSON_RPC: Faults = ofBoth(
  { "A2A03-JSONRPC": "in 0.3", "A2A1-JSONRPC": "in 1.0" },
  {
    "ids are returned as strings": [
      "the id of the response must be 1",
      envelope((json) => ({
        ...json,
        id: json.id === 1 ? "1" : (json.id ?? null),
      })),
    ],
    "responses have no id": [
      "the id of the response must be 1: got nothing",
      envelope((json) => (json.id === 1 ? without("id")(json) : json)),
    ],
    "responses have no version": [
      "a JSON-RPC 2.0 response",
      envelope(without("jsonrpc")),
    ],
    "results come with an error": [
      "with either a result or an error",
      envelope((json) => ({ error: null, ...json })),
    ],
    "an unknown method is an invalid request": [
      "must be -32601",
      code(-32601, -32600),
    ],
    "what is not JSON is an invalid request": [
      "must be -32700",
      code(-32700, -32600),
    ],
  },
);

const NAMES: Faults = {
  "A2A1-JSON": {
    "artifactId is artifact_id": [
      "artifact_id must be written artifactId",
      text(/"artifactId"/g, '"artifact_id"'),
    ],
    "contextId is context_id": [
      "context_id must be written contextId",
      text(/"contextId"/g, '"context_id"'),
    ],
    "statusUpdate is status_update": [
      "status_update must be written statusUpdate",
      text(/"statusUpdate"/g, '"status_update"'),
    ],
    "states are numbers": [
      'must be "TASK_STATE_COMPLETED": got 3',
      text(/"TASK_STATE_COMPLETED"/g, "3"),
    ],
    "states have the names of 0.3": [
      'must be "TASK_STATE_COMPLETED": got "completed", as in A2A 0.3',
      text(/"TASK_STATE_COMPLETED"/g, '"completed"'),
    ],
    "all states have the names of 0.3": [
      'must be "TASK_STATE_INPUT_REQUIRED": got "input-required", as in A2A 0.3',
      text(/"TASK_STATE_INPUT_REQUIRED"/g, '"input-required"'),
    ],
    "roles have the names of 0.3": [
      'must be "ROLE_USER": got "user", as in A2A 0.3',
      text(/"ROLE_USER"/g, '"user"'),
    ],
    "a state is unknown": [
      "TASK_STATE_DONE",
      text(/"TASK_STATE_COMPLETED"/g, '"TASK_STATE_DONE"'),
    ],
    "results have a kind in place of a field": [
      'a result of A2A 1.0 is in the field "task": got "kind": "task"',
      result(/^Send/, ({ task, ...others }) =>
        task === undefined ? others : { kind: "task", ...objectOrEmpty(task) },
      ),
    ],
    "times have no zone": [
      "timestamp",
      text(/(\d{4}-\d\d-\d\d)T([\d:]+)\.\d+Z/g, "$1 $2"),
    ],
    "times are numbers": [
      "timestamp",
      text(/"timestamp":"[^"]+"/g, '"timestamp":1764000000'),
    ],
    "times are not in UTC": [
      "timestamp",
      text(/("timestamp":"[^"]+)Z"/g, '$1+00:00"'),
    ],
    "an artifact has no id": [
      "artifactId is missing",
      text(/"artifactId":"[^"]+",/g, ""),
    ],
    "an update has no taskId": [
      "taskId is missing",
      text(/"taskId":"[^"]+",/g, "", /Streaming/),
    ],
    "a status has no state": [
      "state is missing",
      text(/"state":"[^"]+",/g, ""),
    ],
    "a message in the history has no id": [
      "messageId is missing",
      text(/"messageId":"[^"]+",/g, ""),
    ],
    "a task has no id": ["id is missing", result(/^GetTask$/, without("id"))],
    "a part holds nothing": [
      "a part has text, raw, url or data",
      text(/"text":"Hello."/g, '"x":1'),
    ],
    "the last page has no token": [
      "nextPageToken is missing",
      result(/^ListTasks$/, (json) =>
        json.nextPageToken === "" ? without("nextPageToken")(json) : json,
      ),
    ],
    "the size of a list is text": [
      "totalSize must be",
      result(/^ListTasks$/, (json) => ({
        ...json,
        totalSize: String(json.totalSize),
      })),
    ],
    "artifact_id over HTTP+JSON": [
      "artifact_id must be written artifactId",
      text(/"artifactId"/g, '"artifact_id"'),
      REST,
    ],
  },
  "": {
    "kind is left over": [
      'is left over from A2A 0.3, and 1.0 has no "kind"',
      text(/"text":"Hello."/g, '"kind":"text","text":"Hello."'),
    ],
    "final is left over": [
      'is left over from A2A 0.3, and 1.0 has no "final"',
      result(/Streaming/, ({ statusUpdate, ...others }) =>
        statusUpdate === undefined
          ? others
          : { statusUpdate: { ...objectOrEmpty(statusUpdate), final: true } },
      ),
    ],
    "a field is null": [
      "is null: leave it out",
      result(/^GetTask$/, (json) => ({ ...json, artifacts: null })),
    ],
  },
  "A2A03-JSON": {
    "states have the names of 1.0": [
      'must be "completed": got "TASK_STATE_COMPLETED", as in A2A 1.0',
      text(/"completed"/g, '"TASK_STATE_COMPLETED"'),
    ],
    "roles have the names of 1.0": [
      'must be "user": got "ROLE_USER", as in A2A 1.0',
      text(/"user"/g, '"ROLE_USER"'),
    ],
    "results are in fields as in 1.0": [
      'a result of A2A 0.3 has "kind": "task": got the field "task"',
      result(/^Send/, (json) =>
        json.kind === "task" ? { task: without("kind")(json) } : json,
      ),
    ],
    "results have no kind": ["result.kind", result(/./, without("kind"))],
    "artifactId is artifact_id in 0.3": [
      "artifact_id must be written artifactId",
      text(/"artifactId"/g, '"artifact_id"'),
    ],
    "contextId is context_id in 0.3": [
      "context_id must be written contextId",
      text(/"contextId"/g, '"context_id"'),
    ],
    "an artifact has no id in 0.3": [
      "artifactId is missing",
      text(/"artifactId":"[^"]+",/g, ""),
    ],
    "a part has no kind": ["parts[0].kind", text(/"kind":"text",/g, "")],
    "a state is a number": [
      "status.state must be one of",
      text(/"completed"/g, "3"),
    ],
    "an update has no contextId": [
      "contextId is missing",
      result(/Streaming/, (json) =>
        json.kind === "task" ? json : without("contextId")(json),
      ),
    ],
    "an update has no final": [
      "final is missing",
      result(/Streaming/, without("final")),
    ],
    "times are not of ISO 8601": [
      "timestamp must be a time of ISO 8601",
      text(/"timestamp":"[^"]+"/g, '"timestamp":"yesterday"'),
    ],
  },
};

const ERRORS: Faults = {
  "A2A1-ERROR-INFO": {
    "errors have no details": [
      "must carry",
      (server) => {
        server.details = () => [];
      },
    ],
    "errors have another domain": [
      "a2a-protocol.org",
      envelope((json) =>
        JSON.parse(
          JSON.stringify(json).replaceAll("a2a-protocol.org", "example.com"),
        ),
      ),
    ],
    "errors have the name of another": [
      "TASK_NOT_FOUND",
      envelope((json) =>
        JSON.parse(
          JSON.stringify(json).replaceAll("TASK_NOT_FOUND", "TASK_LOST"),
        ),
      ),
    ],
  },
  "A2A1-HTTP-STATUS": {
    "errors have the status 200": [
      "an error must have an HTTP status of 400 or more: got 200",
      head(/a2a.* (?:400|404|409)$/, () => ({ status: 200 })),
      REST,
    ],
    "not found is a bad request": [
      "must have the HTTP status 404: got 400",
      head(/ 404$/, () => ({ status: 400 })),
      REST,
    ],
    "errors are not in a field": [
      "the body must be",
      envelope((json) =>
        json.error === undefined ? json : objectOrEmpty(json.error),
      ),
      REST,
    ],
  },
  "A2A1-INVALID": {
    "invalid parameters are an internal error": [
      "must be -32602",
      (server) => {
        const check = server.validMessage.bind(server);
        server.validMessage = (params) => {
          try {
            return check(params);
          } catch (reason) {
            const { messageId, parts } = objectOrEmpty(params.message);
            const isWhole = messageId !== undefined && parts !== undefined;
            const isEmpty = Array.isArray(parts) && parts.length === 0;
            throw isWhole && !isEmpty ? new A2aError(-32603, "oh") : reason;
          }
        };
      },
    ],
    "a message needs no known role": [
      "must be -32602",
      (server) => {
        const check = server.validMessage.bind(server);
        server.validMessage = ({ message }) => ({
          ...check({
            message: { ...objectOrEmpty(message), role: "ROLE_USER" },
          }),
        });
      },
    ],
  },
  "A2A1-REQUIRED": {
    "a message needs no id": [
      "must be -32602",
      accepts("messageId", "made-up"),
    ],
    "a task needs no id to be found": [
      "must be -32602",
      (server) => {
        const find = server.agent.find.bind(server.agent);
        server.agent.find = (id) => find(id ?? "none");
      },
    ],
  },
  "A2A1-JSON-READ": {
    "unknown fields are refused": [
      "no error was expected",
      (server) => {
        const check = server.validMessage.bind(server);
        server.validMessage = (params) => {
          if ("more" in params) throw new A2aError(-32602, "what is more?");
          return check(params);
        };
      },
    ],
  },
  "A2A03-INVALID": {
    "invalid parameters are an internal error in 0.3": [
      "must be -32602",
      code(-32602, -32603),
    ],
  },
  "A2A1-NOT-OFFERED": {
    "notifications that are not offered have no method": [
      "must be -32003",
      code(-32003, -32601),
      BARE,
    ],
    "a stream that is not offered is sent": [
      "must be -32004",
      (server) => {
        server.assertOffered = (name) => {
          if (name === "pushNotifications") throw new A2aError(-32003, "no");
          if (name === "extendedAgentCard") throw new A2aError(-32004, "no");
        };
      },
      BARE,
    ],
  },
  "A2A03-NOT-OFFERED": {
    "notifications that are not offered are taken": [
      "must be -32003",
      (server) => {
        server.assertOffered = () => undefined;
      },
      BARE,
    ],
  },
};

function accepts(name: string, value: string): Plant {
  return (server) => {
    const check = server.validMessage.bind(server);
    server.validMessage = ({ message }) =>
      check({ message: { [name]: value, ...objectOrEmpty(message) } });
  };
}

const TASKS: Faults = {
  "A2A1-SEND": {
    "the answer says that the task still works": [
      "must be one of TASK_STATE_COMPLETED",
      (server) => {
        const send = server.sendMessage.bind(server);
        server.sendMessage = async (params) => {
          const isNew = objectOrEmpty(params.message).taskId === undefined;
          const json = JSON.stringify(await send(params));
          return JSON.parse(
            isNew
              ? json.replace("TASK_STATE_COMPLETED", "TASK_STATE_WORKING")
              : json,
          );
        };
      },
    ],
  },
  "A2A1-RETURN-IMMEDIATELY": {
    "a client that does not want to wait waits": [
      "no answer came within 10 s, the time limit of the case (--timeout)",
      (server) => {
        const send = server.sendMessage.bind(server);
        server.sendMessage = (params) => {
          const { historyLength } = objectOrEmpty(params.configuration);
          return send({ ...params, configuration: defined({ historyLength }) });
        };
      },
    ],
  },
  "A2A1-HISTORY": {
    "historyLength is ignored": [
      "must have length 0",
      (server) => {
        server.agent.recent = (history) => [...history];
      },
    ],
  },
  "A2A1-GET": {
    "an unknown task is an invalid parameter": [
      "must be -32001",
      code(-32001, -32602, /^GetTask$/),
    ],
    "another task is returned": [
      "result.id must be",
      result(/^GetTask$/, (json) => ({ ...json, id: "another" })),
    ],
    "a task is returned in another context": [
      "result.contextId must be",
      result(/^GetTask$/, (json) => ({ ...json, contextId: "another" })),
    ],
  },
  "A2A1-CANCEL": {
    "a canceled task is still working": [
      'must be "TASK_STATE_CANCELED"',
      (server) => {
        server.agent.cancel = (id) => {
          const task = server.agent.find(id);
          if (task.state === "COMPLETED") throw new A2aError(-32002, "ended");
          return task;
        };
      },
    ],
    "a task is only said to be canceled": [
      'must be "TASK_STATE_CANCELED"',
      (server) => {
        server.agent.cancel = (id) => {
          const task = server.agent.find(id);
          if (task.state === "COMPLETED") throw new A2aError(-32002, "ended");
          return { ...task, state: "CANCELED" };
        };
      },
    ],
    "an ended task can be canceled": [
      "must be -32002",
      (server) => {
        const cancel = server.agent.cancel.bind(server.agent);
        server.agent.cancel = (id) => {
          const task = server.agent.find(id);
          return task.state === "COMPLETED" ? task : cancel(id);
        };
      },
    ],
    "the errors of a cancellation are swapped": [
      "must be -32001",
      (server) => {
        server.code = (sent, method) => {
          const other = sent === -32001 ? -32002 : -32001;
          const isSwapped =
            method === "CancelTask" && (sent === -32001 || sent === -32002);
          return isSwapped ? other : sent;
        };
      },
    ],
  },
  "A2A1-CONTEXT": {
    "the context of a message is not kept": [
      "contextId must be",
      (server) => {
        server.agent.contextFor = () => crypto.randomUUID();
      },
    ],
  },
  "A2A03-CONTEXT": {
    "the context of a message is not kept in 0.3": [
      "contextId must be",
      (server) => {
        server.agent.contextFor = () => crypto.randomUUID();
      },
    ],
  },
  "A2A1-MULTI-TURN": {
    "an answer starts a new task": [
      "task.id must be",
      (server) => {
        const accept = server.agent.accept.bind(server.agent);
        server.agent.accept = (message) => {
          const { taskId, ...others } = message;
          const task = server.agent.tasks.get(String(taskId));
          const isAnswer = task?.state === "INPUT_REQUIRED";
          const isOther =
            message.contextId !== undefined &&
            message.contextId !== task?.contextId;
          return accept(isAnswer && !isOther ? others : message);
        };
      },
    ],
    "a task takes messages of another context": [
      "must be -32602",
      (server) => {
        const accept = server.agent.accept.bind(server.agent);
        server.agent.accept = (message) =>
          accept(
            message.taskId === undefined
              ? message
              : without("contextId")(message),
          );
      },
    ],
    "an unknown task is created": ["must be -32001", createsUnknown],
  },
  "A2A03-MULTI-TURN": {
    "an unknown task is created in 0.3": ["must be -32001", createsUnknown],
  },
  "A2A1-ENDED-TASK": {
    "an ended task takes messages": [
      "must be -32004",
      (server) => {
        const refuse = server.agent.refuseEnded.bind(server.agent);
        server.agent.refuseEnded = () => undefined;
        server.subscribe = (task) => {
          if (task.state !== "WORKING") refuse();
          return { stream: task, start: () => server.agent.resume(task) };
        };
      },
    ],
    "a message to an ended task is an invalid parameter": [
      "must be -32004",
      code(-32004, -32602, /^SendMessage$/),
    ],
  },
  "A2A03-SEND": {
    "the answer says that the task still works in 0.3": [
      "must be one of completed",
      (server) => {
        const send = server.sendMessage.bind(server);
        server.sendMessage = async (params) => {
          const { message, configuration } = params;
          const isNew = objectOrEmpty(message).taskId === undefined;
          const json = JSON.stringify(await send(params));
          return JSON.parse(
            isNew && configuration === undefined
              ? json.replace("TASK_STATE_COMPLETED", "TASK_STATE_WORKING")
              : json,
          );
        };
      },
    ],
  },
  "A2A03-BLOCKING": {
    "a client that does not want to wait waits in 0.3": [
      "no answer came within 10 s, the time limit of the case (--timeout)",
      (server) => {
        const send = server.sendMessage.bind(server);
        server.sendMessage = (params) => {
          const { historyLength } = objectOrEmpty(params.configuration);
          return send({ ...params, configuration: defined({ historyLength }) });
        };
      },
    ],
  },
  "A2A03-HISTORY": {
    "the history is longer than historyLength in 0.3": [
      "history must",
      (server) => {
        server.agent.recent = (history) => [...history, ...history];
      },
    ],
  },
  "A2A03-GET": {
    "an unknown task is an invalid parameter in 0.3": [
      "must be -32001",
      code(-32001, -32602, /^GetTask$/),
    ],
  },
  "A2A03-CANCEL": {
    "a task is only said to be canceled in 0.3": [
      'must be "canceled"',
      (server) => {
        server.agent.cancel = (id) => {
          const task = server.agent.find(id);
          if (task.state === "COMPLETED") throw new A2aError(-32002, "ended");
          return { ...task, state: "CANCELED" };
        };
      },
    ],
  },
};

function createsUnknown(server: PlainServer): void {
  const accept = server.agent.accept.bind(server.agent);
  server.agent.accept = (message) =>
    accept(
      server.agent.tasks.has(String(message.taskId))
        ? message
        : without("taskId")(message),
    );
}

const LISTS: Faults = {
  "A2A1-LIST": {
    "the oldest task is first": [
      "tasks must be listed newest first",
      (server) => {
        server.agent.sorted = (tasks) => [...tasks];
      },
    ],
    "tasks of all contexts are listed": [
      "totalSize must be 2",
      listsMore("contextId"),
    ],
    "tasks in all states are listed": [
      "must have length 0",
      listsMore("status"),
    ],
    "tasks of all times are listed": [
      "must have length 0",
      listsMore("statusTimestampAfter"),
    ],
  },
  "A2A1-LIST-PAGES": {
    "pages have any size": [
      "must have length 1",
      (server) => {
        server.agent.sizeOf = (size) =>
          size > 100 ? Object.getPrototypeOf(server.agent).sizeOf(size) : 50;
      },
    ],
    "a page of 101 tasks is allowed": [
      "must be -32602",
      (server) => {
        server.agent.sizeOf = (size) => size;
      },
    ],
    "a token leads to the same page again": [
      "nextPageToken must be",
      (server) => {
        server.agent.tokenOf = () => "from-0";
      },
    ],
    "the last page has a token": [
      "nextPageToken must be",
      result(/^ListTasks$/, (json) =>
        Number(json.totalSize) > Number(json.pageSize) &&
        json.nextPageToken === ""
          ? { ...json, nextPageToken: "from-0" }
          : json,
      ),
    ],
    "an unknown token leads to the first page": [
      "must be -32602",
      (server) => {
        const start = server.agent.startOf.bind(server.agent);
        server.agent.startOf = (token) =>
          token.startsWith("from-") ? start(token) : 0;
      },
    ],
    "the total is that of the page": [
      "totalSize must be 2",
      result(/^ListTasks$/, (json) =>
        json.pageSize === 1 ? { ...json, totalSize: 1 } : json,
      ),
    ],
  },
};

function listsMore(filter: string): Plant {
  return (server) => {
    const isListed = server.agent.isListed.bind(server.agent);
    server.agent.isListed = (task, filters) =>
      isListed(task, without(filter)(filters));
  };
}

const STREAMS: Faults = {
  "A2A1-STREAM-ORDER": {
    "a stream starts with a status": [
      "a stream must begin with a task or a message: got artifactUpdate",
      noSnapshot,
    ],
    "the task comes again in its stream": [
      "a task comes once",
      frames((sent, task) => [{ task }, ...sent]),
    ],
    "a message comes in the stream of a task": [
      "no message comes in the stream of a task",
      frames((sent) => [
        {
          message: {
            messageId: "m",
            role: "ROLE_AGENT",
            parts: [{ text: "x" }],
          },
        },
        ...sent,
      ]),
    ],
    "the ids of tasks change within a stream": [
      "a stream has one taskId",
      frames((sent) =>
        JSON.parse(
          JSON.stringify(sent).replace(
            /"taskId":"[^"]+"/,
            '"taskId":"another"',
          ),
        ),
      ),
    ],
    "the contexts change within a stream": [
      "a stream has one contextId",
      frames((sent) =>
        JSON.parse(
          JSON.stringify(sent).replace(
            /"contextId":"[^"]+"/,
            '"contextId":"another"',
          ),
        ),
      ),
    ],
    "a stream is empty": [
      "a stream must begin with a task or a message: got nothing",
      (server) => {
        noSnapshot(server);
        frames(() => [])(server);
      },
    ],
  },
  "A2A1-STREAM-END": {
    "the last update is missing": [
      "the stream was closed before its task had ended",
      frames((sent) => sent.slice(0, -1)),
    ],
    "a stream is sent twice": [
      "nothing follows the end of a task: got task after completed",
      frames((sent, task) =>
        sent.length > 1 ? [...sent, { task }, ...sent] : sent,
      ),
    ],
    "an artifact follows the end": [
      "nothing follows the end of a task: got artifactUpdate",
      frames((sent) =>
        sent.length > 1 ? [...sent, ...sent.slice(0, 1)] : sent,
      ),
    ],
    "a task ends twice": [
      "nothing follows the end of a task: got statusUpdate",
      frames((sent) =>
        sent.length > 1
          ? [
              ...sent,
              ...JSON.parse(
                JSON.stringify(sent.slice(-1)).replace("COMPLETED", "FAILED"),
              ),
            ]
          : sent,
      ),
    ],
    "a stream stays open after its end": [
      "the stream is still open",
      (server) => {
        leavesOpen(server);
      },
    ],
    "a stream stays open without an end": [
      "its task has not ended",
      (server) => {
        leavesOpen(server);
        frames((sent) => sent.slice(0, -1))(server);
      },
    ],
    "a stream over HTTP+JSON stays open": [
      "the stream is still open",
      (server) => {
        leavesOpen(server);
      },
      REST,
    ],
  },
  "A2A1-STREAM-PAUSE": {
    "a stream stays open after a question": [
      "the stream is still open",
      (server) => {
        server.close = (response, { state }) => {
          if (state !== "INPUT_REQUIRED") response.end();
        };
      },
    ],
  },
  "A2A1-SUBSCRIBE": {
    "a subscription does not start with the task": [
      "open and empty",
      (server) => {
        const subscribe = server.subscribe.bind(server);
        server.subscribe = (task) => {
          server.snapshot = () => [];
          return subscribe(task);
        };
        const accept = server.agent.accept.bind(server.agent);
        server.agent.accept = (message) => {
          server.snapshot = (frame) => [frame];
          return accept(message);
        };
      },
    ],
    "an unknown task can not be subscribed to, with another error": [
      "must be -32001",
      code(-32001, -32004, /^Subscribe/),
    ],
    "an ended task can be subscribed to": [
      "must be -32004",
      (server) => {
        server.subscribe = (task) => ({
          stream: task,
          start: () => server.agent.emit(task, []),
        });
      },
    ],
  },
  "STREAM-1": {
    "the last update is not final": [
      "the last update of a stream must be final",
      result(/./, (json) =>
        json.final === true ? { ...json, final: false } : json,
      ),
    ],
    "a task ends twice in 0.3": [
      "nothing follows the end of a task: got statusUpdate",
      frames((sent) => (sent.length > 1 ? [...sent, ...sent.slice(-1)] : sent)),
    ],
    "an artifact follows the end in 0.3": [
      "nothing follows the end of a task: got artifactUpdate",
      frames((sent) =>
        sent.length > 1 ? [...sent, ...sent.slice(0, 1)] : sent,
      ),
    ],
  },
  "A2A03-STREAM": {
    "the ids of tasks change within a stream of 0.3": [
      "a stream has one taskId",
      frames((sent) =>
        JSON.parse(
          JSON.stringify(sent).replace(
            /"taskId":"[^"]+"/,
            '"taskId":"another"',
          ),
        ),
      ),
    ],
    "the last update is missing in 0.3": [
      "the stream was closed before its task had ended",
      frames((sent) => sent.slice(0, -1)),
    ],
    "a stream of 0.3 stays open": [
      "the stream is still open",
      (server) => {
        leavesOpen(server);
      },
    ],
  },
  "A2A03-RESUBSCRIBE": {
    "an unknown task gets another error in 0.3": [
      "must be -32001",
      code(-32001, -32602, /^Subscribe/),
    ],
  },
};

/** Changes what is sent of a task. */
function frames(
  change: (
    sent: readonly JsonObject[],
    task: JsonObject,
  ) => readonly JsonObject[],
): Plant {
  return ({ agent }) => {
    agent.frames = (sent, task) => change(sent, agent.write(task, 0));
  };
}

/** Leaves out the task with which a stream begins, but not a subscription. */
function noSnapshot(server: PlainServer): void {
  const subscribe = server.subscribe.bind(server);
  server.subscribe = (task) => {
    server.snapshot = (frame) => [frame];
    return subscribe(task);
  };
  const accept = server.agent.accept.bind(server.agent);
  server.agent.accept = (message) => {
    server.snapshot = () => [];
    return accept(message);
  };
}

/** Leaves the streams of ended tasks open, but not those of a question. */
function leavesOpen(server: PlainServer): void {
  server.close = (response, { state }) => {
    if (state === "INPUT_REQUIRED") response.end();
  };
}

const PUSH: Faults = ofBoth(
  {
    "A2A1-PUSH-CONFIG": "for A2A1-PUSH-CONFIG",
    "A2A03-PUSH-CONFIG": "for A2A03-PUSH-CONFIG",
  },
  {
    "configs are lost": [
      "",
      (server) => {
        server.agent.configsOf = () => [];
      },
    ],
    "configs are not deleted": [
      "",
      (server) => {
        server.agent.deleteConfig = () => undefined;
      },
    ],
    "configs get other ids": [
      'id must be "one"',
      (server) => {
        const set = server.agent.setConfig.bind(server.agent);
        server.agent.setConfig = (config) =>
          set({ ...config, id: crypto.randomUUID() });
      },
    ],
    "configs lose their URL": [
      "url must be",
      (server) => {
        const set = server.agent.setConfig.bind(server.agent);
        server.agent.setConfig = (config) => ({
          ...set(config),
          url: "http://other.example/",
        });
      },
    ],
  },
);

const PUSH_V1: Faults = {
  "A2A1-PUSH-CONFIG": {
    "a second config replaces the first": [
      "must have length 2",
      (server) => {
        const set = server.agent.setConfig.bind(server.agent);
        server.agent.setConfig = (config) => {
          server.agent.configsOf(config.taskId).length = 0;
          return set(config);
        };
      },
    ],
    "a missing config is an invalid parameter": [
      "must be -32001",
      code(-32001, -32602, /Config$/),
    ],
  },
};

/**
 * At least one fault for each requirement of A2A itself, each of which is the
 * change of one switch. Each breaks one requirement.
 */
export const PLAIN_FAULTS: readonly PlainFault[] = [
  ...[CARD, ACCESS, CONTENT, JSON_RPC, NAMES, ERRORS],
  ...[TASKS, LISTS, STREAMS, PUSH, PUSH_V1],
].flatMap((faults) =>
  Object.entries(faults).flatMap(([requirement, own]) =>
    Object.entries(own).map(([fault, [says, plant, way = {}]]) => {
      return { requirement, fault, says, plant, way };
    }),
  ),
);
