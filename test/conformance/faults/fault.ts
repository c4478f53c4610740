import type { BindingName, ProtocolVersion } from "@devtool/conformance";
import { EXTENSION_URI } from "@devtool/schema";
import type { Sent, Spoil } from "../spoiling-proxy.ts";

/** A way in which a server can be wrong, and the one requirement that it breaks. */
export interface Fault {
  readonly requirement: string;
  /** What is wrong, after "notices that". */
  readonly fault: string;
  /** The version of A2A in which it shows. */
  readonly protocolVersion: ProtocolVersion;
  /** The binding in which it shows. */
  readonly binding: BindingName;
  /** Made anew for each run, since some remember. */
  readonly spoil: () => Spoil;
}

/** A fault that shows over JSON-RPC, in the version of its requirement or else in 0.3. */
export function fault(requirement: string, what: string, spoil: Spoil | (() => Spoil)): Fault {
  return {
    requirement,
    fault: what,
    protocolVersion: requirement.startsWith("A2A1-") ? "1.0" : "0.3",
    binding: "JSONRPC",
    spoil: typeof spoil === "function" ? spoil : () => spoil,
  };
}

export function answers(body: NonNullable<Spoil["body"]>): Spoil {
  return { body };
}

export function requests(change: (body: string) => string): Spoil {
  return { request: ({ body }) => ({ body: change(body) }) };
}

export function onCard(change: (text: string) => string): Spoil {
  return { body: (text, { path }) => (path === "/.well-known/agent-card.json" ? change(text) : text) };
}

/** Changes the answers of a method where the client has not activated the extension: there A2A itself is tested. */
export function plainAnswers(method: string, change: (text: string, sent: Sent) => string): Spoil {
  return {
    body: (text, sent) => (sent.body.includes(`"method":"${method}"`) && isPlain(sent) ? change(text, sent) : text),
  };
}

export function isPlain({ headers }: Sent): boolean {
  return headers["x-a2a-extensions"] === undefined && headers["a2a-extensions"] === undefined;
}

/** Whether a request names the extension in its header or in its body. */
export function namesExtension({ headers, body }: Sent): boolean {
  return `${headers["x-a2a-extensions"] ?? ""} ${body}`.includes(EXTENSION_URI);
}

/** Makes some of the requests without a header opt out of the extension. */
export function optsOut(which: (sent: Sent) => boolean): Spoil {
  return {
    request: (sent) =>
      isPlain(sent) && which(sent) ? { headers: { ...sent.headers, "x-a2a-extensions": "" } } : undefined,
  };
}

/** Makes every request without a header name the extension when an earlier one about its task did. */
export function optsInForGood(): Spoil {
  const shown = new Set<string>();
  return {
    request: (sent) => {
      const id = /"params":\{"id":"([^"]+)"/.exec(sent.body)?.[1] ?? "";
      if (!isPlain(sent)) shown.add(id);
      const isShown = isPlain(sent) && id !== "" && shown.has(id);
      return isShown ? { headers: { ...sent.headers, "x-a2a-extensions": EXTENSION_URI } } : undefined;
    },
  };
}

export function anotherError(text: string, { body }: Sent): string {
  if (!body.includes("no-such-task")) return text;
  return text.replace('"code":-32001', '"code":-32004').replace("TASK_NOT_FOUND", "UNSUPPORTED_OPERATION");
}

export function letAllIn(method: string): Spoil {
  let token = "";
  return {
    request: ({ headers, body }) => {
      if (headers.authorization && headers.authorization !== "Bearer wrong") token = headers.authorization;
      return body.includes(`"method":"${method}"`) ? { headers: { ...headers, authorization: token } } : undefined;
    },
  };
}

/** Puts the first event of a plain stream behind the second. */
export function taskComesSecond(): Spoil {
  const held = new WeakMap<Sent, string>();
  return {
    body: (text, sent) => {
      if (!sent.body.includes('"SendStreamingMessage"') || !sent.body.includes("text hello") || !isPlain(sent))
        return text;
      const events = `${held.get(sent) ?? ""}${text}`.split(/(?<=\n\n)/).filter((event) => event !== "");
      if (held.get(sent) === "") return text;
      const [first = "", second, ...rest] = events;
      held.set(sent, second === undefined ? first : "");
      return second === undefined ? "" : [second, first, ...rest].join("");
    },
  };
}

export function retriesAreNew(): Spoil {
  const seen = new Set<string>();
  return {
    request: ({ body }) => {
      const id = /"messageId":"([^"]+)"/.exec(body)?.[1];
      if (id === undefined || body.includes('"method":"message/withdraw"')) return undefined;
      const again = seen.has(id);
      seen.add(id);
      return again ? { body: body.replace(id, crypto.randomUUID()) } : undefined;
    },
  };
}

/** Leaves the question out of every status that waits for an answer to calls. */
export function withoutQuestion(text: string): string {
  return text.replaceAll(/^.*"state":"input-required".*$/gm, (line) =>
    line.includes('"tool_call_id"')
      ? line.replace('"status":{"state":"input-required","message":', '"status":{"state":"input-required","note":')
      : line,
  );
}

/** Puts an event that says nothing before those that follow an answer. */
export function answerIsAnnounced(): Spoil {
  const begun = new WeakSet<Sent>();
  const result = { kind: "status-update", taskId: "t", contextId: "c", status: { state: "working" }, final: false };
  const frame = `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`;
  return {
    body: (text, sent) => {
      const begins = sent.body.includes('"selected_option_id"') && text.startsWith("id:") && !begun.has(sent);
      begun.add(sent);
      return begins ? `${frame}${text}` : text;
    },
  };
}
