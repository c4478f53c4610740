import type {
  BindingName,
  ProtocolVersion,
} from "@devtool/conformance/testing";
import { EXTENSION_URI } from "@devtool/schema";
import type { Sent, Spoil } from "../spoiling-proxy.ts";

/** A fault of a server, and the one requirement that it breaks. */
export interface Fault {
  readonly requirement: string;
  /** The fault, as a sentence after "notices that". */
  readonly fault: string;
  /** The version of A2A that shows it. */
  readonly protocolVersion: ProtocolVersion;
  /** The binding that shows it. */
  readonly binding: BindingName;
  /** Creates the change for one run, because some have state. */
  readonly spoil: () => Spoil;
  /** Other requirements whose cases meet the fault on their way. */
  readonly also: readonly string[];
}

type MakeSpoil = Spoil | (() => Spoil);

/** A change that meets other requirements, or is shown by another way. */
interface FaultOptions
  extends Partial<Pick<Fault, "also" | "protocolVersion" | "binding">> {
  readonly spoil: MakeSpoil;
}

/**
 * Faults by the requirement that they break, and by what is wrong. JSON-RPC
 * shows them, in the version of the requirement, otherwise in 0.3.
 */
export type Faults = Readonly<
  Record<string, Readonly<Record<string, MakeSpoil | FaultOptions>>>
>;

/** Returns the faults of a table one by one. */
export function faultsOf(faults: Faults): Fault[] {
  return Object.entries(faults).flatMap(([requirement, own]) =>
    Object.entries(own).map(([fault, made]) => {
      const { spoil, ...options } = "spoil" in made ? made : { spoil: made };
      return {
        requirement,
        fault,
        also: [],
        protocolVersion: requirement.startsWith("A2A1-") ? "1.0" : "0.3",
        binding: "JSONRPC",
        ...options,
        spoil: typeof spoil === "function" ? spoil : () => spoil,
      };
    }),
  );
}

/** Changes the body of every answer. */
export function changeAnswers(body: NonNullable<Spoil["body"]>): Spoil {
  return { body };
}

/** Changes the body of every request. */
export function changeRequests(change: (body: string) => string): Spoil {
  return { request: ({ body }) => ({ body: change(body) }) };
}

/** Changes the agent card. */
export function changeCard(change: (text: string) => string): Spoil {
  return {
    body: (text, { path }) =>
      path === "/.well-known/agent-card.json" ? change(text) : text,
  };
}

/**
 * Changes the answers of a method to clients without the extension, which test
 * A2A itself.
 */
export function changePlainAnswers(
  method: string,
  change: (text: string, sent: Sent) => string,
): Spoil {
  return {
    body: (text, sent) =>
      sent.body.includes(`"method":"${method}"`) && isPlain(sent)
        ? change(text, sent)
        : text,
  };
}

/** Whether a request does not activate the extension. */
export function isPlain({ headers }: Sent): boolean {
  return (
    headers["x-a2a-extensions"] === undefined &&
    headers["a2a-extensions"] === undefined
  );
}

/** Whether a request names the extension in a header or in its body. */
export function namesExtension({ headers, body }: Sent): boolean {
  return `${headers["x-a2a-extensions"] ?? ""} ${body}`.includes(EXTENSION_URI);
}

/** Makes some requests without the header opt out of the extension. */
export function optOut(which: (sent: Sent) => boolean): Spoil {
  return {
    request: (sent) =>
      isPlain(sent) && which(sent)
        ? { headers: { ...sent.headers, "x-a2a-extensions": "" } }
        : undefined,
  };
}

/**
 * Adds the extension to requests without the header if an earlier request for
 * the same task had it.
 */
export function optInPermanently(): Spoil {
  const activated = new Set<string>();
  return {
    request: (sent) => {
      const id = /"params":\{"id":"([^"]+)"/.exec(sent.body)?.[1] ?? "";
      if (!isPlain(sent)) activated.add(id);
      const isActivated = isPlain(sent) && id !== "" && activated.has(id);
      return isActivated
        ? { headers: { ...sent.headers, "x-a2a-extensions": EXTENSION_URI } }
        : undefined;
    },
  };
}

/** Gives a repeated message a new id. */
export function renameRetries(): Spoil {
  const seen = new Set<string>();
  return {
    request: ({ body }) => {
      const id = /"messageId":"([^"]+)"/.exec(body)?.[1];
      if (id === undefined || body.includes('"method":"message/withdraw"')) {
        return undefined;
      }
      const again = seen.has(id);
      seen.add(id);
      return again
        ? { body: body.replace(id, crypto.randomUUID()) }
        : undefined;
    },
  };
}

/** Removes the question from every status that waits for an answer to calls. */
export function removeQuestion(text: string): string {
  return text.replaceAll(/^.*"state":"input-required".*$/gm, (line) =>
    line.includes('"tool_call_id"')
      ? line.replace(
          '"status":{"state":"input-required","message":',
          '"status":{"state":"input-required","note":',
        )
      : line,
  );
}

/** Inserts an empty event before those that follow an answer. */
export function announceAnswer(): Spoil {
  const answered = new WeakSet<Sent>();
  const frameFor = (text: string): string => {
    const [, taskId] = /"taskId":"([^"]+)"/.exec(text) ?? [];
    const [, contextId] = /"contextId":"([^"]+)"/.exec(text) ?? [];
    const status = { state: "working" };
    const kind = "status-update";
    const result = { kind, taskId, contextId, status, final: false };
    return `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`;
  };
  return {
    body: (text, sent) => {
      const isFirst =
        sent.body.includes('"selected_option_id"') &&
        text.startsWith("id:") &&
        !answered.has(sent);
      answered.add(sent);
      return isFirst ? `${frameFor(text)}${text}` : text;
    },
  };
}
